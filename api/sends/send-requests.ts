/** Requests of transactional campaigns and what became of each message, in pages. */

import { z } from 'zod';
import { ATTEMPT_CODES, type AttemptCode, SENT_OUTCOMES } from '../../domain/sends/attempt.ts';
import { identifier, pageNumber } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { listCursor } from '../core/page.ts';
import { SendState } from './transactional.ts';

const VIEW = { tag: 'Transactional messages', right: 'campaign_view', method: 'GET' } as const;

const MAX_REQUESTS = 50;
const MAX_DECISIONS = 500;
const next = z.string().nullable().describe('Address of the next page; null at the end');
const cursor = listCursor.optional().describe('From the `next` of the page before');

export const listCampaignSends = operation({
  id: 'listCampaignSends',
  ...VIEW,
  path: '/api/campaigns/:identifier/requests',
  summary: 'List the requests to send messages of a transactional campaign, newest first',
  description:
    'Requests of POST /api/transac of the last 30 days, each with its counts. A launched campaign has none: it is one itself.',
  params: z.object({ identifier }),
  query: z.object({
    per_page: pageNumber({ min: 1, max: MAX_REQUESTS, otherwise: 20 }),
    cursor,
  }),
  result: z.object({ items: z.array(SendState), next }).meta({ id: 'SendRequests' }),
});

const code = z.enum(Object.keys(ATTEMPT_CODES) as [AttemptCode]);
const event = z.iso.datetime().nullable();

export const SentDecision = z
  .object({
    line: z.int().describe('Number of the message in the request, from 1'),
    erased: z.boolean().describe('True: the person is erased, and only line, campaign and code are left'),
    user: z.string().nullable().describe('Null for an erased person'),
    device_id: z.string().nullable().describe('Null if the user has no device'),
    campaign_id: z.string(),
    channel: z.enum(['push', 'inapp', 'both']).nullable(),
    variant: z.string().nullable(),
    code,
    reason: z.string().describe('Meaning of the code'),
    details: z.string().nullable(),
    at: event.describe('When Millrace decided first'),
    due_at: event.describe('When a waiting message is due'),
    settled_at: event,
    confirmed: z.boolean().describe('True: a device confirmed that it received, opened, showed or clicked the message'),
    delivered_at: event,
    opened_at: event,
    shown_at: event,
    clicked_at: event,
  })
  .meta({ id: 'SentDecision' });
export type SentDecision = z.output<typeof SentDecision>;

export const listSendDecisions = operation({
  id: 'listSendDecisions',
  ...VIEW,
  path: '/api/transac/:request_id/decisions',
  audits: 'read send',
  summary: 'List what became of the messages of a request, one for each device, in their order',
  description: 'The audit log gets one entry a page.',
  params: z.object({ request_id: identifier }),
  query: z.object({
    code: code.optional().describe('Only these'),
    outcome: z
      .enum(SENT_OUTCOMES)
      .optional()
      .describe('Only these of the balance `sent`; not_sent: only those whose push did not leave'),
    per_page: pageNumber({ min: 1, max: MAX_DECISIONS, otherwise: 100 }),
    cursor,
  }),
  result: z.object({ items: z.array(SentDecision), next }).meta({ id: 'SentDecisions' }),
});
