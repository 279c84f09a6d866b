import type { DetailPairs, StepEvent } from '../../domain/analytics/funnel.ts';
import { personSql } from './people.ts';

/** A funnel as it is asked of the events. */
export type FunnelQuery = {
  /** Each event that counts, of apps by their ids, once. */
  events: readonly (Omit<StepEvent, 'appId'> & { appId: number })[];
  /** Of each step what the event's detail must hold: one of these objects; none: anything. */
  details: readonly (readonly DetailPairs[])[];
  from: Date;
  /** Excluded. */
  until: Date;
  maxSeconds: number;
  aliases: boolean;
  /** Of people, one in so many is looked at. */
  oneIn: number;
  breakdown: Breakdown | null;
};

/** A property of the event, or a field of its device as it is now. */
export type Breakdown = { detail: string } | { device: BreakdownField };

const DEVICE_FIELDS = {
  app_version: 'app_version', os_version: 'os_version', sdk_version: 'sdk_version', device_model: 'device_model',
  device_type: 'device_type', country_code: 'country', language_code: 'lang',
} as const;
export type BreakdownField = keyof typeof DEVICE_FIELDS;
export const BREAKDOWN_FIELDS = Object.keys(DEVICE_FIELDS) as BreakdownField[];

/** One of the parts into which people are divided, by the hash of their key. */
export type Shard = { number: number; of: number };

/** Makes a value a parameter of the statement, `$2` or later. */
export type AddParameter = (value: unknown) => string;

/** `with`: the common table expressions of a statement; `levels`: a table in it; `person` with `joins`: whose an event `e` is. */
export type FunnelSql = { with: string; levels: string; joins: string; person: string };

/** The parameters of a statement whose $1 is the entity. */
export function parameters(): { values: unknown[]; add: AddParameter } {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value) + 1}` };
}

/**
 * Chains through the first `depth` steps. `levels` has a row for each event that counts, with `p<k>`: the start of the chain that
 * completes step k there; null: none does. A chain that starts later leaves more time, so each level takes the latest start that an
 * earlier row of the person has at the level before (`q<k-1>`): a completion that any chain reaches is then found. Along a person's rows
 * `p<k>` never falls, so the first completion has the least. All levels need the rows by person, time and id, so they are sorted once.
 * `person` also serves events of the apps `alsoOf`.
 */
export function funnelSql(
  query: FunnelQuery, depth: number, shard: Shard, add: AddParameter, alsoOf: readonly number[] = [],
): FunnelSql {
  const { events } = query;
  const apps = `${add([...new Set(events.map(({ appId }) => appId))])}::integer[]`;
  const { with: people, joins, person } = personSql(alsoOf.length === 0 ? apps : `${apps} || ${add(alsoOf)}::integer[]`, query);
  const stepCount = query.details.length;
  const kinds = `kinds (app_id, log_type, name, mask) AS (
    SELECT * FROM unnest(${add(events.map(({ appId }) => appId))}::integer[], ${add(events.map(({ logType }) => logType))}::smallint[],
      ${add(events.map(({ name }) => name))}::text[], ${add(events.map((event) => maskOf(event, stepCount)))}::bigint[]))`;
  const [property, device] = breakdownSql(query.breakdown, add);
  const matched = `SELECT ${person} COLLATE "C" AS person, e.happened_at AS at, e.id, ${refinedMask(query, add)} AS mask${property}
    FROM events e
    JOIN kinds k ON k.app_id = e.app_id AND k.log_type = e.log_type AND k.name COLLATE "C" = e.name
    ${joins} ${device}
    WHERE e.entity_id = $1 AND e.app_id = ANY (${apps}) AND e.happened_at >= ${add(query.from)} AND e.happened_at < ${add(query.until)}`;
  const counted = `SELECT * FROM (${matched}) matched
    WHERE mask <> 0 AND ${shardCondition(shard, query.oneIn)}`;
  const limit = depth === 1 ? '' : `${add(query.maxSeconds)}::float8 * interval '1 second'`;
  return {
    with: [...people, kinds].join(', '), joins, person,
    levels: levelsSql(counted, depth, limit, (step) =>
      (events.some(({ breaksAfter }) => breaksAfter.includes(step)) ? stepCount + step : null)),
  };
}

/** Those who completed a step, or the step before it (from 1) and not it. */
export type StepOutcome = { step: number; outcome: 'completed' | 'dropped' };

const EVERYBODY: Shard = { number: 0, of: 1 };

/** A query for the people with this outcome, each once, as `person`: their keys, as `personSql` makes them. $1 is the entity. */
export function funnelPeopleSql(query: FunnelQuery, { step, outcome }: StepOutcome, add: AddParameter): string {
  const { with: tables, levels } = funnelSql({ ...query, breakdown: null }, step + 1, EVERYBODY, add);
  const completed = outcome === 'completed' ? `count(p${step}) > 0` : `count(p${step - 1}) > 0 AND count(p${step}) = 0`;
  return `WITH ${tables} SELECT person FROM (${levels}) levels GROUP BY person HAVING ${completed}`;
}

/** A bit for each step, then one for each step after which the event breaks a chain. */
function maskOf({ steps, breaksAfter }: Pick<StepEvent, 'steps' | 'breaksAfter'>, stepCount: number): string {
  return String([...steps, ...breaksAfter.map((step) => stepCount + step)].reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n));
}

const bit = (number: number) => `(1::bigint << ${number})`;

/** Without the steps whose details the event does not have. */
function refinedMask({ details }: FunnelQuery, add: AddParameter): string {
  return details.reduce((mask, objects, step) => {
    if (objects.length === 0) return mask;
    return `(${mask} & CASE WHEN k.mask & ${bit(step)} <> 0 AND (${detailsSql(objects, add)}) IS NOT TRUE
      THEN ~${bit(step)} ELSE -1 END)`;
  }, 'k.mask');
}

/** Whether the detail of an event `e` matches one of these objects. */
export function detailsSql(objects: readonly DetailPairs[], add: AddParameter): string {
  const any = objects.map((pairs) => Object.entries(pairs).map(([key, value]) => pairSql(key, value, add)).join(' AND ') || 'true');
  return any.map((all) => `(${all})`).join(' OR ');
}

/** A number is also found as a text. */
function pairSql(key: string, value: DetailPairs[string], add: AddParameter): string {
  if (key === '') return `(jsonb_typeof(e.detail) = 'string' AND e.detail #>> '{}' = ${add(String(value))})`;
  const member = `${add(key)}::text`;
  if (value === null) return `e.detail ->> ${member} IS NULL`;
  return `(e.detail ->> ${member} = ${add(String(value))} OR e.detail -> ${member} = ${add(JSON.stringify(value))}::jsonb)`;
}

function breakdownSql(breakdown: Breakdown | null, add: AddParameter): [property: string, join: string] {
  if (breakdown === null) return ['', ''];
  if ('detail' in breakdown) return [`, e.detail ->> ${add(breakdown.detail)}::text AS property`, ''];
  return [`, dev.${DEVICE_FIELDS[breakdown.device]} AS property`,
    'LEFT JOIN devices dev ON dev.entity_id = $1 AND dev.app_id = e.app_id AND dev.device_id = e.device_id'];
}

/** The sample is drawn by another hash than the shards are. */
function shardCondition({ number, of }: Shard, oneIn: number): string {
  const shard = of === 1 ? 'true' : `abs(hashtextextended(person, 0) % ${of}) = ${number}`;
  return oneIn === 1 ? shard : `${shard} AND hashtextextended(person, 1) % ${oneIn} = 0`;
}

const EARLIER = `w AS (PARTITION BY person ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;

/** `exclusionBit` of a step: the bit of events that break chains after it; null: there are none. */
function levelsSql(counted: string, depth: number, limit: string, exclusionBit: (step: number) => number | null): string {
  let rows = `SELECT *, row_number() OVER (PARTITION BY person ORDER BY at, id) AS n, CASE WHEN mask & 1 <> 0 THEN at END AS p0
    FROM (${counted}) counted`;
  for (let step = 0; step < depth; step += 1) {
    const breaks = exclusionBit(step);
    const broken = breaks === null ? '' : `,
      max(n) FILTER (WHERE p${step} IS NOT NULL) OVER w AS reached${step},
      max(n) FILTER (WHERE mask & ${bit(breaks)} <> 0) OVER w AS broken${step}`;
    rows = `SELECT *, max(p${step}) OVER w AS q${step}${broken} FROM (${rows}) level${step} WINDOW ${EARLIER}`;
    if (step + 1 === depth) break;
    const unbroken = breaks === null ? '' : `AND (broken${step} IS NULL OR reached${step} >= broken${step})`;
    rows = `SELECT *, CASE WHEN mask & ${bit(step + 1)} <> 0 AND at <= q${step} + ${limit} ${unbroken} THEN q${step} END AS p${step + 1}
      FROM (${rows}) seen${step}`;
  }
  return rows;
}
