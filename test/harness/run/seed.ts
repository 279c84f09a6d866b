import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

/**
 * The seed of a run of tests, and what it draws: a run tries a sample of what is exhaustive, and the next commit
 * another one. `npm run test:all` tries everything.
 */

/** Used outside a git repository. */
const WITHOUT_GIT = 33;
const MAX_SEED = 2 ** 31 - 1;

/** `TEST_SEED`, or a number made from the commit: a red run stays red until somebody mends it. */
export const TEST_SEED = seedOf(process.env.TEST_SEED);

/** Whether this run tries everything. */
export const TRIES_ALL = process.env.TEST_ALL === '1';

function seedOf(given: string | undefined): number {
  if (given === undefined || given === '') return seedOfCommit();
  if (/^\d{1,10}$/.test(given) && Number(given) <= MAX_SEED) return Number(given);
  throw new Error(`TEST_SEED has to be a whole number from 0 to ${MAX_SEED}, and is "${given}"`);
}

function seedOfCommit(): number {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, stdio: 'pipe' });
    return Number.parseInt(commit.toString().slice(0, 8), 16) & MAX_SEED;
  } catch {
    return WITHOUT_GIT;
  }
}

/** Returns random numbers from 0 up to 1, the same for the same seed and purpose. */
export function randomFor(purpose: string, seed = TEST_SEED): () => number {
  let state = createHash('sha256').update(`${seed} ${purpose}`).digest().readUInt32BE();
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Returns about this share of `all` in its order, with at least one of each group that `groupsOf` names. Returns all of
 * it if the run tries everything.
 */
export function sampled<T>(
  purpose: string,
  all: readonly T[],
  share: number,
  groupsOf: (item: T) => readonly string[] = () => [purpose],
  { seed = TEST_SEED, triesAll = TRIES_ALL } = {},
): T[] {
  if (triesAll) return [...all];
  const random = randomFor(purpose, seed);
  const placed = all.map((item) => ({ item, at: random() }));
  const shuffled = placed.toSorted((one, other) => one.at - other.at).map(({ item }) => item);
  const drawn = new Set(shuffled.slice(0, Math.round(all.length * share)));
  const present = new Set([...drawn].flatMap(groupsOf));
  for (const item of shuffled.slice(drawn.size)) {
    const groups = groupsOf(item);
    if (groups.every((group) => present.has(group))) continue;
    drawn.add(item);
    for (const group of groups) present.add(group);
  }
  return all.filter((item) => drawn.has(item));
}

/**
 * Returns the size of a test's data, for a claim that holds at any size: `some`, or `all` if the run tries everything.
 */
export function sampledSize(all: number, some: number): number {
  return TRIES_ALL ? all : some;
}

/** Returns how many inputs to generate for a property: a tenth of `all`, or `all` if the run tries everything. */
export function sampledRuns(all: number): number {
  return TRIES_ALL ? all : Math.ceil(all / 10);
}
