import type { Mapping } from '../../domain/syncs/record-mapping.ts';
import type { NamedField } from '../../domain/syncs/schema-change.ts';
import type { SCHEMA_RULES } from '../../domain/syncs/sync-codes.ts';
import type { SyncSchedule } from '../../domain/syncs/sync-schedule.ts';

/** Attributes of a SoR, or a stream of a connection, whose records the fields of `key` name (none: nobody names them). */
export type SyncDestination = { sorId: number } | { connectionId: number; stream: string; key: string[] };

export type SyncAlerts = {
  /** Who is told; nobody where it is empty. */
  emails: string[];
  /** A run with at least so many failed records is told of; null: none is. */
  failedRecords: number | null;
  /** After so many failed runs in a row it is paused; null: never. */
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

export type Sync = NewSync & {
  entityId: number;
  id: number;
  identifier: string;
  /** Raised by each change of what a caller says. */
  revision: number;
  /** JSON; null: the next reading begins at the beginning. */
  cursor: string | null;
  /** Null until a run has looked. */
  knownFields: NamedField[] | null;
  /** Of those that the source tells of while it is read, what it told by the last readings; null until one has. */
  readFields: NamedField[] | null;
  /** Runs that failed since the last that didn't. */
  failures: number;
  paused: { at: Date; reason: string } | null;
  scheduledUntil: Date | null;
  createdBy: { id: number; uid: string } | null;
  createdAt: Date;
  updatedAt: Date;
};

/** A row of syncs, with its creator. */
export type SyncRow = {
  entity_id: number; id: number; identifier: string; name: string; connection_id: number; stream: string; sor_id: number | null;
  destination_id: number | null; destination_stream: string | null; destination_key: string[] | null; mapping: Mapping;
  mode: NewSync['mode']; cursor_field: string | null; removes: boolean; removal_limit: number; schedule: SyncSchedule | null;
  schema_rule: NewSync['schemaRule']; alerts: SyncAlerts; revision: number; cursor: string | null; known_fields: NamedField[] | null;
  read_fields: NamedField[] | null;
  failures: number; paused_at: Date | null; paused_reason: string | null; scheduled_until: Date | null; created_by: number | null;
  creator_uid: string | null; created_at: Date; updated_at: Date;
};

export function toSync(row: SyncRow): Sync {
  return {
    entityId: row.entity_id, id: row.id, identifier: row.identifier, name: row.name, connectionId: row.connection_id, stream: row.stream,
    destination: row.sor_id === null
      ? { connectionId: row.destination_id!, stream: row.destination_stream!, key: row.destination_key! } : { sorId: row.sor_id },
    mapping: row.mapping, mode: row.mode, cursorField: row.cursor_field, removes: row.removes, removalLimit: row.removal_limit,
    schedule: row.schedule, schemaRule: row.schema_rule, alerts: row.alerts, revision: row.revision, cursor: row.cursor,
    knownFields: row.known_fields, readFields: row.read_fields, failures: row.failures,
    paused: row.paused_at && { at: row.paused_at, reason: row.paused_reason! }, scheduledUntil: row.scheduled_until,
    createdBy: row.created_by === null ? null : { id: row.created_by, uid: row.creator_uid! },
    createdAt: row.created_at, updatedAt: row.updated_at,
  };
}
