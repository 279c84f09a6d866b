import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { StepOutcome } from '../../../domain/analytics/funnel-counts.ts';
import { eventsOfFunnel, type FunnelExclusion, type FunnelStep } from '../../../domain/analytics/funnel.ts';
import {
  countFunnel,
  exploreFunnel,
  type FunnelQuery,
  funnelPeopleSql,
  parameters,
} from '../../../store/analytics/funnel-stats.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertDeviceUsers, insertSampleEvents, type SampleEvent } from '../../harness/analytics/sample-events.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const START = Date.parse('2026-11-01T23:50:00Z');
const MINUTE_MS = 60_000;
const FROM = new Date('2026-11-01T00:00:00Z');
const UNTIL = new Date('2026-11-03T00:00:00Z');
/** Whose an event is: of the two devices, one has had one user, the other two. */
const PEOPLE = (id: (name: Name) => string): { user: string | null; device: string | null; key: string }[] => [
  { user: id('ann'), device: id('phone'), key: `u${id('ann')}` },
  { user: null, device: id('phone'), key: `u${id('ann')}` },
  { user: id('ben'), device: id('shared'), key: `u${id('ben')}` },
  { user: null, device: id('shared'), key: `d${id('shared')}` },
  { user: id('old'), device: null, key: `u${id('old')}` },
];
type Name = 'ann' | 'ben' | 'old' | 'phone' | 'shared';
const KINDS: Record<Name, 'u' | 'd'> = { ann: 'u', ben: 'u', old: 'u', phone: 'd', shared: 'd' };

/** The same people by other ids. `partOf`: the part of those who can be in a sample. */
type Cast = { id: (name: Name) => string; partOf: ReadonlyMap<string, number> };
const SAMPLED: Name[][] = [
  [],
  ['ann'],
  ['old'],
  ['phone'],
  ['ann', 'phone'],
  ['ann', 'old', 'shared'],
  ['old', 'phone', 'ben'],
];
const DETAILS = [undefined, { color: 'red' }, { color: 'red', size: 1.5 }, { color: 'blue', size: 2 }, 'red'];

let store: TestStore;
let world: World;
let apps: number[];
let casts: Cast[];

/** Finds ids that can be in a sample, or can't. */
async function findCast(sampled: readonly Name[], nth: number): Promise<Cast> {
  const { rows } = await store.db.query<{ name: Name; id: string; part: number }>(
    `SELECT DISTINCT ON (name) name, id, ((hashtextextended(kind || id, 1) >> 4) & 63)::integer AS part
     FROM unnest($1::text[], $2::text[], $3::boolean[]) AS p (name, kind, sampled)
     CROSS JOIN LATERAL (SELECT name || '-' || $4 || '-' || n AS id FROM generate_series(1, 1000) n) ids
     WHERE (hashtextextended(kind || id, 1) % 16 = 0) = sampled`,
    [Object.keys(KINDS), Object.values(KINDS), Object.keys(KINDS).map((name) => sampled.includes(name as Name)), nth],
  );
  const found = new Map(rows.map((row) => [row.name, row]));
  const partOf = new Map(sampled.map((name) => [`${KINDS[name]}${found.get(name)!.id}`, found.get(name)!.part]));
  return { id: (name) => found.get(name)!.id, partOf };
}

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  apps = [];
  for (const name of ['one', 'two']) apps.push((await insertSampleApp(store.db, world.entity.id, name)).id);
  await ensurePartitions(store.db, [FROM]);
  casts = await Promise.all(SAMPLED.map(findCast));
  for (const { id } of casts) {
    for (const appId of apps) {
      await insertDeviceUsers(store.db, world.entity.id, appId, id('phone'), [id('ann')]);
      await insertDeviceUsers(store.db, world.entity.id, appId, id('shared'), [id('ann'), id('ben')]);
    }
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, previous_id, user_id, app_id, decision) VALUES ($1, $2, $3, $4, 'confirmed')`,
      [world.entity.id, id('old'), id('ann'), apps[0]],
    );
  }
});

type Drawn = { person: number; app: number; name: string; logType: number; minute: number; detail: number };

/** Dense enough that chains meet: nearly all events are one person's, of one app. */
function often<T>(usual: T, others: T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: fc.constantFrom(...others) });
}

const anEvent: fc.Arbitrary<Drawn> = fc.record({
  person: often(0, [1, 2, 3, 4]),
  app: often(0, [1]),
  name: fc.constantFrom('A', 'B', 'C'),
  logType: often(2, [1]),
  minute: fc.nat(12),
  detail: fc.nat(DETAILS.length - 1),
});
const names = fc.array(
  fc.record({
    app_id: often('0', ['1']),
    log_type: often(2, [0, 1]),
    log_name: fc.constantFrom('A', 'B', 'C'),
  }),
  { minLength: 1, maxLength: 2 },
) as fc.Arbitrary<FunnelStep['match_name']>;
const aStep: fc.Arbitrary<FunnelStep> = fc.record({
  match_name: names,
  match_details: often<FunnelStep['match_details']>(undefined, [
    [{ color: 'red' }],
    [{ color: 'red', size: '1.5' }, { color: 'blue' }],
    [{ size: 1.5 }],
    [{ '': 'red' }],
    [{ size: null }],
  ]),
});
const ALL_PARTS = Array.from({ length: 64 }, (_, part) => part);
const aFunnel = fc.record({
  steps: fc.array(aStep, { minLength: 1, maxLength: 4, size: 'max' }),
  breaks: fc.option(fc.record({ after: fc.nat(2), match_name: names }), { freq: 2 }),
  minutes: fc.integer({ min: 1, max: 12 }),
  aliases: fc.boolean(),
  sample: fc.option(fc.record({ parts: fc.oneof(fc.constant(ALL_PARTS), fc.subarray(ALL_PARTS)) }), { freq: 1 }),
  cast: fc.nat(SAMPLED.length - 1),
});
type DrawnFunnel = typeof aFunnel extends fc.Arbitrary<infer T> ? T : never;

/** The plain model: every chain through a person's events is looked at. */
type Row = Drawn & { id: number; at: number };
const chained = (row: Row, { match_name: all }: Pick<FunnelStep, 'match_name'>) =>
  all.some(
    (name) =>
      Number(name.app_id) === row.app &&
      name.log_name === row.name &&
      (name.log_type === 0 || name.log_type === row.logType),
  );

function hasDetails({ detail }: Row, objects: FunnelStep['match_details']): boolean {
  if (!objects || objects.length === 0) return true;
  const given = DETAILS[detail];
  const member = (key: string) => {
    if (key === '') return typeof given === 'string' ? given : undefined;
    return typeof given === 'object' ? (given as Record<string, unknown>)[key] : undefined;
  };
  return objects.some((pairs) =>
    Object.entries(pairs).every(([key, value]) =>
      value === null ? member(key) === undefined : member(key) !== undefined && String(member(key)) === String(value),
    ),
  );
}

type Completed = { start: number; before: number };

/**
 * By number of step: for each of the person's rows that completes it the latest start of a chain that does, and the
 * earliest event of the step before in such a chain.
 */
function completionsOf(
  rows: Row[],
  steps: FunnelStep[],
  exclusions: FunnelExclusion[],
  maxMs: number,
): Map<Row, Completed>[] {
  const completed = steps.map(() => new Map<Row, Completed>());
  const follow = (chain: Row[]) => {
    const step = chain.length - 1;
    const [first, last] = [chain[0]!, chain.at(-1)!];
    const { start, before } = completed[step]!.get(last) ?? { start: -Infinity, before: Infinity };
    const own = chain.at(-2)?.at ?? last.at;
    if (first.at > start) completed[step]!.set(last, { start: first.at, before: own });
    else if (first.at === start) completed[step]!.set(last, { start, before: Math.min(before, own) });
    const next = steps[chain.length];
    if (!next) return;
    const breaks = exclusions.filter(({ after_step: after }) => after === step);
    for (const row of rows.slice(rows.indexOf(last) + 1)) {
      if (row.at - first.at > maxMs) return;
      if (chained(row, next) && hasDetails(row, next.match_details)) follow([...chain, row]);
      if (breaks.some((names) => chained(row, names))) return;
    }
  };
  for (const row of rows) if (chained(row, steps[0]!) && hasDetails(row, steps[0]!.match_details)) follow([row]);
  return completed;
}

function peopleOf(events: Row[], { aliases, sample, cast }: DrawnFunnel): Map<string, Row[]> {
  const people = new Map<string, Row[]>();
  const { id, partOf } = casts[cast]!;
  for (const row of events.toSorted((a, b) => a.at - b.at || a.id - b.id)) {
    const { key } = PEOPLE(id)[row.person]!;
    // The alias is of the first app alone.
    const person = aliases && key === `u${id('old')}` && row.app === 0 ? `u${id('ann')}` : key;
    if (!sample || sample.parts.includes(partOf.get(person) ?? -1))
      people.set(person, [...(people.get(person) ?? []), row]);
  }
  return people;
}

async function insert(drawn: Drawn[], { cast }: DrawnFunnel): Promise<Row[]> {
  const people = PEOPLE(casts[cast]!.id);
  await store.db.query('DELETE FROM events WHERE entity_id = $1', [world.entity.id]);
  await insertSampleEvents(
    store.db,
    world.entity.id,
    drawn.map(({ person, app, name, logType, minute, detail }): SampleEvent => ({
      appId: apps[app]!,
      at: new Date(START + minute * MINUTE_MS),
      name,
      logType,
      user: people[person]!.user,
      device: people[person]!.device,
      detail: DETAILS[detail],
    })),
  );
  return drawn.map((one, id) => ({ ...one, id, at: START + one.minute * MINUTE_MS }));
}

function queryOf({ steps, breaks, minutes, aliases, sample }: DrawnFunnel): {
  query: FunnelQuery;
  exclusions: FunnelExclusion[];
} {
  const exclusions =
    breaks && steps.length > 1
      ? [{ after_step: Math.min(breaks.after, steps.length - 2), match_name: breaks.match_name }]
      : [];
  const events = eventsOfFunnel(steps, exclusions).map(({ appId, ...event }) => ({
    ...event,
    appId: apps[Number(appId)]!,
  }));
  const details = steps.map(({ match_details: objects }) => objects ?? []);
  return {
    exclusions,
    query: { events, details, from: FROM, until: UNTIL, maxSeconds: minutes * 60, aliases, sample, breakdown: null },
  };
}

/** As a part of another statement, whose own parameter comes first. */
async function peopleWith(query: FunnelQuery, outcome: StepOutcome): Promise<string[]> {
  const { values, add } = parameters();
  const prefix = add('');
  const { rows } = await store.db.query<{ person: string }>(
    `SELECT person FROM (${funnelPeopleSql(query, outcome, add)}) people WHERE starts_with(person, ${prefix}) ORDER BY person`,
    [world.entity.id, ...values],
  );
  return rows.map(({ person }) => person);
}

const RUNS = { numRuns: sampledRuns(300) };

it('finds every completion of every chain, its time from the latest start and its people, whatever the events and steps', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEvent, { maxLength: 18, size: 'max' }),
      aFunnel,
      fc.nat(3),
      async (drawn, funnel, nth) => {
        const rows = await insert(drawn, funnel);
        const { query, exclusions } = queryOf(funnel);
        const expected = funnel.steps.map(() => ({ people: 0, seconds: 0, lastAt: null as Date | null }));
        const times = funnel.steps.map(() => [] as number[]);
        const completers = funnel.steps.map(() => [] as string[]);
        for (const [key, person] of peopleOf(rows, funnel)) {
          for (const [step, completed] of completionsOf(
            person,
            funnel.steps,
            exclusions,
            funnel.minutes * MINUTE_MS,
          ).entries()) {
            const first = person.find((row) => completed.has(row));
            if (!first) continue;
            completers[step]!.push(key);
            const last = Math.max(...[...completed.keys()].map(({ at }) => at));
            const total = expected[step]!;
            total.people += 1;
            const { start, before } = completed.get(first)!;
            total.seconds += (first.at - start) / 1_000;
            if (step > 0) times[step]!.push((first.at - before) / 1_000);
            total.lastAt = new Date(Math.max(last, Number(total.lastAt ?? 0)));
          }
        }
        const eventsAtOnce = nth === 0 ? undefined : nth;
        const counted = await countFunnel(store.db, world.entity.id, query, { maxEventsAtOnce: eventsAtOnce });
        expect(counted).toMatchObject([{ property: null, steps: expected }]);
        for (const [nthStep, { sincePrevious }] of counted![0]!.steps.entries()) {
          const inOrder = times[nthStep]!.toSorted((a, b) => a - b);
          expect(sincePrevious!.quantile(0.5)).toEqual(inOrder[Math.ceil(inOrder.length / 2) - 1] ?? null);
        }
        const step = nth % funnel.steps.length;
        expect(await peopleWith(query, { step, outcome: 'completed' })).toEqual(completers[step]!.toSorted());
        if (step === 0) return;
        const dropped = completers[step - 1]!.filter((key) => !completers[step]!.includes(key));
        expect(await peopleWith(query, { step, outcome: 'dropped' })).toEqual(dropped.toSorted());
      },
    ),
    RUNS,
  );
});

it('explores what each person does first after a step, of each kind of event', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEvent, { maxLength: 18, size: 'max' }),
      aFunnel,
      fc.nat(3),
      async (drawn, funnel, nth) => {
        const rows = await insert(drawn, funnel);
        const { query, exclusions } = queryOf(funnel);
        const position = nth % funnel.steps.length;
        const expected = new Map<string, { people: number; seconds: number }>();
        for (const person of peopleOf(rows, funnel).values()) {
          const completed = completionsOf(person, funnel.steps, exclusions, funnel.minutes * MINUTE_MS)[position]!;
          const begin = person.findIndex((row) => completed.has(row));
          if (begin === -1) continue;
          const firsts = new Map<string, Row>();
          for (const row of person.slice(begin + 1)) {
            const key = `${apps[row.app]}/${row.logType}/${row.name}`;
            if (!firsts.has(key)) firsts.set(key, row);
          }
          for (const [key, row] of firsts) {
            const { people, seconds } = expected.get(key) ?? { people: 0, seconds: 0 };
            expected.set(key, { people: people + 1, seconds: seconds + (row.at - person[begin]!.at) / 1_000 });
          }
        }
        const found = await exploreFunnel(store.db, world.entity.id, query, { position, followed: apps });
        expect(
          Object.fromEntries(found.map(({ appId, logType, name, ...total }) => [`${appId}/${logType}/${name}`, total])),
        ).toEqual(Object.fromEntries(expected));
      },
    ),
    RUNS,
  );
});
