/** Counts of segments: people, devices, and those that a push can reach. */

import { type Database, read } from '../core/database.ts';
import { memberSql, type SegmentQuery, type SegmentSql, segmentSql } from './segment-sql.ts';
import type { Row } from '../core/camel-row.ts';

export type SegmentCounts = Row<
  'segments',
  'peopleCount' | 'peopleTotal' | 'peoplePush' | 'reachCount' | 'reachOptin' | 'reachToken' | 'reachTotal'
>;

/** Memory for each hash and sort of a statement; larger ones use files. */
const SEGMENT_MEMORY = '64MB';

/** Settings of a transaction: a time limit, and no comparison of two sets of people one by one. */
export const segmentSettings = (timeoutMs: number): string => `SET LOCAL transaction_timeout = 0;
  SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL work_mem = '${SEGMENT_MEMORY}'; SET LOCAL jit = off;
  SET LOCAL enable_nestloop = off; SET LOCAL client_connection_check_interval = '2s'`;

export function countFiltered(
  db: Database,
  entityId: number,
  query: SegmentQuery,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<SegmentCounts> {
  return countIn(db, entityId, segmentSql(query), query.appId, timeoutMs, signal);
}

export function countMembers(
  db: Database,
  entityId: number,
  { appId, id }: { appId: number; id: number },
  timeoutMs: number,
): Promise<SegmentCounts> {
  return countIn(db, entityId, memberSql(appId, id), appId, timeoutMs);
}

async function countIn(
  db: Database,
  entityId: number,
  { with: tables, matched, values, add, ofDevice }: SegmentSql,
  appId: number,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<SegmentCounts> {
  const text = `WITH ${tables}, matched AS MATERIALIZED (${matched}),
    reached AS (
      SELECT m.person, count(*) AS devices, count(*) FILTER (WHERE d.opt_in) AS optin,
        count(*) FILTER (WHERE d.push_token IS NOT NULL) AS token, bool_or(d.opt_in AND d.push_token IS NOT NULL) AS by_push
      FROM devices d ${ofDevice.joins} LEFT JOIN matched m ON m.person = ${ofDevice.person}
      WHERE d.entity_id = $1 AND d.app_id = ${add(appId)}::integer AND d.uninstalled IS NOT TRUE
      GROUP BY m.person)
    SELECT (SELECT count(*) FROM matched) AS "peopleCount", (SELECT count(*) FROM people) AS "peopleTotal",
      count(*) FILTER (WHERE person IS NOT NULL AND by_push) AS "peoplePush",
      ${total('devices', true)} AS "reachCount", ${total('optin', true)} AS "reachOptin", ${total('token', true)} AS "reachToken",
      ${total('devices', false)} AS "reachTotal"
    FROM reached`;
  return read(db, async (tx) => (await tx.query<SegmentCounts>(text, [entityId, ...values])).rows[0]!, {
    settings: segmentSettings(timeoutMs),
    signal,
  });
}

const total = (column: string, ofMatched: boolean): string =>
  `coalesce(sum(${column})${ofMatched ? ' FILTER (WHERE person IS NOT NULL)' : ''}, 0)::bigint`;
