import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkEndings } from './endings.ts';
import { lifeOperations } from './operations/operations.ts';
import { openOutside } from './outside.ts';
import { nameOf, type Planned, planWalk } from './plan.ts';
import { LifeService } from './service.ts';
import { setUpLife } from './set-up.ts';
import { shrink } from './shrink.ts';
import { type Finding, Walk } from './walk.ts';

export type LifeOptions = {
  seed: number;
  minutes: number;
  /** Operations per second, at most. */
  rate: number;
  /** How long a shorter list of operations is looked for that shows the first finding. */
  shrinkMinutes: number;
  /** Where the service's data is left; by default it is deleted. */
  keepIn?: string | undefined;
  say(line: string): void;
};

/** Walks through a service of its own, and returns what was found, ready to be shown. */
export async function liveThrough({
  seed,
  minutes,
  rate,
  shrinkMinutes,
  keepIn,
  say,
}: LifeOptions): Promise<{ findings: Finding[]; report: string }> {
  const plan = planWalk(seed, Math.ceil(minutes * 60 * rate), lifeOperations);
  const milliseconds = minutes * 60_000;
  const walk = await walkThrough(plan, { milliseconds, operationsPerSecond: rate, say }, keepIn);
  const [first] = walk.findings;
  const lines = [reportOf(walk, seed)];
  if (first && shrinkMinutes > 0) {
    say(`looking for a shorter list of operations that shows: ${first.what}`);
    const shown = walk.done.filter(({ ordinal }) => first.ordinal === null || ordinal <= first.ordinal);
    const quietly = { milliseconds, operationsPerSecond: rate, isHasty: first.ordinal !== null, say: () => {} };
    const trial = async (operations: readonly Planned[]) =>
      (await walkThrough(operations, quietly)).findings.some(({ what }) => what === first.what);
    const shortest = await shrink(shown, trial, { milliseconds: shrinkMinutes * 60_000, say });
    lines.push(
      `The shortest list of operations that showed it (${shortest.length}):`,
      ...shortest.map(
        (planned) =>
          `  ${planned.ordinal} ${nameOf(planned)}${'entity' in planned ? ` of entity ${planned.entity}` : ''}`,
      ),
    );
  }
  return { findings: walk.findings, report: lines.join('\n') };
}

type WalkOptions = ConstructorParameters<typeof Walk>[1];

async function walkThrough(plan: readonly Planned[], options: WalkOptions, keepIn?: string): Promise<Walk> {
  const dataDir = keepIn ?? (await mkdtemp(join(tmpdir(), 'millrace-life-')));
  const service = await LifeService.start({ dataDir, say: options.say });
  const outside = await openOutside(await service.createDatabase('shop'));
  try {
    const life = await setUpLife(service, outside);
    const walk = new Walk(life, options);
    options.say('walking');
    await walk.run(plan);
    options.say(`walked ${walk.done.length} operations`);
    if (!options.isHasty) await checkEndings(life, walk, options.say);
    return walk;
  } finally {
    await outside.stop();
    await service.stop();
    if (keepIn === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** What was called, what never succeeded, and what was found. */
function reportOf({ findings, counts, refusals, done }: Walk, seed: number): string {
  const called = [...counts].filter(([, outcomes]) => [...outcomes.keys()].some((outcome) => /^\d/.test(outcome)));
  const failing = called.filter(([, outcomes]) => ![...outcomes.keys()].some((outcome) => /^[23]/.test(outcome)));
  const says = ([name, outcomes]: [string, Map<string, number>]) =>
    `  ${name} (${[...outcomes].map(([outcome, count]) => `${outcome}: ${count}`).join(', ')}) ${refusals.get(name) ?? ''}`;
  const operations = new Map(done.map((planned) => [planned.ordinal, nameOf(planned)]));
  return [
    `seed ${seed}: ${done.length} operations of ${called.length} kinds; ${findings.length} findings`,
    `never successful: ${failing.length}`,
    ...failing.map(says),
    ...findings.flatMap(({ what, details, ordinal }) => [
      `FOUND ${what} (${ordinal === null ? 'at the end' : `operation ${ordinal}, ${operations.get(ordinal)}`})`,
      `    ${details}`,
    ]),
  ].join('\n');
}
