/** Tests of campaigns: send a campaign to a few people first. */

import { z } from 'zod';
import { boundedArray, identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
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

export const viewCampaignTest = operation({
  ...TESTS,
  id: 'viewCampaignTest',
  method: 'GET',
  path: '/api/campaign_tests/:request_id',
  right: 'campaign_view',
  audits: 'read campaign',
  summary: 'Show what became of a test, device by device',
  description: 'For 30 days.',
  params: z.object({ request_id: identifier }),
  result: CampaignTest,
});
