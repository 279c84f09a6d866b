import { lookup } from 'node:dns/promises';
import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { Client, type Dispatcher } from 'undici';
import type { FetchAllow } from '../fetch-allow.ts';
import { guardedConnector } from '../guarded-connector.ts';
import { refusalOfBreak, refusalOfFailure, sourceRefusal } from '../source-refusal.ts';

type Handler = Extract<NonNullable<S3ClientConfig['requestHandler']>, { handle: (...given: never[]) => unknown }>;
type Request = Parameters<Handler['handle']>[0];
type Body = AsyncIterable<Buffer>;

const CONNECT_MS = 10_000;
const HEADERS_MS = 30_000;
const IDLE_MS = 60_000;
/** The SDK keeps all of an answer that is no object; a page of 1,000 of the longest keys takes less. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/**
 * HTTP for the SDK, through the guard of addresses: a connection for each request, and no redirects, proxies or settings
 * of the environment. Throws refusals.
 */
export function guardedHandler(allow: FetchAllow): Handler {
  return {
    async handle(request: Request, { abortSignal }: { abortSignal?: unknown } = {}) {
      const signal = abortSignal as AbortSignal | undefined;
      const url = originOf(request);
      const client = new Client(url.origin, {
        connect: guardedConnector(url, allow, (name) => lookup(name, { all: true }), CONNECT_MS),
        headersTimeout: HEADERS_MS, bodyTimeout: IDLE_MS,
      });
      try {
        const { statusCode, headers, body } = await client.request({
          reset: true, signal, headers: request.headers,
          method: request.method as Dispatcher.HttpMethod, path: pathOf(request),
        });
        body.on('error', () => undefined);
        const whole = bodyOf(body, url.host, client, signal);
        const isObject = statusCode < 300 && request.query?.['list-type'] === undefined;
        return { response: { statusCode, headers: joined(headers), body: Readable.from(isObject ? whole : limited(whole, url.host)) } };
      } catch (error) {
        await client.destroy();
        signal?.throwIfAborted();
        throw refusalOfFailure(url.host, error);
      }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}

function originOf({ protocol, hostname, port }: Request): URL {
  return new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`);
}

/** As it was signed: a parser of URLs would take `..` out of a key. */
function pathOf({ path, query = {} }: Request): string {
  const members = Object.entries(query as Record<string, string | string[] | null>);
  const pairs = members.flatMap(([name, value]) => [value].flat().map((one) => `${escaped(name)}=${escaped(one ?? '')}`));
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** The signature is made over %20 and not +, and so on (RFC 3986). */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));
}

async function* bodyOf(
  body: AsyncIterable<unknown>, host: string, client: Client, signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    signal?.throwIfAborted();
    throw refusalOfBreak(host, error);
  } finally {
    await client.destroy();
  }
}

async function* limited(body: Body, host: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw sourceRefusal('source_refused', `${host} answers in more than S3 ever does: check endpoint`);
    yield chunk;
  }
}
