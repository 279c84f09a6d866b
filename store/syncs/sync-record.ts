/** Syncs as records: definition and state. */
import type { Mapping } from '../../domain/syncs/record-mapping.ts';
import type { NamedField } from '../../domain/syncs/schema-change.ts';
import type { SCHEMA_RULES } from '../../domain/syncs/sync-codes.ts';
import type { SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import type { Row } from '../core/camel-row.ts';

/** Attributes of a SoR, or a stream of a connection, whose `key` names its key fields (none: no key). */
export type SyncDestination = { sorId: number } | { connectionId: number; stream: string; key: string[] };

export type SyncAlerts = {
  emails: string[];
  connections: string[];
  /** Minimum number of failed records of a run that raises an alert; null: none does. */
  failedRecords: number | null;
  /** Number of failed runs in a row after which it is paused; null: never. */
  pauseAfter: number | null;
};

export type NewSync = {
  name: string;
  connectionId: number;
  stream: string;
  destination: SyncDestination;
  mapping: Mapping;
  mode: 'full' | 'incremental';
  cursorField: string | null;
  /** True: a full reading removes the records that it no longer has. */
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
      knownFields: NamedField[] | null;
      /** Fields that the source declared while it was last read; null before the first reading. */
      readFields: NamedField[] | null;
    }
  > & { paused: { at: Date; reason: string } | null; createdBy: { id: number; uid: string } | null };
