/** Sources of exported attributes: existing values, and their changes. */
import type { ValueType } from '../../../domain/attributes/attribute-value.ts';
import { CUSTOMER_TYPE_CODE } from '../../attributes/attribute-values.ts';
import type { Row } from '../../core/camel-row.ts';
import type { Queryable } from '../../core/database.ts';
import { isoUtc } from '../../core/iso-time.ts';
import { type ExportScope, inWindow, literal, literalList } from './export-scope.ts';
import { copyStatement, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

export type NamedAttributes = ReadonlyMap<number, readonly [sor: string, attribute: string, key: string]>;

export async function listNamedAttributes(
  session: Queryable,
  { entityId, sors }: ExportScope,
  valueType?: ValueType,
): Promise<NamedAttributes> {
  const { rows } = await session.query<Row<'customer_attributes', 'id' | 'key'> & { sor: string; attribute: string }>(
    `SELECT a.id, s.identifier AS sor, a.identifier AS attribute, a.key
     FROM customer_attributes a JOIN systems_of_records s ON s.entity_id = a.entity_id AND s.id = a.sor_id
     WHERE a.entity_id = $1 AND a.sor_id = ANY ($2) AND a.deleted_at IS NULL AND s.deleted_at IS NULL
       AND ($3::text IS NULL OR a.value_type = $3) ORDER BY a.id`,
    [entityId, sors.map(({ id }) => id), valueType ?? null],
  );
  return new Map(rows.map(({ id, sor, attribute, key }) => [id, [sor, attribute, key]]));
}

/** Returns SQL for the names of a row `r`; a JSON map is searched by halves, a join takes twice as long. */
function joinNames(named: NamedAttributes): string {
  const byId = literal(JSON.stringify(Object.fromEntries(named)));
  return `CROSS JOIN LATERAL (SELECT ${byId}::jsonb -> r.attribute_id::text AS names OFFSET 0) named`;
}

/** A value as an import reads it (docs/imports.md, "Values"); removed: NULL, a Set without elements: empty. */
const VALUE = `coalesce(r.string_value, r.number_value::text, r.boolean_value::text, r.date_value::text, ${isoUtc('r.datetime_value')},
  array_to_string(r.set_elements, ';'))`;

/** True: the text of row `r`'s Set is ambiguous, since an element has a `;` or is empty. */
export const IS_AMBIGUOUS_SET = `(strpos(array_to_string(r.set_elements, ''), ';') > 0 OR '' = ANY (r.set_elements))`;

/** A Set as an array: an element may contain the delimiter. */
const JSON_VALUE = `CASE WHEN r.set_elements IS NULL THEN to_json(${VALUE}) ELSE to_json(r.set_elements) END`;

const CUSTOMER_TYPE = `CASE r.customer_type ${Object.entries(CUSTOMER_TYPE_CODE)
  .map(([type, code]) => `WHEN ${code} THEN ${literal(type)}`)
  .join(' ')} END`;

const attributeColumns = ({ format }: ExportScope): string =>
  selectList(
    'attributes',
    {
      system_of_record_identifier: 'named.names ->> 0',
      customer_attribute_identifier: 'named.names ->> 1',
      customer_attribute_key: 'named.names ->> 2',
      customer_attribute_value: format === 'jsonl' ? JSON_VALUE : VALUE,
      customer_id_type: CUSTOMER_TYPE,
      customer_id: 'r.customer_id',
      changed_at: 'r.changed_at',
      removed: 'r.removed_at IS NOT NULL',
      customer_attribute_elements: 'r.set_elements',
    },
    format,
  );

/** Returns the source of existing values; a removal dates `changed_at`, too. */
export const attributes = (named: NamedAttributes): TableSource => ({
  table: 'attribute_values',
  isPartitioned: false,
  condition: ({ entityId, sors, window }) =>
    `r.entity_id = ${literal(entityId)} AND r.sor_id = ${literalList(sors.map(({ id }) => id))}
     AND r.attribute_id = ${literalList([...named.keys()])} AND ${inWindow('r.changed_at', window)}`,
  joins: () => joinNames(named),
  countedJoins: noJoins,
  columns: attributeColumns,
});

/** Continues after this moment, in Postgres's text with its microseconds. No customer's id. */
export type LogCheckpoint = { changedSince: string };

/** Bytes that one statement reads of the log: some thousand customers, or one transaction's changes. */
const BYTES_AT_ONCE = 256 * 1024;

const MOMENTS = 1_000;

type Moment = { at: string; bytes: number };

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

/** Lists the next moments at which something of the scope's SoRs changed, by the log's key. */
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

/** Reads each customer's values by key; those dated as the entry belong to it, others changed again since. */
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
