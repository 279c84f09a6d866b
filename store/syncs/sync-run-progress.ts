/** Progress of syncs' runs: counts, position, and removals, each in the transaction of its records. */
import { storableJson } from '../../domain/attributes/json-value.ts';
import type { SchemaChange } from '../../domain/syncs/schema-change.ts';
import { columnName } from '../core/camel-row.ts';
import type { Tx } from '../core/database.ts';
import { NO_TROUBLE } from '../jobs/jobs.ts';
import { PROGRESS_COLUMNS, type RunProgress, type SampleRecord, type SyncRun } from './sync-run-record.ts';

const PROGRESS = Object.entries(PROGRESS_COLUMNS) as [keyof RunProgress, string][];
const SET_PROGRESS = PROGRESS.map(([, column], index) => `${columnName(column)} = $${index + 3}`).join(', ');

/** Call it in the transaction of the records that it counts: something came, so the source is well. */
export async function updateRunProgress(
  tx: Tx,
  { entityId, id }: Pick<SyncRun, 'entityId' | 'id'>,
  progress: RunProgress,
): Promise<void> {
  await tx.query(
    `UPDATE sync_runs SET is_begun = true, answered = 0, ${SET_PROGRESS}, ${NO_TROUBLE} WHERE entity_id = $1 AND id = $2`,
    [entityId, id, ...PROGRESS.map(([member]) => progress[member])],
  );
}

export async function updateRunBegun(
  tx: Tx,
  { entityId, id }: SyncRun,
  { position, missingFields }: { position: string | null; missingFields: string[] },
): Promise<void> {
  await tx.query(
    'UPDATE sync_runs SET is_begun = true, position = $3, missing_fields = $4 WHERE entity_id = $1 AND id = $2',
    [entityId, id, position, missingFields],
  );
}

/** Stores the fields that all records of the run have in common; null: all. */
export async function updateFieldsRead(tx: Tx, { entityId, id }: SyncRun, fields: string[] | null): Promise<void> {
  await tx.query('UPDATE sync_runs SET fields_read = $3 WHERE entity_id = $1 AND id = $2', [entityId, id, fields]);
}

export async function updateRunFromStart(tx: Tx, { entityId, id }: SyncRun): Promise<void> {
  await tx.query(
    'UPDATE sync_runs SET is_begun = true, position = NULL, share = NULL WHERE entity_id = $1 AND id = $2',
    [entityId, id],
  );
}

export async function updateRunRead(tx: Tx, { entityId, id }: SyncRun): Promise<void> {
  await tx.query(
    `UPDATE sync_runs SET is_begun = true, is_read = true, share = CASE WHEN share IS NOT NULL THEN 1 END
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id],
  );
}

export async function updateSchemaChange(tx: Tx, { entityId, id }: SyncRun, change: SchemaChange): Promise<void> {
  await tx.query('UPDATE sync_runs SET schema_change = $3 WHERE entity_id = $1 AND id = $2', [
    entityId,
    id,
    JSON.stringify(change),
  ]);
}

export async function updateSample(tx: Tx, { entityId, id }: SyncRun, sample: SampleRecord[]): Promise<void> {
  await tx.query('UPDATE sync_runs SET sample = $3 WHERE entity_id = $1 AND id = $2', [
    entityId,
    id,
    JSON.stringify(storableJson(sample)),
  ]);
}

/** Counts removed records, and stores the outcome of the whole removal once it is known. */
export async function updateRunRemoval(
  tx: Tx,
  { entityId, id }: Pick<SyncRun, 'entityId' | 'id'>,
  removed: number,
  removal: SyncRun['removal'],
): Promise<void> {
  await tx.query(
    `UPDATE sync_runs SET removed = removed + $3, removal = coalesce($4, removal), removal_reason = coalesce($5, removal_reason)
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, removed, removal?.state ?? null, removal?.reason ?? null],
  );
}
