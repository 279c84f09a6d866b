import type { SchemaChange } from '../../domain/syncs/schema-change.ts';
import type { RUN_CAUSES } from '../../domain/syncs/sync-codes.ts';
import type { MailState } from '../core/mails.ts';
import type { ErrorCounts } from '../imports/import-lanes.ts';

export type RunState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

/** Counts of records; read is the sum of the others. */
export type RecordCounts = { read: number; written: number; unchanged: number; ignored: number; failed: number };

/** How far a run is: what commits with the records that it counts. */
export type RunProgress = RecordCounts & {
  errorsByType: ErrorCounts;
  /** As they came from the source. */
  bytes: number;
  /** Failed records of which nobody can tell which of the source's they are. */
  unnamed: number;
  /** JSON: all before it is done. Null: the beginning, or the source has no cursor. */
  position: string | null;
  /** Names of fields that went nowhere since the SoR has no attribute of theirs. */
  unmappedFields: string[];
  /** Batches that were taken over from the source, and their records: merged, or pinned to be merged. */
  batchesTaken: number;
  recordsTaken: number;
  /** The last batch of which each lane has merged its records. */
  lanesDone: number[];
};

/** What a dry run would change of a record, some of which are shown. */
export type SampleRecord = {
  /** The record's ordinal, from 1. */
  line: number;
  outcome: 'written' | 'unchanged' | 'ignored' | 'failed';
  customer_id: string | null;
  /** Of attributes: what is there, and what would be. */
  changes?: { key: string; before: unknown; after: unknown }[];
  /** Of another destination: the record as it would be sent. */
  record?: unknown;
  message?: string;
};

export type SyncRun = {
  entityId: number;
  id: number;
  identifier: string;
  syncId: number;
  cause: (typeof RUN_CAUSES)[number];
  scheduledFor: Date | null;
  /** Scheduled times that it stands for besides its own. */
  missed: number;
  dryRun: boolean;
  dryRunRecords: number | null;
  /** From the beginning, whatever is known: every record is written. */
  fresh: boolean;
  removalsConfirmed: boolean;
  /** The run whose errors this one re-drives. */
  rootId: number | null;
  state: RunState;
  generation: number;
  receivedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  cursorBefore: string | null;
  /** Whether the source was looked at, and its position counts, also where that is null. */
  isBegun: boolean;
  /** All of the source was read. */
  isRead: boolean;
  progress: RunProgress;
  removed: number;
  /** `held`: there were too many; `skipped`: nobody can tell what vanished. */
  removal: { state: 'done' | 'held' | 'skipped'; reason: string | null } | null;
  schemaChange: SchemaChange | null;
  /** Fields that the mapping names and the source does not tell of. */
  missingFields: string[];
  tries: number;
  fault: string | null;
  waitsUntil: Date | null;
  failure: { status: string; message: string } | null;
  sample: SampleRecord[] | null;
  mail: { state: MailState; tries: number; reason: string | null } | null;
  /** What there is to be mailed; null: nothing. */
  alert: RunAlert | null;
};

export type RunAlert = 'failed' | 'paused' | 'recovered' | 'records' | 'held';

export type NewRun = Pick<SyncRun, 'syncId' | 'cause'>
  & Partial<Pick<SyncRun, 'scheduledFor' | 'dryRun' | 'dryRunRecords' | 'fresh' | 'removalsConfirmed' | 'rootId'>>
  & { requestedBy?: number | null };

/** A row of sync_runs. */
export type RunRow = {
  entity_id: number; id: number; identifier: string; sync_id: number; cause: SyncRun['cause']; scheduled_for: Date | null; covers: Date[];
  dry_run: boolean; dry_run_records: number | null; fresh: boolean; removals_confirmed: boolean; root_id: number | null;
  state: RunState; generation: number; received_at: Date; started_at: Date | null; ended_at: Date | null; cursor_before: string | null;
  position: string | null; is_begun: boolean; is_read: boolean; records_read: number; records_written: number;
  records_unchanged: number; records_ignored: number; records_failed: number; unnamed: number; errors_by_type: ErrorCounts;
  bytes: number; removed: number; removal: 'done' | 'held' | 'skipped' | null; removal_reason: string | null;
  schema_change: SchemaChange | null; unmapped_fields: string[]; missing_fields: string[]; tries: number; fault: string | null;
  batches_taken: number; records_taken: number; lanes_done: number[];
  waits_until: Date | null; failure_status: string | null; failure: string | null; sample: SampleRecord[] | null;
  mail_state: MailState | null; mail_tries: number; mail_reason: string | null; alert: RunAlert | null;
};

export function toRun(row: RunRow): SyncRun {
  return {
    entityId: row.entity_id, id: row.id, identifier: row.identifier, syncId: row.sync_id, cause: row.cause, scheduledFor: row.scheduled_for,
    missed: row.covers.length, dryRun: row.dry_run, dryRunRecords: row.dry_run_records, fresh: row.fresh,
    removalsConfirmed: row.removals_confirmed, rootId: row.root_id,
    state: row.state, generation: row.generation, receivedAt: row.received_at, startedAt: row.started_at, endedAt: row.ended_at,
    cursorBefore: row.cursor_before, isBegun: row.is_begun, isRead: row.is_read, progress: toProgress(row),
    removed: row.removed, removal: row.removal && { state: row.removal, reason: row.removal_reason },
    schemaChange: row.schema_change, missingFields: row.missing_fields,
    tries: row.tries, fault: row.fault, waitsUntil: row.waits_until,
    failure: row.failure === null ? null : { status: row.failure_status!, message: row.failure }, sample: row.sample,
    mail: row.mail_state && { state: row.mail_state, tries: row.mail_tries, reason: row.mail_reason }, alert: row.alert,
  };
}

function toProgress(row: RunRow): RunProgress {
  return {
    read: row.records_read, written: row.records_written, unchanged: row.records_unchanged, ignored: row.records_ignored,
    failed: row.records_failed, errorsByType: row.errors_by_type, bytes: row.bytes, unnamed: row.unnamed, position: row.position,
    unmappedFields: row.unmapped_fields, batchesTaken: row.batches_taken, recordsTaken: row.records_taken, lanesDone: row.lanes_done,
  };
}
