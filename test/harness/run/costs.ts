import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/**
 * CPU seconds of a test file and of the processes that it starts; Postgres and Temporal serve all files, and are left
 * out.
 */
export type Cost = { file: string; seconds: number };

const DEAREST = 10;

/** Makes the file to which the run's processes write their costs; they find it in the environment. */
export function openCosts(): void {
  process.env.TEST_COSTS = join(mkdtempSync(join(tmpdir(), 'millrace-costs-')), 'costs.jsonl');
}

export function recordCost(cost: Cost): void {
  if (process.env.TEST_COSTS) appendFileSync(process.env.TEST_COSTS, `${JSON.stringify(cost)}\n`);
}

/** Returns the costs of the run's files, and removes their file. */
export function takeCosts(): Cost[] {
  const path = process.env.TEST_COSTS;
  if (!path) return [];
  try {
    return readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Cost);
  } catch {
    return [];
  } finally {
    rmSync(dirname(path), { recursive: true, force: true });
  }
}

/** Returns a line for the whole run, and one for each of the dearest files. `seconds` is the whole tree's. */
export function costLines(seconds: number, costs: readonly Cost[], root: string): string[] {
  const ofFiles = costs.reduce((sum, cost) => sum + cost.seconds, 0);
  const dearest = costs.toSorted((one, other) => other.seconds - one.seconds).slice(0, DEAREST);
  return [
    `CPU time of the run and all its processes: ${minutes(seconds)} minutes`,
    ...(costs.length > 0
      ? [
          `  of it ${minutes(ofFiles)} in test files with their workers, the rest in Postgres, Temporal and vitest; the dearest files:`,
        ]
      : []),
    ...dearest.map((cost) => `${cost.seconds.toFixed(1).padStart(8)} s  ${relative(root, cost.file)}`),
  ];
}

const minutes = (seconds: number) => (seconds / 60).toFixed(1);
