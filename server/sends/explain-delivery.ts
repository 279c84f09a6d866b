/** The route that says why a person gets the messages of a campaign, or does not. */

import * as api from '../../api/sends/explain-delivery.ts';
import { PERSON_PARTS } from '../../domain/analytics/person.ts';
import { showMet } from '../../domain/analytics/segment-filters.ts';
import { placeholdersOf, profileNamesOf } from '../../domain/campaigns/campaign-params.ts';
import { isInControlGroup } from '../../domain/campaigns/control-group.ts';
import { isProfileName, readProfileName } from '../../domain/campaigns/placeholders.ts';
import { variantOf, variantParams } from '../../domain/campaigns/variants.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { ATTEMPT_CODES } from '../../domain/sends/attempt.ts';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import {
  type DeliveryFacts,
  type ExplainedDevice,
  explainDevice,
  explainPerson,
  reachesOf,
} from '../../domain/sends/explain-delivery.ts';
import { endOfQuiet } from '../../domain/sends/quiet-hours.ts';
import { findControlGroup } from '../../store/accounts/entities.ts';
import { listNamedAttributes } from '../../store/analytics/named-attributes.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { matchPerson } from '../../store/analytics/segment-match.ts';
import { findMemberOf } from '../../store/campaigns/campaign-members.ts';
import { type Campaign, findCampaignByKey } from '../../store/campaigns/campaigns.ts';
import { findNamedAttributes, listProfileTexts, profileOwner } from '../../store/attributes/profile-texts.ts';
import { findRaisedAt, type Person, personKey } from '../../store/gdpr/tombstones.ts';
import { countSentTo, listDecisions } from '../../store/sends/reports.ts';
import {
  findTargetDevice,
  listMessagesGone,
  listSendingApps,
  listUserDevices,
  type SendingApp,
} from '../../store/sends/send-targets.ts';
import { HEAVY_READ_MS } from '../analytics/heavy-reads.ts';
import { auditLook, hashOf, openLook, sealLook } from '../analytics/looks.ts';
import { requirePerson } from '../analytics/people.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { route } from '../http/route.ts';
import { showDecisions } from './transactional.ts';

const { devices: MAX_DEVICES, decisions: MAX_DECISIONS } = api.EXPLAINED_BOUNDS;

export const explainDelivery = route(api.explainDelivery, async ({ body, ...who }, deps) => {
  const { db, secrets } = deps;
  const { entityId, rights } = who.caller;
  const person = requirePerson(body);
  const campaign =
    (await findCampaignByKey(db, entityId, body.campaign_id)) ?? refuse(404, 'not_found', 'Campaign not found');
  const given = body.look === undefined ? null : openLook(secrets, entityId, person, body.look);
  const look = await auditLook(deps, who, person, 'delivery', given);
  const isErased =
    rights.has(PERSON_PARTS.erasure) &&
    (await findRaisedAt(db, entityId, [hashOf(secrets, entityId, person)])) !== null;
  const now = new Date();
  const explained = isErased
    ? NOTHING
    : await explain(deps, who.caller, { campaign, person, now, hungUp: who.hungUp() });
  return {
    campaign_id: campaign.identifier,
    campaign_name: campaign.name,
    campaign_type: campaign.type,
    status: campaign.status,
    app_id: campaign.appIdentifier,
    erased: isErased,
    ...explained,
    at: now.toISOString(),
    look: sealLook(secrets, entityId, person, look),
  };
});

type Explained = Pick<
  api.ExplainedDelivery,
  'reaches' | 'lines' | 'audience' | 'devices' | 'sent' | 'opened' | 'decisions'
>;
const NOTHING: Explained = {
  reaches: 'no',
  lines: [],
  audience: null,
  devices: [],
  sent: 0,
  opened: 0,
  decisions: [],
};

type Asked = { campaign: Campaign; person: Person; now: Date; hungUp: AbortSignal };

async function explain(deps: RouteDependencies, caller: Caller, asked: Asked): Promise<Explained> {
  const { db } = deps;
  const { entityId } = caller;
  const { campaign, person: asking, now } = asked;
  const app = (await listSendingApps(db, entityId, [campaign.appId])).get(campaign.appId)!;
  const { devices, userId, person } = await findTarget(deps, entityId, campaign.appId, asking);
  const audience = await explainAudience(deps, caller, asked);
  const lines = explainPerson({
    campaign,
    deviceCount: devices.length,
    lacksUser: userId === null,
    audience: audience.line,
    isInControlGroup: isInControlGroup(await findControlGroup(db, entityId), person),
    notified: await findNotified(deps, entityId, campaign, person),
    lacking: await findLacking(deps, caller, campaign, { devices, userId, person }),
    limit: await findLimit(deps, entityId, app, person),
    quietUntil: endOfQuiet(app.quietHours, now),
    now,
  });
  const includes = { push: campaign.includesPush, inapp: campaign.includesInapp };
  const hasProfileValues = profileNamesOf(campaign.params, campaign.variants, includes).length > 0;
  const rules = { verifiedUsers: app.verifiedUsers, hasProfileValues };
  const shown = devices.slice(0, MAX_DEVICES).map((device) => explainDevice(device, userId, campaign, rules));
  const seen = { limit: MAX_DECISIONS, showsValues: caller.rights.has('sor_manage') };
  const isUser = asking.customerType === 'user_id';
  const campaignId = campaign.id;
  const of = isUser ? { campaignId, userId: asking.customerId } : { campaignId, deviceId: asking.customerId };
  const counted = isUser ? await countSentTo(db, entityId, campaign.id, asking.customerId) : { sent: 0, opened: 0 };
  return {
    reaches: reachesOf(lines, shown),
    lines,
    audience: audience.met,
    devices: shown.map(showDevice),
    ...counted,
    decisions: showDecisions(campaign, await listDecisions(db, entityId, of, seen)),
  };
}

type Target = { devices: TargetDevice[]; userId: string | null; person: string };

/** Finds the devices that a send would look at: those of a user, or the one that is asked for. */
async function findTarget(
  { db }: RouteDependencies,
  entityId: number,
  appId: number,
  { customerType, customerId }: Person,
): Promise<Target> {
  if (customerType === 'user_id') {
    const devices = await listUserDevices(db, entityId, [appId], [customerId]);
    return { devices, userId: customerId, person: `u${customerId}` };
  }
  const device = await findTargetDevice(db, entityId, appId, customerId);
  if (!device) return { devices: [], userId: null, person: `d${customerId}` };
  const userId = device.person.startsWith('u') ? device.person.slice(1) : null;
  return { devices: [device], userId, person: device.person };
}

type Audience = { line: DeliveryFacts['audience']; met: api.ExplainedDelivery['audience'] };

const open = (reason: string): Audience => ({ line: { found: null, reason }, met: null });

/** Says of each filter of the campaign whether the person meets it now, as the send's audience would be found. */
async function explainAudience(
  { db, heavyReads }: RouteDependencies,
  caller: Caller,
  { campaign: { type, appId, filters }, person, now, hungUp }: Asked,
): Promise<Audience> {
  const { entityId, rights } = caller;
  if (type === 'transactional') return { line: 'of requests', met: null };
  if (filters === null) return { line: 'everybody', met: null };
  const named = rights.has('sor_manage') ? [] : await listNamedAttributes(db, entityId, [filters]);
  if (named.some(({ isSensitive }) => isSensitive))
    return open('this needs the right sor_manage: the filters compare with a sensitive attribute');
  const asked = { appId, filters, now, isStored: true };
  const { errors, query, segments, failure } = await resolveFilters(db, entityId, asked);
  const waited = segments.find(({ snapshotAt }) => snapshotAt === null);
  if (errors[0]) return open(`${errors[0].element}: ${errors[0].message}`);
  if (failure !== null) return open(failure);
  if (waited) return open(`the segment "${waited.name}", which the filters name, has no members yet`);
  const match = await heavyReads.within(caller, hungUp, (signal) =>
    matchPerson(db, entityId, query!, person, { timeoutMs: HEAVY_READ_MS, signal }),
  );
  if (match === null) return { line: { found: false, reason: null }, met: null };
  const met = { operator: filters.operator, blocks: showMet(filters, match.met) };
  return { line: { found: match.isFound, reason: null }, met };
}

async function findNotified(
  { db }: RouteDependencies,
  entityId: number,
  { id, type, notifLimit }: Campaign,
  person: string,
): Promise<DeliveryFacts['notified']> {
  if (type !== 'dynamic') return null;
  const member = await findMemberOf(db, entityId, id, person);
  return {
    count: member?.notified ?? 0,
    lastAt: member?.lastNotifiedAt ?? null,
    maximum: notifLimit?.maximum ?? null,
    intervalHours: notifLimit?.interval ?? null,
  };
}

/** Finds the profile values that the text of the person's variant needs, as a send does, and the profile lacks. */
async function findLacking(
  { db, secrets }: RouteDependencies,
  { entityId, rights }: Caller,
  { identifier, params, variants, includesPush: push, includesInapp: inapp }: Campaign,
  { devices: [device], userId, person }: Target,
): Promise<DeliveryFacts['lacking']> {
  const variant = variantOf(variants, identifier, person);
  const needed = placeholdersOf(variant ? variantParams(params, variant) : params, { push, inapp })
    .filter(({ name, hasDefault }) => isProfileName(name) && !hasDefault)
    .map(({ name }) => name);
  if (needed.length === 0 || device === undefined) return null;
  if (!rights.has('sor_manage')) return 'unread';
  const of = profileOwner(userId, device.deviceId);
  const attributes = await findNamedAttributes(db, entityId, needed);
  const texts = (await listProfileTexts(db, secrets, entityId, [of], attributes)).get(personKey(of));
  return needed.filter((name) => !texts?.has(name)).map((name) => readProfileName(name)?.key ?? name);
}

async function findLimit(
  { db }: RouteDependencies,
  entityId: number,
  { id, messageLimit, messagePeriod }: SendingApp,
  person: string,
): Promise<DeliveryFacts['limit']> {
  if (messageLimit === null) return null;
  const gone = await listMessagesGone(db, entityId, id, [person], messagePeriod!);
  return { got: gone.get(person)?.size ?? 0, limit: messageLimit, periodSeconds: messagePeriod! };
}

function showDevice({ deviceId, gets, code, lines }: ExplainedDevice): api.ExplainedDelivery['devices'][number] {
  return { device_id: deviceId, gets, code, reason: ATTEMPT_CODES[code], lines };
}
