/** Counts funnels: SQL of their events, which parallel sessions read by person, and chains through their steps. */

import { type ChainRules, FunnelChains } from '../../domain/analytics/funnel-chains.ts';
import {
  type ChainsConsumer,
  FunnelCounts,
  type FunnelTotals,
  PeopleOfStep,
  type PersonOfStep,
  type StepOutcome,
} from '../../domain/analytics/funnel-counts.ts';
import type { Row } from '../core/camel-row.ts';
import type { Database, Tx } from '../core/database.ts';
import { TimeSlice } from '../core/yield-to-event-loop.ts';
import type { DetailPairs, StepEvent } from '../../domain/analytics/funnel.ts';
import { inShards, pagesOf, type Shard } from './funnel-sessions.ts';
import { personSql } from './people.ts';
import { isSampled, type Sample, sampledEvents, shareOfSample } from './sample.ts';

export type FunnelQuery = {
  events: readonly (Omit<StepEvent, 'appId'> & { appId: number })[];
  /** The objects of each step, one of which the detail must hold; an empty list: any detail; null: no event matches. */
  details: readonly (readonly DetailPairs[] | null)[];
  from: Date;
  until: Date;
  maxSeconds: number;
  aliases: boolean;
  /** The people that count; null: all. */
  sample: Sample | null;
  breakdown: Breakdown | null;
};

/** `week`: the UTC week of a person's first step, by its Monday. */
export type Breakdown = { detail: string } | { device: BreakdownField } | { week: true };

const DEVICE_FIELDS = {
  app_version: 'app_version',
  os_version: 'os_version',
  sdk_version: 'sdk_version',
  device_model: 'device_model',
  device_type: 'device_type',
  country_code: 'country',
  language_code: 'lang',
} as const;
export type BreakdownField = keyof typeof DEVICE_FIELDS;
export const BREAKDOWN_FIELDS = Object.keys(DEVICE_FIELDS) as BreakdownField[];

export type AddParameter = (value: unknown) => string;

/**
 * `person`, with `joins`: of an event `e` of `eventsOf` these apps. `mayCount`: false if the event alone shows that its
 * person is left out.
 */
type StatementParts = {
  with: string;
  eventsOf: (apps: string) => string;
  joins: string;
  person: string;
  mayCount: string;
};

export function parameters(): { values: unknown[]; add: AddParameter } {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value) + 1}` };
}

/**
 * Returns SQL for `counted`, with a row for each event that counts: `person`, `at`, `id`, `mask` (see `maskOf`), for a
 * breakdown `property`, and `hash` of the person, by which rows are sorted first: numbers sort faster than texts.
 * `person` also serves events of the apps `alsoOf`.
 */
function countedSql(
  query: FunnelQuery,
  shard: Shard,
  add: AddParameter,
  alsoOf: readonly number[] = [],
): StatementParts & { counted: string } {
  const { events, aliases } = query;
  const sample = query.sample && shareOfSample(query.sample, shard);
  const apps = `${add([...new Set(events.map(({ appId }) => appId))])}::integer[]`;
  const {
    with: people,
    joins,
    person,
    unjoined,
  } = personSql(alsoOf.length === 0 ? apps : `${apps} || ${add(alsoOf)}::integer[]`, { aliases, sample });
  const names = `${add(events.map(({ name }) => name))}::text[]`;
  const kinds = `kinds (app_id, log_type, name, mask) AS (
    SELECT * FROM unnest(${add(events.map(({ appId }) => appId))}::integer[], ${add(events.map(({ logType }) => logType))}::smallint[],
      ${names}, ${add(events.map(maskOf))}::bigint[]))`;
  const [property, device] = breakdownSql(query.breakdown, add);
  const isOfShard = shardCondition(shard, sample);
  const [from, until] = [add(query.from), add(query.until)];
  const eventsOf = (of: string) => (sample ? sampledEvents(of, { aliases, sample, from, until }) : 'events');
  // The planner expects every second event for an expression, and hardly any for a comparison. Sampled events have it.
  const mayCount = isOfShard === null || sample ? 'true' : `coalesce(${isOfShard(unjoined)}, true)`;
  // The names, which `kinds` has, too, tell the planner how many rows to expect.
  const matched = `SELECT e.happened_at AS at, e.id, ${refinedMask(query, add)} AS mask, ${person} COLLATE "C" AS person,
      ${unjoined} IS NOT NULL AS is_known${property}
    FROM ${eventsOf(apps)} e
    JOIN kinds k ON k.app_id = e.app_id AND k.log_type = e.log_type AND k.name COLLATE "C" = e.name
    ${joins} ${device}
    WHERE e.entity_id = $1 AND e.app_id = ANY (${apps}) AND e.happened_at >= ${from} AND e.happened_at < ${until}
      AND e.name = ANY (${names}) AND ${mayCount}`;
  return {
    with: [...people, kinds].join(', '),
    eventsOf,
    joins,
    person,
    mayCount,
    // OFFSET 0 keeps the columns of `person` out of the sort. `mayCount` has checked people that the event alone shows.
    counted: `SELECT ${hashOf('person')} AS hash, at, id, mask, person${property && ', property'} FROM (${matched}) matched
      WHERE mask <> 0 ${isOfShard === null ? '' : `AND (is_known OR coalesce(${isOfShard('person')}, false))`} OFFSET 0`,
  };
}

/**
 * Returns SQL for chains through the first `depth` steps. In each row of `levels`, `p<k>` is the start of the chain
 * that completes step k there, or null. A later start leaves more time, so each level takes the latest start of an
 * earlier row at the level before (`q<k-1>`): this finds every completion. `p<k>` never falls along a person's rows, so
 * the first completion has the least. All levels need rows by person, time and id: one sort serves them and `GROUP BY
 * hash, person`.
 */
function funnelSql(
  query: FunnelQuery,
  depth: number,
  shard: Shard,
  add: AddParameter,
  alsoOf: readonly number[] = [],
): StatementParts & { levels: string } {
  const { counted, ...parts } = countedSql(query, shard, add, alsoOf);
  const limit = depth === 1 ? '' : `${add(query.maxSeconds)}::float8 * interval '1 second'`;
  const isBroken = (step: number) => query.events.some(({ breaksAfter }) => breaksAfter.includes(step));
  return { ...parts, levels: levelsSql(counted, depth, limit, isBroken) };
}

const EVERYBODY: Shard = { number: 0, of: 1 };

/** Returns a query for the people with this outcome, each once, as `person` of `personSql`. $1 is the entity. */
export function funnelPeopleSql(query: FunnelQuery, { step, outcome }: StepOutcome, add: AddParameter): string {
  const { with: tables, levels } = funnelSql({ ...query, breakdown: null }, step + 1, EVERYBODY, add);
  const completed = outcome === 'completed' ? `count(p${step}) > 0` : `count(p${step - 1}) > 0 AND count(p${step}) = 0`;
  return `WITH ${tables} SELECT person FROM (${levels}) levels GROUP BY hash, person HAVING ${completed}`;
}

/** The upper half of a mask has the steps after which the event breaks a chain. */
const BREAKS_FROM = 32;

function maskOf({ steps, breaksAfter }: Pick<StepEvent, 'steps' | 'breaksAfter'>): string {
  return String(
    [...steps, ...breaksAfter.map((step) => BREAKS_FROM + step)].reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n),
  );
}

const bit = (number: number) => `(1::bigint << ${number})`;

function refinedMask({ details }: FunnelQuery, add: AddParameter): string {
  return details.reduce((mask, objects, step) => {
    if (objects === null) return `(${mask} & ~${bit(step)})`;
    if (objects.length === 0) return mask;
    return `(${mask} & CASE WHEN k.mask & ${bit(step)} <> 0 AND (${detailsSql(objects, add)}) IS NOT TRUE
      THEN ~${bit(step)} ELSE -1 END)`;
  }, 'k.mask');
}

export function detailsSql(objects: readonly DetailPairs[], add: AddParameter): string {
  const any = objects.map(
    (pairs) =>
      Object.entries(pairs)
        .map(([key, value]) => pairSql(key, value, add))
        .join(' AND ') || 'true',
  );
  return any.map((all) => `(${all})`).join(' OR ');
}

/** Finds a number also as a text. */
function pairSql(key: string, value: DetailPairs[string], add: AddParameter): string {
  if (key === '') return `(jsonb_typeof(e.detail) = 'string' AND e.detail #>> '{}' = ${add(String(value))})`;
  const member = `${add(key)}::text`;
  if (value === null) return `e.detail ->> ${member} IS NULL`;
  return `(e.detail ->> ${member} = ${add(String(value))} OR e.detail -> ${member} = ${add(JSON.stringify(value))}::jsonb)`;
}

function breakdownSql(breakdown: Breakdown | null, add: AddParameter): [property: string, join: string] {
  if (breakdown === null) return ['', ''];
  if ('detail' in breakdown) return [`, e.detail ->> ${add(breakdown.detail)}::text AS property`, ''];
  if ('week' in breakdown) {
    return [`, to_char(date_trunc('week', e.happened_at AT TIME ZONE 'UTC'), 'YYYY-MM-DD') AS property`, ''];
  }
  return [
    `, dev.${DEVICE_FIELDS[breakdown.device]} AS property`,
    'LEFT JOIN devices dev ON dev.entity_id = $1 AND dev.app_id = e.app_id AND dev.device_id = e.device_id',
  ];
}

const hashOf = (person: string) => `hashtextextended(${person}, 0)`;

/** Returns the condition for people of a shard, whose share of the sample this is; null: all people. */
function shardCondition({ number, of }: Shard, sample: Sample | null): ((person: string) => string) | null {
  if (sample) return (person) => isSampled(person, sample);
  return of === 1 ? null : (person) => `abs(${hashOf(person)} % ${of}) = ${number}`;
}

const EARLIER = `w AS (PARTITION BY hash, person ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;

function levelsSql(counted: string, depth: number, limit: string, isBroken: (step: number) => boolean): string {
  let rows = `SELECT *, row_number() OVER (PARTITION BY hash, person ORDER BY at, id) AS n, CASE WHEN mask & 1 <> 0 THEN at END AS p0
    FROM (${counted}) counted`;
  for (let step = 0; step + 1 < depth; step += 1) {
    const broken = isBroken(step)
      ? `,
      max(n) FILTER (WHERE p${step} IS NOT NULL) OVER w AS reached${step},
      max(n) FILTER (WHERE mask & ${bit(BREAKS_FROM + step)} <> 0) OVER w AS broken${step}`
      : '';
    const unbroken = isBroken(step) ? `AND (broken${step} IS NULL OR reached${step} >= broken${step})` : '';
    rows = `SELECT *, CASE WHEN mask & ${bit(step + 1)} <> 0 AND at <= q${step} + ${limit} ${unbroken} THEN q${step} END AS p${step + 1}
      FROM (SELECT *, max(p${step}) OVER w AS q${step}${broken} FROM (${rows}) level${step} WINDOW ${EARLIER}) seen${step}`;
  }
  return rows;
}

type Followed = Row<'events', 'appId' | 'logType' | 'name'> & { people: number; seconds: number };

/** Number of a person's events that come as one value; those of a person with more, mostly a robot, come one by one. */
const MAX_EVENTS_AT_ONCE = 5_000;
/** Number of people in a page, which has at most 8 MB and mostly a five hundredth of it. */
const PEOPLE_PER_PAGE = 100;
const EVENTS_PER_PAGE = 10_000;

/**
 * Counts the people who completed each step; null if the property has too many values. Postgres sorts each person's
 * events, but its window functions would take half of its time to find the chains. At most `maxEventsAtOnce` of a
 * person are in memory.
 */
export async function countFunnel(
  db: Database,
  entityId: number,
  query: FunnelQuery,
  { maxEventsAtOnce = MAX_EVENTS_AT_ONCE, signal }: { maxEventsAtOnce?: number; signal?: AbortSignal } = {},
): Promise<FunnelTotals[] | null> {
  const counts = new FunnelCounts(rulesOf(query), query.breakdown !== null);
  await followPeople(db, entityId, query, counts, { maxEventsAtOnce, signal });
  return counts.totals();
}

/** Lists people with this outcome, latest first, and counts all of them; memory is bounded as in `countFunnel`. */
export async function listPeopleOfStep(
  db: Database,
  entityId: number,
  query: FunnelQuery,
  { outcome, limit, signal }: { outcome: StepOutcome; limit: number; signal?: AbortSignal },
): Promise<{ people: number; listed: PersonOfStep[] }> {
  const found = new PeopleOfStep(rulesOf(query), outcome, limit);
  await followPeople(db, entityId, { ...query, breakdown: null }, found, { signal });
  return { people: found.people, listed: found.listed() };
}

const rulesOf = ({ details, maxSeconds }: FunnelQuery): ChainRules => ({
  steps: details.length,
  maxMicros: maxSeconds * 1e6,
});

async function followPeople(
  db: Database,
  entityId: number,
  query: FunnelQuery,
  consumer: ChainsConsumer,
  { maxEventsAtOnce = MAX_EVENTS_AT_ONCE, signal }: { maxEventsAtOnce?: number; signal?: AbortSignal | undefined },
): Promise<void> {
  await inShards(db, signal, async (session, shard) => {
    const part = { session, entityId, query, shard, consumer };
    const busy = await followMostPeople(part, maxEventsAtOnce);
    if (busy.length > 0) await followBusyPeople(part, busy);
  });
}

/** Bytes of an event: its time in microseconds since 2000, and its mask. */
const EVENT_BYTES = 16;
const PACKED = 'timestamptz_send(at) || int8send(mask)';

type Part = { session: Tx; entityId: number; query: FunnelQuery; shard: Shard; consumer: ChainsConsumer };

async function followMostPeople(
  { session, entityId, query, shard, consumer }: Part,
  maxEventsAtOnce: number,
): Promise<string[]> {
  const { values, add } = parameters();
  const { with: tables, counted } = countedSql(query, shard, add);
  const tooMany = `count(*) > ${maxEventsAtOnce}`;
  const property = query.breakdown
    ? '(array_agg(property ORDER BY at, id) FILTER (WHERE mask & 1 <> 0))[1]'
    : 'NULL::text';
  const statement = `WITH ${tables} SELECT person, ${property} AS property, ${tooMany} AS busy,
      CASE WHEN NOT ${tooMany} THEN string_agg(${PACKED}, '' ORDER BY at, id) END AS events
    FROM (${counted}) counted GROUP BY hash, person`;
  const busy: string[] = [];
  type Row = { person: string; property: string | null; busy: boolean; events: Buffer | null };
  const slice = new TimeSlice();
  for await (const rows of pagesOf<Row>(session, 'people', statement, [entityId, ...values], PEOPLE_PER_PAGE)) {
    for (const { person, property: value, busy: isBusy, events } of rows) {
      if (isBusy) busy.push(person);
      else consumer.add(person, value, followAll(new FunnelChains(consumer.rules), events!));
      if (slice.isOver) await slice.next();
    }
  }
  return busy;
}

async function followBusyPeople({ session, entityId, query, shard, consumer }: Part, people: string[]): Promise<void> {
  const { values, add } = parameters();
  const { with: tables, counted } = countedSql(query, shard, add);
  const property = query.breakdown ? 'CASE WHEN mask & 1 <> 0 THEN property END' : 'NULL::text';
  const statement = `WITH ${tables} SELECT person, mask & 1 <> 0 AS starts, ${property} AS property, ${PACKED} AS events
    FROM (${counted}) counted WHERE person = ANY (${add(people)}) ORDER BY person, at, id`;
  type Row = { person: string; starts: boolean; property: string | null; events: Buffer };
  let last = null as { person: string; chains: FunnelChains; property: string | null; hasStarted: boolean } | null;
  for await (const rows of pagesOf<Row>(session, 'busy_people', statement, [entityId, ...values], EVENTS_PER_PAGE)) {
    for (const { person, starts, property: value, events } of rows) {
      if (last?.person !== person) {
        if (last) consumer.add(last.person, last.property, last.chains);
        last = { person, chains: new FunnelChains(consumer.rules), property: null, hasStarted: false };
      }
      if (starts && !last.hasStarted) Object.assign(last, { property: value, hasStarted: true });
      followAll(last.chains, events);
    }
  }
  if (last) consumer.add(last.person, last.property, last.chains);
}

function followAll(chains: FunnelChains, events: Buffer): FunnelChains {
  for (let offset = 0; offset < events.length; offset += EVENT_BYTES) {
    const micros = events.readInt32BE(offset) * 2 ** 32 + events.readUInt32BE(offset + 4);
    chains.follow(micros, events.readInt32BE(offset + 12), events.readInt32BE(offset + 8));
  }
  return chains;
}

/**
 * Counts, by kind of event, people with one after they first completed the step, and the seconds; most first. With
 * `onlyDropped` only people who did not complete the next step.
 */
export async function exploreFunnel(
  db: Database,
  entityId: number,
  query: FunnelQuery,
  {
    position,
    onlyDropped = false,
    followed,
    signal,
  }: { position: number; onlyDropped?: boolean; followed: readonly number[]; signal?: AbortSignal },
): Promise<Followed[]> {
  const totals = new Map<string, Followed>();
  await inShards(db, signal, async (session, shard) => {
    const { values, add } = parameters();
    const {
      with: tables,
      levels,
      eventsOf,
      joins,
      person,
      mayCount,
    } = funnelSql({ ...query, breakdown: null }, position + (onlyDropped ? 2 : 1), shard, add, followed);
    const ofNext = onlyDropped
      ? `SELECT *, count(p${position + 1}) OVER (PARTITION BY hash, person) AS went_on FROM (${levels}) all_levels`
      : levels;
    const isListed = onlyDropped ? 'AND went_on = 0' : '';
    const among = `${add(followed)}::integer[]`;
    const { rows } = await session.query<Followed>(
      `WITH ${tables}, completed AS MATERIALIZED (
          SELECT DISTINCT ON (hash, person) person, at, id FROM (${ofNext}) levels WHERE p${position} IS NOT NULL ${isListed}
          ORDER BY hash, person, at, id)
        SELECT app_id AS "appId", log_type AS "logType", name, count(*) AS people, sum(extract(epoch FROM first_at - at))::float8 AS seconds
        FROM (
          SELECT e.app_id, e.log_type, e.name, c.person, c.at, min(e.happened_at) AS first_at
          FROM ${eventsOf(among)} e ${joins} JOIN completed c ON c.person = ${person}
          WHERE e.entity_id = $1 AND e.app_id = ANY (${among}) AND ${mayCount}
            AND e.happened_at >= ${add(query.from)} AND e.happened_at < ${add(query.until)} AND (e.happened_at, e.id) > (c.at, c.id)
          GROUP BY e.app_id, e.log_type, e.name, c.person, c.at) firsts
        GROUP BY app_id, log_type, name`,
      [entityId, ...values],
    );
    for (const row of rows) {
      const key = JSON.stringify([row.appId, row.logType, row.name]);
      const one = totals.get(key);
      totals.set(key, one ? { ...one, people: one.people + row.people, seconds: one.seconds + row.seconds } : row);
    }
  });
  return [...totals.values()].sort((a, b) => b.people - a.people || (a.name < b.name ? -1 : 1));
}
