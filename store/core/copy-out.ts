import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Database, Tx } from './database.ts';

export type CopiedOut = {
  bytes: AsyncIterable<Buffer>;
  /** How many rows these were, by Postgres's own count; once all bytes were taken. */
  rows: () => number;
};

/**
 * Runs `COPY … TO STDOUT`; it goes on as bytes are taken. A reader that stops taking them ends the session: what
 * Postgres still has to say would come as an answer to the next statement.
 */
export function copyOut(session: Tx, statement: string): CopiedOut {
  let rows: number | null = null;
  async function* taken(): AsyncGenerator<Buffer> {
    const stream = session.query(copyTo(statement));
    // The stream ends before the count of its rows is there. An error may come after its end, too.
    const answered = new Promise<void>((resolve, reject) => {
      Object.assign(stream, { handleReadyForQuery: resolve });
      stream.on('error', reject);
    });
    answered.catch(() => {});
    let isWhole = false;
    try {
      yield* stream as AsyncIterable<Buffer>;
      await answered;
      isWhole = true;
      rows = stream.rowCount;
    } finally {
      if (!isWhole) endNow(session);
    }
  }
  return {
    bytes: taken(),
    rows() {
      if (rows === null) throw new Error('rows of a COPY are counted when all of its bytes were taken');
      return rows;
    },
  };
}

/** Without waiting for its statement. */
function endNow(session: Tx): void {
  (session as Tx & { end(): Promise<void> }).end().catch(() => {});
}

/**
 * The rows of a query as CSV, in its order and as of its beginning, however many: by one COPY in a transaction that
 * reads only, so that no write waits for it, though vacuum does. `settings` are SET LOCAL statements.
 */
export async function* copyCsv(
  db: Database,
  query: string,
  parameters: readonly unknown[],
  settings: string,
): AsyncGenerator<Buffer> {
  const session = await db.connect();
  try {
    await session.query(`BEGIN READ ONLY; SET LOCAL transaction_timeout = 0; ${settings}`);
    yield* copyOut(session, `COPY (${withLiterals(query, parameters)}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')`).bytes;
  } finally {
    // It may be in the middle of its statement; a new session costs less than to tell.
    session.release(true);
  }
}

/** COPY takes no parameters: each `$n` becomes the text that it would be sent as. */
function withLiterals(query: string, parameters: readonly unknown[]): string {
  const literals = parameters.map((parameter) =>
    parameter === null ? 'NULL' : pg.escapeLiteral(parameterText(parameter)),
  );
  return query.replaceAll(/\$(\d+)/g, (_, ordinal: string) => literals[Number(ordinal) - 1]!);
}

function parameterText(parameter: unknown): string {
  if (parameter instanceof Date) return parameter.toISOString();
  if (!Array.isArray(parameter)) return String(parameter);
  return `{${parameter.map((element) => `"${String(element).replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`;
}
