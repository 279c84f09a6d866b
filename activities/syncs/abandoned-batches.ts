import { type Tx, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { lockRunsWithAbandonedBatches } from '../../store/syncs/sync-runs.ts';
import { lockSyncById } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteUnknown } from './deliver.ts';

/**
 * Notes down what a canceled run had on its way: whether it arrived is unknown, and each record says so. Before
 * the next run of the sync begins, which else would read and send it again as if it had never been sent. `tx` holds the sync.
 */
export async function settleAbandonedBatches(tx: Tx, deps: Dependencies, sync: Sync): Promise<void> {
  for (const run of await lockRunsWithAbandonedBatches(tx, sync.entityId, sync.id)) await noteUnknown(tx, deps, { sync, run });
}

/** The same, by itself. */
export async function settleRunsOf(deps: Dependencies, entityId: number, syncId: number): Promise<void> {
  await write(deps.db, async (tx) => {
    const sync = await lockSyncById(tx, entityId, syncId);
    if (sync) await settleAbandonedBatches(tx, deps, sync);
  });
}
