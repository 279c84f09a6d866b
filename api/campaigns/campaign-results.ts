/** Results of a campaign's messages: numbers that add up, by code, day, variant and channel. */
import { z } from 'zod';
import { MAX_RESULT_DAYS, RESULT_GROUPS } from '../../domain/campaigns/campaign-results.ts';
import { ATTEMPT_CODES, type AttemptCode } from '../../domain/sends/attempt.ts';
import { isDate } from '../../domain/time/date-value.ts';
import { identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';

export const attemptCode = z.enum(Object.keys(ATTEMPT_CODES) as [AttemptCode]);
const count = z.int();

const counts = {
  messages: count.describe('Results, one for each device: sent + waiting + in_app_only + not_sent'),
  sent: count.describe('Pushes that left: confirmed + taken + unknown + refused'),
  confirmed: count.describe('The device confirmed that it received the push'),
  taken: count.describe('The provider took the push, and the device has not confirmed it'),
  unknown: count.describe('The push may have left or not, and no device has confirmed it: neither success nor failure'),
  refused: count.describe('The provider refused the push'),
  waiting: count.describe('Pushes that wait to be sent'),
  in_app_only: count.describe('Devices that got no push, but the in-app message'),
  not_sent: count.describe('Devices that got nothing'),
  opened: count.describe('Pushes that people opened; these are confirmed, too'),
  in_app: count.describe('Devices that got the in-app message, with or without a push'),
  shown: count.describe('In-app messages that the app showed'),
  clicked: count.describe('In-app messages that people clicked; these are shown, too'),
};

export const ResultCounts = z.object(counts).meta({ id: 'CampaignResultCounts' });
export type ResultCounts = z.output<typeof ResultCounts>;

const day = z.string().refine(isDate, 'must be a date such as 2026-01-31');

export const CampaignResults = z
  .object({
    campaign_id: z.string(),
    as_of: z.iso.datetime().nullable().describe('Results up to then are counted. Null: not counted yet'),
    from: z.iso.date().describe('First UTC day that is counted'),
    till: z.iso.date().describe('Last UTC day that is counted'),
    total: ResultCounts,
    codes: z
      .array(
        z.object({
          group: z.enum(RESULT_GROUPS).describe('The number of total that includes these messages'),
          code: attemptCode,
          reason: z.string().describe('Meaning of the code'),
          details: z
            .string()
            .nullable()
            .describe('More exactly, such as "no push token". Null: the code says it, or it was not counted'),
          messages: count,
        }),
      )
      .describe('In order of groups; the largest first'),
    days: z.array(ResultCounts.extend({ day: z.iso.date() }).meta({ id: 'CampaignResultDay' })),
    variants: z
      .array(
        ResultCounts.extend({
          identifier: z.string(),
          name: z.string().nullable().describe('Null once the campaign no longer has the variant'),
          share: count.nullable(),
        }).meta({ id: 'CampaignResultVariant' }),
      )
      .describe('Empty without an A/B test. Devices without a message have no variant, so these need not add up'),
  })
  .meta({ id: 'CampaignResults' });
export type CampaignResults = z.output<typeof CampaignResults>;

export const viewCampaignResults = operation({
  tag: 'Campaigns',
  right: 'campaign_view',
  id: 'viewCampaignResults',
  method: 'GET',
  path: '/api/campaigns/:identifier/results',
  summary: 'View the results of a campaign by code, day and variant',
  description:
    'Tests do not count. Days are UTC days on which Millrace planned the messages. Millrace counts again within a minute of a change, ' +
    'for 30 days; the counts stay as long as the campaign.',
  params: z.object({ identifier }),
  query: z.object({
    from: day.optional().describe(`First UTC day; by default ${MAX_RESULT_DAYS} days up to till, which is the most`),
    till: day.optional().describe('Last UTC day; by default today'),
    variant: text().optional().describe('Only this variant: its identifier or name'),
  }),
  result: CampaignResults,
});
