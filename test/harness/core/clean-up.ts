const cleanUps: (() => Promise<unknown>)[] = [];

/** Has `cleanUp` run when the test file is through, the last one first. To be called at any time. */
export function onFileEnd(cleanUp: () => Promise<unknown>): void {
  cleanUps.push(cleanUp);
}

/** Runs all of them, also where one fails, which fails the file. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop())
    await cleanUp().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

if (process.send) {
  // Vitest's own process has ended in the middle of a run, by Ctrl-C for example: Vitest ends this one when a message
  // can't be sent.
  process.once('disconnect', () => process.send?.(''));
  // Ctrl-C reaches this process as well, which ends as above.
  process.on('SIGINT', () => {});
}
// The processes of a file are asked to end before its clean-up first waits for something.
process.once('exit', () => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp().catch(() => {});
});
