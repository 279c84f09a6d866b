/** Steps of `runCampaign`: claim a campaign's run, find its audience, and send to it. */

import type { SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import { localMoment, zoneOf, zonesOfDevices } from '../../domain/campaigns/local-time.ts';
import { dueWindow, scheduleOf, type SendWindow } from '../../domain/campaigns/send-plan.ts';
import { type JobClaim, JobGone, type JobRef } from '../../domain/jobs/job.ts';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import type { Message } from '../../domain/sends/plan-attempts.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { listErasedPeople } from '../../store/analytics/segment-members.ts';
import type { SegmentQuery } from '../../store/analytics/segment-sql.ts';
import { updateLastUsed } from '../../store/analytics/segments.ts';
import {
  type AudienceDevice,
  type AudienceKey,
  audienceLine,
  countAppDevices,
  deleteAudience,
  type DueDevice,
  findAudience,
  findNextOfAudience,
  insertAudience,
  takeAudience,
} from '../../store/campaigns/audience.ts';
import { deleteCampaignMembers, updateNextLookAt } from '../../store/campaigns/campaign-members.ts';
import {
  endAudience,
  endCampaignsOf,
  listDeviceZones,
  raiseAudienceRound,
  type Reach,
  updateCampaignStatus,
} from '../../store/campaigns/campaign-runs.ts';
import { listCampaignsById } from '../../store/campaigns/campaigns.ts';
import { isQueryCanceled, type Queryable, type Tx, write } from '../../store/core/database.ts';
import { claimJob, endJob } from '../../store/jobs/jobs.ts';
import { cancelWaiting } from '../../store/sends/attempts.ts';
import { lockSend, type Send } from '../../store/sends/sends.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { planPortion, type SendingContext, type Targets } from '../sends/plan-attempts.ts';
import { type MessageSource, sendMessages } from '../sends/send-loop.ts';
import { SendingProviders } from '../sends/sending-provider.ts';
import { findNextLook, lookForPeople, type Run, type WhileOurs } from './look-for-people.ts';

/** Number of devices written in a transaction. */
const PORTION = 10_000;
/** How soon segments that the filters name are checked again. */
const SEGMENTS_MS = 2_000;
const TOO_LONG = 'Its audience takes more than ten minutes to find: use fewer filters, or shorter periods';

async function prepareAudience(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const begun = await write(deps.db, (tx) => begin(tx, claim));
  if (begun === null || 'againInMs' in begun) return begun;
  const whileOurs = whileOursOf(deps, claim, begun.send.audienceRound);
  try {
    const find = begun.campaign.type === 'dynamic' ? lookIfDue : findOnce;
    const ended = await inSlot(deps.takeAudienceSlot, claim.entityId, () => find(deps, begun, whileOurs));
    if (ended === null || 'againInMs' in ended) return ended;
    await fail(deps, begun, whileOurs, ended.failure);
  } catch (error) {
    if (!(error instanceof JobGone)) throw error;
  }
  return null;
}

/** Returns the run with this step's number, by which older steps end; or null if there is nothing to find now. */
async function begin(tx: Tx, claim: JobClaim): Promise<Run | RetryAfter | null> {
  const send = await lockSend(tx, claim);
  if (!send || send.audienceAt !== null || send.cancelRequestedAt !== null) return null;
  const now = Date.now();
  const startsInMs = send.sendAt!.getTime() - now;
  if (startsInMs > 0) return { againInMs: startsInMs };
  if (send.nextLookAt !== null && send.nextLookAt.getTime() > now) return null;
  const [campaign] = await listCampaignsById(tx, claim.entityId, [send.campaignId!]);
  if (campaign!.status === 'scheduled') {
    await updateCampaignStatus(
      tx,
      claim.entityId,
      campaign!.id,
      campaign!.type === 'dynamic' ? 'ongoing' : 'wait_sync',
    );
  }
  return {
    send: { ...send, audienceRound: await raiseAudienceRound(tx, claim.entityId, send.id) },
    campaign: campaign!,
  };
}

/** Returns a function that runs work in a transaction which locks the run; an older step, or a canceled run, ends. */
function whileOursOf({ db }: Dependencies, claim: JobClaim, round: number): WhileOurs {
  return (work) =>
    write(db, async (tx) => {
      const send = await lockSend(tx, claim);
      if (send?.audienceRound !== round || send.cancelRequestedAt !== null) throw new JobGone();
      return work(tx);
    });
}

/** Finds the audience of a classic campaign, once. */
async function findOnce(deps: Dependencies, run: Run, whileOurs: WhileOurs): Promise<RetryAfter | Failure | null> {
  const resolved = await resolveAudience(deps, run, new Date());
  if (!('query' in resolved)) return resolved;
  return unlessTooLong(replaceAudience(deps, run, resolved.query, whileOurs));
}

/** Looks at the audience of a dynamic campaign if a window is open, and stores when to look next. */
async function lookIfDue(deps: Dependencies, run: Run, whileOurs: WhileOurs): Promise<Failure | null> {
  const {
    send: { entityId, id },
  } = run;
  const now = new Date();
  const zones = await listZones(deps.db, run);
  const windows = findDueWindows(run, zones, now);
  const lookAt = (next: Date) => whileOurs((tx) => updateNextLookAt(tx, entityId, id, next)).then(() => null);
  if (windows.size === 0) return lookAt(findNextLook(run, zones, now));
  const resolved = await resolveAudience(deps, run, now);
  // Due messages are sent meanwhile.
  if ('againInMs' in resolved) return lookAt(new Date(now.getTime() + resolved.againInMs));
  if ('failure' in resolved) return resolved;
  return unlessTooLong(lookForPeople(deps, { ...run, zones, windows, now }, resolved.query, whileOurs));
}

type Failure = { failure: string };

/** Returns the query of the audience, unless segments that the filters name have no members yet. */
async function resolveAudience(
  { db }: Dependencies,
  { send: { entityId }, campaign }: Run,
  now: Date,
): Promise<{ query: SegmentQuery } | RetryAfter | Failure> {
  const {
    errors: [error],
    query,
    segments,
    failure,
  } = await resolveFilters(db, entityId, {
    appId: campaign.appId,
    filters: campaign.filters ?? everybody(),
    now,
    isStored: true,
  });
  if (error) return { failure: `${error.element}: ${error.message}` };
  if (failure !== null) return { failure };
  const waited = segments.filter(({ snapshotAt }) => snapshotAt === null);
  const broken = waited.find((segment) => segment.failure !== null);
  if (broken)
    return { failure: `The segment "${broken.name}", which its filters name, has no members: ${broken.failure}` };
  if (waited.length > 0) return { againInMs: SEGMENTS_MS };
  await updateLastUsed(
    db,
    entityId,
    segments.map(({ id }) => id),
  );
  return { query: query! };
}

async function unlessTooLong(finding: Promise<void>): Promise<Failure | null> {
  try {
    await finding;
    return null;
  } catch (error) {
    if (!isQueryCanceled(error)) throw error;
    return { failure: TOO_LONG };
  }
}

/** Fails the campaign: cancels what is not sent, and deletes the audience. */
async function fail(deps: Dependencies, { send, campaign }: Run, whileOurs: WhileOurs, failure: string): Promise<void> {
  const { entityId, id } = send;
  for (const found of [deleteAudience, deleteCampaignMembers]) await deleteAll(deps, send, found, whileOurs);
  await whileOurs(async (tx) => {
    await cancelWaiting(tx, entityId, id, [campaign.id]);
    await updateCampaignStatus(tx, entityId, campaign.id, 'failed', failure);
    await endJob(tx, 'campaign', send, 'failed');
    await endCampaignsOf(tx, entityId, id);
  });
}

/** Deletes in portions. */
async function deleteAll(
  { boundary }: Dependencies,
  { entityId, id }: Send,
  deleteSome: typeof deleteAudience,
  whileOurs: WhileOurs,
): Promise<void> {
  while ((await whileOurs((tx) => deleteSome(tx, entityId, id, PORTION))) > 0) boundary('campaign: between deletions');
}

/** Writes the audience from the start, also after a kill: the audience may have changed. */
async function replaceAudience(deps: Dependencies, run: Run, query: SegmentQuery, whileOurs: WhileOurs): Promise<void> {
  const { db, secrets, boundary, draining } = deps;
  const {
    send: { entityId, id: jobId },
    campaign,
  } = run;
  await deleteAll(deps, run.send, deleteAudience, whileOurs);
  const dueOf = dueTimes(run);
  const reach: Reach = { count: 0, optin: 0, total: await countAppDevices(db, entityId, campaign.appId) };
  const insert = async (devices: readonly AudienceDevice[]) => {
    draining.throwIfAborted();
    const written = await whileOurs(async (tx) => {
      const erased = await listErasedPeople(
        tx,
        secrets,
        entityId,
        devices.flatMap((device) => [device.person, `d${device.device_id}`]),
      );
      const living = devices.filter((device) => !erased.has(device.person) && !erased.has(`d${device.device_id}`));
      await insertAudience(
        tx,
        living
          .map((device) =>
            audienceLine(entityId, jobId, { dueAt: dueOf(device), person: device.person, deviceId: device.device_id }),
          )
          .join(''),
      );
      boundary('campaign: before a portion commits');
      return living;
    });
    reach.count += written.length;
    reach.optin += written.filter(({ opt_in: optIn }) => optIn).length;
    boundary('campaign: after a portion committed');
  };
  // Writes a portion while it reads the next.
  let writing = Promise.resolve();
  let portion: AudienceDevice[] = [];
  try {
    for await (const device of findAudience(db, entityId, query)) {
      portion.push(device);
      if (portion.length < PORTION) continue;
      await writing;
      writing = insert(portion);
      writing.catch(() => {}); // awaited before the next
      portion = [];
    }
    await writing;
  } finally {
    // A repeat of the step begins with deleting, so nothing may be written after that.
    await writing.catch(() => {});
  }
  await insert(portion);
  await whileOurs((tx) => endAudience(tx, entityId, { jobId, campaignId: campaign.id }, reach));
  boundary('campaign: audience is there');
}

/** Returns a function that says when a device is due, as ISO: all at once, or by its own clock. */
function dueTimes({ send, campaign }: Run): (device: AudienceDevice) => string {
  const start = send.sendAt!.toISOString();
  const { startDate, adaptTz, appZone, endDate } = scheduleOf(campaign);
  if (!adaptTz) return () => start;
  const zoneFor = zonesOfDevices(appZone);
  const known = new Map<string, string>();
  return ({ timezone, utc_offset: utcOffsetMinutes }) => {
    const zone = zoneFor({ timezone, utcOffsetMinutes });
    const due = known.get(zone) ?? dueIn(zone);
    known.set(zone, due);
    return due;
  };

  function dueIn(zone: string): string {
    // The first moment among the zones known at the launch: a later zone has none before.
    const moment = localMoment(startDate!, appZone, zone, send.sendAt!);
    return (endDate !== null && endDate < moment ? endDate : moment).toISOString();
  }
}

export type RunCampaignSteps = ReturnType<typeof runCampaignSteps>;

export const runCampaignSteps = (deps: Dependencies, providers = new SendingProviders(deps)) => ({
  /** Claims the row for this workflow; null if another has it, or it has ended. */
  async claimCampaign(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const claimed = await claimJob<{ generation: number }>(deps.db, 'campaign', ref, workflowRunId);
    deps.boundary('campaign: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /** Finds the devices of the audience. Returns when to continue, or null once they are found. */
  prepareAudience: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => prepareAudience(deps, claim)),

  /** Sends to due devices. Returns when to continue, or null at the end. */
  sendToAudience: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => sendMessages({ ...deps, providers }, claim, audience)),
});

/** Number of devices deleted at once when a campaign is canceled. */
const DELETED_AT_ONCE = 20_000;

/** Returns the devices of an audience as a source of messages, for one step. */
function audience(): MessageSource {
  let after: AudienceKey | null = null;
  const take = async (tx: Tx, context: SendingContext, limit: number): Promise<DueDevice[]> => {
    const { send } = context;
    const { appId } = campaignOf(context);
    const { devices, last } = await takeAudience(tx, send.entityId, { id: send.id, appId }, after, limit);
    // Earlier devices may have come, and those of a transaction that did not commit are back.
    const isFromStart = after === null;
    after = last;
    return devices.length > 0 || isFromStart ? devices : take(tx, context, limit);
  };
  return {
    async planNext(tx, context, limit) {
      const { send } = context;
      const none = { outgoing: [], isFull: false };
      if (send.cancelRequestedAt !== null && (await deleteAudience(tx, send.entityId, send.id, DELETED_AT_ONCE)) > 0)
        return none;
      // Devices found before its end get its messages.
      const devices = send.cancelRequestedAt === null ? await take(tx, context, limit) : [];
      if (devices.length > 0) {
        const current = hasEnded(context, after!) ? withoutOngoing(context) : context;
        const outgoing = await planPortion(tx, current, byPerson(devices, send.looks), async (chunk) =>
          targetsOf(chunk),
        );
        return { outgoing, isFull: devices.length === limit };
      }
      return isOver(context) && (await deleteCampaignMembers(tx, send.entityId, send.id, DELETED_AT_ONCE)) > 0
        ? none
        : null;
    },
    findNextDue: (tx, { entityId, id }) => findNextOfAudience(tx, entityId, id),
    nextLook: (context) =>
      campaignOf(context).type !== 'dynamic' || isOver(context) ? null : (context.send.nextLookAt ?? context.now),
    async end(tx, context) {
      const { send, now } = context;
      const { id, type, includesInapp, endDate, isOngoing } = campaignOf(context);
      if (send.cancelRequestedAt !== null || !isOngoing) return null;
      // Devices get in-app messages until the end, and a dynamic campaign lasts until it.
      if ((includesInapp || type === 'dynamic') && endDate !== null && endDate > now) return endDate;
      await updateCampaignStatus(tx, send.entityId, id, 'finished');
      return null;
    },
  };
}

function campaignOf({ campaigns, send }: SendingContext) {
  return campaigns.get(send.campaignId!)!;
}

/** Returns whether a classic campaign ended (`scheduleOf`) before these devices got it, by this clock or Postgres's. */
function hasEnded(context: SendingContext, { dueAt }: AudienceKey): boolean {
  const { type, includesInapp, endDate } = campaignOf(context);
  return (
    type === 'classic' && includesInapp && endDate !== null && (endDate <= context.now || endDate <= new Date(dueAt))
  );
}

/** Returns a context in which planned attempts become CANCELED. */
function withoutOngoing(context: SendingContext): SendingContext {
  return {
    ...context,
    campaigns: new Map([...context.campaigns].map(([id, campaign]) => [id, { ...campaign, isOngoing: false }])),
  };
}

/** Returns whether its audience can't grow any more. */
function isOver(context: SendingContext): boolean {
  const { type, endDate } = campaignOf(context);
  return context.send.cancelRequestedAt !== null || (type === 'dynamic' && endDate! <= context.now);
}

/** A message to a person, with their due devices. */
type ToPerson = [Message, readonly TargetDevice[]];

/** Groups devices by person. `ordinal`: the number of this message of the campaign. */
function byPerson(rows: readonly DueDevice[], ordinal: number): ToPerson[] {
  return Array.from(
    Map.groupBy(rows, (row) => row.person),
    ([person, own]): ToPerson => [
      { ordinal, userId: person.startsWith('u') ? person.slice(1) : null, userHash: null, vars: null },
      own.flatMap(({ device }) => device ?? []),
    ],
  );
}

function targetsOf(chunk: readonly ToPerson[]): Targets {
  const devices = new Map(chunk);
  return { messages: [...devices.keys()], devicesOf: (_appId, message) => devices.get(message)! };
}

/** The zones in which the app has devices; without `adaptTz` the app's alone. */
async function listZones(db: Queryable, { send, campaign: { appId, adaptTz, appTimezone } }: Run): Promise<string[]> {
  if (!adaptTz) return [appTimezone];
  const devices = await listDeviceZones(db, send.entityId, appId);
  return [
    ...new Set(
      devices.map(({ timezone, utcOffset: utcOffsetMinutes }) => zoneOf({ timezone, utcOffsetMinutes }, appTimezone)),
    ),
  ];
}

/** The windows in which a look now sends, by zone. */
function findDueWindows({ send, campaign }: Run, zones: readonly string[], now: Date): Map<string, SendWindow> {
  const schedule = scheduleOf(campaign);
  const clock = { launchedAt: campaign.launchedAt!, lookedAt: send.lookedAt, now };
  return new Map(
    zones.flatMap((zone): [string, SendWindow][] => {
      const window = dueWindow(schedule, zone, clock);
      return window === null ? [] : [[zone, window]];
    }),
  );
}

const everybody = (): SegmentFilters => ({ operator: 'and', blocks: [] });
