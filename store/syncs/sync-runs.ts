// Runs of syncs.
import { type FailureColumns, failureOf, type MailColumns, mailOf, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { MailState } from '../core/mails.ts';
import { IS_WAITING, runsOf } from '../jobs/runs.ts';
import type { Tables } from '../schema.ts';
import type { Sync } from './sync-record.ts';
import { type NewRun, PROGRESS_COLUMNS, type RunProgress, type SyncRun } from './sync-run-record.ts';
import { syncs } from './syncs.ts';

type RunColumns = Omit<SyncRun, 'missed' | 'progress' | 'removal' | 'failure' | 'mail'> &
  FailureColumns &
  MailColumns<MailState> &
  Row<'sync_runs', 'covers' | 'removal' | 'removalReason'> &
  Pick<Tables['sync_runs'], (typeof PROGRESS_COLUMNS)[keyof RunProgress]>;

function toRun(run: RunColumns): SyncRun {
  const progress = Object.entries(PROGRESS_COLUMNS).map(([member, column]) => [member, run[column]]);
  return {
    ...run,
    missed: run.covers.length,
    progress: Object.fromEntries(progress) as RunProgress,
    removal: run.removal && { state: run.removal, reason: run.removalReason },
    failure: failureOf(run),
    mail: mailOf(run),
  };
}

export const syncRuns = runsOf<SyncRun, NewRun, Sync>({
  kind: 'sync',
  owners: syncs,
  ownerOf: ({ syncId }) => syncId,
  toRun,
  /** A new run takes its sync's cursor. One taken from a lost workflow keeps its own: it has seen all before that. */
  claimed: ({ isBegun, fresh, rootId }: RunColumns) =>
    isBegun || fresh || rootId !== null
      ? null
      : { set: 'cursor_before = (SELECT cursor FROM syncs s WHERE s.entity_id = $1 AND s.id = r.sync_id)' },
  // One that reads all that was due by then: it has not begun yet, or began since.
  covering: {
    where: `NOT dry_run AND root_id IS NULL AND state <> 'canceled' AND (started_at IS NULL OR started_at >= $3)`,
  },
  canceled: {
    // A run with a batch on its way ends once the outcomes of that batch are recorded, or its sync is deleted.
    set: `canceled_at = now(), ended_at = CASE WHEN NOT EXISTS (
      SELECT FROM sync_batches b WHERE b.entity_id = r.entity_id AND b.run_id = r.id) THEN now() END`,
    afterwards: 'DELETE FROM sync_pinned_batches b USING canceled WHERE b.entity_id = $1 AND b.run_id = canceled.id',
    ofOwner: `WITH ended AS (
       UPDATE sync_runs SET ended_at = now() WHERE entity_id = $1 AND sync_id = $2 AND state = 'canceled' AND ended_at IS NULL
       RETURNING id)
     DELETE FROM sync_batches b USING ended WHERE b.entity_id = $1 AND b.run_id = ended.id`,
  },
  // The next run reads again what the destination has not answered of the last batch.
  ended: `WITH unpinned AS (DELETE FROM sync_pinned_batches WHERE entity_id = $1 AND run_id = $2)
     DELETE FROM sync_batches WHERE entity_id = $1 AND run_id = $2`,
});
export const {
  insert: insertRun,
  find: findRun,
  findById: findRunById,
  list: listRuns,
  lock: lockRun,
  claim: claimRun,
  cancel: cancelRun,
  cancelOf: cancelRunsOf,
  end: updateRunEnded,
} = syncRuns;

/** Finds each sync's last run, without dry runs, by the sync's id. Uses sync_runs_of_sync. */
export async function findLastRuns(db: Queryable, entityId: number, syncIds: number[]): Promise<Map<number, SyncRun>> {
  const runs = readRows(
    await db.query(
      `SELECT r.* FROM unnest($2::integer[]) AS asked (sync_id) CROSS JOIN LATERAL (
       SELECT * FROM sync_runs WHERE entity_id = $1 AND sync_id = asked.sync_id AND NOT dry_run ORDER BY id DESC LIMIT 1) r`,
      [entityId, syncIds],
    ),
    toRun,
  );
  return new Map(runs.map((run) => [run.syncId, run]));
}

/** Returns what the finished run before this one found, without dry runs and re-drives. */
export async function findRunBefore(
  db: Queryable,
  { entityId, syncId, id }: SyncRun,
): Promise<Row<'sync_runs', 'missingFields' | 'removal'> | null> {
  const rows = readRows<Row<'sync_runs', 'missingFields' | 'removal'>>(
    await db.query(
      `SELECT missing_fields, removal FROM sync_runs
     WHERE entity_id = $1 AND sync_id = $2 AND id < $3 AND NOT dry_run AND root_id IS NULL AND state = 'finished' ORDER BY id DESC LIMIT 1`,
      [entityId, syncId, id],
    ),
  );
  return rows[0] ?? null;
}

/** Locks canceled runs of a sync that had a batch on its way, oldest first. */
export async function lockRunsWithAbandonedBatches(tx: Tx, entityId: number, syncId: number): Promise<SyncRun[]> {
  return readRows(
    await tx.query(
      `SELECT * FROM sync_runs r WHERE entity_id = $1 AND sync_id = $2 AND state = 'canceled'
       AND EXISTS (SELECT FROM sync_batches b WHERE b.entity_id = $1 AND b.run_id = r.id)
     ORDER BY id FOR NO KEY UPDATE OF r`,
      [entityId, syncId],
    ),
    toRun,
  );
}

const OPEN_RUNS = {
  'under way': `NOT dry_run AND (state = 'running' OR (state = 'accepted' AND is_begun))`,
  waiting: `${IS_WAITING} AND NOT dry_run`,
  'waiting dry run': `${IS_WAITING} AND dry_run`,
};

/** Returns the identifier of a run that has not ended, or that waits to begin; null if there is none. */
export function findOpenRun(
  db: Queryable,
  { entityId, syncId }: Pick<SyncRun, 'entityId' | 'syncId'>,
  asked: keyof typeof OPEN_RUNS | { redriveOf: number },
): Promise<string | null> {
  return typeof asked === 'string'
    ? syncRuns.findIdentifier(db, entityId, syncId, OPEN_RUNS[asked])
    : syncRuns.findIdentifier(db, entityId, syncId, `root_id = $3 AND state IN ('accepted', 'running')`, [
        asked.redriveOf,
      ]);
}
