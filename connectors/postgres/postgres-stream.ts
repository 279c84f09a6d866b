/** Tables, views and queries of a Postgres source, their types, and their values as JSON. */
import pg from 'pg';
import { checkNesting } from '../../domain/json/parse-json.ts';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { Stream, Json } from '../core/contract.ts';
import { MAX_RECORD_NESTING } from '../core/json-record.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { PostgresSession } from './postgres-session.ts';

export type PostgresColumn = {
  name: string;
  oid: number;
  kind: PostgresKind;
  nullable: boolean;
  /** Its SQL type; null for a column of a query. */
  type: string | null;
  /** `generated`: it takes no values; `identity`: only if a statement overrides its own. */
  always: 'generated' | 'identity' | null;
};

export type PostgresStream = {
  name: string;
  /** SQL after FROM. */
  from: string;
  columns: PostgresColumn[];
  /** Columns of the primary key. */
  key: string[];
  /** Columns of each key that an upsert can use. */
  uniqueKeys: string[][];
  isWritable: boolean;
};

/** Lists the streams with all queries; refuses if a query is wrong. */
export async function listStreams(session: PostgresSession): Promise<PostgresStream[]> {
  const queries: PostgresStream[] = [];
  for (const name of Object.keys(session.settings.queries ?? {})) queries.push(await describeQuery(session, name));
  const names = new Set(queries.map(({ name }) => name));
  return [...(await listTables(session)).filter(({ name }) => !names.has(name)), ...queries];
}

/** Finds a stream; a query comes before a table of its name. Refuses an unknown name. */
export async function findStream(session: PostgresSession, name: string): Promise<PostgresStream> {
  if (Object.hasOwn(session.settings.queries ?? {}, name)) return describeQuery(session, name);
  return findTable(session, name);
}

export async function findTable(session: PostgresSession, name: string): Promise<PostgresStream> {
  const [table] = await listTables(session, name);
  if (table === undefined) {
    throw sourceRefusal(
      'source_refused',
      `Schema ${session.settings.schema} has no table or view ${name} that this user may read: check ` +
        'its name, and the rights',
    );
  }
  return table;
}

/** Refuses a schema that is missing or that this user may not use. Queries need none. */
export async function checkSchema({
  client,
  settings: { schema, user, queries = {} },
}: PostgresSession): Promise<void> {
  const { rows } = await client.query<{ usable: string }>(
    "SELECT has_schema_privilege(oid, 'USAGE')::text AS usable FROM pg_namespace WHERE nspname = $1",
    [schema],
  );
  if (rows.length === 0) {
    throw sourceRefusal(
      'source_refused',
      `The database has no schema ${schema}: check schema in the settings, capitals count`,
    );
  }
  if (rows[0]!.usable === 'true' || Object.keys(queries).length > 0) return;
  throw sourceRefusal(
    'source_refused',
    `The user ${user} may not use the schema ${schema}: have its owner run ` +
      `GRANT USAGE ON SCHEMA ${pg.escapeIdentifier(schema)} TO ${pg.escapeIdentifier(user)}`,
  );
}

export function toStream({ name, columns, key }: PostgresStream): Stream {
  return {
    name,
    key,
    fields: columns.map((column) => ({
      name: column.name,
      type: column.kind.type,
      nullable: column.nullable,
      ...(column.always !== null && { takes_values: column.always === 'generated' ? 'never' : 'as_key' }),
    })),
    incremental: { fields: columns.filter(({ kind }) => kind.isOrdered).map((column) => column.name) },
  };
}

type TableRow = {
  name: string;
  kind: string;
  columns: { name: string; type: number; typeName: string; nullable: boolean; always: PostgresColumn['always'] }[];
  uniques: { isPrimary: boolean; isImmediate: boolean; columns: string[] }[];
};

const MAX_TABLES = 2_000;

/** Leaves out partitions, which are read through their table, and columns that the user may not read. */
const TABLES = `
  SELECT json_build_object('name', c.relname, 'kind', c.relkind, 'columns', columns.list, 'uniques', uniques.list)::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
  LATERAL (
    SELECT coalesce(json_agg(json_build_object('name', a.attname, 'type', a.atttypid::int8, 'nullable', NOT a.attnotnull,
      'typeName', format_type(a.atttypid, a.atttypmod),
      'always', CASE WHEN a.attgenerated <> '' THEN 'generated' WHEN a.attidentity = 'a' THEN 'identity' END)
      ORDER BY a.attnum), '[]') AS list
    FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT')
  ) columns,
  LATERAL (
    SELECT coalesce(json_agg(json_build_object('isPrimary', i.indisprimary, 'isImmediate', i.indimmediate, 'columns', (
      SELECT json_agg(a.attname ORDER BY k.ordinal)
      FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, ordinal)
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
      WHERE k.ordinal <= i.indnkeyatts
    )) ORDER BY i.indexrelid), '[]') AS list
    FROM pg_index i
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
  ) uniques
  WHERE n.nspname = $1 AND has_schema_privilege(n.oid, 'USAGE') AND ($2::text IS NULL OR c.relname = $2)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND has_any_column_privilege(c.oid, 'SELECT')
  ORDER BY c.relname LIMIT ${MAX_TABLES}`;

/** Lists the tables and views that the user may read, all or the one with this name. */
export async function listTables(session: PostgresSession, name: string | null = null): Promise<PostgresStream[]> {
  const { schema } = session.settings;
  const { rows } = await session.client.query<{ json_build_object: string }>(TABLES, [schema, name]);
  const tables = rows.map((row) => JSON.parse(row.json_build_object) as TableRow);
  const types = await loadTypes(
    session,
    tables.flatMap(({ columns }) => columns.map(({ type }) => type)),
  );
  return tables.filter(({ columns }) => columns.length > 0).map((table) => toTable(schema, table, types));
}

function toTable(schema: string, table: TableRow, types: Map<number, PostgresType>): PostgresStream {
  const columns = table.columns.map(({ type: oid, typeName: type, ...column }) =>
    toColumn({ ...column, oid, type }, types),
  );
  const names = new Set(table.columns.map(({ name }) => name));
  const uniques = table.uniques.filter((unique) => unique.columns.every((name) => names.has(name)));
  return {
    name: table.name,
    from: `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table.name)}`,
    columns,
    key: uniques.find(({ isPrimary }) => isPrimary)?.columns ?? [],
    uniqueKeys: uniques.filter(({ isImmediate }) => isImmediate).map((unique) => unique.columns),
    isWritable: table.kind === 'r' || table.kind === 'p',
  };
}

function toColumn(column: Omit<PostgresColumn, 'kind'>, types: Map<number, PostgresType>): PostgresColumn {
  return { ...column, oid: baseOf(column.oid, types), kind: postgresKind(column.oid, types) };
}

/** Describes a query. A parameter makes it use the extended protocol, which takes only one statement. */
async function describeQuery(session: PostgresSession, name: string): Promise<PostgresStream> {
  const from = `(${session.settings.queries![name]!.replace(/(?<![;\s])[;\s]+$/, '')}\n) AS stream`;
  const { fields } = await session.client.query(`SELECT * FROM ${from} LIMIT $1::int8`, [0]);
  const names = fields.map((field) => field.name);
  const twice = names.find((field, ordinal) => names.indexOf(field) !== ordinal);
  if (twice !== undefined) {
    throw sourceRefusal(
      'source_refused',
      `The query ${name} gives two columns named ${twice}: name one of them otherwise by AS`,
    );
  }
  const types = await loadTypes(
    session,
    fields.map(({ dataTypeID }) => dataTypeID),
  );
  const columns = fields.map(({ name: column, dataTypeID: oid }) =>
    toColumn({ name: column, oid, nullable: true, type: null, always: null }, types),
  );
  return { name, from, columns, key: [], uniqueKeys: [], isWritable: false };
}

/** Loads the types that are unknown by their number, with those that they are made of. */
async function loadTypes({ client }: PostgresSession, oids: number[]): Promise<Map<number, PostgresType>> {
  const types = new Map<number, PostgresType>();
  for (let unknown = oids; ;) {
    unknown = [...new Set(unknown)].filter((oid) => !isBuiltIn(oid) && !types.has(oid));
    if (unknown.length === 0) return types;
    const { rows } = await client.query<{ oid: string; base: string; element: string; delimiter: string }>(
      `SELECT oid::int8, typbasetype::int8 AS base, CASE WHEN typcategory = 'A' THEN typelem::int8 ELSE 0 END AS element,
        typdelim AS delimiter
      FROM pg_type WHERE oid = ANY ($1::int8[]::oid[])`,
      [unknown],
    );
    for (const oid of unknown) types.set(oid, { base: null, element: null, delimiter: ',' });
    for (const { oid, base, element, delimiter } of rows) {
      types.set(Number(oid), { base: Number(base) || null, element: Number(element) || null, delimiter });
    }
    unknown = rows.flatMap((row) => [Number(row.base), Number(row.element)]).filter((oid) => oid !== 0);
  }
}

/** A type of Postgres as a field. `parse` takes the text that Postgres writes for a value, and throws for any other. */
type PostgresKind = {
  type: FieldType;
  /** True if a column of this type can be a cursor for new rows. */
  isOrdered: boolean;
  /** For a type of time: rows of the last moments wait for the next reading. */
  time?: 'instant' | 'day';
  parse(text: string): Json;
};

const asIs = (text: string): Json => text;
const OTHER: PostgresKind = { type: 'string', isOrdered: false, parse: asIs };
const TEXT: PostgresKind = { type: 'string', isOrdered: true, parse: asIs };
const INTEGER: PostgresKind = { type: 'integer', isOrdered: true, parse: exactNumber };
const NUMBER: PostgresKind = { type: 'number', isOrdered: true, parse: exactNumber };
const JSON_VALUE: PostgresKind = { type: 'object', isOrdered: false, parse: parseJson };
const INSTANT: PostgresKind = { type: 'datetime', isOrdered: true, time: 'instant', parse: isoInstant };

/** By the fixed numbers of the types (Postgres: src/include/catalog/pg_type.dat). */
const KINDS = new Map<number, PostgresKind>([
  [16, { type: 'boolean', isOrdered: false, parse: (text) => text === 't' }],
  [17, { type: 'string', isOrdered: false, parse: base64 }],
  [20, INTEGER],
  [21, INTEGER],
  [23, INTEGER],
  [26, INTEGER],
  [700, { ...NUMBER, isOrdered: false, parse: double }],
  [701, { ...NUMBER, isOrdered: false, parse: double }],
  [1700, NUMBER],
  [18, TEXT],
  [19, TEXT],
  [25, TEXT],
  [1042, TEXT],
  [1043, TEXT],
  [2950, TEXT],
  [114, JSON_VALUE],
  [3802, JSON_VALUE],
  [1082, { type: 'date', isOrdered: true, time: 'day', parse: asIs }],
  [1114, INSTANT],
  [1184, INSTANT],
]);

/** Columns of `pg_type`: the type under a domain, the type of an array's elements, and the delimiter of elements. */
type PostgresType = { base: number | null; element: number | null; delimiter: string };

const isBuiltIn = (oid: number) => KINDS.has(oid);

/** Returns the number of the type that a domain is finally based on. */
function baseOf(oid: number, types: Map<number, PostgresType>): number {
  const base = types.get(oid)?.base ?? null;
  return base === null ? oid : baseOf(base, types);
}

/**
 * Returns the kind of a type. An unknown type is a text: enums, intervals, ranges, addresses, and types of extensions.
 */
function postgresKind(oid: number, types: Map<number, PostgresType>): PostgresKind {
  const base = baseOf(oid, types);
  const { element, delimiter } = types.get(base) ?? { element: null, delimiter: ',' };
  if (element === null) return KINDS.get(base) ?? OTHER;
  const { parse } = postgresKind(element, types);
  const convert = (entry: Json): Json => {
    if (entry === null) return null;
    return Array.isArray(entry) ? entry.map(convert) : parse(entry as string);
  };
  return { type: 'array', isOrdered: false, parse: (text) => convert(parseArrayText(text, delimiter)) };
}

/** Returns a number if the shortest text of the double is the same number, else the text. */
function exactNumber(text: string): number | string {
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  const shortest = String(number);
  return shortest === text || sameDecimal(text, shortest) ? number : text;
}

/** NaN and infinities are texts, because JSON lacks them. */
function double(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function sameDecimal(a: string, b: string): boolean {
  const [x, y] = [decimalOf(a), decimalOf(b)];
  if (x === null || y === null || x.digits !== y.digits || x.exponent !== y.exponent) return false;
  return x.digits === '' || x.isNegative === y.isNegative;
}

/** 0.digits × 10^exponent, without zeros at either end. */
function decimalOf(text: string): { isNegative: boolean; digits: string; exponent: number } | null {
  const found = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
  if (found === null) return null;
  const [, sign, whole = '', fraction = '', power = '0'] = found;
  const all = whole + fraction;
  const leading = /^0*/.exec(all)![0].length;
  const digits = all.slice(leading).replace(/(?<!0)0+$/, '');
  return { isNegative: sign === '-', digits, exponent: digits === '' ? 0 : whole.length - leading + Number(power) };
}

/** Turns `2024-01-31 12:00:00.5+00` into `2024-01-31T12:00:00.500Z`: milliseconds, or microseconds if there are any. */
function isoInstant(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?$/.exec(text);
  // Infinity, before Christ, after the year 9999: as Postgres writes it.
  if (found === null) return text;
  const [, day, time, fraction = ''] = found;
  return `${day}T${time}.${fraction.padEnd(fraction.length > 3 ? 6 : 3, '0')}Z`;
}

function base64(text: string): string {
  if (!text.startsWith('\\x')) throw new Error('bytes that are not in hex');
  return Buffer.from(text.slice(2), 'hex').toString('base64');
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

/** Maximum depth of arrays and objects in a column: its record adds one level. */
export const MAX_COLUMN_NESTING = MAX_RECORD_NESTING - 1;

/** Parses JSON; numbers that a double would round become texts. Throws a `NestingError`. */
function parseJson(text: string): Json {
  checkNesting(text, MAX_COLUMN_NESTING);
  const exact = (_: string, value: Json, { source }: { source?: string }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value;
  return JSON.parse(text, exact as Reviver) as Json;
}

/**
 * Reads an array as Postgres writes it (Postgres: arrays, 8.15.6), with the delimiter of its element type: a comma, or
 * `;` for `box`. Drops the bounds of an array that does not begin at 1. Elements are texts.
 */
function parseArrayText(text: string, delimiter: string): Json[] {
  let at = text.startsWith('[') ? text.indexOf('=') + 1 : 0;
  const element = (): Json => {
    if (text[at] === '{') return list();
    if (text[at] === '"') return quoted();
    let found = '';
    for (; at < text.length && text[at] !== delimiter && text[at] !== '}'; at += 1) {
      if (text[at] === '\\') at += 1;
      found += text[at] ?? '';
    }
    return found === 'NULL' ? null : found;
  };
  const quoted = (): string => {
    let found = '';
    for (at += 1; text[at] !== '"'; at += 1) {
      if (text[at] === '\\') at += 1;
      if (at >= text.length) throw new Error('an array whose quote is not closed');
      found += text[at];
    }
    at += 1;
    return found;
  };
  const list = (): Json[] => {
    const found: Json[] = [];
    at += 1;
    if (text[at] === '}') {
      at += 1;
      return found;
    }
    for (; ; at += 1) {
      found.push(element());
      if (text[at] === delimiter) continue;
      if (text[at] !== '}') throw new Error('an array that is not closed');
      at += 1;
      return found;
    }
  };
  if (text[at] !== '{') throw new Error('no array');
  return list();
}
