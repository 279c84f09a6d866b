import { z } from 'zod';
import { CAMPAIGN_STATUSES, CAMPAIGN_TYPES } from '../../domain/campaigns/campaign-status.ts';
import { ATTEMPT_CODES, type AttemptCode } from '../../domain/sends/attempt.ts';
import { DELIVERY_CHECKS, DELIVERY_RESULTS } from '../../domain/sends/explain-delivery.ts';
import { ofLook, PEOPLE } from '../analytics/people.ts';
import { MetBlockSchema } from '../analytics/segment-filters.ts';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { ExplainedDecision } from './transactional.ts';

const DeliveryLine = z
  .object({
    check: z.enum(DELIVERY_CHECKS),
    result: z
      .enum(DELIVERY_RESULTS)
      .describe('passes: lets the message through; stops: does not; waits: delays it; open: this line can not say'),
    found: z.string().describe('What was found, in words'),
  })
  .meta({ id: 'DeliveryLine' });

const DeliveryToDevice = z
  .object({
    device_id: z.string(),
    gets: z.enum(['push', 'inapp', 'both', 'nothing']),
    code: z
      .enum(Object.keys(ATTEMPT_CODES) as [AttemptCode])
      .describe('PENDING: a push would be sent; otherwise why none would'),
    reason: z.string(),
    lines: z.array(DeliveryLine),
  })
  .meta({ id: 'DeliveryToDevice' });

export const EXPLAINED_BOUNDS = { devices: 100, decisions: 50 };

export const ExplainedDelivery = z
  .object({
    campaign_id: z.string(),
    campaign_name: z.string(),
    campaign_type: z.enum(CAMPAIGN_TYPES),
    status: z.enum(CAMPAIGN_STATUSES),
    app_id: z.string(),
    erased: z
      .boolean()
      .describe('True: an erasure of this person has begun, and nothing else is shown. Needs gdpr_data_manage'),
    reaches: z
      .enum(['yes', 'later', 'no', 'open'])
      .describe('Whether a message of the campaign would reach the person now; open: a line can not say'),
    lines: z.array(DeliveryLine).describe('About the person, in the order in which Millrace asks'),
    audience: z
      .object({ operator: z.enum(['and', 'or']), blocks: z.array(MetBlockSchema) })
      .meta({ id: 'ExplainedAudience' })
      .nullable()
      .describe(
        "The campaign's filters and which of them the person meets now; null if it has none, or they can not say",
      ),
    devices: z.array(DeliveryToDevice).describe(`The ${EXPLAINED_BOUNDS.devices} seen last at most`),
    sent: z.int().describe('Number of pushes of the campaign to the person, including those of more than 30 days ago'),
    opened: z.int(),
    decisions: z
      .array(ExplainedDecision)
      .describe(`What became of the messages so far, newest first, ${EXPLAINED_BOUNDS.decisions} at most`),
    at: z.iso.datetime().describe('The moment of all that is read here'),
    look: z.string(),
  })
  .meta({ id: 'ExplainedDelivery' });
export type ExplainedDelivery = z.output<typeof ExplainedDelivery>;

export const explainDelivery = operation({
  id: 'explainDelivery',
  ...PEOPLE,
  path: '/api/people/delivery',
  right: 'campaign_view',
  summary: 'Show why a person gets the messages of a campaign, or does not',
  description:
    'Line by line with what was found: campaign, audience, control group, limits, quiet hours, and for each device the user, ' +
    'consent and token, as a send would find them now; then what became of the messages so far. A campaign whose filters ' +
    'compare with a sensitive attribute also needs sor_manage for the audience. The audit log gets one entry, and none with `look`.',
  body: z.object({
    user_id: ofLook.user_id,
    device_id: ofLook.device_id,
    campaign_id: identifier,
    look: ofLook.look,
  }),
  result: ExplainedDelivery,
});
