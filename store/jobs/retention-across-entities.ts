/** Deletes expired rows in all entities, and lists what waits for deletion. */
import type { JobRef } from '../../domain/jobs/job.ts';
import { CHANGES_KEPT_DAYS, SEGMENT_DAYS_KEPT } from '../../domain/analytics/segment-changes.ts';
import { changeRange, entryRanges, IN_RANGE } from '../attributes/attribute-change-log.ts';
import { addPendingCustomers, deleteValueless, lockCustomers } from '../attributes/customers.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { noteFileDeletions } from '../core/file-deletions.ts';
import { KEY_KEPT_FOR } from '../core/idempotent-requests.ts';
import { inBatches } from '../core/in-batches.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';

const BATCH = 5_000;
/** Maximum number of runs deleted at once, each with some dozens of records and files. */
const RUNS_AT_ONCE = 100;

type RefRow = Row<'sync_runs', 'entityId' | 'id' | 'identifier'>;

/** Lists ended imports older than a week (reference: Limits). */
export async function listExpiredImports(db: Queryable): Promise<JobRef[]> {
  const rows = readRows<RefRow>(
    await db.query(
      `SELECT entity_id, id, identifier FROM imports
     WHERE received_at < now() - interval '7 days' AND ended_at < now() - interval '7 days'
     ORDER BY received_at LIMIT 100`,
    ),
  );
  return rows.map((row) => ({ entityId: row.entityId, jobId: row.id, identifier: row.identifier }));
}

export async function deleteDryRunRemains(db: Database): Promise<void> {
  for (const table of ['dry_run_sets', 'dry_run_ids']) {
    await inBatches(
      db,
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT d.ctid FROM ${table} d JOIN imports i ON i.entity_id = d.entity_id AND i.id = d.import_id
      WHERE i.ended_at IS NOT NULL LIMIT ${BATCH}))`,
      [],
    );
  }
}

/** Deletes errors in bounded batches, then the job, and notes its pinned file for deletion. */
export async function deleteImport(db: Database, { entityId, jobId }: JobRef): Promise<void> {
  await inBatches(
    db,
    `DELETE FROM import_errors WHERE entity_id = $1 AND import_id = $2 AND line IN (
    SELECT line FROM import_errors WHERE entity_id = $1 AND import_id = $2 ORDER BY line LIMIT ${BATCH})`,
    [entityId, jobId],
  );
  await write(db, async (tx) => {
    const rows = readRows<Row<'imports', 'fileKey'>>(
      await tx.query('DELETE FROM imports WHERE entity_id = $1 AND id = $2 RETURNING file_key', [entityId, jobId]),
    );
    await noteFileDeletions(
      tx,
      entityId,
      rows.flatMap(({ fileKey: key }) => key ?? []),
    );
  });
}

/** Deletes remains of deleted attributes and SoRs, in batches. The row of a SoR stays while an import names it. */
export async function deleteRemains(db: Database): Promise<void> {
  const attributes = readRows<Row<'customer_attributes', 'entityId' | 'sorId' | 'id'>>(
    await db.query(`SELECT a.entity_id, a.sor_id, a.id FROM customer_attributes a WHERE a.deleted_at IS NOT NULL`),
  );
  for (const { entityId, sorId, id } of attributes) {
    await deleteValues(db, entityId, sorId, id);
    await db.query('DELETE FROM customer_attributes WHERE entity_id = $1 AND id = $2', [entityId, id]);
  }
  const sors = readRows<Row<'systems_of_records', 'entityId' | 'id'>>(
    await db.query('SELECT entity_id, id FROM systems_of_records WHERE deleted_at IS NOT NULL'),
  );
  for (const { entityId, id } of sors) {
    await deleteValues(db, entityId, id, null);
    await db.query(
      `DELETE FROM systems_of_records s WHERE entity_id = $1 AND id = $2
         AND NOT EXISTS (SELECT FROM imports i WHERE i.entity_id = s.entity_id AND i.sor_id = s.id)`,
      [entityId, id],
    );
  }
}

export async function deleteExpiredTokens(db: Queryable): Promise<void> {
  await db.query('DELETE FROM tokens WHERE expires_at < now()');
}

export async function deleteOldRequests(db: Database): Promise<void> {
  await inBatches(
    db,
    `DELETE FROM idempotent_requests WHERE (entity_id, key_hash) IN (
    SELECT entity_id, key_hash FROM idempotent_requests WHERE received_at < now() - ${KEY_KEPT_FOR}
    ORDER BY received_at LIMIT ${BATCH})`,
    [],
  );
}

export async function listWaitingFeeds(db: Queryable, graceSeconds: number): Promise<number[]> {
  // feed_inbox holds only what waits, and all that is read.
  const rows = readRows<Row<'feed_requests', 'entityId'>>(
    await db.query(
      `SELECT DISTINCT entity_id FROM feed_requests
     WHERE done_at IS NULL AND received_at < now() - make_interval(secs => $1)`,
      [graceSeconds],
    ),
  );
  return rows.map((row) => row.entityId);
}

/** Lists entities with customers pending over `graceSeconds`, or ten times as long while merges follow each other. */
export async function listEntitiesWithPendingCustomers(db: Queryable, graceSeconds: number): Promise<number[]> {
  const rows = readRows<Row<'attribute_change_log', 'entityId'>>(
    await db.query(
      `SELECT entity_id FROM attribute_change_log WHERE pending GROUP BY entity_id
     HAVING max(received_at) < now() - make_interval(secs => $1)
       OR min(received_at) < now() - make_interval(secs => 10 * $1)`,
      [graceSeconds],
    ),
  );
  return rows.map((row) => row.entityId);
}

/** Deletes requests of feeds that were done more than a week ago, after their errors (reference: Limits). */
export async function deleteOldFeedRequests(db: Database): Promise<void> {
  await inBatches(
    db,
    `DELETE FROM import_errors WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM feed_requests r JOIN import_errors e ON e.entity_id = r.entity_id AND e.import_id = r.id
    WHERE r.done_at < now() - interval '7 days' LIMIT ${BATCH}))`,
    [],
  );
  await inBatches(
    db,
    `DELETE FROM feed_requests WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM feed_requests r WHERE done_at < now() - interval '7 days'
      AND NOT EXISTS (SELECT FROM import_errors e WHERE e.entity_id = r.entity_id AND e.import_id = r.id)
    ORDER BY done_at LIMIT ${BATCH}))`,
    [],
  );
}

export async function deleteOldChanges(db: Database): Promise<void> {
  const { rows } = await db.query<Row<'entities', 'id'>>('SELECT id FROM entities');
  for (const { id } of rows) {
    for await (const range of entryRanges(db, id, { areOld: true }))
      await changeRange(db, `DELETE FROM attribute_change_log WHERE ${IN_RANGE} AND NOT pending`, range);
  }
}

type ValuesOf = { entityId: number; sorId: number; attributeId: number | null };

type ValueKey = { customer_id: string; customer_type: number; attribute_id: number };

/** Deletes values, and with each batch the customers who have none left. */
async function deleteValues(db: Database, entityId: number, sorId: number, attributeId: number | null): Promise<void> {
  await addPendingCustomers(db, entityId);
  for (let after: ValueKey | null = { customer_id: '', customer_type: 0, attribute_id: 0 }; after;) {
    const key: ValueKey = after;
    after = await write(db, (tx) => deleteSomeValues(tx, { entityId, sorId, attributeId }, key));
  }
}

async function deleteSomeValues(
  tx: Tx,
  { entityId, sorId, attributeId }: ValuesOf,
  after: ValueKey,
): Promise<ValueKey | null> {
  await lockCustomers(tx, entityId);
  await tx.query(LOOK_UP_BY_KEY);
  // One scan along the primary key for all batches: none reads again what was deleted, or belongs to other attributes.
  const { rows } = await tx.query<ValueKey & { users: string; devices: string }>(
    `WITH deleted AS (
       DELETE FROM attribute_values WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM attribute_values
         WHERE entity_id = $1 AND sor_id = $2 AND ($3::integer IS NULL OR attribute_id = $3)
           AND (customer_id, customer_type, attribute_id) > ($4, $5::smallint, $6::integer)
         ORDER BY customer_id, customer_type, attribute_id LIMIT ${BATCH}))
       RETURNING customer_id, customer_type, attribute_id
     ), by_type AS (
       SELECT coalesce(array_agg(customer_id) FILTER (WHERE customer_type = 0), '{}')::text AS users,
         coalesce(array_agg(customer_id) FILTER (WHERE customer_type = 1), '{}')::text AS devices FROM deleted)
     SELECT deleted.*, users, devices FROM deleted, by_type
     ORDER BY customer_id DESC, customer_type DESC, attribute_id DESC LIMIT 1`,
    [entityId, sorId, attributeId, after.customer_id, after.customer_type, after.attribute_id],
  );
  const [last] = rows;
  if (!last) return null;
  await deleteValueless(tx, entityId, { user_id: last.users, device_id: last.devices });
  return last;
}

/**
 * Deletes runs of exporters deleted over a month ago, then those exporters, unless they have written something: a
 * person who is erased later learns that there are copies.
 */
export async function deleteOldExportRuns(db: Database): Promise<void> {
  await inBatches(
    db,
    `DELETE FROM export_runs WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM data_exporters x JOIN export_runs r ON r.entity_id = x.entity_id AND r.exporter_id = x.id
    WHERE x.deleted_at < now() - interval '30 days' AND r.ended_at IS NOT NULL LIMIT ${RUNS_AT_ONCE}))`,
    [],
  );
  await db.query(
    `DELETE FROM data_exporters x WHERE deleted_at < now() - interval '30 days' AND initial_run_at IS NULL
       AND NOT EXISTS (SELECT FROM export_runs r WHERE r.entity_id = x.entity_id AND r.exporter_id = x.id)`,
  );
}

const NOTES_OF_RUNS = [
  ['import_errors', 'import_id'],
  ['sync_log', 'run_id'],
  ['sync_requests', 'run_id'],
  ['sync_batches', 'run_id'],
  ['sync_pinned_batches', 'run_id'],
] as const;

/**
 * Deletes runs that ended over a month ago, then records of deleted syncs, and these syncs unless they wrote into
 * another system: receipts of later deletions name them.
 */
export async function deleteOldSyncRuns(db: Database): Promise<void> {
  // By sync_runs_by_age, and by sync_runs_of_sync for each deleted sync.
  const rows = readRows<RefRow>(
    await db.query(
      `(SELECT entity_id, id FROM sync_runs WHERE ended_at < now() - interval '30 days' ORDER BY ended_at LIMIT 100)
     UNION
     (SELECT r.entity_id, r.id FROM syncs s JOIN sync_runs r ON r.entity_id = s.entity_id AND r.sync_id = s.id
      WHERE s.deleted_at IS NOT NULL AND r.ended_at IS NOT NULL LIMIT 100)`,
    ),
  );
  for (const { entityId, id } of rows) {
    for (const [table, column] of NOTES_OF_RUNS) {
      await inBatches(
        db,
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE entity_id = $1 AND ${column} = $2 LIMIT ${BATCH}))`,
        [entityId, id],
      );
    }
    await db.query('DELETE FROM sync_runs WHERE entity_id = $1 AND id = $2', [entityId, id]);
  }
  const syncs = readRows<RefRow>(await db.query('SELECT entity_id, id FROM syncs WHERE deleted_at IS NOT NULL'));
  for (const { entityId, id } of syncs) {
    await db.query(
      `UPDATE syncs SET has_copies = true WHERE entity_id = $1 AND id = $2 AND destination_id IS NOT NULL AND NOT has_copies
         AND EXISTS (SELECT FROM sync_records WHERE entity_id = $1 AND sync_id = $2)`,
      [entityId, id],
    );
    await inBatches(
      db,
      `DELETE FROM sync_records WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sync_records WHERE entity_id = $1 AND sync_id = $2 LIMIT ${BATCH}))`,
      [entityId, id],
    );
    await db.query(
      `DELETE FROM syncs s WHERE entity_id = $1 AND id = $2 AND NOT has_copies
         AND NOT EXISTS (SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.sync_id = $2)`,
      [entityId, id],
    );
  }
}

/** Deletes members and changes of deleted segments. Each segment with rows costs one look into the key. */
export async function deleteMembersOfDeleted(db: Database): Promise<void> {
  for (const table of ['segment_members', 'segment_changes'] as const) {
    const rows = readRows<Row<'segment_members', 'entityId' | 'segmentId'>>(
      await db.query(
        `WITH RECURSIVE held AS (
         (SELECT entity_id, segment_id FROM ${table} ORDER BY entity_id, segment_id LIMIT 1)
         UNION ALL
         SELECT next.* FROM held h CROSS JOIN LATERAL (
           SELECT m.entity_id, m.segment_id FROM ${table} m
           WHERE (m.entity_id, m.segment_id) > (h.entity_id, h.segment_id) ORDER BY m.entity_id, m.segment_id LIMIT 1) next)
       SELECT h.* FROM held h WHERE NOT EXISTS (SELECT FROM segments s WHERE s.entity_id = h.entity_id AND s.id = h.segment_id)`,
      ),
    );
    for (const { entityId, segmentId: id } of rows) {
      await inBatches(
        db,
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE entity_id = $1 AND segment_id = $2 LIMIT ${BATCH}))`,
        [entityId, id],
      );
    }
  }
}

/** Deletes who joined and left segments, and the counts of days, when their time is over. Uses the indexes by age. */
export async function deleteOldSegmentChanges(db: Database): Promise<void> {
  await inBatches(
    db,
    `DELETE FROM segment_changes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM segment_changes WHERE changed_at < now() - make_interval(days => ${CHANGES_KEPT_DAYS}) LIMIT ${BATCH}))`,
    [],
  );
  await inBatches(
    db,
    `DELETE FROM segment_days WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM segment_days WHERE day < current_date - ${SEGMENT_DAYS_KEPT} LIMIT ${BATCH}))`,
    [],
  );
}

export async function listEntitiesWithDueSegments(db: Queryable, graceSeconds: number): Promise<number[]> {
  const rows = readRows<Row<'segments', 'entityId'>>(
    await db.query(
      `SELECT DISTINCT entity_id FROM segments WHERE refresh_wanted_at < now() - make_interval(secs => $1)`,
      [graceSeconds],
    ),
  );
  return rows.map((row) => row.entityId);
}
