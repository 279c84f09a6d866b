import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { Dispatcher } from 'undici';
import { systemLookup } from '../core/address-guard.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import { type Asked, type FetchLimits, guardedRequest, type HttpAnswer } from '../core/guarded-request.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

type Handler = Extract<NonNullable<S3ClientConfig['requestHandler']>, { handle: (...given: never[]) => unknown }>;
type Request = Parameters<Handler['handle']>[0];

/** The SDK keeps all of an answer that is no object; a page of 1,000 of the longest keys takes less. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** HTTP for the SDK, through the guard of addresses, and no settings of the environment. Throws refusals. */
export function guardedHandler(allow: FetchAllow, limits: FetchLimits): Handler {
  const way = { allow, lookup: systemLookup, limits };
  return handlerOver((url, asked) => guardedRequest(url, asked, way));
}

/** The same over `send`, which refuses by itself. */
export function handlerOver(send: (url: URL, asked: Asked) => Promise<HttpAnswer>): Handler {
  return {
    async handle(request: Request, { abortSignal }: { abortSignal?: unknown } = {}) {
      const url = originOf(request);
      const isObject = request.query?.['x-id'] === 'GetObject';
      const {
        status: statusCode,
        headers,
        body,
      } = await send(url, {
        method: request.method as Dispatcher.HttpMethod,
        path: pathOf(request),
        headers: request.headers,
        body: request.body as Asked['body'],
        signal: abortSignal as AbortSignal | undefined,
        isStream: isObject,
      });
      const isFile = isObject && statusCode < 300;
      return { response: { statusCode, headers, body: Readable.from(isFile ? body : limited(body, url.host)) } };
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
  const pairs = members.flatMap(([name, value]) =>
    [value].flat().map((one) => `${escaped(name)}=${escaped(one ?? '')}`),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** The signature is made over %20 and not +, and so on (RFC 3986). */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function* limited(body: AsyncIterable<Buffer>, host: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw sourceRefusal('source_refused', `${host} answers in more than S3 ever does: check endpoint`);
    yield chunk;
  }
}
