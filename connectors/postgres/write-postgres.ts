/** Writes records into a Postgres table. */
import pg from 'pg';
import {
  type ConnectorContext,
  type Json,
  type SourceRecord,
  type WriteOutcome,
  type Writing,
  sayTakesNone,
  takesNoValues,
} from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { isOfServer, inSession, type PostgresSession } from './postgres-session.ts';
import type { PostgresSettings } from './postgres-settings.ts';
import { findTable, type PostgresStream, toStream } from './postgres-stream.ts';

/** A record with its ordinal in the batch. */
type Row = { ordinal: number; record: SourceRecord };

const OK: WriteOutcome = { kind: 'ok' };
const UNCHANGED: WriteOutcome = { kind: 'unchanged' };
const failed = ({ message, column, later = false }: RowError): WriteOutcome => ({
  kind: 'failed',
  message,
  later,
  ...(column === undefined ? {} : { field: column }),
});

/**
 * Upserts rows by their key, or deletes them, in one transaction, so their outcomes come together. Rows that the table
 * refuses fail alone. Refuses a table without a unique index over the key.
 */
export async function* writePostgres(
  settings: PostgresSettings,
  writing: Writing,
  context: ConnectorContext,
): AsyncGenerator<WriteOutcome[]> {
  const outcomes: WriteOutcome[] = writing.records.map(() => UNCHANGED);
  writing.sending?.(writing.answered);
  await inSession(settings, context, 'write', async (session) => {
    // A constraint checked only at the end would fail the whole batch.
    await session.client.query('SET CONSTRAINTS ALL IMMEDIATE');
    const table = await findTable(session, writing.stream);
    checkKey(table, writing.key);
    if (!writing.isRemoval) checkColumns(table, writing);
    const rows: Row[] = [];
    for (const [ordinal, record] of writing.records.entries()) {
      const row = writing.isRemoval ? keyOf(record, writing.key) : rowOf(record, table, writing.key);
      if (typeof row === 'string') outcomes[ordinal] = failed({ message: row });
      else rows.push({ ordinal, record: row });
    }
    for (const { columns, rows: group } of groups(rows, writing.key)) {
      const statement = writing.isRemoval
        ? deleteStatement(table, writing.key)
        : upsertStatement(table, writing.key, columns);
      const updateFirst = writing.isRemoval
        ? null
        : { columns, statement: updateFirstStatement(table, writing.key, columns) };
      await writeRows({ session, table, statement, updateFirst, outcomes }, group);
    }
    // No row arrives before the transaction commits.
    writing.sending?.(writing.records.length);
  });
  yield outcomes.slice(writing.answered);
}

function checkKey(table: PostgresStream, key: string[]): void {
  if (!table.isWritable)
    throw sourceRefusal('source_refused', `${table.name} is no table: rows cannot be written to it`);
  const isKey = (columns: string[]) => columns.length === key.length && columns.every((column) => key.includes(column));
  if (key.length > 0 && table.uniqueKeys.some(isKey)) return;
  throw sourceRefusal(
    'source_refused',
    `${table.name} has no unique index over ${key.join(', ') || 'a key'} alone: make one, ` +
      'so that a row is found again (one that is neither partial, nor of expressions, nor deferrable)',
  );
}

/** Refuses columns that take no values: each record would fail for it. */
function checkColumns(table: PostgresStream, { key, records }: Writing): void {
  const given = new Set(records.flatMap((record) => Object.keys(record)));
  const field = toStream(table).fields.find((candidate) => given.has(candidate.name) && takesNoValues(candidate, key));
  if (field !== undefined) throw sourceRefusal('source_refused', sayTakesNone(table.name, field));
}

/** Returns the row, or what is wrong with it. */
function rowOf(record: SourceRecord, table: PostgresStream, key: string[]): SourceRecord | string {
  const error = keyOf(record, key);
  if (typeof error === 'string') return error;
  const row: [string, Json][] = [];
  for (const [field, value] of Object.entries(record)) {
    const column = table.columns.find((candidate) => candidate.name === field);
    if (column === undefined) return `The table ${table.name} has no column ${field}`;
    const isBytes = column.oid === pg.types.builtins.BYTEA && typeof value === 'string';
    if (isBytes && !BASE64.test(value)) return `The column ${field} takes bytes in base64`;
    row.push([field, isBytes ? `\\x${Buffer.from(value, 'base64').toString('hex')}` : value]);
  }
  return Object.fromEntries(row);
}

const BASE64 = /^[A-Za-z\d+/]*={0,2}$/;

function keyOf(record: SourceRecord, key: string[]): SourceRecord | string {
  const missing = key.find((part) => (record[part] ?? null) === null);
  return missing === undefined
    ? Object.fromEntries(key.map((part) => [part, record[part]!]))
    : `The record has no ${missing}`;
}

type Group = { columns: string[]; rows: Row[] };

/** Groups rows for one statement: the same columns, and each key once. Rows of one key keep their order. */
function groups(rows: Row[], key: string[]): Group[] {
  const found: Group[] = [];
  let open = new Map<string, Group>();
  let keys = new Set<string>();
  for (const row of rows) {
    const columns = Object.keys(row.record).toSorted((a, b) => (a < b ? -1 : 1));
    const keyText = JSON.stringify(key.map((part) => textOf(row.record[part]!)));
    if (keys.has(keyText)) [open, keys] = [new Map(), new Set()];
    keys.add(keyText);
    const group = open.get(columns.join('\0')) ?? { columns, rows: [] };
    if (group.rows.length === 0) found.push(group);
    open.set(columns.join('\0'), group);
    group.rows.push(row);
  }
  return found;
}

/** 1 and "1" are the same to a column. */
const textOf = (value: Json) => (typeof value === 'string' ? value : JSON.stringify(value));

type RowWriting = {
  session: PostgresSession;
  table: PostgresStream;
  statement: string;
  outcomes: WriteOutcome[];
  /** The statement to try if the table requires a column that no row has; null: none. */
  updateFirst: { columns: string[]; statement: string } | null;
  /** True once the statement has succeeded without rows. */
  isTried?: boolean;
};

/** Writes rows together; if one of them makes that fail, each half separately. */
async function writeRows(writing: RowWriting, rows: Row[]): Promise<void> {
  const {
    session: { client },
    statement,
    outcomes,
  } = writing;
  await client.query('SAVEPOINT rows');
  try {
    const written = await client.query<{ ordinal: string }>(statement, [
      JSON.stringify(rows.map(({ record }) => record)),
    ]);
    await client.query('RELEASE SAVEPOINT rows');
    for (const { ordinal } of written.rows) outcomes[rows[Number(ordinal) - 1]!.ordinal] = OK;
  } catch (error) {
    if (!isRowError(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT rows; RELEASE SAVEPOINT rows');
    if (writing.updateFirst !== null && asksForOther(error, writing.updateFirst.columns)) {
      Object.assign(writing, { statement: writing.updateFirst.statement, updateFirst: null, isTried: false });
      return writeRows(writing, rows);
    }
    if (writing.isTried !== true) await tryWithoutRows(writing);
    if (rows.length === 1) {
      outcomes[rows[0]!.ordinal] = failed(await rowErrorOf(writing, rows[0]!, error));
      return;
    }
    const half = Math.ceil(rows.length / 2);
    await writeRows(writing, rows.slice(0, half));
    await writeRows(writing, rows.slice(half));
  }
}

/** Returns whether the table requires a column that the rows lack; for a domain Postgres does not name it. */
const asksForOther = ({ code, column }: pg.DatabaseError, columns: string[]) =>
  code === '23502' && (column === undefined || !columns.includes(column));

/** Throws if the statement fails even without rows: a missing right, a read-only server. */
async function tryWithoutRows(writing: RowWriting): Promise<void> {
  await writing.session.client.query(writing.statement, ['[]']);
  writing.isTried = true;
}

async function rowErrorOf({ session, table }: RowWriting, { record }: Row, error: pg.DatabaseError): Promise<RowError> {
  return rowError(error, isOfValue(error) ? await columnOfError(session, table, record) : null, record);
}

type Value = [column: string, value: Json];

/** Returns the column whose type refuses its value, or null; tries halves, because Postgres names none. */
async function columnOfError(
  session: PostgresSession,
  table: PostgresStream,
  record: SourceRecord,
): Promise<string | null> {
  let suspects: Value[] = Object.entries(record);
  if (await areTaken(session, table, suspects)) return null;
  while (suspects.length > 1) {
    const half = suspects.slice(0, Math.ceil(suspects.length / 2));
    suspects = (await areTaken(session, table, half)) ? suspects.slice(half.length) : half;
  }
  return suspects[0]?.[0] ?? null;
}

/** Returns whether the columns' types accept these values, whatever other constraints hold. */
async function areTaken({ client }: PostgresSession, table: PostgresStream, values: Value[]): Promise<boolean> {
  await client.query('SAVEPOINT columns');
  try {
    const columns = columnsOf(
      table,
      values.map(([column]) => column),
    );
    await client.query(`SELECT row IS NULL FROM json_to_record($1::json) AS row(${columns})`, [
      JSON.stringify(Object.fromEntries(values)),
    ]);
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && isRowError(error)) return false;
    throw error;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT columns; RELEASE SAVEPOINT columns');
  }
}

/** The reason why a row is not taken; `column`: its value is wrong; `later`: a later try may succeed. */
type RowError = { message: string; column?: string; later?: boolean };

/** Messages by SQLSTATE, without values that Postgres would quote (Postgres: appendix A). */
const OF_ROW: Record<string, (error: pg.DatabaseError) => string> = {
  '23502': ({ column }) => `The column ${column ?? ''} may not be empty`,
  '23503': ({ constraint }) =>
    `It refers to a row that there is not, or is referred to (constraint ${constraint ?? ''})`,
  '23505': ({ constraint }) => `Another row has the same values in a unique index (constraint ${constraint ?? ''})`,
  '23514': ({ constraint }) => `It does not meet the check ${constraint ?? ''}`,
  '23P01': ({ constraint }) => `It collides with another row (constraint ${constraint ?? ''})`,
  '44000': () => 'It does not meet the conditions of the view',
};

/** Messages for errors of one value. */
const OF_VALUE: Record<string, (error: pg.DatabaseError) => string> = {
  '22001': ({ message }) =>
    `is too long${/^(?:value|bit string) too long( for type [\w ]+(?:\(\d+\))?)$/.exec(message)?.[1] ?? ''}`,
  '22003': () => 'is a number out of the range of its column',
  '22007': () => 'is no date or time that its column takes',
  '22008': () => 'is a date or time that is out of range',
  '22021': () => 'has characters that the database does not take',
  '22P02': ({ message }) => sayType(message),
  '22P03': () => 'does not fit the type of its column',
  '22P05': () => 'has a character that the database does not take, such as a zero byte',
};

/**
 * Returns whether a row may have caused the error: a trigger, a function or a type may raise any state. Excluded are
 * states of a server, a connection or colliding transactions, except a plain internal error (XX000), with which
 * extensions refuse a value.
 */
function isRowError(error: unknown): error is pg.DatabaseError {
  return (
    error instanceof pg.DatabaseError && error.code !== undefined && (error.code === 'XX000' || !isOfServer(error.code))
  );
}

/** Returns the reason without a value of the record; `column`: the wrong one, if it could be found. */
function rowError(error: pg.DatabaseError, column: string | null, record: SourceRecord): RowError {
  const { code = '' } = error;
  if (isPolicy(error)) return { message: 'A row-level security policy of the table does not let it in' };
  const state = ` (SQLSTATE ${code})`;
  // Another session holds a lock, or the object is in use.
  const later = code.startsWith('55');
  if (error.routine === 'exec_stmt_raise') return { message: `A trigger of the table refused it${state}`, later };
  if (column !== null && code.startsWith('22') && !isWellFormed(record[column] ?? null)) {
    return { message: `has half of a surrogate pair, which is no character${state}`, column };
  }
  const ofValue = OF_VALUE[code]?.(error);
  if (ofValue !== undefined)
    return column === null ? { message: `A value ${ofValue}${state}` } : { message: ofValue + state, column };
  const ofRow = OF_ROW[code]?.(error);
  if (column === null || ofRow !== undefined) return { message: (ofRow ?? 'Postgres does not take it') + state, later };
  return { message: `is not taken by Postgres${state}`, column };
}

/** Returns whether the wrong value can be searched, if Postgres does not name it. */
function isOfValue({ code }: pg.DatabaseError): boolean {
  return code === 'XX000' || (code?.startsWith('22') ?? false);
}

/** Finds half a surrogate pair: Postgres reads a record as JSON, and only says that the JSON is wrong. */
function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

function isPolicy({ code, routine }: pg.DatabaseError): boolean {
  return code === '42501' && routine === 'ExecWithCheckOptions';
}

/** Returns the type of `invalid input syntax for type integer: "…"`, without the value. */
function sayType(message: string): string {
  const type = /^invalid input (?:syntax for type|value for enum) ([\w ."]+?)(?=:)/.exec(message)?.[1];
  return type === undefined ? 'does not fit the type of its column' : `is no ${type}`;
}

const name = pg.escapeIdentifier;

/**
 * These columns alone with their types, for `AS`: a column that stands here is given a value, if only NULL, and a
 * domain may refuse that.
 */
function columnsOf({ columns }: PostgresStream, names: string[]): string {
  return names
    .map((column) => `${name(column)} ${columns.find((candidate) => candidate.name === column)!.type}`)
    .join(', ');
}

/**
 * The rows, a JSON array of objects, are the only parameter; the statements return the ordinals, from 1, of changed
 * rows.
 */
const INPUT = (table: PostgresStream, columns: string[]) => `input AS MATERIALIZED (
    SELECT item.ordinal AS "${ORDINAL}", row.*
    FROM json_array_elements($1::json) WITH ORDINALITY AS item (value, ordinal),
      json_to_record(item.value) AS row(${columnsOf(table, columns)})
  )`;

/** A name that a table is unlikely to have. */
const ORDINAL = 'ordinal of the record in its batch';

const sameKey = (key: string[], other: string) =>
  key.map((part) => `input.${name(part)} = ${other}.${name(part)}`).join(' AND ');

/**
 * Writes rows of these columns, no key twice. It relies on a unique index over the columns of the key. A row that
 * would become what it is isn't written: values are compared as their texts, which every type has.
 */
function upsertStatement(stream: PostgresStream, key: string[], columns: string[]): string {
  return upsert(stream, key, columns, '', '');
}

/**
 * Returns a statement that updates existing rows before it inserts others: an INSERT needs all required columns, even
 * if the row exists.
 */
function updateFirstStatement(stream: PostgresStream, key: string[], columns: string[]): string {
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
function deleteStatement(stream: PostgresStream, key: string[]): string {
  return `WITH ${INPUT(stream, key)}, deleted AS (
    DELETE FROM ${stream.from} AS held USING input WHERE ${sameKey(key, 'held')} RETURNING input."${ORDINAL}" AS ordinal
  ) SELECT ordinal FROM deleted`;
}
