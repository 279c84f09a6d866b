import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { connector, type ConnectorContext, harmless, secret } from '../core/contract.ts';
import { refineBy } from '../core/refine-by.ts';
import { sendAlertToWebhook, sendOutcomesToWebhook, sendToWebhook, type WebhookTarget } from './send-to-webhook.ts';
import { writeWebhook } from './write-webhook.ts';

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

/** Any receiver that takes JSON. It is asked by a request without records whether it is there, and knows the secret. */
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
