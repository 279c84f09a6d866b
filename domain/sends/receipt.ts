import type { Json } from '../json/plain-json.ts';
import { attemptIdOf } from './attempt-outcome.ts';

/** What a device tells of a message. */
export type ReceiptKind = 'delivered' | 'opened' | 'shown' | 'clicked';

/** Events of Segment's mobile spec for pushes, and ours for in-app messages. */
const RECEIPTS = new Map<string, ReceiptKind>([
  ['Push Notification Received', 'delivered'],
  ['Push Notification Tapped', 'opened'],
  ['In-App Message Shown', 'shown'],
  ['In-App Message Clicked', 'clicked'],
]);

/** The member of an event that names the message, as the device got it. */
const MEMBER = 'millrace_id';

/** What an event tells of which attempt; null: it is no receipt. */
export function receiptOf(name: string, detail: Json | null): { kind: ReceiptKind; attemptId: number } | null {
  const kind = RECEIPTS.get(name);
  if (kind === undefined || detail === null || typeof detail !== 'object' || Array.isArray(detail)) return null;
  const messageId = (detail as { [member: string]: Json })[MEMBER];
  const attemptId = typeof messageId === 'string' ? attemptIdOf(messageId) : null;
  return attemptId === null ? null : { kind, attemptId };
}
