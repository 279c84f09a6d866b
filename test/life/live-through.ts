import { checkEndings } from './endings.ts';
import { openOutside } from './outside.ts';
import { lifeOperations } from './operations/operations.ts';
import { nameOf, type Planned, planWalk } from './plan.ts';
import { LifeService } from './service.ts';
import { setUpLife } from './set-up.ts';
import { type Finding, Walk } from './walk.ts';

export type LifeOptions = { dataDir: string; seed: number; minutes: number; rate: number; say(line: string): void };
export type Outcome = { findings: Finding[]; done: Planned[]; report: string };

/** Starts a service, walks through it, and checks what has to hold in the end. */
export async function liveThrough({ dataDir, seed, minutes, rate, say }: LifeOptions): Promise<Outcome> {
  const plan = planWalk(seed, Math.ceil(minutes * 60 * rate), lifeOperations);
  const service = await LifeService.start({ dataDir, say });
  const outside = await openOutside(await service.createDatabase('shop'));
  try {
    const life = await setUpLife(service, outside);
    const walk = new Walk(life, { milliseconds: minutes * 60_000, operationsPerSecond: rate, say });
    say('walking');
    await walk.run(plan);
    say(`walked ${walk.done.length} operations`);
    await checkEndings(life, walk, say);
    return { findings: walk.findings, done: walk.done, report: reportOf(walk, seed) };
  } finally {
    await outside.stop();
    await service.stop();
  }
}

/** What was called, what never succeeded, and what was found. */
function reportOf({ findings, counts, done }: Walk, seed: number): string {
  const called = [...counts].filter(([, outcomes]) => [...outcomes.keys()].some((outcome) => /^\d/.test(outcome)));
  const failing = called.filter(([, outcomes]) => ![...outcomes.keys()].some((outcome) => /^[23]/.test(outcome)));
  const says = ([name, outcomes]: [string, Map<string, number>]) =>
    `${name} (${[...outcomes].map(([outcome, count]) => `${outcome}: ${count}`).join(', ')})`;
  return [
    `seed ${seed}: ${done.length} operations of ${called.length} kinds; ${findings.length} findings`,
    `never successful: ${failing.map(says).join('; ') || 'none'}`,
    ...findings.map(({ what, details, ordinal }) => `FOUND ${what} (operation ${ordinal ?? 'of the end'}, ${
      ordinal === null ? '' : nameOf(done.find((planned) => planned.ordinal === ordinal)!)})\n    ${details}`),
  ].join('\n');
}
