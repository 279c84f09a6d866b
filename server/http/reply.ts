/** Replies of routes: the envelope of a result, files, and streamed lists. */
import { stringify } from 'csv-stringify/sync';
import { Readable } from 'node:stream';
import type { Delimiter } from '../../domain/csv/csv-bytes.ts';

type RawJson = { rawJSON: string };

/** Returns a decimal text of any length as a JSON number; the library types lack JSON.rawJSON. */
export function rawNumber(decimal: string): RawJson {
  return (JSON as unknown as { rawJSON(text: string): RawJson }).rawJSON(decimal);
}

export class JsonText {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** Approximate length of pieces, so that a million short rows don't make a million writes. */
const PIECE_CHARS = 64 * 1024;

export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

export class Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, string>;

  constructor(body: unknown, status: number, headers: Record<string, string> = JSON_HEADERS) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

export function toReply(answered: unknown): Reply {
  return answered instanceof Reply ? answered : bare({ success: true, result: answered });
}

/** Returns a body without the envelope (reference: where an exception is stated). */
export function bare(body: unknown, status = 200): Reply {
  return new Reply(body, status);
}

export function noResult(): Reply {
  return bare({ success: true });
}

export function noContent(): Reply {
  return new Reply(undefined, 204, {});
}

/** Returns a CSV file: UTF-8, LF. `name` must need no escaping. */
export function csvFile(name: string, rows: readonly string[][]): Reply {
  return new Reply(Buffer.from(stringify([...rows])), 200, csvHeaders(name));
}

/** Writes rows as they come. Waits for the first, as `streamedResult` does. */
export async function streamedCsvFile(
  name: string,
  header: string[],
  rows: AsyncIterable<string[]>,
  delimiter: Delimiter = ',',
): Promise<Reply> {
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  return new Reply(readableOf(csvPieces(header, first, iterator, delimiter), iterator), 200, csvHeaders(name));
}

function csvHeaders(name: string): Record<string, string> {
  return { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': `attachment; filename="${name}.csv"` };
}

async function* csvPieces(
  header: string[],
  first: IteratorResult<string[]>,
  rest: AsyncIterator<string[]>,
  delimiter: Delimiter,
): AsyncGenerator<string> {
  let rows = [header];
  let chars = 0;
  try {
    for (let at = first; !at.done; at = await rest.next()) {
      rows.push(at.value);
      for (const field of at.value) chars += field.length;
      if (chars < PIECE_CHARS) continue;
      yield stringify(rows, { delimiter });
      rows = [];
      chars = 0;
    }
    if (rows.length > 0) yield stringify(rows, { delimiter });
  } finally {
    await rest.return?.(); // the caller may have hung up
  }
}

/** Streams `{ success, result: { …others, <member>: [row, …], …last } }`. A query that fails at once is an error. */
export async function streamedResult(
  member: string,
  rows: AsyncIterable<unknown>,
  others: Record<string, unknown> = {},
  last: () => Record<string, unknown> = () => ({}),
): Promise<Reply> {
  const start = JSON.stringify({ success: true, result: { ...others, [member]: [] } }).slice(0, -']}}'.length);
  const end = () =>
    Object.entries(last())
      .map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
      .join('');
  return bare(await streamedRows(start, rows, () => `]${end()}}}`));
}

/** Streams `{ success: true, result: [row, …] }`, in the same way. */
export async function streamedList(rows: AsyncIterable<unknown>): Promise<Reply> {
  return bare(await streamedRows('{"success":true,"result":[', rows, () => ']}'));
}

export async function streamedRows(start: string, rows: AsyncIterable<unknown>, end: () => string): Promise<Readable> {
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  return readableOf(pieces(start, first, iterator, end), iterator);
}

/** Ends the rows with the body, even if it was never read, as for HEAD. */
function readableOf(body: AsyncIterable<string>, rows: AsyncIterator<unknown>): Readable {
  return Readable.from(body, { objectMode: false }).once('close', () => void rows.return?.().catch(() => {}));
}

async function* pieces(
  start: string,
  first: IteratorResult<unknown>,
  rest: AsyncIterator<unknown>,
  end: () => string,
): AsyncGenerator<string> {
  let piece = start;
  try {
    for (let at = first, comma = ''; !at.done; at = await rest.next(), comma = ',') {
      piece += comma + toJson(at.value);
      if (piece.length < PIECE_CHARS) continue;
      yield piece;
      piece = '';
    }
    yield piece + end();
  } finally {
    await rest.return?.(); // the caller may have hung up
  }
}

function toJson(value: unknown): string {
  return value instanceof JsonText ? value.json : JSON.stringify(value);
}
