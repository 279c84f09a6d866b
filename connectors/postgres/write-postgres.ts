import pg from 'pg';
import type { ConnectorContext, Json, SourceRecord, WriteOutcome, Writing } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { sayTakesNone, takesNoValues } from '../core/takes-values.ts';
import { inSession, type PostgresSession } from './postgres-session.ts';
import type { PostgresSettings } from './postgres-settings.ts';
import { findTable, type PostgresStream, toStream } from './postgres-stream.ts';
import { isOfValue, isRowError, type RowError, rowError } from './row-error.ts';
import { columnsOf, deleteStatement, updateFirstStatement, upsertStatement } from './upsert-statement.ts';

/** A record with its ordinal among those that are written. */
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
 * Inserts or updates rows by their key, or deletes them, all in one transaction: their outcomes come together. Rows
 * that the table does not take fail alone. Refuses a table that has no unique index over the key.
 */
export async function* writePostgres(
  settings: PostgresSettings,
  writing: Writing,
  context: ConnectorContext,
): AsyncGenerator<WriteOutcome[]> {
  const outcomes: WriteOutcome[] = writing.records.map(() => UNCHANGED);
  writing.sending?.(writing.answered);
  await inSession(settings, context, 'write', async (session) => {
    // What is checked at the end only would fail the whole batch.
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
    // Until the transaction commits, no row has arrived.
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

/** Refuses records with a column that takes no values: each of them would fail for it. */
function checkColumns(table: PostgresStream, { key, records }: Writing): void {
  const given = new Set(records.flatMap((record) => Object.keys(record)));
  const field = toStream(table).fields.find((candidate) => given.has(candidate.name) && takesNoValues(candidate, key));
  if (field !== undefined) throw sourceRefusal('source_refused', sayTakesNone(table.name, field));
}

/** The row, or what is wrong with it. */
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

/**
 * As many rows together as a statement takes: of the same columns, and no key twice. Rows of one key keep their order.
 */
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
  /** The statement that is tried where the table asks for a column that none of the rows has; null: nothing. */
  updateFirst: { columns: string[]; statement: string } | null;
  /** Whether the statement has been run without rows, and went well. */
  isTried?: boolean;
};

/** Writes rows together; where that fails because of one of them, each half by itself. */
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

/** Whether a column may not be empty that the rows do not have; of a domain Postgres does not name it. */
const asksForOther = ({ code, column }: pg.DatabaseError, columns: string[]) =>
  code === '23502' && (column === undefined || !columns.includes(column));

/**
 * Throws where the statement fails without any row, too: a right that the user lacks, a server that takes no writes.
 */
async function tryWithoutRows(writing: RowWriting): Promise<void> {
  await writing.session.client.query(writing.statement, ['[]']);
  writing.isTried = true;
}

async function rowErrorOf({ session, table }: RowWriting, { record }: Row, error: pg.DatabaseError): Promise<RowError> {
  return rowError(error, isOfValue(error) ? await columnOfError(session, table, record) : null, record);
}

type Value = [column: string, value: Json];

/**
 * The column whose type does not take its value in a row; null where each takes its own. Half of the columns are tried
 * at a time: Postgres names none.
 */
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

/** Whether these values become those of a row's columns, whatever constraints hold beyond their types. */
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
