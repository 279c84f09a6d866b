import type { AttemptCode } from './attempt-code.ts';
import type { PushContent } from '../campaigns/campaign-params.ts';
import { backOff } from '../time/durations.ts';
import type { PushMessage, PushOutcome } from './push.ts';

/** What the ledger says of an attempt that a provider answered: settled, or to be tried again at `dueAt`. */
type SettledAttempt = {
  code: AttemptCode;
  details: string | null;
  providerMessageId: string | null;
  dueAt: Date | null;
};

const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 15 * 60_000;

/** `tries`: how often it was attempted. What was not sent is tried again until it expires. */
export function settleOutcome(
  outcome: PushOutcome,
  { tries, expiresAt, now }: { tries: number; expiresAt: Date; now: Date },
): SettledAttempt {
  const settled = (
    code: AttemptCode,
    details: string | null = null,
    providerMessageId: string | null = null,
  ): SettledAttempt => ({ code, details, providerMessageId, dueAt: null });
  const again = (waitMs: number, reason: string): SettledAttempt => {
    const dueAt = new Date(now.getTime() + waitMs);
    return dueAt < expiresAt ? { ...settled('PENDING', reason), dueAt } : settled('EXPIRED', reason);
  };
  switch (outcome.kind) {
    case 'sent':
      return settled('PUSH_SENT', null, outcome.providerId);
    case 'gone':
      return settled('OPT_OUT', 'the provider no longer knows the push token');
    case 'too_big':
      return settled('MESSAGE_TO_BIG', tooBig(outcome));
    case 'throttled':
      return again(Math.max(outcome.retryAfterMs, 1_000), 'the provider asks for time');
    case 'not_sent':
      return again(backOff(tries, FIRST_WAIT_MS, MAX_WAIT_MS), outcome.reason);
    case 'refused':
      return settled('REFUSED', `${outcome.code}: ${outcome.reason}`);
    case 'unknown':
      return settled('UNKNOWN', outcome.reason);
  }
}

function tooBig({ bytes, maxBytes }: { bytes: number | null; maxBytes: number }): string {
  return bytes === null ? `more than ${maxBytes} bytes` : `${bytes} bytes, and ${maxBytes} are the most`;
}

/** So many digits of hex end a UUID. */
const ID_DIGITS = 12;

/** The id by which a device tells of an attempt: a UUID (version 8, RFC 9562) that holds the attempt's number. */
export function messageIdOf(attemptId: number): string {
  return `00000000-0000-8000-8000-${attemptId.toString(16).padStart(ID_DIGITS, '0')}`;
}

/** The attempt's number; null where it is no such id. */
export function attemptIdOf(messageId: string): number | null {
  const [, digits] = /^00000000-0000-8000-8000-([\da-f]{12})$/i.exec(messageId) ?? [];
  return digits === undefined ? null : Number.parseInt(digits, 16);
}

/** A push as a provider takes it. */
export function pushMessageOf(
  content: PushContent,
  attemptId: number,
  { expiresAt, now }: { expiresAt: Date; now: Date },
): PushMessage {
  return {
    ...content,
    id: messageIdOf(attemptId),
    collapseKey: null,
    priority: 'high',
    ttlSeconds: Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1_000)),
  };
}
