import { type Tx, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { lockRunsLetGo } from '../../store/syncs/sync-runs.ts';
import { lockSyncById } from '../../store/syncs/syncs.ts';
import type { Needs } from '../needs.ts';
import { noteUnknown } from './deliver.ts';

/**
 * Notes down what a canceled run had on its way: whether it arrived nobody can tell any more, and each record says so. Before
 * the next run of the sync begins, which else would read and send it again as if it had never been sent. `tx` holds the sync.
 */
export async function settleLetGo(tx: Tx, needs: Needs, sync: Sync): Promise<void> {
  for (const run of await lockRunsLetGo(tx, sync.entityId, sync.id)) await noteUnknown(tx, needs, { sync, run });
}

/** The same, by itself. */
export async function settleRunsOf(needs: Needs, entityId: number, syncId: number): Promise<void> {
  await write(needs.db, async (tx) => {
    const sync = await lockSyncById(tx, entityId, syncId);
    if (sync) await settleLetGo(tx, needs, sync);
  });
}
