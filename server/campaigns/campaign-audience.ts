/** The routes of what a campaign will do: its audience, and its plan by the clocks of people. */

import * as api from '../../api/campaigns/campaign-audience.ts';
import { AudienceTally, type ZoneCount } from '../../domain/campaigns/audience-tally.ts';
import { type ControlGroup, isInControlGroup } from '../../domain/campaigns/control-group.ts';
import { zoneOf } from '../../domain/campaigns/local-time.ts';
import { type PushLimits, type PushTimes, pushTimes } from '../../domain/campaigns/push-times.ts';
import { type PlannedSend, scheduleOf, sendPlan } from '../../domain/campaigns/send-plan.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { isQuietIn, type QuietHours } from '../../domain/sends/quiet-hours.ts';
import { zoneClock } from '../../domain/time/date-value.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { showTimeOfDay } from '../../domain/time/time-of-day.ts';
import { findControlGroup } from '../../store/accounts/entities.ts';
import { listNamedAttributes } from '../../store/analytics/named-attributes.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { type AudienceMember, scanAudience, scanPeople } from '../../store/campaigns/audience.ts';
import { findCampaignRun, listDeviceZones } from '../../store/campaigns/campaign-runs.ts';
import { type Campaign, findCampaignByKey } from '../../store/campaigns/campaigns.ts';
import type { Queryable } from '../../store/core/database.ts';
import { isThere, listSendingApps } from '../../store/sends/send-targets.ts';
import { attributesOfFilters } from '../analytics/attributes-of-filters.ts';
import { HEAVY_READ_MS } from '../analytics/heavy-reads.ts';
import { refuseComputing } from '../analytics/usage-filters.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';

const ENDED = ['finished', 'canceled', 'failed'];

type Who = Circumstances & { caller: Caller };
type Counted = { audience: api.CampaignAudience; zones: ReadonlyMap<string, ZoneCount> };

const countAudience = route(api.countCampaignAudience, async ({ params, ...who }, deps) => {
  const campaign = await requireCampaign(deps.db, who.caller, params.identifier);
  const counted = await countPeople(deps, who, campaign);
  return 'audience' in counted ? counted.audience : refuseComputing(counted.computing);
});

async function requireCampaign(db: Queryable, { entityId }: Caller, key: string): Promise<Campaign> {
  const campaign = (await findCampaignByKey(db, entityId, key)) ?? refuse(404, 'not_found', 'Campaign not found');
  if (campaign.type !== 'transactional') return campaign;
  return refuse(
    409,
    'conflict',
    'A transactional campaign has neither audience nor plan: each request of POST /api/transac names its users, and says ' +
      'when its messages go',
  );
}

/** Counts the people who would get a campaign now; `computing`: a segment of its filters has no members yet. */
export async function countPeople(
  { db, heavyReads }: RouteDependencies,
  { hungUp, ...who }: Who,
  campaign: Campaign,
): Promise<Counted | { computing: string }> {
  const { entityId } = who.caller;
  const { appId, identifier } = campaign;
  const filters = campaign.filters ?? { operator: 'and' as const, blocks: [] };
  const now = new Date();
  const { errors, query, segments, failure } = await resolveFilters(db, entityId, {
    appId,
    filters,
    now,
    isStored: true,
  });
  const [error] = errors;
  if (error) refuse(409, 'conflict', `${error.element}: ${error.message}`);
  if (failure !== null) refuse(409, 'conflict', failure);
  const computing = segments.find(({ snapshotAt }) => snapshotAt === null);
  if (computing) return { computing: computing.identifier };
  const named = await attributesOfFilters(db, who.caller, filters);
  if (named.attributes !== undefined)
    await audit(db, who, {
      action: 'read',
      subjectKind: 'campaign',
      subject: identifier,
      details: { what: 'audience', ...named },
    });
  const controlGroup = await findControlGroup(db, entityId);
  const tally = openTally(campaign, controlGroup);
  const total = await heavyReads.within(who.caller, hungUp(), (signal) =>
    scanPeople(db, entityId, query!, { timeoutMs: HEAVY_READ_MS, signal }, (member) => addTo(tally, member)),
  );
  const reasons = tally.end();
  const { people, push, inAppOnly, devices, zones } = tally;
  return {
    zones,
    audience: {
      counted_at: now.toISOString(),
      people,
      recipients: push + inAppOnly,
      push,
      in_app_only: inAppOnly,
      held_back: reasons.reduce((sum, reason) => sum + reason.people, 0),
      reasons,
      devices,
      people_total: total,
      control_group_percent: controlGroup.percent,
    },
  };
}

function openTally(campaign: Campaign, controlGroup: ControlGroup): AudienceTally {
  return new AudienceTally({ ...campaign, isHeldBack: (person) => isInControlGroup(controlGroup, person) });
}

function addTo(tally: AudienceTally, member: AudienceMember): void {
  tally.add(member.person, isThere(member) ? member : null);
}

/** Shows the coming sends to an audience, a draft's as if it were launched now. */
const planCampaign = route(api.planCampaign, async ({ params, query: { limit }, ...who }, deps) => {
  const { entityId } = who.caller;
  const campaign = await requireCampaign(deps.db, who.caller, params.identifier);
  const { quietHours, sendRate } = (await listSendingApps(deps.db, entityId, [campaign.appId])).get(campaign.appId)!;
  const app = {
    timezone: campaign.appTimezone,
    quiet_hours: quietHours && {
      start: showTimeOfDay(quietHours.start),
      end: showTimeOfDay(quietHours.end),
      timezone: quietHours.timezone,
    },
    send_rate: sendRate,
  };
  const none = { sends: [], has_more: false, audience: null, first_at: null, last_at: null };
  if (ENDED.includes(campaign.status)) return { ...none, ...app };
  const counted = await countZones(deps, who, campaign);
  const zones = counted?.zones ?? (await listZones(deps.db, entityId, campaign));
  const now = new Date();
  const schedule = scheduleOf(campaign);
  const { sends, hasMore } = sendPlan(
    schedule,
    Array.from(zones, ([zone, { devices }]) => ({ zone, devices: counted && devices })),
    { launchedAt: campaign.launchedAt ?? now, from: now },
    // All sends, so that the last moment is known: a zone has one of a classic campaign.
    schedule.type === 'classic' ? Infinity : limit,
  );
  const times = timesOf(sends, counted && zones, {
    quiet: quietHours,
    sendRate,
    expireAfterSeconds: campaign.params.expire_after,
  });
  const shown = sends.map((send, index) => showSend(send, times?.[index] ?? null, counted && zones, quietHours));
  return {
    sends: shown.slice(0, limit),
    has_more: hasMore || shown.length > limit,
    audience: counted?.audience ?? null,
    ...boundsOf(campaign, shown),
    ...app,
  };
});

type Zones = ReadonlyMap<string, ZoneCount>;

/** Counts devices by zone; null for a dynamic campaign, and where the caller or the moment does not allow it. */
async function countZones(
  deps: RouteDependencies,
  who: Who,
  campaign: Campaign,
): Promise<{ zones: Zones; audience: api.CampaignAudience | null } | null> {
  const { entityId, rights } = who.caller;
  if (campaign.type === 'dynamic') return null;
  if (campaign.reachAt !== null) return countWaiting(deps, who, campaign);
  const named = campaign.filters ? await listNamedAttributes(deps.db, entityId, [campaign.filters]) : [];
  if (named.some(({ isSensitive }) => isSensitive) && !rights.has('sor_manage')) return null;
  const counted = await countPeople(deps, who, campaign);
  return 'audience' in counted ? counted : null;
}

/** Counts the devices of a found audience that have no message yet. */
async function countWaiting(
  { db, heavyReads }: RouteDependencies,
  { caller, hungUp }: Who,
  campaign: Campaign,
): Promise<{ zones: Zones; audience: null }> {
  const { entityId } = caller;
  const tally = openTally(campaign, await findControlGroup(db, entityId));
  const sendId = await findCampaignRun(db, entityId, campaign.id);
  const scanned = { sendId: sendId!, appId: campaign.appId };
  await heavyReads.within(caller, hungUp(), (signal) =>
    scanAudience(db, entityId, scanned, { timeoutMs: HEAVY_READ_MS, signal }, (member) => addTo(tally, member)),
  );
  return { zones: tally.zones, audience: null };
}

async function listZones(db: Queryable, entityId: number, { appId, appTimezone }: Campaign): Promise<Zones> {
  const listed = await listDeviceZones(db, entityId, appId);
  return new Map(
    listed.map(({ timezone, utcOffset: utcOffsetMinutes, devices }) => [
      zoneOf({ timezone, utcOffsetMinutes }, appTimezone),
      { devices, pushes: 0 },
    ]),
  );
}

function timesOf(sends: readonly PlannedSend[], zones: Zones | null, limits: PushLimits): PushTimes[] | null {
  if (zones === null) return null;
  return pushTimes(
    sends.map((send) => ({ at: send.at, pushes: sumOf(zonesOf(send, zones), 'pushes') })),
    limits,
  );
}

/** Returns the zones whose devices get a send; without `adapt_tz` all. */
function zonesOf({ zones: own }: PlannedSend, zones: Zones): [string, ZoneCount][] {
  return own === null ? [...zones] : own.map((zone) => [zone, zones.get(zone)!]);
}

function sumOf(zones: readonly [string, ZoneCount][], number: keyof ZoneCount): number {
  return zones.reduce((sum, [, counted]) => sum + counted[number], 0);
}

const MAX_CLOCKS = 100;

function showSend(
  send: PlannedSend,
  times: PushTimes | null,
  zones: Zones | null,
  quiet: QuietHours | null,
): api.CampaignPlan['sends'][number] {
  const { at, until, zones: names, devices } = send;
  const own = zones && zonesOf(send, zones);
  const { from = null, until: last = null, expired = null, waitsFor = [] } = times ?? {};
  const clocks = own
    ?.filter(([, counted]) => counted.devices > 0)
    .toSorted(([, one], [, other]) => other.devices - one.devices)
    .slice(0, MAX_CLOCKS)
    .map(([zone, counted]) => ({
      zone,
      devices: counted.devices,
      at: localTime(zone, at),
      leaves_from: from && localTime(zone, from),
      leaves_until: last && localTime(zone, last),
      is_quiet_there: [from, last].some((moment) => moment !== null && isQuietIn(zone, quiet, moment)),
    }));
  return {
    at: at.toISOString(),
    until: isoOf(until),
    zones: names,
    devices,
    pushes: own && sumOf(own, 'pushes'),
    leaves_from: isoOf(from),
    leaves_until: isoOf(last),
    expired,
    waits_for: waitsFor,
    clocks: clocks ?? null,
  };
}

function localTime(zone: string, at: Date): string {
  return new Date(zoneClock(zone).timeAt(at.getTime())).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
}

/** Returns the first and the last moment of all sends. In-app messages wait for nothing. */
function boundsOf({ type, endDate, includesInapp }: Campaign, sends: readonly api.CampaignPlan['sends'][number][]) {
  const [first] = sends;
  if (!first) return { first_at: null, last_at: null };
  if (type === 'dynamic') return { first_at: first.at, last_at: endDate!.toISOString() };
  const moments = sends.flatMap(({ at, leaves_from: from, leaves_until: until }) => [
    includesInapp ? at : (from ?? at),
    until ?? at,
  ]);
  const sorted = moments.toSorted();
  return { first_at: sorted[0]!, last_at: sorted.at(-1)! };
}

export const campaignAudienceRoutes: Route[] = [countAudience, planCampaign];
