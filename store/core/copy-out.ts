/** Reads large results by Postgres's COPY, as bytes or rows of CSV. */
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Database, Tx } from './database.ts';

export type CopiedOut = {
  bytes: AsyncIterable<Buffer>;
  /** Returns Postgres's own count of rows, once all bytes are read. */
  rows: () => number;
};

/** Runs `COPY … TO STDOUT` as its bytes are read; a reader that stops ends the session. */
export function copyOut(session: Tx, statement: string): CopiedOut {
  let rows: number | null = null;
  async function* taken(): AsyncGenerator<Buffer> {
    const stream = session.query(copyTo(statement));
    // The stream ends before the count arrives, and an error may follow its end.
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

function endNow(session: Tx): void {
  (session as Tx & { end(): Promise<void> }).end().catch(() => {});
}

/**
 * Yields a query's rows as CSV, in order and as of its beginning, by one COPY that only reads: no write waits for it,
 * though vacuum does. `settings`: SET LOCAL statements.
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
    // It may be within a statement, and a new session is cheap.
    session.release(true);
  }
}

/** Replaces each `$n` by its text, because COPY takes no parameters. */
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

const SPECIAL = /[\\\t\n\r]/;
const ALL_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Returns a line of COPY's text format; null is NULL (PostgreSQL: COPY, "Text Format"). */
export function copyLine(columns: (string | number | boolean | null)[]): string {
  return `${columns.map(copyText).join('\t')}\n`;
}

function copyText(value: string | number | boolean | null): string {
  if (value === null) return '\\N';
  return typeof value === 'string' ? escaped(value) : String(value);
}

export function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (character) => ESCAPES[character]!) : text;
}
