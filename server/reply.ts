import { Readable } from 'node:stream';

/** A piece of a streamed body is about this long, so that a million short rows don't make a million writes. */
const PIECE_CHARS = 64 * 1024;

/** An answer that is more than a payload in the envelope: a body as it goes out, and its HTTP status. */
export class Reply {
  readonly status: number;
  readonly body: unknown;

  constructor(body: unknown, status: number) {
    this.body = body;
    this.status = status;
  }
}

/** A body without the envelope (reference: where an exception is stated). */
export function bare(body: unknown, status = 200): Reply {
  return new Reply(body, status);
}

/** `{ success: true }` only. */
export function noResult(): Reply {
  return bare({ success: true });
}

/**
 * `{ success: true, result: { <member>: [row, …] } }`, written as the rows come. The first row is awaited here,
 * so that a query that fails at once is still answered as an error.
 */
export async function streamedResult(member: string, rows: AsyncIterable<unknown>): Promise<Reply> {
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  return bare(Readable.from(pieces(member, first, iterator), { objectMode: false }));
}

async function* pieces(
  member: string, first: IteratorResult<unknown>, rest: AsyncIterator<unknown>,
): AsyncGenerator<string> {
  let piece = `{"success":true,"result":{${JSON.stringify(member)}:[`;
  try {
    for (let at = first, comma = ''; !at.done; at = await rest.next(), comma = ',') {
      piece += comma + JSON.stringify(at.value);
      if (piece.length < PIECE_CHARS) continue;
      yield piece;
      piece = '';
    }
    yield `${piece}]}}`;
  } finally {
    await rest.return?.();        // the caller may have hung up
  }
}
