/** Messages of transactional campaigns to single users (reference: Transactional messages). */

import { z } from 'zod';
import { isStorableJson } from '../../domain/text/text-limits.ts';
import { customerIdError } from '../../domain/attributes/customer-id.ts';
import { ATTEMPT_CODES, type AttemptCode } from '../../domain/sends/attempt.ts';
import { isDate } from '../../domain/time/date-value.ts';
import { boundedArray, boundedRecord, identifier, isoDatetime, NOT_STORABLE, stored, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { internalError } from '../jobs/internal-error.ts';

const SEND = { tag: 'Transactional messages', right: ['campaign_publish', 'transactional_campaigns'] } as const;
const VIEW = { tag: 'Transactional messages', right: 'campaign_view', method: 'GET' } as const;

export const MAX_MESSAGES = 50_000;
const MAX_CAMPAIGN_KEYS = 20;
const MAX_VARS = 100;
const MAX_VAR_CHARS = 4_096;
/** A rendered message has at most 32 KiB. */
const VARS_BYTES = 64 * 1024;

/** The reference's words, with its typo. */
const invalid = {
  elements: ['campaignKey', 'sendAt', 'messages', 'requestKey'],
  status: '400',
  message: 'Invalid Resquest, missing or invalid parameters,...',
} as const;

export const recipient = z.string().check((ctx) => {
  const error = customerIdError(ctx.value);
  if (error !== undefined) ctx.issues.push({ code: 'custom', message: `is not valid: ${error}`, input: ctx.value });
});

export const templateVars = stored(
  VARS_BYTES,
  boundedRecord(z.unknown(), MAX_VARS)
    .refine(
      (given) => Object.values(given).every((value) => typeof value !== 'string' || value.length <= MAX_VAR_CHARS),
      `must have values of at most ${MAX_VAR_CHARS} characters`,
    )
    .refine(isStorableJson, NOT_STORABLE),
);

const AT_LEAST_ONE = 'must have at least one element';

const keys = boundedArray(identifier, {
  error: 'must be an array of campaign ids',
  min: 1,
  tooFew: AT_LEAST_ONE,
  max: MAX_CAMPAIGN_KEYS,
});

const body = z.object({
  campaignKey: z
    .preprocess((given) => (typeof given === 'string' ? [given] : given), keys)
    .describe('Identifiers of running transactional campaigns, or their campaign_api_identifier'),
  sendAt: isoDatetime.optional().describe('When to send; by default at once'),
  messages: boundedArray(
    z.object({
      user: recipient.describe('Id of the user'),
      templateVars: templateVars.optional().describe('Values of the placeholders, by name'),
      paramVars: templateVars.optional().describe('Taken as templateVars, which win (deprecated)'),
    }),
    { error: 'must be an array', min: 1, tooFew: AT_LEAST_ONE, max: MAX_MESSAGES },
  ),
  requestKey: text()
    .optional()
    .describe(
      'Your own key for this request: repeating it within 30 days sends nothing again, and returns the first requestId',
    ),
});

const MAX_ELEMENTS = 5_000_000;

const SENDING = {
  ...SEND,
  method: 'POST',
  exactNumbers: true,
  maxElements: MAX_ELEMENTS,
  audits: 'create send',
  body,
  malformed: invalid,
  result: z.object({ requestId: z.string() }),
} as const;

export const sendMessages = operation({
  ...SENDING,
  id: 'sendMessages',
  path: '/api/transac',
  summary: 'Send messages of transactional campaigns to users',
  description: 'The server records a result for each device of each user; the reports show them.',
});

export const sendPushMessages = operation({
  ...SENDING,
  id: 'sendPushMessages',
  path: '/api/transac_push',
  summary: 'Send messages of transactional campaigns to users (deprecated: use POST /api/transac)',
});

const ofRequest = z.object({ request_id: identifier });
const instant = z.iso.datetime();

export const SentBalance = z
  .object({
    sent: z.int().describe('Pushes that left: the sum of the others'),
    confirmed: z.int().describe('A device confirmed that it received or opened the push'),
    taken: z.int().describe('The provider took the push, and no device has confirmed it'),
    unknown: z.int().describe('The provider may have got it: UNKNOWN'),
    refused: z.int(),
  })
  .meta({ id: 'SentBalance' });

const CampaignOfSend = z
  .object({ campaign_id: z.string(), name: z.string(), app_id: z.string() })
  .meta({ id: 'CampaignOfSend' });

export const SendState = z
  .object({
    requestId: z.string(),
    state: z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']),
    messages: z.int().describe('Number of messages in the request'),
    processed: z.int().describe('Number of messages that have a result for each device; a result may be that it waits'),
    codes: z.record(z.string(), z.int()).describe('Number of results by code'),
    sent: SentBalance,
    campaigns: z.array(CampaignOfSend),
    received_at: instant,
    send_at: instant.nullable(),
    ended_at: instant.nullable(),
    next_at: instant.nullable().describe('When the next waiting message is due'),
    internal_error: internalError,
  })
  .meta({ id: 'SendState' });
export type SendState = z.output<typeof SendState>;

export const viewSend = operation({
  ...VIEW,
  id: 'viewSend',
  path: '/api/transac/:request_id',
  summary: 'View the progress of a request',
  params: ofRequest,
  result: SendState,
});

export const cancelSend = operation({
  ...SEND,
  id: 'cancelSend',
  method: 'DELETE',
  path: '/api/transac/:request_id',
  audits: 'delete send',
  summary: 'Cancel the messages of a request that are not sent yet',
  params: ofRequest,
  result: SendState,
});

const MAX_PAGE_SIZE = 5_000;
const day = z.string().refine(isDate, 'must be a date such as 2026-01-31');

export const CampaignReport = z
  .object({
    campaignKey: z.string(),
    startDate: z.iso.date(),
    endDate: z.iso.date(),
    campaignStatus: z.array(
      z.object({
        user: z.string().nullable().describe('Null for an erased person'),
        device_id: z.string().nullable().describe('Null if the user has no device'),
        date: instant.describe('When the message was sent, or will not be; of a waiting one, when it was accepted'),
        code: z.enum(Object.keys(ATTEMPT_CODES) as [AttemptCode]),
        details: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'CampaignReport' });

function pageParameter(max: number, otherwise: number) {
  const message = `must be a whole number from 1 to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, message)
    .default(otherwise);
}

export const reportMessages = operation({
  ...VIEW,
  id: 'reportMessages',
  path: '/api/transac/:campaign_key/reports',
  audits: 'read campaign',
  summary: "List the results of a campaign's messages in the last 30 days, one for each device",
  params: z.object({ campaign_key: identifier }),
  query: z.object({
    requestId: identifier.optional().describe('Only results of this request'),
    page: pageParameter(1_000_000, 1),
    page_size: pageParameter(MAX_PAGE_SIZE, MAX_PAGE_SIZE),
    startDate: day.optional().describe('First day in UTC; by default, and at the earliest, 30 days ago'),
    endDate: day.optional().describe('Last day in UTC; by default today'),
  }),
  result: z.object({ reports: z.array(CampaignReport) }),
});

const event = instant.nullable();

const SentMessage = z
  .object({
    title: z.string().nullable(),
    subtitle: z.string().nullable(),
    body: z.string(),
    deep_linking_url: z.string().nullable(),
    attachment_url: z.string().nullable(),
    category: z.string().nullable(),
    sound: z.string().nullable(),
    parameters: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SentMessage' });

export const SendDecision = z
  .object({
    requestId: z.string().nullable(),
    date: instant,
    device_id: z.string().nullable(),
    channel: z.enum(['push', 'inapp', 'both']),
    code: z.enum(Object.keys(ATTEMPT_CODES) as [AttemptCode]),
    reason: z.string().describe('Meaning of the code'),
    details: z.string().nullable(),
    due_at: event.describe('When a waiting message is due'),
    settled_at: event,
    delivered_at: event,
    opened_at: event,
    shown_at: event,
    clicked_at: event,
    message: SentMessage.nullable().describe(
      'The push with its values. Null if there is none, if the campaign is sensitive, and without the right sor_manage if the ' +
        'texts have values of a profile',
    ),
  })
  .meta({ id: 'SendDecision' });

export const ExplainedDecision = SendDecision.extend({
  variant: z
    .object({ identifier: z.string(), name: z.string().nullable() })
    .nullable()
    .describe(
      'The variant that the user got; null if there is none. The name is null once the campaign no longer has the variant',
    ),
}).meta({ id: 'ExplainedDecision' });

export const explainMessages = operation({
  ...VIEW,
  id: 'explainMessages',
  path: '/api/campaigns/:identifier/why',
  audits: 'read customer',
  summary: 'Show why a user got the messages of a campaign, or did not',
  params: z.object({ identifier }),
  query: z.object({ user: recipient.describe('Id of the user') }),
  result: z.object({
    user: z.string(),
    sent: z.int().describe('Number of pushes of the campaign to the user, including those of more than 30 days ago'),
    opened: z.int(),
    decisions: z.array(ExplainedDecision).describe('Newest first, 1,000 at most'),
  }),
});
