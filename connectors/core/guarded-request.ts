/** Sends HTTP requests through the address guard: one alone, or several over kept connections. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Client, type Dispatcher, Pool } from 'undici';
import { type Lookup, guardedConnector } from './address-guard.ts';
import type { FetchAllow } from './fetch-allow.ts';
import { refusalOfBreak, refusalOfFailure, sourceRefusal } from './source-refusal.ts';

export type FetchLimits = {
  /** Until the connection stands, with look-up and TLS. */
  connectMs: number;
  /** From the request to the end of the answer's headers. */
  headersMs: number;
  /** Without a byte of the body, while the reader waits for one. */
  idleMs: number;
  /** From the request to the end of its answer, redirects included; not for a stream. */
  totalMs: number;
  /** Minimum number of bytes that a stream brings in a time. */
  leastRate: LeastRate;
};

export const FETCH_LIMITS: FetchLimits = {
  connectMs: 10_000,
  headersMs: 30_000,
  idleMs: 60_000,
  totalMs: 60_000,
  leastRate: { leastBytes: 64 * 1024, withinMs: 60_000 },
};

/** The allowed addresses, the resolver, and the time limits. */
export type WayOut = { allow: FetchAllow; lookup: Lookup; limits: FetchLimits };

export type Asked = {
  method: Dispatcher.HttpMethod;
  /** Includes the query. */
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
  /** The answer is a file or a stream of records: its least rate bounds its time. */
  isStream?: boolean | undefined;
  /** When the request began, by `performance.now()`; default now, but redirects keep the first time. */
  began?: number | undefined;
  /** Called once the connection stands, before any part of the request is sent. */
  onSending?: (() => void) | undefined;
  /** A second try, after a kept connection was closed; no third follows. */
  isRepeat?: boolean;
};

/** An answer of any status. Read or end its body: until then it holds a connection. */
export type HttpAnswer = {
  status: number;
  /** By lower-case names; several values of a header are joined by commas. */
  headers: Record<string, string>;
  /** The bytes as they came, still encoded. Read it once; leaving the loop early ends it. */
  body: AsyncIterable<Buffer>;
  end(): Promise<void>;
};

/** Connections through the address guard that are kept between requests, by origin. */
export type KeptConnections = {
  poolOf(url: URL): Pool;
  /** Ends running requests, too. */
  close(): Promise<void>;
};

/** Maximum number of kept connections to an origin. */
const MAX_CONNECTIONS = 16;

export function keptConnections(
  { allow, lookup }: Pick<WayOut, 'allow' | 'lookup'>,
  { connectMs, headersMs, idleMs }: Pick<FetchLimits, 'connectMs' | 'headersMs' | 'idleMs'>,
): KeptConnections {
  const pools = new Map<string, Pool>();
  return {
    poolOf(url) {
      const known = pools.get(url.origin);
      if (known) return known;
      const connect = guardedConnector(url, allow, lookup, connectMs);
      const timeouts = { headersTimeout: headersMs, bodyTimeout: idleMs };
      const pool = new Pool(url.origin, { connect, connections: MAX_CONNECTIONS, ...timeouts });
      pools.set(url.origin, pool);
      return pool;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

/**
 * Sends one request to the origin of `url` through the address guard: no redirects, no proxy and no cookies, over a new
 * connection unless there are `kept` ones. Refuses with `address_refused`, `source_refused`, `source_unavailable` and,
 * from the body, `transfer_broken`. The whole answer, or the headers of a stream, must end within `totalMs`.
 */
export async function guardedRequest(
  url: URL,
  asked: Asked,
  { allow, lookup, limits }: WayOut,
  kept?: KeptConnections,
): Promise<HttpAnswer> {
  const { signal, method, path, body, headers, isStream = false, began = performance.now(), onSending } = asked;
  const client =
    kept?.poolOf(url) ??
    new Client(url.origin, {
      connect: guardedConnector(url, allow, lookup, limits.connectMs),
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.idleMs,
    });
  const deadline = deadlineOf(url.host, limits.totalMs, began);
  let received: Readable | undefined;
  const end = async () => {
    deadline.end();
    received?.destroy();
    if (!kept) await client.destroy();
  };
  try {
    const answer = await sayingWhenSent(client, onSending).request({
      // A connection of its own ends with the request: the source need not keep it open.
      reset: !kept,
      method,
      path,
      body,
      signal: anyOf(signal, deadline),
      headers: Object.entries(headers).flat(),
    });
    received = answer.body;
    // A body that is ended before it is read emits an error without a listener.
    answer.body.on('error', () => undefined);
    // Each 1xx answer restarts the wait for the headers, so the deadline also bounds the headers of a stream.
    if (isStream) deadline.end();
    else deadline.answered();
    const bytes = isStream ? atLeast(answer.body, url.host, limits.leastRate) : answer.body;
    const read = bodyOf(bytes, url.host, end, anyOf(signal, deadline));
    return { status: answer.statusCode, headers: joined(answer.headers), body: read, end };
  } catch (error) {
    await end();
    signal?.throwIfAborted();
    if (kept && !asked.isRepeat && SAFE.has(method) && isBreak(error)) {
      return guardedRequest(url, { ...asked, began, isRepeat: true }, { allow, lookup, limits }, kept);
    }
    throw refusalOfFailure(url.host, error);
  }
}

/** Methods that a client may repeat by itself if a kept connection turns out to be closed (RFC 9110, 9.2.2). */
const SAFE = new Set(['GET', 'HEAD']);
const BREAKS = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

const isBreak = (error: unknown) => BREAKS.has((error as { code?: string }).code ?? '');

/** Calls `onSending` when a request has its connection, before any part of it is sent. */
function sayingWhenSent(client: Dispatcher, onSending: (() => void) | undefined): Dispatcher {
  if (!onSending) return client;
  return client.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, {
        onRequestStart(controller, context) {
          handler.onRequestStart?.(controller, context);
          if (!controller.aborted) onSending();
        },
        onResponseStart: (...given) => handler.onResponseStart?.(...given),
        onResponseData: (...given) => handler.onResponseData?.(...given),
        onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
        onResponseError: (...given) => handler.onResponseError?.(...given),
      }),
  );
}

function anyOf(signal: AbortSignal | undefined, deadline: Deadline): AbortSignal {
  return signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
}

/** Yields the bytes of an answer; refuses with `transfer_broken` if they end too early. */
async function* bodyOf(
  bytes: AsyncIterable<unknown>,
  host: string,
  end: () => Promise<void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of bytes) yield chunk as Buffer;
  } catch (error) {
    signal?.throwIfAborted();
    throw refusalOfBreak(host, error);
  } finally {
    await end();
  }
}

/** Returns headers by lower-case names. */
function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** A stream must bring `leastBytes` in each `withinMs` in which its reader waits. */
export type LeastRate = { leastBytes: number; withinMs: number };

/** Ends a request by its signal, up to the end of its answer. */
type Deadline = { signal: AbortSignal; answered(): void; end(): void };

/** Returns a deadline `totalMs` after `began`, a time of `performance.now()`. */
function deadlineOf(host: string, totalMs: number, began: number): Deadline {
  const controller = new AbortController();
  let status: 'source_unavailable' | 'transfer_broken' = 'source_unavailable';
  const expire = () => controller.abort(sourceRefusal(status, tooLong(host, totalMs)));
  const timer = setTimeout(expire, Math.max(0, began + totalMs - performance.now()));
  return {
    signal: controller.signal,
    answered: () => {
      status = 'transfer_broken';
    },
    end: () => clearTimeout(timer),
  };
}

/** Breaks off a body that does not end in time. */
function endWithin(body: Readable, host: string, ms: number): void {
  const timer = setTimeout(() => body.destroy(sourceRefusal('transfer_broken', tooLong(host, ms))), ms);
  body.once('close', () => clearTimeout(timer));
}

const tooLong = (host: string, ms: number) => `The answer of ${host} did not end within ${ms / 1000} s`;

/** Yields the chunks of a body; refuses one slower than `rate`, without the time that the reader takes. */
async function* atLeast(
  bytes: AsyncIterable<unknown>,
  host: string,
  rate: LeastRate,
): AsyncGenerator<Buffer, void, undefined> {
  const chunks = bytes[Symbol.asyncIterator]();
  let received = 0;
  let waitedMs = 0;
  for (;;) {
    const from = performance.now();
    const next = await within(chunks.next(), rate.withinMs - waitedMs, () => tooSlow(host, rate));
    if (next.done === true) return;
    const chunk = next.value as Buffer;
    received += chunk.length;
    waitedMs += performance.now() - from;
    if (received >= rate.leastBytes) {
      received = 0;
      waitedMs = 0;
    }
    yield chunk;
  }
}

async function within<T>(awaited: Promise<T>, ms: number, refusal: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(refusal()), Math.max(0, ms));
  });
  try {
    return await Promise.race([awaited, late]);
  } finally {
    clearTimeout(timer);
    // After a refusal the awaited chunk fails, too.
    awaited.catch(() => undefined);
  }
}

function tooSlow(host: string, { leastBytes, withinMs }: LeastRate): Error {
  const time = withinMs === 60_000 ? 'a minute' : `in ${withinMs / 1000} s`;
  return sourceRefusal('transfer_broken', `The answer of ${host} came slower than ${leastBytes / 1024} KiB ${time}`);
}

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

type RequestPool = {
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
  const kept = keptConnections({ allow, lookup }, { ...limits, headersMs: 0 });
  return {
    async request(url, { signal, method, path, headers, body, isStream = false }) {
      const watch = watched(limits);
      try {
        const answer = await kept.poolOf(url).request({
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
    close: () => kept.close(),
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
