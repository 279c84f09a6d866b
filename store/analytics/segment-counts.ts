/** Counts of segments: people, devices, and those that a push can reach; exact, or of a sample. */
import type { Row } from '../core/camel-row.ts';
import { type Database, read } from '../core/database.ts';
import { isSampled } from './sample.ts';
import {
  type Asked,
  devicesSql,
  memberSql,
  segmentSettings,
  segmentSql,
  type SegmentQuery,
  type SegmentSql,
} from './segment-sql.ts';

export type SegmentCounts = Row<
  'segments',
  'peopleCount' | 'peopleTotal' | 'peoplePush' | 'reachCount' | 'reachOptin' | 'reachToken' | 'reachTotal'
>;

/** `left`: people that each filter and those before it find, if asked for. */
export type FilteredCounts = SegmentCounts & { left: number[] | null };
type Bounds = { timeoutMs: number; signal?: AbortSignal };

/** Counts people and devices; with a sample those in it. */
export async function countFiltered(
  db: Database,
  entityId: number,
  query: SegmentQuery,
  { hasLeft = false, ...bounds }: Bounds & { hasLeft?: boolean },
): Promise<FilteredCounts> {
  const { upTo, sets, ...sql } = segmentSql(query);
  const counted = { ...sql, sample: query.sample ?? null, aliases: query.aliases ?? false };
  if (!hasLeft || upTo.length === 0) {
    return { ...(await countIn(db, entityId, counted, query.appId, bounds)), left: hasLeft ? [] : null };
  }
  const bit = (index: number) => `(1::bigint << ${index})`;
  const mask = upTo.map((condition, index) => `CASE WHEN ${condition} THEN ${bit(index)} ELSE 0 END`).join(' | ');
  const marked = `marked AS MATERIALIZED (
    SELECT * FROM (SELECT p.person, ${mask} AS mask FROM people p ${sets}) each WHERE mask <> 0)`;
  const left = upTo.map((_, index) => `count(*) FILTER (WHERE mask & ${bit(index)} <> 0)`).join(', ');
  return countIn<FilteredCounts>(
    db,
    entityId,
    {
      ...counted,
      with: `${sql.with}, ${marked}`,
      matched: `SELECT person FROM marked WHERE mask & ${bit(upTo.length - 1)} <> 0`,
      also: `, (SELECT ARRAY[${left}]::integer[] FROM marked) AS left`,
    },
    query.appId,
    bounds,
  );
}

export function countMembers(
  db: Database,
  entityId: number,
  { appId, id }: { appId: number; id: number },
  timeoutMs: number,
): Promise<SegmentCounts> {
  return countIn(db, entityId, { ...memberSql(appId, id), sample: null, aliases: false }, appId, { timeoutMs });
}

type CountedSql = SegmentSql & Pick<Asked, 'sample' | 'aliases'> & { also?: string };

async function countIn<Counts extends SegmentCounts = SegmentCounts>(
  db: Database,
  entityId: number,
  { with: tables, matched, values, add, ofDevice, also = '', aliases, sample }: CountedSql,
  appId: number,
  { timeoutMs, signal }: Bounds,
): Promise<Counts> {
  const app = `${add(appId)}::integer`;
  const inSample = sample ? `AND ${isSampled(ofDevice.person, sample)}` : '';
  const text = `WITH ${tables}, matched AS MATERIALIZED (${matched}),
    reached AS (
      SELECT m.person, count(*) AS devices, count(*) FILTER (WHERE d.opt_in) AS optin,
        count(*) FILTER (WHERE d.push_token IS NOT NULL) AS token, bool_or(d.opt_in AND d.push_token IS NOT NULL) AS by_push
      FROM ${devicesSql(app, { aliases, sample })} d ${ofDevice.joins} LEFT JOIN matched m ON m.person = ${ofDevice.person}
      WHERE d.entity_id = $1 AND d.app_id = ${app} AND d.uninstalled IS NOT TRUE ${inSample}
      GROUP BY m.person)
    SELECT (SELECT count(*) FROM matched) AS "peopleCount", (SELECT count(*) FROM people) AS "peopleTotal",
      count(*) FILTER (WHERE person IS NOT NULL AND by_push) AS "peoplePush",
      ${total('devices', true)} AS "reachCount", ${total('optin', true)} AS "reachOptin", ${total('token', true)} AS "reachToken",
      ${total('devices', false)} AS "reachTotal"${also}
    FROM reached`;
  return read(db, async (tx) => (await tx.query<Counts>(text, [entityId, ...values])).rows[0]!, {
    settings: segmentSettings(timeoutMs),
    signal,
  });
}

const total = (column: string, ofMatched: boolean): string =>
  `coalesce(sum(${column})${ofMatched ? ' FILTER (WHERE person IS NOT NULL)' : ''}, 0)::bigint`;
