/** The SDK's client for users' buckets: it has only the settings below, and sends through the address guard. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { Dispatcher } from 'undici';
import { awsPartition } from '../../domain/exports/aws-partition.ts';
import type { Asked, HttpAnswer } from '../core/guarded-request.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

type Handler = Extract<NonNullable<S3ClientConfig['requestHandler']>, { handle: (...given: never[]) => unknown }>;
type Request = Parameters<Handler['handle']>[0];

/**
 * Maximum size of an answer that is no object: the SDK keeps it all, and a page of 1,000 of the longest keys is
 * smaller.
 */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

type Send = (url: URL, asked: Asked) => Promise<HttpAnswer>;

type ClientSettings = {
  region: string;
  /** Address of another S3 than Amazon's; the bucket is then part of its paths. */
  endpoint: string | null;
  credentials: NonNullable<S3ClientConfig['credentials']>;
  send: Send;
  contentMd5?: boolean | undefined;
};

/** Makes a client that reads neither the environment nor the machine's host, and never retries by itself. */
export function s3Client({ region, endpoint, credentials, send, contentMd5 = false }: ClientSettings): S3Client {
  const address = s3Address({ region, endpoint });
  const client = new S3Client({
    endpoint: address,
    region,
    credentials,
    forcePathStyle: endpoint !== null,
    requestHandler: handlerOver(send),
    maxAttempts: 1,
    retryMode: 'standard',
    defaultsMode: 'standard',
    expectContinueHeader: false,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    useArnRegion: false,
    disableS3ExpressSessionAuth: true,
    userAgentAppId: 'millrace',
  });
  if (address.startsWith('https:')) leaveBodiesToTls(client);
  if (contentMd5) sendContentMd5(client);
  return client;
}

/** Returns the endpoint, or the address of Amazon's own S3 in a region. */
export function s3Address({ region, endpoint }: Pick<ClientSettings, 'region' | 'endpoint'>): string {
  return endpoint ?? `https://s3.${region}.${awsPartition(region).dnsSuffix}`;
}

/** Handles the SDK's HTTP by `send`, which refuses by itself, without settings of the environment. */
function handlerOver(send: Send): Handler {
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

/** Returns the path as it was signed: a parser of URLs would remove `..` from a key. */
function pathOf({ path, query = {} }: Request): string {
  const members = Object.entries(query as Record<string, string | string[] | null>);
  const pairs = members.flatMap(([name, value]) =>
    [value].flat().map((one) => `${escaped(name)}=${escaped(one ?? '')}`),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** Escapes as the signature does, with %20 instead of + (RFC 3986). */
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

/** Adds Content-MD5, for buckets that support no other checksum, or require it because of object locks. */
function sendContentMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers, body } = args.request as { headers: Record<string, string>; body?: unknown };
      if (typeof body === 'string' || Buffer.isBuffer(body))
        headers['content-md5'] = createHash('md5').update(body).digest('base64');
      return next(args);
    },
    { step: 'build', name: 'sendContentMd5' },
  );
}

/** Leaves bodies out of the signature, since TLS protects them; the signed headers contain a checksum of the bytes. */
function leaveBodiesToTls(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers, body } = args.request as { headers: Record<string, string>; body?: unknown };
      if (Buffer.isBuffer(body)) headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
      return next(args);
    },
    { step: 'build', name: 'leaveBodiesToTls' },
  );
}
