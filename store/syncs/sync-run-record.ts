import type { SchemaChange } from '../../domain/syncs/schema-change.ts';
import { type FailureColumns, failureOf, type MailColumns, mailOf, type Row } from '../core/camel-row.ts';
import type { MailState } from '../core/mails.ts';
import type { ErrorCounts } from '../imports/import-lanes.ts';

export type RunState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

/** Counts of records; read is the sum of the others. */
export type RecordCounts = { read: number; written: number; unchanged: number; ignored: number; failed: number };

/** How far a run is: what commits with the records that it counts. */
export type RunProgress = RecordCounts &
  Row<
    'sync_runs',
    'unnamed' | 'suspiciousIds' | 'share' | 'position' | 'oddCursors' | 'batchesTaken' | 'recordsTaken' | 'lanesDone',
    {
      errorsByType: ErrorCounts;
      /** As they came from the source. */
      bytes: number;
      /** Names of fields that went nowhere since the SoR has no attribute of theirs. */
      unmappedFields: string[];
    }
  >;

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

export type SyncRun = Row<
  'sync_runs',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'syncId'
  | 'cause'
  | 'scheduledFor'
  | 'dryRun'
  | 'dryRunRecords'
  | 'fresh'
  | 'removalsConfirmed'
  | 'rootId'
  | 'state'
  | 'stage'
  | 'generation'
  | 'receivedAt'
  | 'startedAt'
  | 'endedAt'
  | 'cursorBefore'
  | 'isBegun'
  | 'isRead'
  | 'answered'
  | 'removed'
  | 'missingFields'
  | 'tries'
  | 'failingSince'
  | 'fault'
  | 'waitsUntil',
  {
    schemaChange: SchemaChange | null;
    sample: SampleRecord[] | null;
    /** What there is to be mailed; null: nothing. */
    alert: RunAlert | null;
  }
> & {
  /** Scheduled times that it stands for besides its own. */
  missed: number;
  progress: RunProgress;
  /** `held`: there were too many; `skipped`: it is unknown what vanished. */
  removal: { state: 'done' | 'held' | 'skipped'; reason: string | null } | null;
  failure: { status: string; message: string } | null;
  mail: { state: MailState; tries: number; reason: string | null } | null;
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
  MailColumns<MailState> &
  Row<
    'sync_runs',
    | 'covers'
    | 'removal'
    | 'removalReason'
    | 'recordsRead'
    | 'recordsWritten'
    | 'recordsUnchanged'
    | 'recordsIgnored'
    | 'recordsFailed'
  > &
  Omit<RunProgress, keyof RecordCounts>;

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
