/** Requests and answers in JSON. */
import type { z } from 'zod';
import { OUTSIDE_STATUSES } from '../../domain/core/outside-status.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { checkNesting, NestingError } from '../../domain/json/parse-json.ts';
import type { ConnectorContext } from './contract.ts';
import type { GuardedAnswer } from './guarded-fetch.ts';
import { MAX_OUTSIDE_NESTING, sayDepth } from './json-record.ts';
import { sourceRefusal } from './source-refusal.ts';

type Post = { body: string; headers?: Record<string, string>; advice: string; onSending?: (() => void) | undefined };

/**
 * Posts JSON and returns a 2xx answer, which the caller reads or ends. Follows 307 and 308 to the same scheme, host and
 * port, and refuses any other redirect: the body must not go elsewhere.
 */
export async function postForAnswer(
  url: string,
  { body, headers = {}, advice, onSending }: Post,
  { fetch, signal }: ConnectorContext,
): Promise<GuardedAnswer> {
  const answer = await fetch.request(url, {
    method: 'POST',
    body,
    signal,
    headers: { 'Content-Type': 'application/json', ...headers },
    advice,
    onSending,
  });
  return unredirected(answer, { url, method: 'POST' });
}

/**
 * Returns an answer to a request; refuses one that a redirect has led to another origin, so without its token, or by
 * another method, so without its body.
 */
export async function unredirected(
  answer: GuardedAnswer,
  { url, method }: Pick<GuardedAnswer, 'url' | 'method'>,
): Promise<GuardedAnswer> {
  const { origin, host } = new URL(url);
  if (answer.method === method && new URL(answer.url).origin === origin) return answer;
  await answer.end();
  const message = `${host} redirects what is sent to it: use the address that it redirects to`;
  throw sourceRefusal('source_refused', message);
}

/** Returns the body and the headers of a request in JSON with an access token; without a body if there is none. */
export function jsonWithToken(token: string, body: unknown): { body?: string; headers: Record<string, string> } {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' };
  if (body === undefined) return { headers };
  return { body: JSON.stringify(body), headers: { ...headers, 'Content-Type': 'application/json' } };
}

const MAX_BYTES = 4 * 1024 * 1024;

/** Refuses JSON that is too large; a caller that asks for pages may ask for smaller ones. */
export class TooLargeAnswer extends Refusal {
  constructor(host: string, most: number) {
    const message = `${host} answered with more than ${most / 1_048_576} MiB`;
    super(OUTSIDE_STATUSES.source_unavailable, 'source_unavailable', message);
  }
}

/**
 * Returns an answer's JSON with the digits of its numbers (`parseExactJson`); undefined if it is empty or, by its
 * Content-Type, no JSON. Refuses with `source_unavailable` more than `most` bytes (default 4 MiB) or broken JSON, and
 * with `source_refused` JSON that nests too deep.
 */
export async function jsonAnswer({ url, body, headers }: GuardedAnswer, most = MAX_BYTES): Promise<unknown> {
  const { host } = new URL(url);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > most) throw new TooLargeAnswer(host, most);
    chunks.push(chunk);
  }
  if (bytes === 0 || !/^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')) return undefined;
  try {
    const text = Buffer.concat(chunks).toString('utf8');
    checkNesting(text, MAX_OUTSIDE_NESTING);
    return parseExactJson(text);
  } catch (error) {
    if (!(error instanceof NestingError))
      throw sourceRefusal('source_unavailable', `${host} answered with JSON that is broken`);
    throw sourceRefusal('source_refused', `${host} answered with JSON that ${sayDepth(MAX_OUTSIDE_NESTING)}`);
  }
}

/**
 * Returns the JSON of an answer in `answers`; undefined if it is none, broken or was cut. Its texts may quote values:
 * read codes and names from it, never messages.
 */
export async function errorJson(answer: GuardedAnswer): Promise<unknown> {
  return jsonAnswer(answer).catch((error: unknown) => {
    if (error instanceof Refusal && error.status !== 'transfer_broken') return undefined;
    throw error;
  });
}

/** Returns an answer's JSON parsed by `schema`, and refuses an answer of another form. */
export async function answerAs<T>(schema: z.ZodType<T>, answer: GuardedAnswer, most?: number): Promise<T> {
  const read = schema.safeParse(await jsonAnswer(answer, most));
  if (read.success) return read.data;
  throw sourceRefusal(
    'source_refused',
    `${new URL(answer.url).host} answered with something else than was expected: check the address`,
  );
}
