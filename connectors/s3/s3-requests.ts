// The one way to send requests to S3: their rights, errors and retries.
import { setTimeout as delay } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { backOff } from '../../domain/time/durations.ts';
import { Refusal } from '../../domain/core/refusal.ts';

/** Rights that a bucket must grant, by IAM's names. */
export const S3_RIGHTS = {
  put: 's3:PutObject',
  get: 's3:GetObject',
  delete: 's3:DeleteObject',
  list: 's3:ListBucket',
  abort: 's3:AbortMultipartUpload',
  listUploads: 's3:ListBucketMultipartUploads',
} as const;

export type S3Right = (typeof S3_RIGHTS)[keyof typeof S3_RIGHTS];

/** Sends a request that needs `right`, and retries it if that may help. `again`: an earlier try may have succeeded. */
export type Ask = <T>(
  right: S3Right,
  send: (client: S3Client, options: { abortSignal: AbortSignal }, again: boolean) => Promise<T>,
  how?: { signal?: AbortSignal; isCleanUp?: boolean },
) => Promise<T>;

/** `retryMs`: time after the first failure in which a try may begin. `firstWaitMs`: the first wait, which doubles. */
export type RetryLimits = { retryMs: number; firstWaitMs?: number };

type RequestOptions = {
  signal?: AbortSignal;
  retry: RetryLimits;
  /** Credentials that expire and can be renewed. */
  credentials?: { held(): unknown; renew(used: unknown): Promise<unknown> } | null;
  /** Returns the error to throw instead of one of the SDK. */
  errorOf(error: unknown, right: S3Right): unknown;
};

export const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** Maximum number of renewals of credentials that are refused at once. */
const MAX_RENEWALS = 3;
/** Time limit of clean-up requests after a failure. */
const CLEAN_UP_MS = 15_000;

/** Returns the function that sends all requests to S3. The client must not retry by itself (`maxAttempts: 1`). */
export function s3Requests(client: S3Client, { signal, retry, credentials = null, errorOf }: RequestOptions): Ask {
  return async (right, send, { signal: own, isCleanUp = false } = {}) => {
    const signals = [signal, own].filter((one) => one !== undefined);
    const abortSignal = isCleanUp ? AbortSignal.timeout(CLEAN_UP_MS) : AbortSignal.any(signals);
    let deadline: number | undefined;
    let renewals = 0;
    for (let tries = 0; ; tries += 1) {
      const used = credentials?.held();
      try {
        return await send(client, { abortSignal }, tries > 0);
      } catch (sdkError) {
        abortSignal.throwIfAborted();
        const error = errorOf(sdkError, right);
        if (!isPassing(error)) throw error;
        if (credentials && answerOf(error).code === 'ExpiredToken' && renewals < MAX_RENEWALS) {
          renewals += 1;
          await credentials.renew(used);
          continue;
        }
        const now = performance.now();
        deadline ??= now + retry.retryMs;
        const waitMs = waitAfter(backOff(tries + 1, retry.firstWaitMs ?? FIRST_WAIT_MS, MAX_WAIT_MS), error);
        if (now + waitMs > deadline) throw error;
        await delay(waitMs, undefined, { signal: abortSignal }).catch(() => abortSignal.throwIfAborted());
      }
    }
  };
}

/** Returns a wait; half of it is random, so that requests that failed together do not return together. */
function waitAfter(most: number, error: unknown): number {
  const asked = error instanceof Refusal ? error.extra['retry_after'] : undefined;
  const least = typeof asked === 'number' ? asked * 1_000 : 0;
  return Math.max(least, most / 2 + (Math.random() * most) / 2);
}

/** An SDK's error: S3's code, which is its name, its message, and the answer. */
export type S3Error = {
  code: string | undefined;
  message: string;
  status: number | undefined;
  headers: Record<string, string>;
};

type SdkError = {
  name?: unknown;
  code?: unknown;
  $metadata?: { httpStatusCode?: number; clockSkewCorrected?: boolean };
  $response?: { statusCode?: number; headers?: Record<string, string> };
};

export function s3Error(error: unknown): S3Error {
  const { name, $metadata, $response } = error as SdkError;
  return {
    code: typeof name === 'string' ? name : undefined,
    message: error instanceof Error ? error.message : '',
    status: $response?.statusCode ?? $metadata?.httpStatusCode,
    headers: $response?.headers ?? {},
  };
}

/** Returns whether the object or upload is missing, by an error of the SDK or a refusal. */
export function isNotFound(error: unknown): boolean {
  const { code, status } = answerOf(error);
  return status === 404 && code !== 'NoSuchBucket';
}

/** Returns whether the bucket refused for lack of a right, by an error of the SDK or a refusal. */
export const isDenied = (error: unknown): boolean => answerOf(error).code === 'AccessDenied';

function answerOf(error: unknown): { code: unknown; status: unknown } {
  return error instanceof Refusal
    ? { code: error.extra['source_code'], status: error.extra['source_status'] }
    : s3Error(error);
}

/** Returns whether a status is temporary. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/** 4xx codes that are temporary. */
export const PASSING_CODES = new Set<unknown>([
  'RequestTimeout',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequests',
  'OperationAborted',
  'BadDigest',
  'XAmzContentChecksumMismatch',
  'XAmzContentSHA256Mismatch',
  'IncompleteBody',
  'ConditionalRequestConflict',
]);
const PASSING_REFUSALS = new Set<unknown>(['source_unavailable', 'transfer_broken']);
/** Node's codes of connections that fail. */
const CONNECTION_CODES = /^(?:ECONN|EPIPE$|ETIMEDOUT$|EHOST|ENET|ENOTFOUND$|EAI_)/;

function isPassing(error: unknown): boolean {
  if (error instanceof Refusal) return PASSING_REFUSALS.has(error.status);
  const { code, status } = s3Error(error);
  const { code: nodeCode, $metadata } = error as SdkError;
  if (status !== undefined)
    return isPassingStatus(status) || PASSING_CODES.has(code) || $metadata?.clockSkewCorrected === true;
  return code === 'TimeoutError' || CONNECTION_CODES.test(String(nodeCode));
}
