/** Connector that reads a file over HTTP. */
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { requestHeadersError } from '../../domain/core/request-headers.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { connector, type ConnectorContext, secret, refineBy } from '../core/contract.ts';
import { contentLength, filePart, fileVersion } from '../core/file-version.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { FileBytes } from '../files/file-bytes.ts';
import { fieldsOf } from '../files/file-fields.ts';
import { fileSettings } from '../files/file-settings.ts';
import { readFile } from '../files/read-file.ts';

const httpFileSettings = z.object({
  url: z
    .string({ error: 'url must be a text' })
    .superRefine(refineBy('url', sourceUrlError))
    .describe('The address of the file, http:// or https://, as it may be shown to anyone who sees the settings'),
  url_query: secret(
    z
      .string({ error: 'url_query must be a text' })
      .regex(
        /^[^?#\s][^#\s]*$/,
        'url_query must be what stands behind the ? of an address, such as sig=abc, without spaces and #',
      )
      .max(2_000, 'url_query must have at most 2,000 characters'),
  )
    .optional()
    .describe('What is put behind the address as its query, where that holds a token or a signature'),
  request_headers: secret(
    z
      .record(z.string(), z.string(), { error: 'request_headers must be an object of texts by header names' })
      .superRefine(refineBy('request_headers', requestHeadersError)),
  )
    .default({})
    .describe('Headers of the request, by their names, such as Authorization'),
  ...fileSettings,
});

type HttpFileSettings = z.output<typeof httpFileSettings>;

/** Reads a file of CSV or JSON Lines at an HTTP or HTTPS address. */
export const httpFile = connector({
  name: 'http-file',
  title: 'File over HTTP (CSV, JSON Lines)',
  settings: httpFileSettings,
  source: {
    async check(given, context) {
      await fieldsOf(given, await openByHttp(given, context));
    },
    async discover(given, context) {
      const fields = await fieldsOf(given, await openByHttp(given, context));
      return [{ name: streamName(given.url), fields, key: [], incremental: 'own' }];
    },
    read: (given, reading, context) => readFile(given, (part) => openByHttp(given, context, part), reading),
  },
});

/** Returns the last part of the path, or the host if there is none. */
function streamName(text: string): string {
  const { pathname, hostname } = new URL(text);
  const name = pathname.split('/').findLast((part) => part !== '') ?? hostname;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

type Part = { from: number; version: string };

/** Opens the file or its part; the whole file if the source does not give the part of this version. */
export async function openByHttp(
  { url, url_query: query, request_headers: headers }: HttpFileSettings,
  context: ConnectorContext,
  part?: Part,
): Promise<FileBytes> {
  const { fetch, signal } = context;
  const address = withQuery(url, query);
  if (part !== undefined) {
    const rest = { from: part.from, ifRange: part.version };
    const answer = await fetch
      .request(address, { headers, signal, isStream: true, part: rest })
      .catch(nullWhereOutOfRange);
    if (answer?.status === 200 || (answer && isPart(answer, part))) {
      return opened(answer, answer.status === 206 ? part.from : 0, context);
    }
    await answer?.end();
  }
  return opened(await fetch.request(address, { headers, signal, isStream: true }), 0, context);
}

function withQuery(url: string, query: string | undefined): string {
  if (query === undefined) return url;
  const address = new URL(url);
  address.search = address.search === '' ? query : `${address.search}&${query}`;
  return address.href;
}

/** The file has become shorter, or ends exactly there. */
function nullWhereOutOfRange(error: unknown): null {
  if (error instanceof Refusal && error.extra['source_status'] === 416) return null;
  throw error;
}

function isPart({ status, headers }: GuardedAnswer, { from, version }: Part): boolean {
  const part = filePart(headers);
  return (
    status === 206 && part?.start === from && part.end === part.total && fileVersion(headers)?.validator === version
  );
}

async function opened(answer: GuardedAnswer, from: number, context: ConnectorContext): Promise<FileBytes> {
  const error = answerError(answer, from);
  if (error !== undefined) {
    await answer.end();
    throw error;
  }
  const { headers, body, end } = answer;
  const version = fileVersion(headers)?.validator ?? null;
  return {
    from,
    version,
    mark: markOf(headers, version),
    bytes: contentLength(headers) ?? null,
    chunks: body,
    context,
    end,
  };
}

/**
 * Returns the entity tag, even a weak one, or else a reliable date with the length: a length alone may stay the same.
 */
function markOf(headers: Record<string, string>, version: string | null): string | null {
  return headers['etag'] ?? (version === null ? null : `${version} ${contentLength(headers) ?? ''}`);
}

function answerError({ status, headers, url }: GuardedAnswer, from: number): Refusal | undefined {
  const { host } = new URL(url);
  if (status !== (from > 0 ? 206 : 200))
    return sourceRefusal('source_refused', `${host} answered ${status}, and not with a file`);
  if (['identity', 'gzip', 'x-gzip'].includes((headers['content-encoding'] ?? 'identity').toLowerCase()))
    return undefined;
  return sourceRefusal(
    'source_refused',
    `${host} sends the file in an encoding (Content-Encoding) that Millrace does not read: ` +
      'have it sent as it is, or gzipped',
  );
}
