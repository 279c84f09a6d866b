import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { BATCH_BYTES } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { PostgresSession } from './postgres-session.ts';

/** A row as COPY writes it: the columns' texts, null for NULL. Of one that is too wide, those of its beginning. */
export type PostgresRow = { cells: (string | null)[]; line: Buffer; isCut: boolean };

/** A wider row is not read whole. */
export const MAX_ROW_BYTES = BATCH_BYTES;
/** Of which so much is kept: more than the columns of a key can have, which come first. */
const KEPT_BYTES = 64 * 1024;

const NEW_LINE = 10;

/**
 * The rows of a SELECT, as they come: the server is asked for more only when they have been taken, whatever their size.
 * `statement_timeout_seconds` bounds the wait for the server, not what the taker does between two rows; and in as long,
 * or in the time of the least rate where that is longer, the rows have to bring its bytes.
 */
export async function* postgresRows(session: PostgresSession, select: string): AsyncGenerator<PostgresRow[]> {
  await session.client.query('SET LOCAL statement_timeout = 0');
  await watchForUs(session);
  const splitter = lineSplitter();
  const chunks = session.client
    .query(copyTo(`COPY (${select}) TO STDOUT`))
    [Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const rateMs = Math.max(session.settings.statement_timeout_seconds * 1000, session.leastRate.withinMs);
  let [bytes, waitedMs] = [0, 0];
  for (;;) {
    const began = performance.now();
    const { done, value } = await inTime(session, rateMs - waitedMs, () => chunks.next());
    if (done) return;
    bytes += value.length;
    waitedMs += performance.now() - began;
    if (bytes >= session.leastRate.leastBytes) [bytes, waitedMs] = [0, 0];
    const rows = splitter(value);
    if (rows.length > 0) yield rows;
  }
}

/**
 * So that the server ends a statement that nobody waits for any more, where it knows how (Postgres 14, on most
 * systems).
 */
async function watchForUs({ client }: PostgresSession): Promise<void> {
  try {
    await client.query('SAVEPOINT unwatched; SET LOCAL client_connection_check_interval = 5000');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    await client.query('ROLLBACK TO unwatched');
  }
}

async function inTime<T>(session: PostgresSession, rateMs: number, wait: () => Promise<T>): Promise<T> {
  const { host, statement_timeout_seconds: seconds } = session.settings;
  const advice = 'an index on the columns that it sorts by helps, or a larger statement_timeout_seconds';
  const isRate = rateMs < seconds * 1000;
  const { leastBytes, withinMs } = session.leastRate;
  const words = isRate
    ? `sent less than ${leastBytes / 1024} KiB of rows within ${Math.max(seconds, withinMs / 1000)} s`
    : `sent no row within ${seconds} s`;
  const timer = setTimeout(
    () => session.breakOff(sourceRefusal('source_unavailable', `${host} ${words}: ${advice}`)),
    Math.max(0, isRate ? rateMs : seconds * 1000),
  );
  try {
    return await wait();
  } finally {
    clearTimeout(timer);
  }
}

/** Makes rows of chunks, and holds no more of a row than MAX_ROW_BYTES. */
function lineSplitter(): (chunk: Buffer) => PostgresRow[] {
  let begun: Buffer[] = [];
  let size = 0;
  const take = (piece: Buffer) => {
    size += piece.length;
    if (size <= MAX_ROW_BYTES) begun.push(piece);
    // From here on only its beginning is of use.
    else if (size - piece.length <= MAX_ROW_BYTES) begun = [beginningOf([...begun, piece])];
  };
  return (chunk) => {
    const rows: PostgresRow[] = [];
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(NEW_LINE, from);
      take(chunk.subarray(from, end === -1 ? chunk.length : end));
      if (end === -1) break;
      rows.push(toRow(begun.length === 1 ? begun[0]! : Buffer.concat(begun), size > MAX_ROW_BYTES));
      begun = [];
      size = 0;
      from = end + 1;
    }
    return rows;
  };
}

const beginningOf = (pieces: Buffer[]) => Buffer.from(Buffer.concat(pieces).subarray(0, KEPT_BYTES));

function toRow(line: Buffer, isCut: boolean): PostgresRow {
  return { line, isCut, cells: line.toString('utf8').split('\t').map(cellOf) };
}

const ESCAPED: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Postgres: COPY, text format. */
function cellOf(text: string): string | null {
  if (text === '\\N') return null;
  return text.includes('\\') ? text.replace(/\\(.)/gs, (_, letter: string) => ESCAPED[letter] ?? letter) : text;
}
