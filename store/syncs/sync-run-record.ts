import type { SchemaChange } from '../../domain/syncs/schema-change.ts';
import type { RUN_CAUSES } from '../../domain/syncs/sync-codes.ts';
import { type FailureColumns, failureOf, type MailColumns, mailOf } from '../core/camel-row.ts';
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
  /** Records that were taken although their customer id hardly is one. */
  suspiciousIds: number;
  /** How much of what the run reads is taken, from 0 to 1; null where the source can't tell. */
  share: number | null;
  /** JSON: all before it is done. Null: the beginning, or the source has no cursor. */
  position: string | null;
  /** Names of fields that went nowhere since the SoR has no attribute of theirs. */
  unmappedFields: string[];
  /** Records whose cursor value never moves the cursor: NaN, infinite, or over a day ahead of the source's clock. */
  oddCursors: number;
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
  /** Where a running one waits; null: it works. */
  stage: string | null;
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
  /** Of the batch on its way to another system, the records that it has answered. */
  answered: number;
  removed: number;
  /** `held`: there were too many; `skipped`: nobody can tell what vanished. */
  removal: { state: 'done' | 'held' | 'skipped'; reason: string | null } | null;
  schemaChange: SchemaChange | null;
  /** Fields that the mapping names and the source does not tell of. */
  missingFields: string[];
  /** In a row, without progress; the first of them failed at `failingSince`. */
  tries: number;
  failingSince: Date | null;
  fault: string | null;
  waitsUntil: Date | null;
  failure: { status: string; message: string } | null;
  sample: SampleRecord[] | null;
  mail: { state: MailState; tries: number; reason: string | null } | null;
  /** What there is to be mailed; null: nothing. */
  alert: RunAlert | null;
};

/** `fields`: the source has lost fields that the mapping names. */
export type RunAlert = 'failed' | 'paused' | 'recovered' | 'records' | 'held' | 'fields';

export type NewRun = Pick<SyncRun, 'syncId' | 'cause'> &
  Partial<Pick<SyncRun, 'scheduledFor' | 'dryRun' | 'dryRunRecords' | 'fresh' | 'removalsConfirmed' | 'rootId'>> & {
    requestedBy?: number | null;
  };

/** Columns of sync_runs. */
export type RunColumns = Omit<SyncRun, 'missed' | 'progress' | 'removal' | 'failure' | 'mail'> &
  FailureColumns &
  MailColumns<MailState> & {
    covers: Date[];
    removal: 'done' | 'held' | 'skipped' | null;
    removalReason: string | null;
    recordsRead: number;
    recordsWritten: number;
    recordsUnchanged: number;
    recordsIgnored: number;
    recordsFailed: number;
  } & Omit<RunProgress, keyof RecordCounts>;

export function toRun(columns: RunColumns): SyncRun {
  const {
    covers,
    removal,
    removalReason,
    failureStatus,
    failure,
    mailState,
    mailTries,
    mailReason,
    recordsRead,
    recordsWritten,
    recordsUnchanged,
    recordsIgnored,
    recordsFailed,
    errorsByType,
    bytes,
    share,
    unnamed,
    position,
    unmappedFields,
    batchesTaken,
    recordsTaken,
    lanesDone,
    oddCursors,
    suspiciousIds,
    ...run
  } = columns;
  return {
    ...run,
    missed: covers.length,
    progress: {
      read: recordsRead,
      written: recordsWritten,
      unchanged: recordsUnchanged,
      ignored: recordsIgnored,
      failed: recordsFailed,
      errorsByType,
      bytes,
      share,
      unnamed,
      position,
      unmappedFields,
      batchesTaken,
      recordsTaken,
      lanesDone,
      oddCursors,
      suspiciousIds,
    },
    removal: removal && { state: removal, reason: removalReason },
    failure: failureOf({ failureStatus, failure }),
    mail: mailOf({ mailState, mailTries, mailReason }),
  };
}
