import { type Database, type Queryable, write } from '../core/database.ts';
import type { IngestedCall } from './ingested-call.ts';

/** An app has hardly more kinds of errors: those that came least give way to new ones. */
const MAX_CRASHES = 10_000;

/** How many errors of an app come until this process counts its kinds again. */
const ERRORS_A_COUNT = 1_000;

/** How many errors of each app have come since. */
const errorsSince = new WeakMap<Database, Map<number, number>>();

/**
 * Deletes kinds of errors of these calls' apps beyond `most`: those that came least often, of these the oldest. Their
 * errors stay, without a kind. Call it before the transaction that takes calls in, which must not hold rows of others.
 * An app may have more for a while: as many as come until the next count.
 */
export async function deleteExcessCrashes(
  db: Database,
  entityId: number,
  calls: readonly IngestedCall[],
  { most = MAX_CRASHES, every = ERRORS_A_COUNT } = {},
): Promise<void> {
  const apps = errorsSince.get(db) ?? new Map<number, number>();
  errorsSince.set(db, apps);
  const errors = calls.filter(({ event }) => event?.fingerprint);
  for (const [appId, { length }] of Map.groupBy(errors, (call) => call.appId)) {
    const since = (apps.get(appId) ?? 0) + length;
    apps.set(appId, since < every ? since : 0);
    if (since >= every) await deleteBeyond(db, entityId, appId, most);
  }
}

async function deleteBeyond(db: Database, entityId: number, appId: number, most: number): Promise<void> {
  const {
    rows: [counted],
  } = await db.query<{ count: number }>('SELECT count(*) FROM crashes WHERE entity_id = $1 AND app_id = $2', [
    entityId,
    appId,
  ]);
  const excess = counted!.count - most;
  if (excess <= 0) return;
  // By crashes_by_occurrences.
  await write(db, (tx) =>
    tx.query(
      `DELETE FROM crashes WHERE entity_id = $1 AND id = ANY (ARRAY(
       SELECT id FROM crashes WHERE entity_id = $1 AND app_id = $2 ORDER BY occurrences, id LIMIT $3 FOR UPDATE SKIP LOCKED))`,
      [entityId, appId, excess],
    ),
  );
}

/**
 * Its errors stay, without a kind; the next such error makes another one. Returns false if the app has no such crash.
 */
export async function deleteCrash(
  tx: Queryable,
  entityId: number,
  appId: number,
  identifier: string,
): Promise<boolean> {
  const { rowCount } = await tx.query('DELETE FROM crashes WHERE entity_id = $1 AND app_id = $2 AND identifier = $3', [
    entityId,
    appId,
    identifier,
  ]);
  return rowCount === 1;
}
