/** Requests to a webhook: signs and sends records, alerts and outcomes. */

import { createHmac } from 'node:crypto';
import type { Alert, ConnectorContext, OutcomeBatch } from '../core/contract.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { jsonAnswer } from '../core/json-answer.ts';
import { postForAnswer } from '../core/post-json.ts';

export type WebhookTarget = { url: string; secret: string };

export type WebhookBody = {
  /** The same for the same records of a batch, so that the receiver knows which ones it took. */
  idempotencyKey: string;
  batchId: string;
  stream: string;
  isRemoval: boolean;
  /** Each as JSON. */
  records: string[];
};

const ADVICE = 'check the address, and that the receiver knows the same secret';

/** An answer of 2xx: its JSON, or undefined for other content, and its content type. */
export type WebhookAnswer = { json: unknown; contentType: string };

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
export async function sendAlertToWebhook(
  target: WebhookTarget,
  alert: Alert,
  context: ConnectorContext,
): Promise<void> {
  const sent = { idempotencyKey: `${alert.run}-${alert.alert}`, body: JSON.stringify({ alert }) };
  await (await postSigned(target, sent, context)).end();
}

/** `{"batch_id": …, "app_id": …, "outcomes": […]}`, signed as records are. */
export async function sendOutcomesToWebhook(
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

export function bodyOf({ batchId, stream, isRemoval, records }: Omit<WebhookBody, 'idempotencyKey'>): string {
  const head = JSON.stringify({ batch_id: batchId, stream, removal: isRemoval });
  return `${head.slice(0, -1)},"records":[${records.join(',')}]}`;
}
