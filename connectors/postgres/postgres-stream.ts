/** Tables, views and queries of a Postgres source. */
import pg from 'pg';
import type { Stream } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { baseOf, isBuiltIn, type PostgresKind, postgresKind, type PostgresType } from './postgres-kind.ts';
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
