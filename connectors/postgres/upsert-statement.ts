import pg from 'pg';
import type { PostgresStream } from './postgres-stream.ts';

const name = pg.escapeIdentifier;

/**
 * These columns alone with their types, for `AS`: a column that stands here is given a value, if only NULL, and a
 * domain may refuse that.
 */
export function columnsOf({ columns }: PostgresStream, names: string[]): string {
  return names
    .map((column) => `${name(column)} ${columns.find((candidate) => candidate.name === column)!.type}`)
    .join(', ');
}

/**
 * Its only parameter is the rows, a JSON array of objects; both statements give the ordinals, from 1, of rows that they
 * changed.
 */
const INPUT = (table: PostgresStream, columns: string[]) => `input AS MATERIALIZED (
    SELECT item.ordinal AS "${ORDINAL}", row.*
    FROM json_array_elements($1::json) WITH ORDINALITY AS item (value, ordinal),
      json_to_record(item.value) AS row(${columnsOf(table, columns)})
  )`;

/** A name that no table is likely to have for a column. */
const ORDINAL = 'ordinal of the record in its batch';

const sameKey = (key: string[], other: string) =>
  key.map((part) => `input.${name(part)} = ${other}.${name(part)}`).join(' AND ');

/**
 * Writes rows of these columns, no key twice. It relies on a unique index over the columns of the key. A row that
 * would become what it is isn't written: values are compared as their texts, which every type has.
 */
export function upsertStatement(stream: PostgresStream, key: string[], columns: string[]): string {
  return upsert(stream, key, columns, '', '');
}

/**
 * The same, but rows that are there are updated before any is inserted: an INSERT of Postgres asks for all columns that
 * may not be empty, also where it finds the row.
 */
export function updateFirstStatement(stream: PostgresStream, key: string[], columns: string[]): string {
  const rest = columns.filter((column) => !key.includes(column));
  const isThere = `EXISTS (SELECT FROM ${stream.from} AS held WHERE ${sameKey(key, 'held')})`;
  if (rest.length === 0) return upsert(stream, key, columns, '', `WHERE NOT ${isThere}`);
  const updated = `, updated AS (
    UPDATE ${stream.from} AS held SET ${rest.map((column) => `${name(column)} = input.${name(column)}`).join(', ')}
    FROM input WHERE ${sameKey(key, 'held')}
      AND (${rest.map((column) => `held.${name(column)}::text IS DISTINCT FROM input.${name(column)}::text`).join(' OR ')})
    RETURNING input."${ORDINAL}" AS ordinal
  )`;
  return `${upsert(stream, key, columns, updated, `WHERE NOT ${isThere}`)} UNION ALL SELECT ordinal FROM updated`;
}

function upsert(stream: PostgresStream, key: string[], columns: string[], before: string, where: string): string {
  const { from: table } = stream;
  const rest = columns.filter((column) => !key.includes(column));
  const change =
    rest.length === 0
      ? 'NOTHING'
      : `UPDATE
      SET ${rest.map((column) => `${name(column)} = EXCLUDED.${name(column)}`).join(', ')}
      WHERE ${rest.map((column) => `held.${name(column)}::text IS DISTINCT FROM EXCLUDED.${name(column)}::text`).join(' OR ')}`;
  const isGiven = stream.columns.some((column) => column.always === 'identity' && columns.includes(column.name));
  return `WITH ${INPUT(stream, columns)}${before}, written AS (
    INSERT INTO ${table} AS held (${columns.map(name).join(', ')})${isGiven ? ' OVERRIDING SYSTEM VALUE' : ''}
    SELECT ${columns.map(name).join(', ')} FROM input ${where}
    ON CONFLICT (${key.map(name).join(', ')}) DO ${change}
    RETURNING ${key.map((part) => `held.${name(part)}`).join(', ')}
  ) SELECT input."${ORDINAL}" AS ordinal FROM input JOIN written ON ${sameKey(key, 'written')}`;
}

/** Deletes the rows of these keys. */
export function deleteStatement(stream: PostgresStream, key: string[]): string {
  return `WITH ${INPUT(stream, key)}, deleted AS (
    DELETE FROM ${stream.from} AS held USING input WHERE ${sameKey(key, 'held')} RETURNING input."${ORDINAL}" AS ordinal
  ) SELECT ordinal FROM deleted`;
}
