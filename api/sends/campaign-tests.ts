/** Tests of campaigns: send a campaign to a few people first. */

import { z } from 'zod';
import { boundedArray, identifier, pageNumber, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { listCursor } from '../core/page.ts';
import { recipient, SendDecision, SendState, templateVars } from './transactional.ts';

const TESTS = { tag: 'Campaigns' } as const;

export const MAX_TESTERS = 20;

export const testCampaign = operation({
  ...TESTS,
  id: 'testCampaign',
  method: 'POST',
  path: '/api/campaign/:campaign_identifier/test',
  // A test sends a draft to real devices, so it needs both rights: to draft and to launch.
  right: ['campaign_draft', 'campaign_publish'],
  rightsByType: { transactional: 'transactional_campaigns', dynamic: 'dynamic_campaigns' },
  exactNumbers: true,
  audits: 'create send',
  summary: 'Send a campaign to a few users now, as a test',
  description:
    'It goes to the devices of these users as the campaign is now, whatever its status, audience, quiet hours and limits, and ' +
    'counts nowhere.',
  params: z.object({ campaign_identifier: identifier }),
  body: z.object({
    users: boundedArray(recipient, {
      error: 'must be an array of user ids',
      min: 1,
      tooFew: 'must have at least one element',
      max: MAX_TESTERS,
    }).describe('Ids of the users'),
    variant: text().optional().describe('Name or identifier of a variant; by default each user gets their own'),
    templateVars: templateVars
      .optional()
      .describe('Values of the placeholders of a transactional campaign, the same for all'),
  }),
  result: z.object({ requestId: z.string() }),
});

export const CampaignTest = z
  .object({
    requestId: z.string(),
    campaign_id: z.string().describe('The campaign, which may have changed since, or be deleted'),
    state: SendState.shape.state,
    results: z
      .array(
        SendDecision.omit({ requestId: true }).extend({
          user: z.string().nullable().describe('Null for an erased person'),
          variant: z.string().nullable().describe('Identifier of the variant'),
        }),
      )
      .describe('One for each device of each user, in their order; 1,000 at most'),
  })
  .meta({ id: 'CampaignTest' });
export type CampaignTest = z.output<typeof CampaignTest>;

export const viewCampaignTest = operation({
  ...TESTS,
  id: 'viewCampaignTest',
  method: 'GET',
  path: '/api/campaign_tests/:request_id',
  right: 'campaign_view',
  audits: 'read campaign',
  isFollowed: true,
  summary: 'Show what became of a test, device by device',
  description: 'For 30 days. Devices appear as the test reaches them, with the code PENDING until they have a result.',
  params: z.object({ request_id: identifier }),
  result: CampaignTest,
});

const MAX_TESTS = 20;

export const ListedCampaignTest = CampaignTest.pick({ requestId: true, state: true })
  .extend({
    created_at: z.iso.datetime(),
    created_by: z.object({ id: z.int(), uid: z.string() }).nullable().describe('Null: a user who is gone'),
    results: z
      .array(
        SendDecision.pick({
          device_id: true,
          code: true,
          reason: true,
          details: true,
          delivered_at: true,
          opened_at: true,
          shown_at: true,
          clicked_at: true,
        })
          .extend({ user: CampaignTest.shape.results.element.shape.user, variant: z.string().nullable() })
          .meta({ id: 'CampaignTestResult' }),
      )
      .describe('Of the first 100 devices; viewCampaignTest shows all, with what the push said'),
    result_count: z.int().describe('Number of all results'),
  })
  .meta({ id: 'ListedCampaignTest' });
export type ListedCampaignTest = z.output<typeof ListedCampaignTest>;

export const listCampaignTests = operation({
  ...TESTS,
  id: 'listCampaignTests',
  method: 'GET',
  path: '/api/campaigns/:identifier/tests',
  right: 'campaign_view',
  audits: 'read campaign',
  summary: 'List the tests of a campaign with the result for each device, newest first',
  description: 'Of the last 30 days.',
  params: z.object({ identifier }),
  query: z.object({
    per_page: pageNumber({ min: 1, max: MAX_TESTS, otherwise: 10 }),
    cursor: listCursor.optional().describe('From the `next` of the page before'),
  }),
  result: z.object({
    tests: z.array(ListedCampaignTest),
    next: z.string().nullable().describe('Address of the next page; null at the end'),
  }),
});
