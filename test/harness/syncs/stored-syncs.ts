import type { Queryable } from '../../../store/core/database.ts';
import type { NewSync, Sync } from '../../../store/syncs/sync-record.ts';
import type { NewRun, SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { insertRun } from '../../../store/syncs/sync-runs.ts';
import { insertSync } from '../../../store/syncs/syncs.ts';
import type { World } from '../core/world.ts';

let made = 0;

/** The row of a sync that brings `email` into the SoR's attributes, for tests that need no worker. */
export async function storedSync(
  tx: Queryable,
  { entity, sor, user }: World,
  sync: Partial<NewSync> = {},
): Promise<Sync> {
  made += 1;
  return (await insertSync(
    tx,
    entity.id,
    {
      name: `Sync ${made}`,
      connectionId: 1,
      stream: 'people',
      destination: { sorId: sor.id },
      mapping: { customer: { field: 'email', type: 'user_id' }, fields: [], otherFields: 'keep', empty: 'fail' },
      mode: 'incremental',
      cursorField: 'email',
      removes: false,
      removalLimit: 50,
      schedule: null,
      schemaRule: 'ignore',
      alerts: { emails: [], connections: [], failedRecords: null, pauseAfter: null },
      ...sync,
    },
    user.id,
  ))!;
}

/** The row of a run of it, in that state; where it has ended, so many days ago. */
export async function storedRun(
  tx: Queryable,
  { entityId, id }: Sync,
  { state, daysAgo = 0, ...run }: { state: SyncRun['state']; daysAgo?: number } & Partial<NewRun>,
): Promise<SyncRun> {
  const inserted = (await insertRun(tx, entityId, { syncId: id, cause: 'request', ...run }))!;
  await tx.query(
    `UPDATE sync_runs SET state = $3,
       ended_at = CASE WHEN $3 NOT IN ('accepted', 'running') THEN now() - make_interval(days => $4) END
     WHERE entity_id = $1 AND id = $2`,
    [entityId, inserted.id, state, daysAgo],
  );
  return inserted;
}
