import type { ValueType } from '../../../domain/attributes/attribute-value.ts';
import { CUSTOMER_TYPE_CODE } from '../../attributes/attribute-values.ts';
import type { Row } from '../../core/camel-row.ts';
import type { Queryable } from '../../core/database.ts';
import { isoUtc } from '../../core/iso-time.ts';
import { type ExportScope, inWindow, literal, literalList } from './export-scope.ts';
import { selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

/** By id: the identifiers of an attribute's SoR and of itself, and its key. */
export type NamedAttributes = ReadonlyMap<number, readonly [sor: string, attribute: string, key: string]>;

/** Returns the attributes of the scope's Systems of Records, all or those of one type; none that is deleted. */
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

/** What a row `r` is called. A map of JSON is searched by halves; a join would take twice as long. */
export function joinNames(named: NamedAttributes): string {
  const byId = literal(JSON.stringify(Object.fromEntries(named)));
  return `CROSS JOIN LATERAL (SELECT ${byId}::jsonb -> r.attribute_id::text AS names OFFSET 0) named`;
}

/**
 * As an import reads it: docs/imports.md, "Values". A value that was removed is NULL, a Set without elements an empty
 * text.
 */
const VALUE = `coalesce(r.string_value, r.number_value::text, r.boolean_value::text, r.date_value::text, ${isoUtc('r.datetime_value')},
  array_to_string(r.set_elements, ';'))`;

/** Whether the text of a row `r`'s Set gives other elements back: one of them has a `;`, or is empty. */
export const IS_AMBIGUOUS_SET = `(strpos(array_to_string(r.set_elements, ''), ';') > 0 OR '' = ANY (r.set_elements))`;

/** A Set as an array: an element may have the mark in it that stands between elements of a text. */
const JSON_VALUE = `CASE WHEN r.set_elements IS NULL THEN to_json(${VALUE}) ELSE to_json(r.set_elements) END`;

const CUSTOMER_TYPE = `CASE r.customer_type ${Object.entries(CUSTOMER_TYPE_CODE)
  .map(([type, code]) => `WHEN ${code} THEN ${literal(type)}`)
  .join(' ')} END`;

/** What a row `r` of attribute_values becomes beside its names. */
export const attributeColumns = ({ format }: ExportScope): string =>
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

/** Of values that there are. A removal dates `changed_at`, too. */
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
