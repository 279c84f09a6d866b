/** Runs of syncs as records: progress, counts and outcome. */
import type { SchemaChange } from '../../domain/syncs/schema-change.ts';
import type { Row } from '../core/camel-row.ts';
import type { ErrorCounts } from '../imports/import-lanes.ts';
import type { Run } from '../jobs/runs.ts';
import type { Tables } from '../schema.ts';

/** `read` is the sum of the others. */
export type RecordCounts = { read: number; written: number; unchanged: number; ignored: number; failed: number };

/** Progress of a run: it commits with the records that it counts. */
export type RunProgress = RecordCounts &
  Row<
    'sync_runs',
    | 'unnamed'
    | 'unidentified'
    | 'suspiciousIds'
    | 'share'
    | 'position'
    | 'oddCursors'
    | 'batchesTaken'
    | 'recordsTaken'
    | 'lanesDone',
    {
      errorsByType: ErrorCounts;
      bytes: number;
      /** Number of the ignored records that are deletions: they are no errors, and never open. */
      deletionsIgnored: number;
      /** Names of fields that went nowhere since the SoR has no attribute of theirs. */
      unmappedFields: string[];
    }
  >;

export const PROGRESS_COLUMNS = {
  read: 'recordsRead',
  written: 'recordsWritten',
  unchanged: 'recordsUnchanged',
  ignored: 'recordsIgnored',
  failed: 'recordsFailed',
  errorsByType: 'errorsByType',
  bytes: 'bytes',
  deletionsIgnored: 'deletionsIgnored',
  share: 'share',
  unnamed: 'unnamed',
  unidentified: 'unidentified',
  position: 'position',
  unmappedFields: 'unmappedFields',
  batchesTaken: 'batchesTaken',
  recordsTaken: 'recordsTaken',
  lanesDone: 'lanesDone',
  oddCursors: 'oddCursors',
  suspiciousIds: 'suspiciousIds',
} as const satisfies Record<keyof RunProgress, keyof Tables['sync_runs']>;

export type SampleRecord = {
  /** The record's ordinal, from 1. */
  line: number;
  outcome: 'written' | 'unchanged' | 'ignored' | 'failed';
  customer_id: string | null;
  changes?: { key: string; before: unknown; after: unknown }[];
  record?: unknown;
  message?: string;
};

export type SyncRun = Run &
  Row<
    'sync_runs',
    | 'syncId'
    | 'cause'
    | 'dryRun'
    | 'dryRunRecords'
    | 'fresh'
    | 'removalsConfirmed'
    | 'rootId'
    | 'cursorBefore'
    | 'isBegun'
    | 'isRead'
    | 'answered'
    | 'removed'
    | 'missingFields'
    | 'fieldsRead'
    | 'requests'
  > & {
    schemaChange: SchemaChange | null;
    sample: SampleRecord[] | null;
    alert: RunAlert | null;
    /** Scheduled times that it stands for besides its own. */
    missed: number;
    progress: RunProgress;
    /** `held`: there were too many; `skipped`: it is unknown what vanished. */
    removal: { state: 'done' | 'held' | 'skipped'; reason: string | null } | null;
  };

/** `fields`: the source has lost fields that the mapping names. */
export type RunAlert = 'failed' | 'paused' | 'recovered' | 'records' | 'held' | 'fields';

export type NewRun = Pick<SyncRun, 'syncId' | 'cause'> &
  Partial<Pick<SyncRun, 'scheduledFor' | 'dryRun' | 'dryRunRecords' | 'fresh' | 'removalsConfirmed' | 'rootId'>> & {
    requestedBy?: number | null;
  };
