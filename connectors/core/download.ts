/** Downloads a file over HTTP, and resumes broken transfers. */
import { setTimeout as delay } from 'node:timers/promises';
import { backOff } from '../../domain/time/durations.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { contentLength, filePart, fileVersion, type FileVersion } from './file-version.ts';
import type { GuardedAnswer, GuardedFetch } from './guarded-fetch.ts';
import { sourceRefusal } from './source-refusal.ts';

export type Download = {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Limit of the bytes as they come. */
  maxBytes: number;
  /** Called with the size of each piece. */
  onBytes?(bytes: number): void;
  /** The first wait before resuming; it doubles from try to try. For tests. */
  pauseMs?: number;
};

/** State of the download. `end`: end of the current part. */
type Progress = {
  received: number;
  end: number | undefined;
  total: number | undefined;
  version: FileVersion | undefined;
  maxBytes: number;
};

/** Requests the file or its rest. */
type Ask = (part?: { from: number; ifRange: string }) => Promise<GuardedAnswer>;

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Maximum number of tries in a row that bring less than this. */
const MAX_TRIES = 10;
const PROGRESS_BYTES = 64 * 1024;

/**
 * Yields the bytes of one file, in order. A broken transfer resumes with the same version of the file: bytes of two
 * versions are never combined. Refuses with `transfer_broken` or `source_changed` if it cannot resume (a restart may
 * succeed), with `too_large`, and with the refusals of `GuardedFetch`. Gzip is not undone. If the source gives no
 * length and does not use chunks, a break looks like the end.
 */
export async function* download(
  fetch: GuardedFetch,
  url: string,
  { headers, signal, maxBytes, onBytes, pauseMs = PAUSE_MS }: Download,
): AsyncGenerator<Buffer, void, undefined> {
  const ask: Ask = (part) => fetch.request(url, { headers, signal, isStream: true, part });
  let answer: GuardedAnswer | undefined = await ask();
  const progress = await begin(answer, { maxBytes });
  for (let tries = 0; ;) {
    const before = progress.received;
    let failure: Refusal | undefined;
    try {
      answer ??= await goOn(ask, new URL(url).host, progress);
      for await (const chunk of counted(answer, progress)) {
        onBytes?.(chunk.length);
        yield chunk;
      }
      if (progress.received >= (progress.total ?? 0)) return;
    } catch (error) {
      failure = passing(error, answer === undefined ? 'source_unavailable' : 'transfer_broken');
    }
    answer = undefined;
    tries = progress.received - before >= PROGRESS_BYTES ? 0 : tries + 1;
    if (tries > MAX_TRIES) throw failure ?? broken(new URL(url).host, 'ends before the end of the file');
    await wait(tries, pauseMs, failure, signal);
  }
}

async function begin(answer: GuardedAnswer, limits: Pick<Progress, 'maxBytes'>): Promise<Progress> {
  const total = contentLength(answer.headers);
  const error = answerError(answer) ?? ((total ?? 0) > limits.maxBytes ? tooLarge(limits.maxBytes) : undefined);
  if (error === undefined) return { received: 0, end: total, total, version: fileVersion(answer.headers), ...limits };
  await answer.end();
  throw error;
}

function answerError({ status, headers, url }: GuardedAnswer): Refusal | undefined {
  const { host } = new URL(url);
  if (status !== 200) return sourceRefusal('source_refused', `${host} answered ${status}, and not 200 with a file`);
  const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase();
  if (['identity', 'gzip', 'x-gzip'].includes(encoding)) return undefined;
  return sourceRefusal(
    'source_refused',
    `${host} sends the file in an encoding (Content-Encoding) that Millrace does not ` +
      'read: have it sent as it is, or gzipped',
  );
}

/** Requests the rest of the file with If-Range, and compares the answer with what is known. */
async function goOn(ask: Ask, host: string, progress: Progress): Promise<GuardedAnswer> {
  const { received, version } = progress;
  if (version === undefined) throw broken(host, 'names no version of the file (a strong ETag) by which to go on');
  const answer = await ask({ from: received, ifRange: version.validator }).catch((error: unknown) => {
    const isOutOfRange = error instanceof Refusal && error.extra.source_status === 416;
    throw isOutOfRange ? changed(host) : error;
  });
  const rest = restOf(answer, host, progress, version);
  if (rest instanceof Refusal) {
    await answer.end();
    throw rest;
  }
  Object.assign(progress, rest);
  return answer;
}

/** Returns the ends of the rest and of the file, or why the answer is not the rest of this version. */
function restOf(
  { status, headers }: GuardedAnswer,
  host: string,
  { received, total, maxBytes }: Progress,
  version: FileVersion,
): Refusal | { end: number; total: number } {
  const named = headers[version.header];
  if (named !== undefined && named !== version.validator) return changed(host);
  if (status !== 206)
    return named === undefined ? changed(host) : broken(host, 'sends no parts of the file, only the whole');
  if (named === undefined) return broken(host, 'does not say which version of the file the rest is of');
  const part = filePart(headers);
  if (
    part === undefined ||
    part.start !== received ||
    (contentLength(headers) ?? part.end - part.start) !== part.end - part.start
  ) {
    return broken(host, 'sends another part of the file than the rest');
  }
  if (total !== undefined && part.total !== total) return changed(host);
  return part.total > maxBytes ? tooLarge(maxBytes) : { end: part.end, total: part.total };
}

/** Yields and counts the bytes of an answer; stops at one byte more than announced or allowed. */
async function* counted({ body, url }: GuardedAnswer, progress: Progress): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of body) {
    const received = progress.received + chunk.length;
    if (received > progress.maxBytes) throw tooLarge(progress.maxBytes);
    if (received > (progress.end ?? received)) {
      throw sourceRefusal('source_changed', `${new URL(url).host} sends more of the file than it announced`);
    }
    progress.received = received;
    yield chunk;
  }
}

/** Returns a failure after which resuming may succeed; throws any other. */
function passing(error: unknown, status: 'source_unavailable' | 'transfer_broken'): Refusal {
  if (error instanceof Refusal && error.status === status) return error;
  throw error;
}

async function wait(tries: number, pauseMs: number, error: Refusal | undefined, signal?: AbortSignal): Promise<void> {
  const askedMs = typeof error?.extra.retry_after === 'number' ? error.extra.retry_after * 1000 : 0;
  const ms = Math.min(Math.max(backOff(tries + 1, pauseMs), askedMs), LONGEST_PAUSE_MS);
  await delay(ms, undefined, { signal }).catch(() => signal?.throwIfAborted());
}

const broken = (host: string, why: string) =>
  sourceRefusal('transfer_broken', `The transfer from ${host} broke, and it ${why}`);

const changed = (host: string) => sourceRefusal('source_changed', `${host} changed the file during the transfer`);

const tooLarge = (maxBytes: number) =>
  sourceRefusal('too_large', `The file has over ${maxBytes.toLocaleString('en')} bytes, the most that is taken`);
