import type { Mapping } from '../../domain/syncs/record-mapping.ts';
import type { NamedField } from '../../domain/syncs/schema-change.ts';
import type { SCHEMA_RULES } from '../../domain/syncs/sync-codes.ts';
import type { SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import type { Row } from '../core/camel-row.ts';

/**
 * Attributes of a SoR, or a stream of a connection, whose records the fields of `key` name (none: records have no key).
 */
export type SyncDestination = { sorId: number } | { connectionId: number; stream: string; key: string[] };

export type SyncAlerts = {
  /** Recipients of mails; none if empty. */
  emails: string[];
  /** The identifiers of the connections that get the alerts. */
  connections: string[];
  /** Minimum number of failed records of a run that raises an alert; null: none does. */
  failedRecords: number | null;
  /** Number of failed runs in a row after which it is paused; null: never. */
  pauseAfter: number | null;
};

/** What a caller says of a sync. */
export type NewSync = {
  name: string;
  connectionId: number;
  stream: string;
  destination: SyncDestination;
  mapping: Mapping;
  mode: 'full' | 'incremental';
  cursorField: string | null;
  /** What a full reading does not bring any more is removed. */
  removes: boolean;
  /** Percent of the known records: of more than that nothing is removed unasked. */
  removalLimit: number;
  schedule: SyncSchedule | null;
  schemaRule: (typeof SCHEMA_RULES)[number];
  alerts: SyncAlerts;
};

export type Sync = NewSync &
  Row<
    'syncs',
    | 'entityId'
    | 'id'
    | 'identifier'
    | 'revision'
    | 'cursor'
    | 'failures'
    | 'scheduledUntil'
    | 'createdAt'
    | 'updatedAt',
    {
      /** Null until a run has looked. */
      knownFields: NamedField[] | null;
      /** Of those that the source tells of while it is read, what it told by the last readings; null until one has. */
      readFields: NamedField[] | null;
    }
  > & { paused: { at: Date; reason: string } | null; createdBy: { id: number; uid: string } | null };
