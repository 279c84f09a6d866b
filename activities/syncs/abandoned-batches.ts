import { type Tx, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { lockRunsWithAbandonedBatches } from '../../store/syncs/sync-runs.ts';
import { lockSyncById } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteUnknown } from './deliver.ts';

/**
 * Counts what canceled runs had on its way, and ends them. Call it before the next run of the sync begins, which would
 * otherwise read and send the records again as if they had never been sent. `tx` holds the sync.
 */
export async function settleAbandonedBatches(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets' | 'boundary'>,
  sync: Sync,
): Promise<void> {
  for (const run of await lockRunsWithAbandonedBatches(tx, sync.entityId, sync.id))
    await noteUnknown(tx, deps, { sync, run });
}

/** The same, by itself. */
export async function settleRunsOf(
  deps: Pick<Dependencies, 'db' | 'secrets' | 'boundary'>,
  entityId: number,
  syncId: number,
): Promise<void> {
  await write(deps.db, async (tx) => {
    const sync = await lockSyncById(tx, entityId, syncId);
    if (sync) await settleAbandonedBatches(tx, deps, sync);
  });
}
