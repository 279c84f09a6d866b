import type { Needs } from './needs.ts';
import { deleteSyncSchedule, listSyncSchedules, type ListedSyncSchedule, putSyncSchedule } from './sync/schedules.ts';
import { runsBetween } from '../domain/sync-schedule.ts';
import { listScheduledSyncs } from '../store/across-entities.ts';
import type { Sync } from '../store/sync-record.ts';
import { updateScheduledUntil } from '../store/syncs.ts';

type FollowNeeds = Pick<Needs, 'db' | 'temporal'>;

/** A Schedule is given more times while it still has so many. */
const TIMES_LEFT = 50;

/** Makes Temporal's Schedule of a sync what its row says: none where it has none, or is paused. */
export async function followSchedule({ db, temporal }: FollowNeeds, sync: Sync): Promise<void> {
  const { entityId, id: syncId, identifier, schedule, revision, paused } = sync;
  if (!schedule || paused) return deleteSyncSchedule(temporal, identifier);
  const until = await putSyncSchedule(temporal, { ref: { entityId, syncId, identifier }, schedule, revision }, new Date());
  await updateScheduledUntil(db, sync, until);
}

/** Makes Temporal's Schedules what the rows say: those that are missing, of an earlier revision, running out, or too many. */
export async function repairSchedules(needs: Pick<Needs, 'db' | 'temporal' | 'boundary'>): Promise<void> {
  const listed = new Map<string, ListedSyncSchedule>();
  for await (const schedule of listSyncSchedules(needs.temporal)) listed.set(schedule.identifier, schedule);
  for (const sync of await listScheduledSyncs(needs.db)) {
    const found = listed.get(sync.identifier);
    listed.delete(sync.identifier);
    if (isCurrent(sync, found)) continue;
    await followSchedule(needs, sync);
    needs.boundary('sweep: between schedules');
  }
  for (const { identifier } of listed.values()) await deleteSyncSchedule(needs.temporal, identifier);
}

function isCurrent({ schedule, revision, scheduledUntil }: Sync, found: ListedSyncSchedule | undefined): boolean {
  if (!found || found.revision !== revision || scheduledUntil === null) return false;
  return runsBetween(schedule!, new Date(), found.until, TIMES_LEFT) === TIMES_LEFT;
}
