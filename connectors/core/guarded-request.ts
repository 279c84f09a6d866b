/** Sends one HTTP request through the address guard. */
import type { IncomingHttpHeaders } from 'node:http';
import { Client, type Dispatcher } from 'undici';
import type { Lookup } from './address-guard.ts';
import { atLeast, type Deadline, deadlineOf, type LeastRate } from './answer-bounds.ts';
import type { FetchAllow } from './fetch-allow.ts';
import { guardedConnector } from './guarded-connector.ts';
import { refusalOfBreak, refusalOfFailure } from './source-refusal.ts';

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

/**
 * Sends one request to the origin of `url` through the address guard: a new connection, no redirects, no proxy and no
 * cookies. Refuses with `address_refused`, `source_refused`, `source_unavailable` and, from the body,
 * `transfer_broken`. The whole answer, or the headers of a stream, must end within `totalMs`.
 */
export async function guardedRequest(url: URL, asked: Asked, { allow, lookup, limits }: WayOut): Promise<HttpAnswer> {
  const {
    signal,
    method,
    path,
    body,
    headers,
    isStream = false,
    began = performance.now(),
    onSending = () => undefined,
  } = asked;
  const client = new Client(url.origin, {
    connect: guardedConnector(url, allow, lookup, limits.connectMs),
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.idleMs,
  });
  client.once('connect', () => {
    if (!signal?.aborted) onSending();
  });
  const deadline = deadlineOf(url.host, limits.totalMs, began);
  const end = () => {
    deadline.end();
    return client.destroy();
  };
  try {
    const answer = await client.request({
      // Its own connection ends with it: the source need not keep it open.
      reset: true,
      method,
      path,
      body,
      signal: anyOf(signal, deadline),
      headers: Object.entries(headers).flat(),
    });
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
    throw refusalOfFailure(url.host, error);
  }
}

function anyOf(signal: AbortSignal | undefined, deadline: Deadline): AbortSignal {
  return signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
}

/** Yields the bytes of an answer; refuses with `transfer_broken` if they end too early. */
export async function* bodyOf(
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
export function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}
