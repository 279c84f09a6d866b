/** Attempts to bring a message to a device: their codes, outcomes, ids, and the receipts that devices send. */

import type { Json } from '../json/plain-json.ts';
import { backOff } from '../time/durations.ts';
import type { PushOutcome } from './push.ts';

/** Codes of attempts. The first seven are the reference's (Transactional messages, 2). */
export const ATTEMPT_CODES = {
  PUSH_SENT: 'the provider took the push',
  OPT_OUT:
    'the device takes no push: pushes turned off, no token, the app uninstalled, or the person opted out of analytics',
  MESSAGE_TO_BIG: 'the message has more than 32 KiB with its values, or the push is larger than its provider takes',
  MISSING_TEMPLATE_PARAMS: 'a value that has no default is missing in templateVars, or in the profile',
  NOT_ON_LAST_LOGIN: 'somebody else is logged in on the device',
  NO_DEVICE_FOR_USER: 'no device of the user has the app',
  CANCELED: 'the send, or its campaign, ended before this was sent',
  PENDING: 'waits to be sent',
  INAPP_AVAILABLE: 'the device gets the in-app message when it asks next',
  UNKNOWN:
    'the worker or the connection ended before the provider answered: the push may have been sent, and is not sent again',
  USER_NOT_VERIFIED:
    'the app requires verified users, and no signed user token vouched for the user on this device, or another push token ' +
    'has come since',
  MESSAGE_LIMIT: "the person got as many messages as the app's rate_limit allows",
  CONTROL_GROUP: "the person is in the entity's control group, which gets no campaign but transactional ones",
  EXPIRED: 'it could not be sent before it expired',
  REFUSED: 'the provider refused it; details have its words',
} as const;

export const WAITS_FOR = {
  quiet: "waits for the end of the app's quiet hours",
  rate: "waits for its moment at the app's send_rate",
  provider: 'waits for the provider, which takes no more at present',
} as const;

export type AttemptCode = keyof typeof ATTEMPT_CODES;

/** Codes of pushes that left for the provider: confirmed, taken, unknown and refused ones add up to them. */
export const SENT_CODES = ['PUSH_SENT', 'UNKNOWN', 'REFUSED'] as const satisfies AttemptCode[];

/** The parts of the balance of pushes that left; `not_sent`: all other attempts. */
export const SENT_OUTCOMES = ['confirmed', 'taken', 'unknown', 'refused', 'not_sent'] as const;
export type SentOutcome = (typeof SENT_OUTCOMES)[number];

export type SentBalance = { sent: number; confirmed: number; taken: number; unknown: number; refused: number };

/** Returns what became of the pushes that left. `confirmed` of a code: a device has said that it got the message. */
export function sentBalance(counts: Readonly<Record<string, { count: number; confirmed: number }>>): SentBalance {
  const [taken, unknown, refused] = SENT_CODES.map((code) => counts[code] ?? { count: 0, confirmed: 0 });
  const left = (of: { count: number; confirmed: number } | undefined) => of!.count - of!.confirmed;
  return {
    sent: taken!.count + unknown!.count + refused!.count,
    confirmed: taken!.confirmed + unknown!.confirmed + refused!.confirmed,
    taken: left(taken),
    unknown: left(unknown),
    refused: left(refused),
  };
}

/** The outcome of an attempt: settled, or to be made again at `dueAt`. */
type AttemptOutcome = {
  code: AttemptCode;
  details: string | null;
  providerMessageId: string | null;
  dueAt: Date | null;
};

/** Details of an attempt whose push token the provider has lost. */
export const TOKEN_GONE = 'the provider no longer knows the push token';

/** Outcomes of pushes by their providers, as days count them. */
export const PUSH_DAY_OUTCOMES = {
  sent: 'the provider took the push',
  gone: TOKEN_GONE,
  too_big: 'the push is larger than the provider takes',
  refused: 'the provider refused it',
  unknown: 'the connection or the worker ended before the provider answered',
  expired: 'the provider asked for time, or could not be reached, until the push expired',
} as const;

export type PushDayOutcome = keyof typeof PUSH_DAY_OUTCOMES;

export const WAIT_REASONS = {
  due: 'leaves now',
  quiet_hours: WAITS_FOR.quiet,
  send_rate: WAITS_FOR.rate,
  provider: 'waits for the provider, which takes no more, asked for time or could not be reached',
} as const;

export type WaitReason = keyof typeof WAIT_REASONS;

const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 15 * 60_000;

/** Returns the outcome of an attempt; a push that was not sent is retried until it expires. `tries` counts it. */
export function attemptOutcomeOf(
  outcome: PushOutcome,
  { tries, expiresAt, now }: { tries: number; expiresAt: Date; now: Date },
): AttemptOutcome {
  const settled = (
    code: AttemptCode,
    details: string | null = null,
    providerMessageId: string | null = null,
  ): AttemptOutcome => ({ code, details, providerMessageId, dueAt: null });
  const again = (waitMs: number, reason: string): AttemptOutcome => {
    const dueAt = new Date(now.getTime() + waitMs);
    return dueAt < expiresAt ? { ...settled('PENDING', reason), dueAt } : settled('EXPIRED', reason);
  };
  switch (outcome.kind) {
    case 'sent':
      return settled('PUSH_SENT', null, outcome.providerId);
    case 'gone':
      return settled('OPT_OUT', TOKEN_GONE);
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

const ID_DIGITS = 12;

/** Returns the id by which a device names an attempt: a UUID (version 8, RFC 9562) with the attempt's number. */
export function messageIdOf(attemptId: number): string {
  return `00000000-0000-8000-8000-${attemptId.toString(16).padStart(ID_DIGITS, '0')}`;
}

export function attemptIdOf(messageId: string): number | null {
  const [, digits] = /^00000000-0000-8000-8000-([\da-f]{12})$/i.exec(messageId) ?? [];
  return digits === undefined ? null : Number.parseInt(digits, 16);
}

export type ReceiptKind = 'delivered' | 'opened' | 'shown' | 'clicked';

/** Events of Segment's mobile spec for pushes, and Millrace's for in-app messages. */
const RECEIPTS = new Map<string, ReceiptKind>([
  ['Push Notification Received', 'delivered'],
  ['Push Notification Tapped', 'opened'],
  ['In-App Message Shown', 'shown'],
  ['In-App Message Clicked', 'clicked'],
]);

/** The event's member with the message's id. */
const MEMBER = 'millrace_id';

/** Returns the attempt and the kind of a receipt, or null if the event is none. */
export function receiptOf(name: string, detail: Json | null): { kind: ReceiptKind; attemptId: number } | null {
  const kind = RECEIPTS.get(name);
  if (kind === undefined || detail === null || typeof detail !== 'object' || Array.isArray(detail)) return null;
  const messageId = (detail as { [member: string]: Json })[MEMBER];
  const attemptId = typeof messageId === 'string' ? attemptIdOf(messageId) : null;
  return attemptId === null ? null : { kind, attemptId };
}
