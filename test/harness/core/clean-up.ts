const cleanUps: (() => Promise<unknown>)[] = [];

/** Has `cleanUp` run when the test file is through, the last one first. To be called at any time. */
export function onFileEnd(cleanUp: () => Promise<unknown>): void {
  cleanUps.push(cleanUp);
}

/** Runs all of them, also where one fails, which fails the file. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
