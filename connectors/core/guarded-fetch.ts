/** The one way out to addresses that users set. */
import type { Dispatcher } from 'undici';
import { requestHeadersError } from '../../domain/core/request-headers.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { type Lookup, systemLookup } from './address-guard.ts';
import type { FetchAllow } from './fetch-allow.ts';
import {
  FETCH_LIMITS,
  type FetchLimits,
  guardedRequest,
  type HttpAnswer,
  type KeptConnections,
  keptConnections,
  type WayOut,
} from './guarded-request.ts';
import { refusalOfAnswer, sourceRefusal } from './source-refusal.ts';

export type FetchSettings = {
  limits?: Partial<FetchLimits>;
  /** Replaces the system's resolver in tests. Its results are guarded as well. */
  lookup?: Lookup;
};

export type GuardedRequest = {
  method?: Dispatcher.HttpMethod;
  /** Set by a user: sent only to the origin (scheme, host, port) of the first address. */
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Requests the part from byte `from` on, only of the version `ifRange` (a validator). */
  part?: { from: number; ifRange: string };
  /** A file, or a stream of records: it has a least rate instead of a deadline. */
  isStream?: boolean;
  /** Ends the request and the body, which then throw the signal's reason. */
  signal?: AbortSignal;
  /** Advice for the user if the answer is final; by default to check the address and `request_headers`. */
  advice?: string;
  /** Returns whether the first address, or that of a redirect, may be asked. By default the guard alone decides. */
  mayAsk?: (url: URL) => boolean;
  /** Called once a connection stands, before any part of the request is sent. */
  onSending?: (() => void) | undefined;
  /**
   * Statuses beyond 2xx whose answers are returned instead of refused, with at most MAX_ERROR_BYTES of the body, which
   * can be read again and again.
   */
  answers?: readonly number[];
};

/** Maximum size of the body of an answer beyond 2xx; what follows is left out. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** An answer of 2xx, or of a status in `answers`, to `method` at `url`, which redirects may have changed. */
export type GuardedAnswer = HttpAnswer & { url: string; method: Dispatcher.HttpMethod };

export type GuardedFetch = {
  /** For a client of another library beside it. */
  limits: FetchLimits;
  /** Refuses with `address_refused`, `source_refused`, `source_unavailable` and, from the body, `transfer_broken`. */
  request(url: string, request?: GuardedRequest): Promise<GuardedAnswer>;
  /** Returns the same over connections that are kept between requests, until `close`. */
  kept(): KeptFetch;
};

export type KeptFetch = GuardedFetch & { close(): Promise<void> };

type Hop = { url: URL; method: Dispatcher.HttpMethod; headers: Record<string, string>; body?: string | Uint8Array };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
/** Maximum length of a request's address: connectors put queries and lists of ids into it. */
const MAX_URL_LENGTH = 16_384;

/**
 * Sends HTTP and HTTPS requests to public addresses, and to others that `allow` covers. Each redirect is checked from
 * the start. No proxy, no cookies, and a new connection for each request unless they are kept.
 */
export function guardedFetch(allow: FetchAllow, settings: FetchSettings = {}): GuardedFetch {
  const way = { allow, lookup: settings.lookup ?? systemLookup, limits: { ...FETCH_LIMITS, ...settings.limits } };
  return fetchBy(way);
}

function fetchBy(way: WayOut, connections?: KeptConnections): GuardedFetch {
  return {
    limits: way.limits,
    kept() {
      const own = keptConnections(way, way.limits);
      return { ...fetchBy(way, own), close: () => own.close() };
    },
    async request(text, request = {}) {
      const {
        method = 'GET',
        headers = {},
        body,
        part,
        isStream,
        signal,
        advice,
        mayAsk,
        onSending,
        answers = [],
      } = request;
      const began = performance.now();
      const error = requestHeadersError(headers);
      if (error !== undefined) throw sourceRefusal('source_refused', `request_headers ${error}`);
      const first = checkedUrl(text);
      let hop: Hop = { url: first, method, headers: inSmallLetters(headers), body };
      for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
        const { url } = hop;
        if (mayAsk?.(url) === false) throw sourceRefusal('address_refused', `${url.host} may not be asked`);
        const userHeaders = url.origin === first.origin ? hop.headers : {};
        const asked = {
          method: hop.method,
          path: `${url.pathname}${url.search}`,
          body: hop.body,
          signal,
          isStream,
          began,
          onSending,
        };
        const sent = { ...asked, headers: { ...ourHeaders(part), ...userHeaders } };
        const answer = { ...(await guardedRequest(url, sent, way, connections)), url: url.href, method: hop.method };
        if (answer.status >= 200 && answer.status <= 299) return answer;
        if (answers.includes(answer.status)) return { ...answer, body: await heldBody(answer, MAX_ERROR_BYTES) };
        await answer.end();
        if (!REDIRECTS.has(answer.status)) {
          throw refusalOfAnswer(hop.url.host, answer.status, answer.headers['retry-after'], advice);
        }
        hop = nextHop(hop, answer);
      }
      throw sourceRefusal('source_refused', `${first.host} redirects more than ${MAX_REDIRECTS} times`);
    },
  };
}

/** Reads the first `most` bytes of a body and ends it. Returns them as a body that can be read again and again. */
async function heldBody({ body }: HttpAnswer, most: number): Promise<AsyncIterable<Buffer>> {
  const chunks: Buffer[] = [];
  let left = most;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  return {
    async *[Symbol.asyncIterator]() {
      yield* chunks;
    },
  };
}

function checkedUrl(text: string): URL {
  const error = sourceUrlError(text, MAX_URL_LENGTH);
  if (error !== undefined) throw sourceRefusal('address_refused', `The address ${error}`);
  return new URL(text);
}

function ourHeaders(part: GuardedRequest['part']): Record<string, string> {
  const always = { 'user-agent': 'Millrace', accept: '*/*', 'accept-encoding': 'identity' };
  return part === undefined ? always : { ...always, range: `bytes=${part.from}-`, 'if-range': part.ifRange };
}

/**
 * Returns the checked target of a redirect, with the method as fetch changes it (Fetch standard, HTTP-redirect fetch).
 */
function nextHop(hop: Hop, { status, headers }: GuardedAnswer): Hop {
  const { url, method, body } = hop;
  const location = headers.location === undefined ? null : URL.parse(headers.location, url.href);
  if (location === null) {
    throw sourceRefusal('source_refused', `${url.host} answered ${status}, a redirect, and does not say where to`);
  }
  const next = checkedUrl(location.href);
  if (url.protocol === 'https:' && next.protocol === 'http:') {
    throw sourceRefusal(
      'address_refused',
      `${url.host} redirects from https:// to http://, where others can read along`,
    );
  }
  const turnsToGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  if (turnsToGet) return { url: next, method: 'GET', headers: withoutContent(hop.headers) };
  if (body !== undefined && next.origin !== url.origin) {
    throw sourceRefusal('source_refused', `${url.host} redirects what is sent to it to ${next.host}: use that address`);
  }
  return { ...hop, url: next };
}

/** Returns headers by lower-case names, so that a user's Accept or User-Agent replaces ours. */
function inSmallLetters(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function withoutContent(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
}
