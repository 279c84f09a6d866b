/** SQL of funnels: the events that count, and chains of steps by window functions. */

import type { DetailPairs, StepEvent } from '../../domain/analytics/funnel.ts';
import { personSql } from './people.ts';

/** A funnel with the ids of its apps. */
export type FunnelQuery = {
  /** Each event that counts, once. */
  events: readonly (Omit<StepEvent, 'appId'> & { appId: number })[];
  /** For each step the objects of which the detail must hold one; an empty list: any detail; null: no event matches. */
  details: readonly (readonly DetailPairs[] | null)[];
  from: Date;
  /** Not included. */
  until: Date;
  maxSeconds: number;
  aliases: boolean;
  /** Looks at one person in this many. */
  oneIn: number;
  breakdown: Breakdown | null;
};

/** A property of the event, or a current field of its device. */
export type Breakdown = { detail: string } | { device: BreakdownField };

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

/** One of the parts into which people are divided, by a hash of their key. */
export type Shard = { number: number; of: number };

/** Adds a value as a parameter of the statement, `$2` or later. */
export type AddParameter = (value: unknown) => string;

/**
 * `with`: common table expressions. `person`, with `joins`: the person of an event `e`. `mayCount`: false for events of
 * people that are left out, if the event alone shows it.
 */
type StatementParts = { with: string; joins: string; person: string; mayCount: string };

/** Returns the parameters of a statement whose $1 is the entity. */
export function parameters(): { values: unknown[]; add: AddParameter } {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value) + 1}` };
}

/**
 * Returns SQL for `counted`, with a row for each event that counts: `person`, `at`, `id`, `mask` (see `maskOf`), for a
 * breakdown `property`, and `hash` of the person, by which rows are sorted first: numbers sort faster than texts.
 * `person` also serves events of the apps `alsoOf`.
 */
export function countedSql(
  query: FunnelQuery,
  shard: Shard,
  add: AddParameter,
  alsoOf: readonly number[] = [],
): StatementParts & { counted: string } {
  const { events } = query;
  const apps = `${add([...new Set(events.map(({ appId }) => appId))])}::integer[]`;
  const {
    with: people,
    joins,
    person,
    unjoined,
  } = personSql(alsoOf.length === 0 ? apps : `${apps} || ${add(alsoOf)}::integer[]`, query);
  const names = `${add(events.map(({ name }) => name))}::text[]`;
  const kinds = `kinds (app_id, log_type, name, mask) AS (
    SELECT * FROM unnest(${add(events.map(({ appId }) => appId))}::integer[], ${add(events.map(({ logType }) => logType))}::smallint[],
      ${names}, ${add(events.map(maskOf))}::bigint[]))`;
  const [property, device] = breakdownSql(query.breakdown, add);
  const isOfShard = shardCondition(shard, query.oneIn);
  // The planner expects every second event for an expression, and hardly any for a comparison.
  const mayCount = isOfShard === null ? 'true' : `coalesce(${isOfShard(unjoined)}, true)`;
  // The names, which `kinds` has, too, tell the planner how many rows to expect.
  const matched = `SELECT e.happened_at AS at, e.id, ${refinedMask(query, add)} AS mask, ${person} COLLATE "C" AS person${property}
    FROM events e
    JOIN kinds k ON k.app_id = e.app_id AND k.log_type = e.log_type AND k.name COLLATE "C" = e.name
    ${joins} ${device}
    WHERE e.entity_id = $1 AND e.app_id = ANY (${apps}) AND e.happened_at >= ${add(query.from)} AND e.happened_at < ${add(query.until)}
      AND e.name = ANY (${names}) AND ${mayCount}`;
  return {
    with: [...people, kinds].join(', '),
    joins,
    person,
    mayCount,
    // OFFSET 0 keeps the columns of `person` out of the sort.
    counted: `SELECT ${hashOf('person')} AS hash, * FROM (${matched}) matched
      WHERE mask <> 0 ${isOfShard === null ? '' : `AND coalesce(${isOfShard('person')}, false)`} OFFSET 0`,
  };
}

/**
 * Returns SQL for chains through the first `depth` steps. `levels` has a row for each event that counts, with `p<k>`:
 * the start of the chain that completes step k there, or null. A chain that starts later leaves more time, so each
 * level takes the latest start of an earlier row of the person at the level before (`q<k-1>`): this finds every
 * completion that any chain reaches. `p<k>` never falls along a person's rows, so the first completion has the least.
 * All levels need rows by person, time and id, so one sort serves them and `GROUP BY hash, person`.
 */
export function funnelSql(
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

/** People who completed a step, or only the step before it (from 1). */
export type StepOutcome = { step: number; outcome: 'completed' | 'dropped' };

const EVERYBODY: Shard = { number: 0, of: 1 };

/**
 * Returns a query for the people with this outcome, each once, as `person`: the key from `personSql`. $1 is the entity.
 */
export function funnelPeopleSql(query: FunnelQuery, { step, outcome }: StepOutcome, add: AddParameter): string {
  const { with: tables, levels } = funnelSql({ ...query, breakdown: null }, step + 1, EVERYBODY, add);
  const completed = outcome === 'completed' ? `count(p${step}) > 0` : `count(p${step - 1}) > 0 AND count(p${step}) = 0`;
  return `WITH ${tables} SELECT person FROM (${levels}) levels GROUP BY hash, person HAVING ${completed}`;
}

/** The upper half of a mask has the steps after which the event breaks a chain. */
const BREAKS_FROM = 32;

/** Returns a mask; its lower half has a bit for each step that the event may complete. */
function maskOf({ steps, breaksAfter }: Pick<StepEvent, 'steps' | 'breaksAfter'>): string {
  return String(
    [...steps, ...breaksAfter.map((step) => BREAKS_FROM + step)].reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n),
  );
}

const bit = (number: number) => `(1::bigint << ${number})`;

/** Removes steps whose details the event lacks. */
function refinedMask({ details }: FunnelQuery, add: AddParameter): string {
  return details.reduce((mask, objects, step) => {
    if (objects === null) return `(${mask} & ~${bit(step)})`;
    if (objects.length === 0) return mask;
    return `(${mask} & CASE WHEN k.mask & ${bit(step)} <> 0 AND (${detailsSql(objects, add)}) IS NOT TRUE
      THEN ~${bit(step)} ELSE -1 END)`;
  }, 'k.mask');
}

/** Returns SQL for whether an event's detail matches one of these objects. */
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
  return [
    `, dev.${DEVICE_FIELDS[breakdown.device]} AS property`,
    'LEFT JOIN devices dev ON dev.entity_id = $1 AND dev.app_id = e.app_id AND dev.device_id = e.device_id',
  ];
}

const hashOf = (person: string) => `hashtextextended(${person}, 0)`;

/** Returns the condition of a shard; null: all people. The sample uses another hash than the shards. */
function shardCondition({ number, of }: Shard, oneIn: number): ((person: string) => string) | null {
  if (of === 1 && oneIn === 1) return null;
  return (person) =>
    [
      ...(of === 1 ? [] : [`abs(${hashOf(person)} % ${of}) = ${number}`]),
      ...(oneIn === 1 ? [] : [`hashtextextended(${person}, 1) % ${oneIn} = 0`]),
    ].join(' AND ');
}

const EARLIER = `w AS (PARTITION BY hash, person ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;

/** `isBroken`: returns whether events break chains after a step. */
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
