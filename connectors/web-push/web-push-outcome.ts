import { shorten } from '../../domain/core/text-limits.ts';
import { type PushOutcome, WEB_PUSH_MAX_BYTES } from '../../domain/sends/push.ts';
import { retryAfterMs } from '../push/back-off.ts';
import type { PostResult } from '../push/http2-session.ts';

const MAX_WORDS = 200;

/**
 * By RFC 8030, 5 and 7, RFC 8292, 4.2, and what the services of browsers answer. What one of them asks for holds for
 * its device.
 */
export function webPushOutcome(
  { status, headers, body }: Extract<PostResult, { kind: 'answer' }>,
  host: string,
): PushOutcome {
  const wait = (otherwise: number) => retryAfterMs(headers['retry-after'], otherwise);
  switch (status) {
    case 200:
    case 201:
    case 202:
      return { kind: 'sent', providerId: null };
    case 404:
    case 410:
      return { kind: 'gone', since: null };
    case 413:
      return { kind: 'too_big', bytes: null, maxBytes: WEB_PUSH_MAX_BYTES };
    case 429:
      return { kind: 'throttled', retryAfterMs: wait(60_000), scope: 'device' };
    case 500:
    case 503:
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'device' };
  }
  if (status > 500) return { kind: 'unknown', reason: `${host} answered ${status}` };
  return { kind: 'refused', code: `HTTP_${status}`, reason: `${host} answered ${status}${wordsOf(body)}` };
}

/**
 * Services answer in plain text or in JSON with a `message`, `reason` or `error`; one that a device made up may answer
 * anything.
 */
function wordsOf(body: string): string {
  const [, member] = /"(?:message|reason|error)"\s*:\s*"([^"\\]{1,200})"/.exec(body) ?? [];
  const words = shorten((member ?? body).replaceAll(/[\p{C}<>]+/gu, ' ').trim(), MAX_WORDS);
  return words === '' ? '' : `: ${words}`;
}
