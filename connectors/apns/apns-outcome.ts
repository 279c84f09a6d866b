import { z } from 'zod';
import { APNS_MAX_BYTES, type PushOutcome } from '../../domain/sends/push.ts';
import { retryAfterMs } from '../push/back-off.ts';
import type { PostResult } from '../push/http2-session.ts';

export type ApnsAnswer = Extract<PostResult, { kind: 'answer' }>;

/** `timestamp`: since when, in milliseconds, the token is no longer valid. */
const ErrorBody = z.object({
  reason: z.string().regex(/^[A-Za-z]{1,64}$/),
  timestamp: z.number().optional().catch(undefined),
});

/**
 * Apple's own words for each reason (Apple: Handling notification responses from APNs), where ours don't say it better.
 */
const WORDS: Record<string, string> = {
  BadCertificate: 'Apple does not take the push certificate',
  BadCertificateEnvironment: 'The push certificate is for the other environment',
  BadDeviceToken: 'The device token is invalid, or of the other environment',
  BadTopic: 'The topic is invalid',
  DeviceTokenNotForTopic: 'The device token is of another app than the topic names',
  ExpiredProviderToken: 'The provider token is too old: check the clock of this server',
  Forbidden: 'Apple does not allow the action',
  InvalidProviderToken: 'Apple does not take the key: key, key_id and team_id do not belong together',
  MissingProviderToken: 'Neither a push certificate nor a key was shown',
  TopicDisallowed: 'The certificate or key may not send for this topic',
};

export function reasonOf({ status, body }: ApnsAnswer): { reason: string; timestamp?: number | undefined } {
  try {
    return ErrorBody.parse(JSON.parse(body));
  } catch {
    return { reason: `HTTP_${status}` };
  }
}

export function sayReason(reason: string): string {
  return WORDS[reason] ?? `Apple answers ${reason}`;
}

export function apnsOutcome(answer: ApnsAnswer): PushOutcome {
  const { status, headers } = answer;
  if (status === 200) return { kind: 'sent', providerId: [headers['apns-id']].flat()[0] ?? null };
  const { reason, timestamp } = reasonOf(answer);
  const wait = (otherwise: number) => retryAfterMs(headers['retry-after'], otherwise);
  switch (status) {
    case 410:
      return { kind: 'gone', since: timestamp === undefined ? null : new Date(timestamp) };
    case 413:
      return { kind: 'too_big', bytes: null, maxBytes: APNS_MAX_BYTES };
    case 429:
      // A provider token renewed too often counts again after 20 minutes; too many requests are those to one device.
      return reason === 'TooManyProviderTokenUpdates'
        ? { kind: 'throttled', retryAfterMs: wait(20 * 60_000), scope: 'provider' }
        : { kind: 'throttled', retryAfterMs: wait(60_000), scope: 'device' };
    case 500:
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'device' };
    case 503:
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'provider' };
  }
  if (status > 500) return { kind: 'unknown', reason: `APNs answered ${status}` };
  // BadDeviceToken as well: the wrong environment looks the same, and must not opt out every device.
  return { kind: 'refused', code: reason, reason: sayReason(reason) };
}
