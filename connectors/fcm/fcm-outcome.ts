/** Outcomes of FCM's answers. */

import { z } from 'zod';
import { shorten } from '../../domain/text/text-limits.ts';
import { FCM_MAX_BYTES, type PushOutcome } from '../../domain/sends/push.ts';
import { retryAfterMs } from '../push/provider-pause.ts';
import type { PostResult } from '../push/http2-session.ts';

type Answer = Extract<PostResult, { kind: 'answer' }>;

/** Google's error model, with FCM's details (FCM HTTP v1: ErrorCode). */
const ErrorBody = z.object({
  error: z.object({
    message: z.string().catch(''),
    status: z.string().catch(''),
    details: z.array(z.looseObject({ '@type': z.string().catch('') })).catch([]),
  }),
});
const Violations = z.object({ fieldViolations: z.array(z.object({ field: z.string() })) });
const QuotaFailure = z.object({
  violations: z.array(z.object({ subject: z.string().catch(''), description: z.string().catch('') })),
});

/** Only such codes are shown: a user's endpoint may answer anything. */
const CODE = /^[A-Z][A-Z\d_]{1,63}$/;
const MAX_WORDS = 500;

export type FcmFailure = { code: string; message: string; details: Record<string, unknown>[] };

/** Returns FCM's own code if there is one, else Google's. */
export function readFailure({ status, body }: Answer): FcmFailure {
  try {
    const { error } = ErrorBody.parse(JSON.parse(body));
    const own = error.details.find((detail) => detail['@type'].endsWith('google.firebase.fcm.v1.FcmError'))?.[
      'errorCode'
    ];
    const code = [own, error.status].find((each) => typeof each === 'string' && CODE.test(each)) ?? `HTTP_${status}`;
    return { code: code as string, message: shorten(error.message, MAX_WORDS), details: error.details };
  } catch {
    return { code: `HTTP_${status}`, message: 'without a word of its own', details: [] };
  }
}

export function fcmOutcome(answer: Answer): PushOutcome {
  if (answer.status === 200) return { kind: 'sent', providerId: nameOf(answer.body) };
  const failure = readFailure(answer);
  const { code, message } = failure;
  const wait = (otherwise: number) => retryAfterMs(answer.headers['retry-after'], otherwise);
  switch (code) {
    case 'UNREGISTERED':
      return { kind: 'gone', since: null };
    case 'INVALID_ARGUMENT':
      return invalidArgument(failure);
    case 'QUOTA_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
      // A minute without a header (Firebase: Best practices when sending at scale).
      return { kind: 'throttled', retryAfterMs: wait(60_000), scope: isOfDevice(failure) ? 'device' : 'provider' };
    case 'UNAVAILABLE':
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'provider' };
    case 'INTERNAL':
      return {
        kind: 'throttled',
        retryAfterMs: wait(10_000),
        scope: answer.headers['retry-after'] === undefined ? 'device' : 'provider',
      };
  }
  if (answer.status === 413) return { kind: 'too_big', bytes: null, maxBytes: FCM_MAX_BYTES };
  if (answer.status === 429 || answer.status === 503)
    return { kind: 'throttled', retryAfterMs: wait(60_000), scope: 'provider' };
  // A server before FCM answered, which may have passed the message on.
  if (answer.status >= 500) return { kind: 'unknown', reason: `FCM answered ${answer.status} ${message}` };
  return { kind: 'refused', code, reason: message };
}

/** A token that FCM can't read belongs to no device of any project. */
function invalidArgument({ code, message, details }: FcmFailure): PushOutcome {
  const fields = details
    .flatMap((detail) => Violations.safeParse(detail).data?.fieldViolations ?? [])
    .map(({ field }) => field);
  if (fields.includes('message.token') || /registration token is not a valid/i.test(message))
    return { kind: 'gone', since: null };
  if (/\btoo big\b/i.test(message)) return { kind: 'too_big', bytes: null, maxBytes: FCM_MAX_BYTES };
  return { kind: 'refused', code, reason: message };
}

/** Returns whether a quota is a device's own, which says nothing about others. */
function isOfDevice({ message, details }: FcmFailure): boolean {
  const violations = details.flatMap((detail) => QuotaFailure.safeParse(detail).data?.violations ?? []);
  return [message, ...violations.flatMap(({ subject, description }) => [subject, description])].some((words) =>
    /\bdevice\b/i.test(words),
  );
}

/** Returns `projects/<id>/messages/<message id>`. */
function nameOf(body: string): string | null {
  const [, name] = /"name":\s*"([^"\\]{1,256})"/.exec(body) ?? [];
  return name ?? null;
}
