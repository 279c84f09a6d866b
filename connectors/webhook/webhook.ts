/** The connector `webhook`: sends records, alerts and outcomes to any receiver of JSON, at its pace. */
import { createHmac, randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import {
  type Alert,
  connector,
  type ConnectorContext,
  harmless,
  type OutcomeBatch,
  secret,
  type WriteOutcome,
  type Writing,
  refineBy,
} from '../core/contract.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { jsonAnswer, postForAnswer } from '../core/json-requests.ts';
import { paceOf } from '../core/pace.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_MESSAGE = 300;

const Answer = z.object({
  outcomes: z
    .array(z.object({ ok: z.boolean(), message: z.string().optional(), later: z.boolean().optional() }))
    .optional(),
});

/** A request: its records, and their ordinals. */
type Part = { records: string[]; ordinals: number[] };

const TOO_LARGE: WriteOutcome = { kind: 'failed', message: 'The record has more than 1 MiB', later: false };

/**
 * Sends records in order, in requests of at most `batch_records` and 1 MiB, one after the other, at the receiver's
 * pace. A repeat sends the same requests: those before `answered` are cut as if they were sent.
 */
async function* writeWebhook(
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
    // Settings changed meanwhile, so requests are cut elsewhere than before.
    const idempotencyKey = `${batchId}-${ordinal + 1}${rest === 0 ? '' : `-${answered}`}`;
    const body = { idempotencyKey, batchId, stream, isRemoval, records: records.slice(rest) };
    const leave = () => sending(ordinals.at(-1)! + 1);
    const ofPart = await pace.send(() => outcomesOf(settings, body, context, leave), context.signal);
    const outcomes: WriteOutcome[] = Array.from({ length: ordinals.at(-1)! + 1 - from }, () => TOO_LARGE);
    for (const [n, outcome] of ofPart.entries()) outcomes[ordinals[rest + n]! - from] = outcome;
    yield outcomes;
    from += outcomes.length;
  }
  if (from < writing.records.length) yield writing.records.slice(from).map(() => TOO_LARGE);
}

/** Cuts records into requests. A record that is too large for a request is left out. */
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
  const outcomes = read.success ? read.data.outcomes : [];
  if (outcomes === undefined) {
    noteAnswer(answer, host, context);
    return body.records.map(() => ({ kind: 'ok' }));
  }
  if (read.success && outcomes.length === body.records.length) return outcomes.map(toOutcome);
  // The receiver took the request: a repeat would get the same answer, and be taken again.
  throw sourceRefusal(
    'source_refused',
    `${host} answered with outcomes that are not one for each of the ${body.records.length} records: ` +
      'have it answer {"outcomes":[…]} with one for each, in their order, or without outcomes if it took all',
  );
}

const noted = new WeakSet<ConnectorContext>();

/** Writes once in a run's log that an answer of 2xx seems to come from another server, or to mean something else. */
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

const check = (settings: WebhookTarget, context: ConnectorContext) => {
  const batchId = `check-${randomUUID()}`;
  const sent = { idempotencyKey: `${batchId}-1`, batchId, stream: '', isRemoval: false, records: [] };
  return sendToWebhook(settings, sent, context).then(() => undefined);
};

const WebhookSettings = z.object({
  url: z
    .string({ error: 'give the address' })
    .superRefine(refineBy('the address', sourceUrlError))
    .describe('Where the records are sent to, by POST'),
  secret: secret(
    z
      .string({ error: 'give the secret' })
      .min(16, 'the secret has at least 16 characters')
      .max(1_000, 'the secret has more than 1000 characters'),
  ).describe('What the receiver verifies the signature with; it is never sent'),
  batch_records: harmless(
    z
      .int({ error: 'batch_records is a whole number' })
      .min(1, 'batch_records is at least 1')
      .max(5_000, 'batch_records is at most 5000')
      .default(500)
      .describe('How many records a request has at most'),
  ),
});

/** Any receiver of JSON. A request without records checks that it is there and knows the secret. */
export const webhook = connector({
  name: 'webhook',
  title: 'Signed webhook',
  settings: WebhookSettings,
  destination: {
    check,
    discover: async () => null,
    write: writeWebhook,
  },
  alerts: { check, send: sendAlertToWebhook },
  outcomes: { batchSize: ({ batch_records: records }) => records, send: sendOutcomesToWebhook },
});

/** Statuses by which a receiver refuses every request, whatever its records (RFC 9110, 15.5). */
const OF_NO_RECORD = new Set([401, 403, 404, 405, 407, 410]);

/** Returns the receiver's status if it refused these very records because of it. */
function refusedStatus(error: unknown): string | null {
  if (!(error instanceof Refusal) || error.status !== 'source_refused') return null;
  const status = error.extra['source_status'];
  if (typeof status !== 'number' || status < 400 || OF_NO_RECORD.has(status)) return null;
  return `${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

/** Requests to a webhook: signs and sends records, alerts and outcomes. */

type WebhookTarget = { url: string; secret: string };

type WebhookBody = {
  /** The same key for the same records of a batch, so that the receiver recognizes repeats. */
  idempotencyKey: string;
  batchId: string;
  stream: string;
  isRemoval: boolean;
  /** Each as JSON. */
  records: string[];
};

const ADVICE = 'check the address, and that the receiver knows the same secret';

/** An answer of 2xx: its JSON, or undefined for other content, and its content type. */
type WebhookAnswer = { json: unknown; contentType: string };

/**
 * Sends records, and returns the content of an answer of 2xx. The signature covers the time of sending and the body, so
 * that a receiver can refuse a replayed request.
 */
export async function sendToWebhook(
  target: WebhookTarget,
  sent: WebhookBody,
  context: ConnectorContext,
  onSending?: () => void,
): Promise<WebhookAnswer> {
  const answer = await postSigned(
    target,
    { idempotencyKey: sent.idempotencyKey, body: bodyOf(sent), onSending },
    context,
  );
  return { json: await jsonAnswer(answer), contentType: answer.headers['content-type'] ?? '' };
}

/** `{"alert": …}`, signed as records are. */
async function sendAlertToWebhook(target: WebhookTarget, alert: Alert, context: ConnectorContext): Promise<void> {
  const sent = { idempotencyKey: `${alert.run}-${alert.alert}`, body: JSON.stringify({ alert }) };
  await (await postSigned(target, sent, context)).end();
}

/** `{"batch_id": …, "app_id": …, "outcomes": […]}`, signed as records are. */
async function sendOutcomesToWebhook(
  target: WebhookTarget,
  { batchId, appId, outcomes }: OutcomeBatch,
  context: ConnectorContext,
): Promise<void> {
  const sent = { idempotencyKey: batchId, body: JSON.stringify({ batch_id: batchId, app_id: appId, outcomes }) };
  await (await postSigned(target, sent, context)).end();
}

function postSigned(
  { url, secret }: WebhookTarget,
  { idempotencyKey, body, onSending }: { idempotencyKey: string; body: string; onSending?: (() => void) | undefined },
  context: ConnectorContext,
): Promise<GuardedAnswer> {
  const seconds = Math.floor(Date.now() / 1000);
  const headers = {
    'Idempotency-Key': idempotencyKey,
    'X-Millrace-Signature': `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`,
  };
  return postForAnswer(url, { body, headers, advice: ADVICE, onSending }, context);
}

function bodyOf({ batchId, stream, isRemoval, records }: Omit<WebhookBody, 'idempotencyKey'>): string {
  const head = JSON.stringify({ batch_id: batchId, stream, removal: isRemoval });
  return `${head.slice(0, -1)},"records":[${records.join(',')}]}`;
}
