import pg from 'pg';
import type { PostgresStream } from './postgres-stream.ts';

const name = pg.escapeIdentifier;

/** Its only parameter is the rows, a JSON array of objects; both statements give the ordinals, from 1, of rows that they changed. */
const INPUT = (table: string) => `input AS MATERIALIZED (
    SELECT item.ordinal, row
    FROM json_array_elements($1::json) WITH ORDINALITY AS item (value, ordinal), json_populate_record(NULL::${table}, item.value) AS row
  )`;

const sameKey = (key: string[], other: string) => key.map((part) => `(input.row).${name(part)} = ${other}.${name(part)}`).join(' AND ');

/**
 * Writes rows of these columns, no key twice. It relies on a unique index over the columns of the key. A row that
 * would become what it is isn't written: values are compared as their texts, which every type has.
 */
export function upsertStatement({ from: table }: PostgresStream, key: string[], columns: string[]): string {
  const rest = columns.filter((column) => !key.includes(column));
  const change = rest.length === 0 ? 'NOTHING' : `UPDATE
      SET ${rest.map((column) => `${name(column)} = EXCLUDED.${name(column)}`).join(', ')}
      WHERE ${rest.map((column) => `held.${name(column)}::text IS DISTINCT FROM EXCLUDED.${name(column)}::text`).join(' OR ')}`;
  return `WITH ${INPUT(table)}, written AS (
    INSERT INTO ${table} AS held (${columns.map(name).join(', ')})
    SELECT ${columns.map((column) => `(row).${name(column)}`).join(', ')} FROM input
    ON CONFLICT (${key.map(name).join(', ')}) DO ${change}
    RETURNING ${key.map((part) => `held.${name(part)}`).join(', ')}
  ) SELECT input.ordinal FROM input JOIN written ON ${sameKey(key, 'written')}`;
}

/** Deletes the rows of these keys. */
export function deleteStatement({ from: table }: PostgresStream, key: string[]): string {
  return `WITH ${INPUT(table)}, deleted AS (
    DELETE FROM ${table} AS held USING input WHERE ${sameKey(key, 'held')} RETURNING input.ordinal
  ) SELECT ordinal FROM deleted`;
}
