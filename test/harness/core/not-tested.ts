import type { RunnerTask, RunnerTestSuite } from 'vitest';

/** The suite that vitest runs: any of its tests knows how to skip. */
let suite: Readonly<RunnerTestSuite> | undefined;

/** Says that this run leaves out tests: what they would show, and why it can't be had here. */
export function sayNotTested(what: string): void {
  process.stderr.write(`\nNOT TESTED: ${what}\n\n`);
}

/** The same for what a machine of CI has to have: there it throws. */
export function failInCi(what: string): void {
  if (process.env['CI']) throw new Error(`NOT TESTED: ${what}`);
  sayNotTested(what);
}

/** Skips the test that calls it, or all tests of the hook that does; fails in CI. Throws in any case. */
export function skipHere(what: string): never {
  failInCi(what);
  for (let tasks: RunnerTask[] = suite!.tasks; ; tasks = (tasks[0] as RunnerTestSuite).tasks) {
    const test = tasks.find((task) => task.type === 'test');
    if (test) return test.context.skip(what);
  }
}

/** Tells `skipHere` which test file runs. */
export function rememberSuite(running: Readonly<RunnerTestSuite>): void {
  suite = running;
}
