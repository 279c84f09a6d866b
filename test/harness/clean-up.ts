import { afterAll } from 'vitest';

const cleanUps: (() => Promise<unknown>)[] = [];

/** Has `cleanUp` run when the test file is through, the last one first. To be called at any time. */
export function onFileEnd(cleanUp: () => Promise<unknown>): void {
  cleanUps.push(cleanUp);
}

// This module is a setup file of vitest, so that the hook below is the file's own and outermost.
afterAll(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});
