import { costLines, openCosts, takeCosts } from './costs.ts';
import { cpuOfTree } from './cpu-time.ts';
import { TEST_SEED, TRIES_ALL } from './seed.ts';

const REPORTED = Symbol.for('millrace.test.reported');
const registry = globalThis as { [REPORTED]?: true };

/** Prints the seed at the start of a run, and its CPU time at its end. Call it in vitest's own process. */
export function reportRun(): void {
  if (registry[REPORTED]) return;
  registry[REPORTED] = true;
  openCosts();
  const say = (line: string) => process.stderr.write(`${line}\n`);
  say(
    TRIES_ALL
      ? `everything is tried (TEST_SEED=${TEST_SEED})`
      : `TEST_SEED=${TEST_SEED} draws what this run tries; npm run test:all tries everything`,
  );
  // All processes of the run have ended, and were waited for.
  process.once('exit', (code) => {
    const seconds = cpuOfTree();
    const costs = takeCosts();
    if (seconds !== null) for (const line of costLines(seconds, costs, process.cwd())) say(line);
    if (code !== 0) say(`Repeat this run with TEST_SEED=${TEST_SEED}`);
  });
}
