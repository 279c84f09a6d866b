import { everybody } from '../../domain/analytics/segment-filters.ts';
import { localMoment, zonesOfDevices } from '../../domain/campaigns/local-time.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { listErasedPeople } from '../../store/analytics/segment-members.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import type { SegmentQuery } from '../../store/analytics/segment-sql.ts';
import {
  type AudienceDevice, audienceLine, countAppDevices, deleteAudience, findAudience, insertAudience,
} from '../../store/campaigns/audience.ts';
import { endAudience, type Reach, updateCampaignStatus } from '../../store/campaigns/campaign-runs.ts';
import { deleteCampaignMembers } from '../../store/campaigns/campaign-members.ts';
import { type Campaign, listCampaignsById } from '../../store/campaigns/campaigns.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { endJob } from '../../store/jobs/jobs.ts';
import { cancelWaiting } from '../../store/sends/attempts.ts';
import { lockSend, type Send } from '../../store/sends/sends.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { findDueWindows, lookForPeople } from './look-for-people.ts';

/** So many devices are written in a transaction. */
const PORTION = 10_000;
/** Segments that the filters name are looked at again after this. */
const SEGMENTS_MS = 2_000;
const QUERY_CANCELED = '57014';
const TOO_LONG = 'Its audience takes more than ten minutes to find: use fewer filters, or shorter periods';

/** A run whose audience is to be found, and its campaign. */
type Run = { send: Send; campaign: Campaign };

export async function prepareAudience(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const { db } = deps;
  const begun = await write(db, (tx) => begin(tx, claim));
  if (begun === null || 'againInMs' in begun) return begun;
  const { campaign } = begun;
  const now = new Date();
  const windows = campaign.type === 'dynamic' ? await findDueWindows(db, begun, now) : null;
  if (windows?.size === 0) return null;
  const { errors: [error], query, segments } = await resolveFilters(db, claim.entityId, {
    appId: campaign.appId, filters: campaign.filters ?? everybody(), now, isStored: true,
  });
  if (error) return fail(deps, claim, `${error.element}: ${error.message}`);
  const waited = segments.filter(({ snapshotAt }) => snapshotAt === null);
  const broken = waited.find((segment) => segment.failure !== null);
  if (broken) return fail(deps, claim, `The segment "${broken.name}", which its filters name, has no members: ${broken.failure}`);
  if (waited.length > 0) return { againInMs: SEGMENTS_MS };
  try {
    if (windows) await lookForPeople(deps, { ...begun, windows, now }, query!, (work) => whileOurs(deps, claim, work));
    else await replaceAudience(deps, claim, begun, query!);
    return null;
  } catch (failure) {
    if (failure instanceof JobGone) return null;
    if ((failure as { code?: string }).code !== QUERY_CANCELED) throw failure;
    return fail(deps, claim, TOO_LONG);
  }
}

/** Null: there is nothing to find any more. */
async function begin(tx: Tx, claim: JobClaim): Promise<Run | RetryAfter | null> {
  const send = await lockSend(tx, claim);
  if (!send || send.audienceAt !== null || send.cancelRequestedAt !== null) return null;
  const startsInMs = send.sendAt!.getTime() - Date.now();
  if (startsInMs > 0) return { againInMs: startsInMs };
  const [campaign] = await listCampaignsById(tx, claim.entityId, [send.campaignId!]);
  if (campaign!.status === 'scheduled') {
    await updateCampaignStatus(tx, claim.entityId, campaign!.id, campaign!.type === 'dynamic' ? 'ongoing' : 'wait_sync');
  }
  return { send, campaign: campaign! };
}

/** What it has not sent is not sent, and what it has found goes. */
async function fail(deps: Dependencies, claim: JobClaim, failure: string): Promise<null> {
  const { entityId, runId } = claim;
  try {
    for (const found of [deleteAudience, deleteCampaignMembers]) await deleteAll(deps, claim, found);
    await write(deps.db, async (tx) => {
      const send = await lockSend(tx, claim);
      if (!send || send.cancelRequestedAt !== null) return;
      await cancelWaiting(tx, entityId, runId, [send.campaignId!]);
      await updateCampaignStatus(tx, entityId, send.campaignId!, 'failed', failure);
      await endJob(tx, 'campaign', send, 'failed');
    });
  } catch (error) {
    if (!(error instanceof JobGone)) throw error;
  }
  return null;
}

/** By portions. */
async function deleteAll(deps: Dependencies, claim: JobClaim, deleteSome: typeof deleteAudience): Promise<void> {
  const { entityId, runId } = claim;
  while (await whileOurs(deps, claim, (tx) => deleteSome(tx, entityId, runId, PORTION)) > 0) deps.boundary('campaign: between deletions');
}

/** From the start, also after a kill: what was found before may be another audience. */
async function replaceAudience(deps: Dependencies, claim: JobClaim, run: Run, query: SegmentQuery): Promise<void> {
  const { db, boundary, draining } = deps;
  const { entityId, runId } = claim;
  const { campaign } = run;
  await deleteAll(deps, claim, deleteAudience);
  const dueOf = dueTimes(run);
  const reach: Reach = { count: 0, optin: 0, total: await countAppDevices(db, entityId, campaign.appId) };
  const insert = async (devices: readonly AudienceDevice[]) => {
    draining.throwIfAborted();
    const written = await whileOurs(deps, claim, async (tx) => {
      const erased = await listErasedPeople(tx, deps.secrets, entityId, devices.map(({ person }) => person));
      const living = devices.filter(({ person }) => !erased.has(person));
      await insertAudience(tx, living.map((device) => (
        audienceLine(entityId, runId, { dueAt: dueOf(device), person: device.person, deviceId: device.device_id }))).join(''));
      boundary('campaign: before a portion commits');
      return living;
    });
    reach.count += written.length;
    reach.optin += written.filter(({ opt_in: optIn }) => optIn).length;
    boundary('campaign: after a portion committed');
  };
  // A portion is written while the next is read.
  let writing = Promise.resolve();
  let portion: AudienceDevice[] = [];
  try {
    for await (const device of findAudience(db, entityId, query)) {
      portion.push(device);
      if (portion.length < PORTION) continue;
      await writing;
      writing = insert(portion);
      writing.catch(() => {});        // awaited before the next
      portion = [];
    }
    await writing;
  } finally {
    // A repeat of the step begins with deleting: nothing may be written after that.
    await writing.catch(() => {});
  }
  await insert(portion);
  await whileOurs(deps, claim, (tx) => endAudience(tx, entityId, { runId, campaignId: campaign.id }, reach));
  boundary('campaign: audience is there');
}

/** When each device is due, as ISO: all at once, or at the time that its clock shows. Devices share a few zones. */
function dueTimes({ send, campaign: { startDate, adaptTz, appTimezone } }: Run): (device: AudienceDevice) => string {
  const start = send.sendAt!.toISOString();
  if (!adaptTz) return () => start;
  const zoneFor = zonesOfDevices(appTimezone);
  const known = new Map<string, string>();
  return ({ timezone, utc_offset: utcOffsetMinutes }) => {
    const zone = zoneFor({ timezone, utcOffsetMinutes });
    // The first moment of those zones that were known at the launch: one that came later has none before.
    const due = known.get(zone) ?? localMoment(startDate!, appTimezone, zone, send.sendAt!).toISOString();
    known.set(zone, due);
    return due;
  };
}

async function whileOurs<R>({ db }: Dependencies, claim: JobClaim, work: (tx: Tx) => Promise<R>): Promise<R> {
  return write(db, async (tx) => {
    const send = await lockSend(tx, claim);
    if (!send || send.cancelRequestedAt !== null) throw new JobGone();
    return work(tx);
  });
}
