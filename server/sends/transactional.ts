/** The routes of transactional messages: send, cancel, report; and of tests of campaigns. */

import type { z } from 'zod';
import { testCampaign, viewCampaignTest } from '../../api/sends/campaign-tests.ts';
import * as api from '../../api/sends/transactional.ts';
import { placeholdersOf, type PushContent } from '../../domain/campaigns/campaign-params.ts';
import { isProfileName, templateText } from '../../domain/campaigns/placeholders.ts';
import type { CampaignVariant } from '../../domain/campaigns/variants.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { ATTEMPT_CODES } from '../../domain/sends/attempt.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { insertFollowedEntry } from '../../store/accounts/audit-log.ts';
import { findTestedCampaign } from '../../store/campaigns/campaign-tests.ts';
import {
  type Campaign,
  type CampaignSettings,
  findCampaignByKey,
  insertTestCopy,
  listCampaignsByKeys,
  MAX_CAMPAIGNS,
  namesOfProfile,
} from '../../store/campaigns/campaigns.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { findErased, personKey } from '../../store/gdpr/tombstones.ts';
import { lockJobToCancel } from '../../store/jobs/jobs.ts';
import { countSentTo, type Decision, listDecisions, listReport, REPORT_DAYS } from '../../store/sends/reports.ts';
import {
  findSend,
  findSendByKey,
  insertSend,
  type NewMessage,
  type Send,
  updateCancelRequested,
} from '../../store/sends/sends.ts';
import { attributesOfFilters } from '../analytics/attributes-of-filters.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { actorOf, audit } from '../http/audit.ts';
import { canonicalJson } from '../http/idempotency.ts';
import type { Caller } from '../http/caller.ts';
import { requireRightOfType } from '../http/right-of-type.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { wakeSendSoon, startSoon } from '../jobs/start-soon.ts';
import { showSends } from './send-requests.ts';

type SendBody = z.output<typeof api.sendMessages.body & object>;
type Asked = Circumstances & { body: SendBody; caller: Caller; keepReply: KeepReply };

const USER = 'user_id';

async function send({ body, keepReply, ...who }: Asked, deps: RouteDependencies): Promise<{ requestId: string }> {
  const { db, secrets } = deps;
  const { entityId, userId } = who.caller;
  const { ref, answer } = await write(
    db,
    async (tx) => {
      const request = requestOf(secrets, entityId, body);
      const earlier = request && (await findSendByKey(tx, entityId, request.key));
      if (earlier) {
        if (!earlier.bodyHash.equals(request.bodyHash))
          refuse(409, 'conflict', 'requestKey: another request was made under this key');
        return { ref: null, answer: await keepReply(tx, { requestId: earlier.identifier }) };
      }
      const campaigns = await readyCampaigns(tx, entityId, body.campaignKey);
      const { id, identifier } = await insertSend(tx, entityId, {
        sendAt: body.sendAt ?? null,
        campaignIds: campaigns.map((campaign) => campaign.id),
        createdBy: userId,
        request,
        messages: await newMessages(tx, secrets, entityId, body.messages),
      });
      await audit(tx, who, {
        action: 'create',
        subjectKind: 'send',
        subject: identifier,
        details: {
          campaigns: campaigns.map((campaign) => campaign.identifier).join(', '),
          messages: body.messages.length,
        },
      });
      return { ref: { entityId, jobId: id, identifier }, answer: await keepReply(tx, { requestId: identifier }) };
    },
    { collide: true },
  );
  if (ref) await startSoon(deps, who.log, 'send', ref);
  return answer;
}

function requestOf(
  secrets: Secrets,
  entityId: number,
  { requestKey, ...asked }: SendBody,
): { key: Buffer; bodyHash: Buffer } | null {
  if (requestKey === undefined) return null;
  return {
    key: secrets.lookup(canonicalJson(['send', entityId, requestKey])),
    bodyHash: secrets.lookup(canonicalJson(['send', entityId, { ...asked, sendAt: asked.sendAt?.toISOString() }])),
  };
}

/** Finds running transactional campaigns, or refuses as the reference does. */
async function readyCampaigns(tx: Queryable, entityId: number, keys: readonly string[]): Promise<Campaign[]> {
  const found = await listCampaignsByKeys(tx, entityId, keys);
  const campaigns = keys.map((key, index) => {
    const campaign = found.get(key);
    if (campaign?.type !== 'transactional') return refuse(404, '404', `Unknown campaign key at index ${index}`);
    return campaign.status === 'ongoing' ? campaign : refuse(405, '405', `Campaign not ready at index ${index}`);
  });
  return [...new Map(campaigns.map((campaign) => [campaign.id, campaign])).values()];
}

type GivenMessage = Pick<SendBody['messages'][number], 'user'> & Partial<SendBody['messages'][number]>;

async function newMessages(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  given: readonly GivenMessage[],
): Promise<NewMessage[]> {
  const personOf = (user: string) => ({ customerType: USER, customerId: user }) as const;
  const erased = await findErased(tx, secrets, entityId, () => given.map(({ user }) => personOf(user)));
  return given.map(({ user, templateVars, paramVars }) => {
    const userHash = erased.get(personKey(personOf(user)));
    return userHash
      ? { userId: null, userHash, vars: null }
      : { userId: user, userHash: null, vars: textsOf({ ...paramVars, ...templateVars }) };
  });
}

function textsOf(vars: Readonly<Record<string, unknown>>): Record<string, string> | null {
  const texts = Object.entries(vars).flatMap(([name, value]) => {
    const said = templateText(value);
    return said === undefined ? [] : [[name, said] as const];
  });
  return texts.length === 0 ? null : Object.fromEntries(texts);
}

const view = route(api.viewSend, async ({ params, caller: { entityId } }, { db }) =>
  showSend(db, (await findSend(db, entityId, params.request_id)) ?? refuseUnknown()),
);

const cancel = route(api.cancelSend, async ({ params, ...who }, deps) => {
  const { entityId } = who.caller;
  const found = await write(deps.db, async (tx) => {
    const locked = await lockJobToCancel<Send>(tx, 'send', entityId, params.request_id);
    if (locked === null) return refuseUnknown();
    if (locked === false) return refuse(409, 'ended', 'The request has ended: nothing of it waits to be sent');
    await updateCancelRequested(tx, entityId, locked.id);
    await audit(tx, who, { action: 'delete', subjectKind: 'send', subject: locked.identifier });
    return locked;
  });
  await wakeSendSoon(
    deps,
    who.log,
    { kind: 'send', entityId, jobId: found.id, identifier: found.identifier },
    'a canceled send',
  );
  return showSend(deps.db, (await findSend(deps.db, entityId, found.identifier))!);
});

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Request not found');
}

async function showSend(db: Queryable, found: Send): Promise<api.SendState> {
  return (await showSends(db, found.entityId, [found]))[0]!;
}

const dayOf = (at: Date) => at.toISOString().slice(0, 10);

const report = route(api.reportMessages, async ({ params, query, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const campaign =
      (await findCampaignByKey(tx, entityId, params.campaign_key)) ?? refuse(404, 'not_found', 'Unknown campaign key');
    const sendId =
      query.requestId === undefined
        ? null
        : ((await findSend(tx, entityId, query.requestId))?.id ?? refuse(404, 'not_found', 'Request not found'));
    const { startDate, endDate } = reportPeriod(query, new Date());
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'campaign',
      subject: campaign.identifier,
      details: { what: 'reports' },
    });
    const rows = await listReport(tx, entityId, {
      campaignId: campaign.id,
      sendId,
      from: new Date(startDate),
      until: new Date(Date.parse(endDate) + DAY_MS),
      offset: (query.page - 1) * query.page_size,
      limit: query.page_size,
    });
    const campaignStatus = rows.map(({ userId: user, deviceId, createdAt, settledAt, code, details }) => ({
      user,
      device_id: deviceId,
      date: (settledAt ?? createdAt).toISOString(),
      code,
      details,
    }));
    return { reports: [{ campaignKey: params.campaign_key, startDate, endDate, campaignStatus }] };
  });
});

/** Returns the requested days within the last 30 (reference: Transactional messages, 2). */
function reportPeriod(
  { startDate, endDate }: { startDate?: string | undefined; endDate?: string | undefined },
  now: Date,
) {
  const earliest = dayOf(new Date(now.getTime() - REPORT_DAYS * DAY_MS));
  const end = endDate ?? dayOf(now);
  const start = startDate === undefined || startDate < earliest ? earliest : startDate;
  if (startDate !== undefined && startDate > end) refuseField('endDate', `must not be before startDate, ${startDate}`);
  return { startDate: start, endDate: end };
}

const MAX_DECISIONS = 1_000;

/** Values of a profile are shown to those who may read values. */
function seenBy({ rights }: Caller): { limit: number; showsValues: boolean } {
  return { limit: MAX_DECISIONS, showsValues: rights.has('sor_manage') };
}

const why = route(api.explainMessages, async ({ params, query: { user }, ...who }, { db, secrets }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const campaign =
      (await findCampaignByKey(tx, entityId, params.identifier)) ?? refuse(404, 'not_found', 'Campaign not found');
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'customer',
      customerHash: secrets.customerHash(entityId, USER, user),
      details: { what: 'messages', campaign: campaign.identifier },
    });
    const of = { campaignId: campaign.id, userId: user };
    return {
      user,
      ...(await countSentTo(tx, entityId, campaign.id, user)),
      decisions: showDecisions(campaign, await listDecisions(tx, entityId, of, seenBy(who.caller))),
    };
  });
});

/** Shows decisions of a campaign with the names of its variants. */
export function showDecisions({ variants }: Pick<Campaign, 'variants'>, decisions: readonly Decision[]) {
  const nameOf = new Map((variants ?? []).map(({ identifier, name }) => [identifier, name]));
  return decisions.map(({ variant, userId: _, ...decision }) => ({
    ...showDecision(decision),
    variant: variant === null ? null : { identifier: variant, name: nameOf.get(variant) ?? null },
  }));
}

function showDecision({
  sendIdentifier,
  createdAt,
  deviceId,
  channel,
  code,
  details,
  dueAt,
  settledAt,
  ...receipts
}: Omit<Decision, 'userId' | 'variant'>) {
  const { deliveredAt, openedAt, shownAt, clickedAt, push } = receipts;
  return {
    requestId: sendIdentifier,
    date: createdAt.toISOString(),
    device_id: deviceId,
    channel,
    code,
    reason: ATTEMPT_CODES[code],
    details,
    due_at: isoOf(dueAt),
    settled_at: isoOf(settledAt),
    delivered_at: isoOf(deliveredAt),
    opened_at: isoOf(openedAt),
    shown_at: isoOf(shownAt),
    clicked_at: isoOf(clickedAt),
    message: push && showMessage(push),
  };
}

function showMessage({ title, subtitle, body, deepLink, attachmentUrl, category, sound, parameters }: PushContent) {
  return {
    title,
    subtitle,
    body,
    deep_linking_url: deepLink,
    attachment_url: attachmentUrl,
    category,
    sound,
    parameters,
  };
}

export const transactionalRoutes: Route[] = [
  route(api.sendMessages, send),
  route(api.sendPushMessages, send),
  view,
  cancel,
  report,
  why,
];

const TEST_MS = DAY_MS;

const test = route(
  testCampaign,
  async ({ params, body: { users, variant: asked, templateVars }, keepReply, ...who }, deps) => {
    const { db, secrets } = deps;
    const { entityId, userId } = who.caller;
    const { ref, answer } = await write(db, async (tx) => {
      const campaign =
        (await findCampaignByKey(tx, entityId, params.campaign_identifier)) ??
        refuse(404, 'not_found', 'Campaign not found');
      requireRightOfType(testCampaign, who.caller, campaign.type);
      const variant = asked === undefined ? null : findVariant(campaign, asked);
      refuseVars(campaign, templateVars);
      const attributes = await attributesOfFilters(tx, who.caller, null, namesOfProfile(campaign));
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
        details: { test_of: campaign.identifier, messages: messages.length, ...attributes },
      });
      return { ref: { entityId, jobId: id, identifier }, answer: await keepReply(tx, { requestId: identifier }) };
    });
    await startSoon(deps, who.log, 'send', ref);
    return answer;
  },
);

export function findVariant({ variants }: Campaign, asked: string): CampaignVariant {
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
      .filter(({ name, hasDefault }) => !hasDefault && !isProfileName(name) && !Object.hasOwn(values, name))
      .map(({ name }) => ({ element: `templateVars.${name}`, message: 'is required: the placeholder has no default' })),
  );
}

/** Returns the message without audience and times. A test of a variant has only that variant. */
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

const viewTest = route(viewCampaignTest, async ({ params: { request_id: requestId }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const send = await findSend(tx, entityId, requestId);
    const campaign = send && (await findTestedCampaign(tx, entityId, send.id));
    if (!campaign) return refuse(404, 'not_found', 'Test not found');
    await insertFollowedEntry(tx, entityId, {
      ...actorOf(who),
      subjectKind: 'campaign',
      subject: campaign,
      details: { what: 'test', request: requestId },
    });
    const decisions = await listDecisions(tx, entityId, { sendId: send.id }, seenBy(who.caller));
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

function withoutRequest({ requestId: _, ...shown }: ReturnType<typeof showDecision>) {
  return shown;
}

export const campaignTestRoutes: Route[] = [test, viewTest];
