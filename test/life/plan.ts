import { randomFor } from '../harness/run/seed.ts';
import type { LifeOperations } from './life-operation.ts';
import type { Part } from './service.ts';

/**
 * The operations of a walk, in their order. All of it follows from the seed: an entry keeps its own numbers when others
 * are left out.
 */

export type Blow = { kill: readonly Part[] } | { restart: readonly Part[] } | { copy: true };
export type Planned = { ordinal: number; seed: number } & (
  | { operation: string; entity: number }
  | { blow: Blow; name: string }
);

const PROGRAMS: readonly Part[] = ['work', 'serve'];
const BLOWS: readonly [string, Blow][] = [
  ['kill the worker', { kill: ['work'] }],
  ['kill the server', { kill: ['serve'] }],
  ['kill Postgres', { kill: ['postgres'] }],
  ['kill Temporal', { kill: ['temporal'] }],
  ['kill all processes', { kill: ['postgres', 'temporal', 'work', 'serve'] }],
  ['restart server and worker', { restart: PROGRAMS }],
];
const COPY: [string, Blow] = ['copy the database', { copy: true }];
/** Each kind of blow comes once in so many operations. */
const BETWEEN_BLOWS = 90;
/** The first operations make what later ones use. */
const BEFORE_BLOWS = 60;

export function planWalk(seed: number, length: number, operations: LifeOperations): Planned[] {
  const random = randomFor('walk', seed);
  const names = Object.entries(operations).flatMap(([name, { weight = 1 }]) =>
    Array.from({ length: Math.round(weight * 10) }, () => name),
  );
  const blows: [string, Blow][] = [];
  const middle = Math.floor(length / 2);
  return Array.from({ length }, (_, ordinal): Planned => {
    const own = Math.floor(random() * 2 ** 31);
    if (ordinal === middle) return { ordinal, seed: own, name: COPY[0], blow: COPY[1] };
    if (ordinal >= BEFORE_BLOWS && ordinal % BETWEEN_BLOWS === 0) {
      if (blows.length === 0) blows.push(...shuffled(BLOWS, random));
      const [name, blow] = blows.pop()!;
      return { ordinal, seed: own, name, blow };
    }
    return {
      ordinal,
      seed: own,
      operation: names[Math.floor(random() * names.length)]!,
      entity: random() < 0.6 ? 0 : 1,
    };
  });
}

function shuffled<T>(all: readonly T[], random: () => number): T[] {
  return all
    .map((each) => ({ each, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ each }) => each);
}

export function nameOf(planned: Planned): string {
  return 'blow' in planned ? planned.name : planned.operation;
}
