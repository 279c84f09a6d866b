import { z } from 'zod';
import { shorten } from '../../domain/core/text-limits.ts';
import type { ConnectorContext, WriteOutcome, Writing } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { paceOf } from './pace.ts';
import {
  bodyOf,
  refusedStatus,
  sendToWebhook,
  type WebhookAnswer,
  type WebhookBody,
  type WebhookTarget,
} from './send-to-webhook.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_MESSAGE = 300;

const Answer = z.object({
  outcomes: z
    .array(z.object({ ok: z.boolean(), message: z.string().optional(), later: z.boolean().optional() }))
    .optional(),
});

/** A request: its records, and which ones they are. */
type Part = { records: string[]; ordinals: number[] };

const TOO_LARGE: WriteOutcome = { kind: 'failed', message: 'The record has more than 1 MiB', later: false };

/**
 * Sends records in their order, in requests of at most `batch_records` and 1 MiB, one after the other, at the pace of
 * the receiver. A request is always the same: those before `answered` are cut as if they were sent.
 */
export async function* writeWebhook(
  settings: WebhookTarget & { batch_records: number },
  writing: Writing,
  context: ConnectorContext,
): AsyncGenerator<WriteOutcome[]> {
  const { batchId, stream, isRemoval, answered, sending = () => undefined } = writing;
  const pace = paceOf(settings.url);
  let from = answered;
  sending(answered);
  for (const [ordinal, { records, ordinals }] of partsOf(writing, settings.batch_records).entries()) {
    const rest = ordinals.findIndex((each) => each >= answered);
    if (rest === -1) continue;
    // Cut elsewhere than before: the settings were changed meanwhile.
    const idempotencyKey = `${batchId}-${ordinal + 1}${rest === 0 ? '' : `-${answered}`}`;
    const body = { idempotencyKey, batchId, stream, isRemoval, records: records.slice(rest) };
    const leave = () => sending(ordinals.at(-1)! + 1);
    const told = await pace.send(() => outcomesOf(settings, body, context, leave), context.signal);
    const outcomes: WriteOutcome[] = Array.from({ length: ordinals.at(-1)! + 1 - from }, () => TOO_LARGE);
    for (const [n, outcome] of told.entries()) outcomes[ordinals[rest + n]! - from] = outcome;
    yield outcomes;
    from += outcomes.length;
  }
  if (from < writing.records.length) yield writing.records.slice(from).map(() => TOO_LARGE);
}

/** A record that is too large for a request of its own is in none. */
function partsOf({ batchId, stream, isRemoval, records }: Writing, most: number): Part[] {
  const room = MAX_BODY_BYTES - Buffer.byteLength(bodyOf({ batchId, stream, isRemoval, records: [] }));
  const parts: Part[] = [];
  let left = 0;
  for (const [ordinal, record] of records.entries()) {
    const text = JSON.stringify(record);
    const bytes = Buffer.byteLength(text);
    if (bytes > room) continue;
    const isFull = parts.length === 0 || parts.at(-1)!.records.length === most || bytes + 1 > left;
    if (isFull) parts.push({ records: [], ordinals: [] });
    left = (isFull ? room : left - 1) - bytes;
    parts.at(-1)!.records.push(text);
    parts.at(-1)!.ordinals.push(ordinal);
  }
  return parts;
}

async function outcomesOf(
  target: WebhookTarget,
  body: WebhookBody,
  context: ConnectorContext,
  onSending: () => void,
): Promise<WriteOutcome[]> {
  const { host } = new URL(target.url);
  let answer: WebhookAnswer;
  try {
    answer = await sendToWebhook(target, body, context, onSending);
  } catch (error) {
    const status = refusedStatus(error);
    if (status === null) throw error;
    return body.records.map(() => ({ kind: 'failed', message: `${host} answered ${status}`, later: false }));
  }
  const read = Answer.safeParse(answer.json ?? {});
  const told = read.success ? read.data.outcomes : [];
  if (told === undefined) {
    noteAnswer(answer, host, context);
    return body.records.map(() => ({ kind: 'ok' }));
  }
  if (read.success && told.length === body.records.length) return told.map(toOutcome);
  // The receiver has taken the request: the same would be answered alike, and taken again.
  throw sourceRefusal(
    'source_refused',
    `${host} answered with outcomes that are not one for each of the ${body.records.length} records: ` +
      'have it answer {"outcomes":[…]} with one for each, in their order, or without outcomes if it took all',
  );
}

const noted = new WeakSet<ConnectorContext>();

/** Says once in a run's log that an answer of 2xx looks as if it were not the receiver's, or meant otherwise. */
function noteAnswer({ json, contentType }: WebhookAnswer, host: string, context: ConnectorContext): void {
  const isHtml = /^text\/html\b/i.test(contentType);
  if (noted.has(context) || (json === undefined && !isHtml)) return;
  noted.add(context);
  context.log(
    `${host} answered with ${isHtml ? 'a page of HTML' : 'JSON that has no outcomes'}: its records count as taken. ` +
      'Check that the address is the receiver\'s, and that it answers {"outcomes":[…]} where it does not take all',
  );
}

function toOutcome({ ok, message, later }: { ok: boolean; message?: string; later?: boolean }): WriteOutcome {
  if (ok) return { kind: 'ok' };
  return {
    kind: 'failed',
    message: shorten(message ?? '', MAX_MESSAGE) || 'The receiver did not take it',
    later: later ?? false,
  };
}
