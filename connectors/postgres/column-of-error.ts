import pg from 'pg';
import type { Json, SourceRecord } from '../core/contract.ts';
import type { PostgresSession } from './postgres-session.ts';
import type { PostgresStream } from './postgres-stream.ts';
import { isRowError } from './row-error.ts';
import { columnsOf } from './upsert-statement.ts';

type Value = [column: string, value: Json];

/**
 * The column whose type does not take its value in a row; null where each takes its own. Half of the columns are tried
 * at a time: Postgres names none.
 */
export async function columnOfError(
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
