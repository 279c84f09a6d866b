/** Sends HTTP requests over kept connections, through the address guard. */
import { type Dispatcher, Pool } from 'undici';
import type { Lookup } from './address-guard.ts';
import { atLeast, endWithin, type LeastRate } from './answer-bounds.ts';
import type { FetchAllow } from './fetch-allow.ts';
import { guardedConnector } from './guarded-connector.ts';
import { type Asked, bodyOf, type HttpAnswer, joined } from './guarded-request.ts';
import { refusalOfFailure, sourceRefusal } from './source-refusal.ts';

export type PoolLimits = {
  /** Until a connection stands, with look-up and TLS. */
  connectMs: number;
  /** Time without progress in sending or receiving. */
  idleMs: number;
  /** From the end of the request to the beginning of the answer, and from there to its end, unless it is a stream. */
  answerMs: number;
  /** Minimum number of bytes that a stream brings in a time. */
  leastRate: LeastRate;
};

export type RequestPool = {
  /** Sends a request as `guardedRequest` does, over kept connections. */
  request(url: URL, asked: Asked): Promise<HttpAnswer>;
  /** Ends running requests, too. */
  close(): Promise<void>;
};

/** Size of the pieces that are sent, so that stalls can be seen. */
const PIECE_BYTES = 256 * 1024;

/** Sends requests to a few origins through the address guard; a slow one may take long, one that stalls ends. */
export function requestPool({
  allow,
  lookup,
  limits,
}: {
  allow: FetchAllow;
  lookup: Lookup;
  limits: PoolLimits;
}): RequestPool {
  const pools = new Map<string, Pool>();
  const poolOf = (url: URL) => {
    const known = pools.get(url.origin);
    if (known) return known;
    const connect = guardedConnector(url, allow, lookup, limits.connectMs);
    const pool = new Pool(url.origin, { connect, headersTimeout: 0, bodyTimeout: limits.idleMs });
    pools.set(url.origin, pool);
    return pool;
  };
  return {
    async request(url, { signal, method, path, headers, body, isStream = false }) {
      const watch = watched(limits);
      try {
        const answer = await poolOf(url).request({
          method,
          path,
          headers: Object.entries(headers).flat(),
          body: watch.piecesOf(body),
          signal: signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]),
        });
        // A body that is ended before it is read emits an error without a listener.
        answer.body.on('error', () => undefined);
        const end = async () => {
          answer.body.destroy();
        };
        if (!isStream) endWithin(answer.body, url.host, limits.answerMs);
        const bytes = isStream ? atLeast(answer.body, url.host, limits.leastRate) : answer.body;
        return {
          status: answer.statusCode,
          headers: joined(answer.headers),
          body: bodyOf(bytes, url.host, end, signal),
          end,
        };
      } catch (error) {
        signal?.throwIfAborted();
        if (watch.signal.aborted) throw sourceRefusal('source_unavailable', `${url.host} ${watch.error()}`);
        throw refusalOfFailure(url.host, error);
      } finally {
        watch.end();
      }
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

/** Ends a request by its signal after too long without progress. */
function watched({ idleMs, answerMs, connectMs }: PoolLimits) {
  const controller = new AbortController();
  let isSent = true;
  let timer = setTimeout(() => controller.abort(), connectMs + answerMs);
  const within = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), ms);
  };
  async function* pieces(body: Buffer): AsyncGenerator<Buffer> {
    isSent = false;
    for (let from = 0; from < body.length; from += PIECE_BYTES) {
      within(idleMs);
      yield body.subarray(from, from + PIECE_BYTES);
    }
    isSent = true;
    within(idleMs + answerMs);
  }
  return {
    signal: controller.signal,
    piecesOf(body: Asked['body']): Dispatcher.DispatchOptions['body'] {
      if (body === undefined || typeof body === 'string' || body.length <= PIECE_BYTES) return body;
      return pieces(
        Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      ) as unknown as Dispatcher.DispatchOptions['body'];
    },
    error: () => (isSent ? 'took the request and did not answer in time' : 'stopped taking what was sent to it'),
    end: () => clearTimeout(timer),
  };
}
