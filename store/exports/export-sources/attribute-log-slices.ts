import type { Queryable } from '../../core/database.ts';
import { attributeColumns, joinNames, type NamedAttributes } from './attributes.ts';
import { type ExportScope, inWindow, literal, literalList } from './export-scope.ts';
import { copyStatement } from './printed.ts';

/**
 * Behind all that changed before this moment, in Postgres's text: a Date would cut its microseconds off. No customer's
 * id.
 */
export type LogCheckpoint = { changedSince: string };

/** What one statement takes of the log: some thousand customers, or all that one transaction changed. */
const BYTES_AT_ONCE = 256 * 1024;
/** Moments that are looked at together. */
const MOMENTS = 1_000;

type Moment = { at: string; bytes: number };

/**
 * Reads the values that changed within the window by the change log, in the order of their change; `source` is the FROM
 * of rows `r`.
 */
export async function* sliceLog(
  session: Queryable,
  named: NamedAttributes,
  scope: ExportScope,
  from: LogCheckpoint | null,
): AsyncGenerator<{ source: string; statement: string; next: LogCheckpoint }> {
  const end = scope.window.end.toISOString();
  let since = from?.changedSince ?? scope.window.start!.toISOString();
  let bytes = 0;
  for (let unread = since; ;) {
    const moments = await listMoments(session, scope, unread);
    const isEnd = moments.length < MOMENTS;
    for (const [index, moment] of (isEnd ? moments : moments.slice(0, -1)).entries()) {
      bytes += moment.bytes;
      const next = moments[index + 1]?.at ?? end;
      if (bytes < BYTES_AT_ONCE && next !== end) continue;
      const source = changedFrom(scope, named, since, next);
      const statement = copyStatement(`SELECT ${attributeColumns(scope)} ${source}`, scope.format);
      yield { source, statement, next: { changedSince: next } };
      since = next;
      bytes = 0;
    }
    if (isEnd) return;
    unread = moments.at(-1)!.at;
  }
}

/**
 * The next moments at which something of the scope's SoRs changed, by the log's key. Arrays are not read for their
 * size.
 */
async function listMoments(session: Queryable, scope: ExportScope, since: string): Promise<Moment[]> {
  const { rows } = await session.query<Moment>(
    `SELECT received_at::text AS at, sum(pg_column_size(customer_ids))::bigint AS bytes FROM attribute_change_log
     WHERE ${inLog(scope)} AND received_at >= ${literal(since)}::timestamptz
     GROUP BY received_at ORDER BY received_at LIMIT ${MOMENTS}`,
  );
  return rows;
}

function inLog({ entityId, sors, window }: ExportScope): string {
  return `entity_id = ${literal(entityId)} AND sor_id = ${literalList(sors.map(({ id }) => id))} AND ${inWindow('received_at', window)}`;
}

/**
 * Each customer's values are one range of their key. Those dated as the entry are what it tells of: others changed
 * again since. One transaction may have several entries, and a customer stands in one for each value.
 */
function changedFrom(scope: ExportScope, named: NamedAttributes, since: string, until: string): string {
  return `FROM (
      SELECT DISTINCT l.received_at, l.sor_id, u.customer_id, l.customer_type
      FROM attribute_change_log l CROSS JOIN LATERAL unnest(l.customer_ids) AS u (customer_id)
      WHERE ${inLog(scope)} AND l.received_at >= ${literal(since)}::timestamptz AND l.received_at < ${literal(until)}::timestamptz
        AND u.customer_id IS NOT NULL
      ORDER BY l.received_at, l.sor_id, u.customer_id, l.customer_type OFFSET 0) k
    CROSS JOIN LATERAL (
      SELECT v.* FROM attribute_values v
      WHERE v.entity_id = ${literal(scope.entityId)} AND v.sor_id = k.sor_id AND v.customer_id = k.customer_id
        AND v.customer_type = k.customer_type AND v.changed_at = k.received_at AND v.attribute_id = ${literalList([...named.keys()])}
      ORDER BY v.attribute_id OFFSET 0) r ${joinNames(named)}`;
}
