/** Tests of campaigns: send a campaign's message to testers' devices. */

import * as api from '../../api/sends/campaign-tests.ts';
import { placeholdersOf } from '../../domain/campaigns/campaign-params.ts';
import type { CampaignVariant } from '../../domain/campaigns/variants.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { findTestedCampaign } from '../../store/campaigns/campaign-tests.ts';
import {
  type Campaign,
  type CampaignSettings,
  findCampaignByKey,
  insertTestCopy,
  MAX_CAMPAIGNS,
} from '../../store/campaigns/campaigns.ts';
import { write } from '../../store/core/database.ts';
import { listDecisionsOfSend } from '../../store/sends/reports.ts';
import { findSend, insertSend } from '../../store/sends/sends.ts';
import { audit } from '../http/audit.ts';
import { requireRightOfType } from '../http/right-of-type.ts';
import { type Route, route } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { MAX_DECISIONS, newMessages, showDecision, textsOf } from './transactional.ts';

/** How long a test's in-app messages wait for the testers' devices. */
const TEST_MS = DAY_MS;

const test = route(
  api.testCampaign,
  async ({ params, body: { users, variant: asked, templateVars }, keepReply, ...who }, deps) => {
    const { db, secrets } = deps;
    const { entityId, userId } = who.caller;
    const { ref, answer } = await write(db, async (tx) => {
      const campaign =
        (await findCampaignByKey(tx, entityId, params.campaign_identifier)) ??
        refuse(404, 'not_found', 'Campaign not found');
      requireRightOfType(api.testCampaign, who.caller, campaign.type);
      const variant = asked === undefined ? null : findVariant(campaign, asked);
      refuseVars(campaign, templateVars);
      const messages = await newMessages(
        tx,
        secrets,
        entityId,
        [...new Set(users)].map((user) => ({ user, templateVars })),
      );
      const copy =
        (await insertTestCopy(
          tx,
          entityId,
          campaign.identifier,
          settingsOfTest(campaign, variant, new Date()),
          userId,
        )) ??
        refuse(409, 'too_many', `The entity has made ${MAX_CAMPAIGNS} tests in 30 days, the most that it may make`);
      const { id, identifier } = await insertSend(tx, entityId, {
        sendAt: null,
        campaignIds: [copy.id],
        messages,
        createdBy: userId,
        request: null,
      });
      await audit(tx, who, {
        action: 'create',
        subjectKind: 'send',
        subject: identifier,
        details: { test_of: campaign.identifier, messages: messages.length },
      });
      return { ref: { entityId, jobId: id, identifier }, answer: await keepReply(tx, { requestId: identifier }) };
    });
    await startSoon(deps, who.log, 'send', ref);
    return answer;
  },
);

function findVariant({ variants }: Campaign, asked: string): CampaignVariant {
  if (!variants) return refuseField('variant', 'must be left out: the campaign has no variants');
  return (
    variants.find(({ identifier, name }) => identifier === asked || name === asked) ??
    refuseField('variant', `must be one of ${variants.map(({ name }) => name).join(', ')}`)
  );
}

function refuseVars(
  { type, params, includesPush, includesInapp }: Campaign,
  vars: Readonly<Record<string, unknown>> | undefined,
): void {
  if (type !== 'transactional') {
    if (vars !== undefined)
      refuseField('templateVars', 'must be left out: only placeholders of transactional campaigns get values');
    return;
  }
  const values = textsOf(vars ?? {}) ?? {};
  refuseFields(
    placeholdersOf(params, { push: includesPush, inapp: includesInapp })
      .filter(({ name, hasDefault }) => !hasDefault && !Object.hasOwn(values, name))
      .map(({ name }) => ({ element: `templateVars.${name}`, message: 'is required: the placeholder has no default' })),
  );
}

/** Returns the campaign's message without its audience and times. A test of a variant has only that variant. */
function settingsOfTest(campaign: Campaign, variant: CampaignVariant | null, now: Date): CampaignSettings {
  return {
    ...campaign,
    startDate: null,
    endDate: new Date(now.getTime() + TEST_MS),
    filters: null,
    recurrence: null,
    notifLimit: null,
    variants: variant ? [{ ...variant, share: 100 }] : campaign.variants,
  };
}

const view = route(api.viewCampaignTest, async ({ params: { request_id: requestId }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const send = await findSend(tx, entityId, requestId);
    const campaign = send && (await findTestedCampaign(tx, entityId, send.id));
    if (!campaign) return refuse(404, 'not_found', 'Test not found');
    await audit(tx, who, { action: 'read', subjectKind: 'campaign', subject: campaign, details: { what: 'test' } });
    const decisions = await listDecisionsOfSend(tx, entityId, send.id, MAX_DECISIONS);
    return {
      requestId,
      campaign_id: campaign,
      state: send.state,
      results: decisions.map(({ userId: user, variant, ...decision }) => ({
        user,
        variant,
        ...withoutRequest(showDecision(decision)),
      })),
    };
  });
});

/** Removes the request's id, which is the same for all results. */
function withoutRequest({ requestId: _, ...shown }: ReturnType<typeof showDecision>) {
  return shown;
}

export const campaignTestRoutes: Route[] = [test, view];
