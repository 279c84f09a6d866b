/** Before the launch of a campaign: who gets it, when, and by which clocks. */
import { z } from 'zod';
import { identifier, queryInteger } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { attemptCode } from './campaign-results.ts';

const VIEW = { tag: 'Campaigns', right: 'campaign_view', method: 'GET', audits: 'read campaign' } as const;
const AUDITED =
  'The audit log keeps which attributes the filters compare with, also those of segments that they name, without values.';

const people = z.int();

export const CampaignAudience = z
  .object({
    counted_at: z.iso.datetime(),
    people: people.describe('People that the filters find: recipients + held_back'),
    recipients: people.describe(
      'People who get a message: push + in_app_only. launchCampaign compares expected_people with this number',
    ),
    push: people.describe('People with a device that gets the push'),
    in_app_only: people.describe('People whose devices get no push, but the in-app message'),
    held_back: people.describe('People who get nothing: the sum of reasons'),
    reasons: z
      .array(
        z.object({
          code: attemptCode,
          reason: z.string().describe('Meaning of the code'),
          details: z.string().nullable(),
          people,
        }),
      )
      .describe('Why people get nothing, by the first of their devices; most people first'),
    devices: z.int().describe('Devices of these people on which the app is installed'),
    people_total: people.describe('People of the app'),
    control_group_percent: z.int(),
  })
  .meta({ id: 'CampaignAudience' });
export type CampaignAudience = z.output<typeof CampaignAudience>;

const params = z.object({ identifier });

export const countCampaignAudience = operation({
  ...VIEW,
  id: 'countCampaignAudience',
  path: '/api/campaigns/:identifier/audience',
  summary: 'Count the people who would get a classic or dynamic campaign now',
  description:
    'By the rules that hold when it sends, except the rate_limit of the app, which applies when each message leaves. ' +
    `The campaign finds its audience anew when it starts. ${AUDITED}`,
  params,
  result: CampaignAudience,
});

const MAX_PLANNED = 100;
const localTime = z.string().describe('Time that the clocks of the zone show, such as 2026-11-26T18:00:00');
const instant = z.iso.datetime();

const PlanClock = z
  .object({
    zone: z.string(),
    devices: z.int(),
    at: localTime,
    leaves_from: localTime.nullable(),
    leaves_until: localTime.nullable(),
    is_quiet_there: z
      .boolean()
      .describe("True: the first or the last push leaves when these clocks show a time of the app's quiet hours"),
  })
  .meta({ id: 'PlanClock' });

export const PlannedSend = z
  .object({
    at: instant,
    until: instant
      .nullable()
      .describe('Messages go as people enter the audience, until before this; null: all at `at`'),
    zones: z.array(z.string()).nullable().describe('With adapt_tz: the time zones whose devices get it then'),
    devices: z
      .int()
      .nullable()
      .describe('Devices of the audience of a classic campaign. Null if it is not counted, and for a dynamic one'),
    pushes: z.int().nullable().describe('Devices of these that get the push. Null where devices is'),
    leaves_from: instant
      .nullable()
      .describe('When the first push leaves: after quiet hours, at the send_rate. Null without pushes'),
    leaves_until: instant.nullable().describe('When the last push leaves'),
    expired: z
      .int()
      .nullable()
      .describe('Pushes that expire (expire_after) before they may leave, and are not sent. Null where devices is'),
    waits_for: z
      .array(z.enum(['quiet_hours', 'send_rate']))
      .describe('Why pushes leave later than `at`: quiet hours of the app, its send_rate'),
    clocks: z
      .array(PlanClock)
      .nullable()
      .describe("The same by the devices' own clocks, most devices first; 100 zones at most. Null where devices is"),
  })
  .meta({ id: 'PlannedSend' });

export const CampaignPlan = z
  .object({
    sends: z.array(PlannedSend),
    has_more: z.boolean(),
    audience: CampaignAudience.nullable().describe(
      'Null for a dynamic campaign, after the audience is found, and if a segment of the filters has no members yet',
    ),
    first_at: instant.nullable().describe('When the first message leaves, over all sends. Null if none is planned'),
    last_at: instant
      .nullable()
      .describe('When the last message leaves, over all sends; of a dynamic campaign its end. Null if none is planned'),
    timezone: z.string().describe("The app's zone, in which start_date is meant with adapt_tz"),
    quiet_hours: z
      .object({ start: z.string(), end: z.string(), timezone: z.string() })
      .nullable()
      .describe("The app's quiet hours, in one zone for all devices; null: none"),
    send_rate: z.int().nullable().describe('Messages per second at most, of all campaigns of the app; null: no limit'),
  })
  .meta({ id: 'CampaignPlan' });
export type CampaignPlan = z.output<typeof CampaignPlan>;

export const planCampaign = operation({
  ...VIEW,
  id: 'planCampaign',
  path: '/api/campaigns/:identifier/plan',
  summary: 'List the coming sends of a classic or dynamic campaign, with quiet hours and send rate',
  description: `In order of time. A draft is planned as if it were launched now. ${AUDITED}`,
  params,
  query: z.object({ limit: queryInteger({ min: 1, max: MAX_PLANNED }).default(20) }),
  result: CampaignPlan,
});
