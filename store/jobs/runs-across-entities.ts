import type { JobRef } from '../../domain/jobs/job.ts';
import type { Database, Queryable } from '../core/database.ts';
import { inBatches } from '../core/in-batches.ts';
import { type DataExporter, type ExporterRow, toExporter } from '../exports/data-exporter-record.ts';
import { type Sync, type SyncRow, toSync } from '../syncs/sync-record.ts';

/** As across-entities.ts, of runs: what the sweep finds, and what it clears away. */

/** Runs of one kind, of which those of one owner wait for each other, unless they run beside the others. */
type Runs = { table: string; owner: string; isBeside: (run: string) => string };

const RUNS = {
  sync: { table: 'sync_runs', owner: 'sync_id', isBeside: (run) => `${run}.dry_run` },
  export: { table: 'export_runs', owner: 'exporter_id', isBeside: () => 'false' },
  gdpr: { table: 'gdpr_requests', owner: 'id', isBeside: () => 'true' },
} satisfies Record<string, Runs>;

export type RunKind = keyof typeof RUNS;
export type RunningRun = JobRef & { workflowRunId: string; generation: number };

const BATCH = 5_000;
/** With each go some dozens of records and files. */
const RUNS_AT_ONCE = 100;

type RefRow = { entity_id: number; id: number; identifier: string; run_id: string; generation: number };

/** Runs accepted more than `graceSeconds` ago that no workflow has claimed and that no other run keeps waiting, oldest first. */
export async function listUnclaimedRuns(db: Queryable, kind: RunKind, graceSeconds: number): Promise<JobRef[]> {
  const { table, owner, isBeside } = RUNS[kind];
  const { rows } = await db.query<RefRow>(
    `SELECT entity_id, id, identifier FROM ${table} r
     WHERE state = 'accepted' AND received_at < now() - make_interval(secs => $1)
       AND (${isBeside('r')} OR NOT EXISTS (SELECT FROM ${table} o
         WHERE o.entity_id = r.entity_id AND o.${owner} = r.${owner} AND o.state = 'running' AND NOT ${isBeside('o')}))
     ORDER BY received_at LIMIT 1000`, [graceSeconds]);
  return rows.map(({ entity_id: entityId, id: runId, identifier }) => ({ entityId, runId, identifier }));
}

export async function listRunningRuns(db: Queryable, kind: RunKind): Promise<RunningRun[]> {
  const { rows } = await db.query<RefRow>(
    `SELECT entity_id, id, identifier, run_id, generation FROM ${RUNS[kind].table}
     WHERE state = 'running' ORDER BY received_at LIMIT 1000`);
  return rows.map((row) => ({
    entityId: row.entity_id, runId: row.id, identifier: row.identifier, workflowRunId: row.run_id, generation: row.generation,
  }));
}

/** Takes the row from a workflow that Temporal no longer knows: steps of its generation end, and it may be claimed again. */
export async function resetRun(
  db: Queryable, kind: RunKind, { entityId, runId, workflowRunId, generation }: RunningRun,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE ${RUNS[kind].table} SET state = 'accepted', generation = generation + 1, run_id = NULL
     WHERE entity_id = $1 AND id = $2 AND state = 'running' AND run_id = $3 AND generation = $4`,
    [entityId, runId, workflowRunId, generation]);
  return rowCount! > 0;
}

/** Syncs that Temporal should have a Schedule for. */
export async function listScheduledSyncs(db: Queryable): Promise<Sync[]> {
  const { rows } = await db.query<SyncRow>(
    `SELECT s.*, NULL AS creator_uid FROM syncs s
     WHERE schedule IS NOT NULL AND paused_at IS NULL AND deleted_at IS NULL ORDER BY entity_id, id`);
  return rows.map(toSync);
}

/** Exporters that Temporal should have a Schedule for, with the zones of their entities. */
export async function listScheduledExporters(db: Queryable): Promise<{ exporter: DataExporter; zone: string }[]> {
  const { rows } = await db.query<ExporterRow & { default_tz: string }>(
    `SELECT x.*, NULL AS creator_uid, e.default_tz FROM data_exporters x JOIN entities e ON e.id = x.entity_id
     WHERE x.active AND x.paused_at IS NULL AND x.deleted_at IS NULL ORDER BY x.entity_id, x.id`);
  return rows.map((row) => ({ exporter: toExporter(row), zone: row.default_tz }));
}

/**
 * The runs of exporters that were deleted over a month ago, with what they wrote down; then the exporters themselves, but for those that
 * have written something: whoever is erased later is told that there are copies.
 */
export async function deleteOldExportRuns(db: Database): Promise<void> {
  await inBatches(db, `DELETE FROM export_runs WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM data_exporters x JOIN export_runs r ON r.entity_id = x.entity_id AND r.exporter_id = x.id
    WHERE x.deleted_at < now() - interval '30 days' AND r.ended_at IS NOT NULL LIMIT ${RUNS_AT_ONCE}))`, []);
  await db.query(
    `DELETE FROM data_exporters x WHERE deleted_at < now() - interval '30 days' AND initial_run_at IS NULL
       AND NOT EXISTS (SELECT FROM export_runs r WHERE r.entity_id = x.entity_id AND r.exporter_id = x.id)`);
}

const NOTES_OF_RUNS = [
  ['import_errors', 'import_id'], ['sync_log', 'run_id'], ['sync_batches', 'run_id'], ['sync_pinned_batches', 'run_id'],
] as const;

/** Runs that ended more than a month ago, with what was noted down in them; then what deleted syncs knew of their records. */
export async function deleteOldSyncRuns(db: Database): Promise<void> {
  // By sync_runs_by_age, and by sync_runs_of_sync for each deleted sync.
  const { rows } = await db.query<RefRow>(
    `(SELECT entity_id, id FROM sync_runs WHERE ended_at < now() - interval '30 days' ORDER BY ended_at LIMIT 100)
     UNION
     (SELECT r.entity_id, r.id FROM syncs s JOIN sync_runs r ON r.entity_id = s.entity_id AND r.sync_id = s.id
      WHERE s.deleted_at IS NOT NULL AND r.ended_at IS NOT NULL LIMIT 100)`);
  for (const { entity_id: entityId, id } of rows) {
    for (const [table, column] of NOTES_OF_RUNS) {
      await inBatches(db, `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE entity_id = $1 AND ${column} = $2 LIMIT ${BATCH}))`, [entityId, id]);
    }
    await db.query('DELETE FROM sync_runs WHERE entity_id = $1 AND id = $2', [entityId, id]);
  }
  const { rows: syncs } = await db.query<RefRow>('SELECT entity_id, id FROM syncs WHERE deleted_at IS NOT NULL');
  for (const { entity_id: entityId, id } of syncs) {
    await inBatches(db, `DELETE FROM sync_records WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sync_records WHERE entity_id = $1 AND sync_id = $2 LIMIT ${BATCH}))`, [entityId, id]);
    await db.query(
      `DELETE FROM syncs s WHERE entity_id = $1 AND id = $2
         AND NOT EXISTS (SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.sync_id = $2)`, [entityId, id]);
  }
}
