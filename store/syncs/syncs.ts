// Syncs, and their definitions by callers.
import { type CreatorColumns, creatorOf, type PauseColumns, pauseOf, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { ownersOf } from '../jobs/run-owners.ts';
import type { NewSync, Sync, SyncAlerts } from './sync-record.ts';

type SyncColumns = Omit<Sync, 'destination' | 'paused' | 'createdBy' | 'alerts'> &
  PauseColumns &
  CreatorColumns &
  Row<
    'syncs',
    'sorId' | 'destinationId' | 'destinationStream' | 'destinationKey',
    { alerts: Omit<SyncAlerts, 'connections'> & Partial<SyncAlerts> }
  >;

function toSync(sync: SyncColumns): Sync {
  const { sorId, destinationId, destinationStream: stream, destinationKey: key } = sync;
  return {
    ...sync,
    alerts: { ...sync.alerts, connections: sync.alerts.connections ?? [] }, // stored before there were any
    destination: sorId === null ? { connectionId: destinationId!, stream: stream!, key: key! } : { sorId },
    paused: pauseOf(sync),
    createdBy: creatorOf(sync),
  };
}

export const syncs = ownersOf<Sync>({
  table: 'syncs',
  toOwner: toSync,
  held: 'UPDATE',
  isScheduled: 'o.schedule IS NOT NULL',
});
export const {
  list: listSyncs,
  count: countSyncs,
  find: findSync,
  findById: findSyncById,
  lock: lockSync,
  lockById: lockSyncById,
  updatePaused,
  updateFailures,
} = syncs;

const LIVING = 's.entity_id = $1 AND s.deleted_at IS NULL';

const DEFINITION = [
  'name',
  'connection_id',
  'stream',
  'sor_id',
  'destination_id',
  'destination_stream',
  'destination_key',
  'mapping',
  'mode',
  'cursor_field',
  'removes',
  'removal_limit',
  'schedule',
  'schema_rule',
  'alerts',
] as const;
const PLACES = DEFINITION.map((_, index) => `$${index + 3}`);

function definitionValues(sync: NewSync): unknown[] {
  const { destination } = sync;
  const isSor = 'sorId' in destination;
  return [
    sync.name,
    sync.connectionId,
    sync.stream,
    isSor ? destination.sorId : null,
    isSor ? null : destination.connectionId,
    isSor ? null : destination.stream,
    isSor ? null : destination.key,
    JSON.stringify(sync.mapping),
    sync.mode,
    sync.cursorField,
    sync.removes,
    sync.removalLimit,
    sync.schedule && JSON.stringify(sync.schedule),
    sync.schemaRule,
    JSON.stringify(sync.alerts),
  ];
}

/** Returns null if another sync of the entity has the name. */
export async function insertSync(
  tx: Queryable,
  entityId: number,
  sync: NewSync,
  createdBy: number,
): Promise<Sync | null> {
  const identifier = newIdentifier('syn');
  const { rowCount } = await tx.query(
    `INSERT INTO syncs (entity_id, identifier, ${DEFINITION.join(', ')}, created_by)
     VALUES ($1, $2, ${PLACES.join(', ')}, $${DEFINITION.length + 3})
     ON CONFLICT (entity_id, name) WHERE deleted_at IS NULL DO NOTHING`,
    [entityId, identifier, ...definitionValues(sync), createdBy],
  );
  return rowCount === 1 ? findSync(tx, entityId, identifier) : null;
}

/** Returns false if another sync of the entity has the name. */
export async function updateSync(tx: Queryable, entityId: number, id: number, sync: NewSync): Promise<boolean> {
  const assigned = DEFINITION.map((column, index) => `${column} = ${PLACES[index]!}`).join(', ');
  const { rowCount } = await tx.query(
    `UPDATE syncs SET ${assigned}, revision = revision + 1, scheduled_until = NULL, updated_at = now()
     WHERE entity_id = $1 AND id = $2
       AND NOT EXISTS (SELECT FROM syncs o WHERE o.entity_id = $1 AND o.name = $3 AND o.id <> $2 AND o.deleted_at IS NULL)`,
    [entityId, id, ...definitionValues(sync)],
  );
  return rowCount === 1;
}

export async function isSyncNameTaken(
  db: Queryable,
  entityId: number,
  name: string,
  id: number | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM syncs s WHERE ${LIVING} AND s.name = $2 AND s.id IS DISTINCT FROM $3`,
    [entityId, name, id],
  );
  return rowCount! > 0;
}

/** Lists the names of the syncs that write to a SoR; or that read from a connection, write to it, or send it alerts. */
export async function listSyncsThatUse(
  db: Queryable,
  entityId: number,
  { sorId, connection }: { sorId?: number; connection?: { id: number; identifier: string } },
): Promise<string[]> {
  const { rows } = await db.query<Row<'syncs', 'name'>>(
    `SELECT s.name FROM syncs s WHERE ${LIVING} AND (s.sor_id = $2 OR s.connection_id = $3 OR s.destination_id = $3
       OR s.alerts -> 'connections' ? $4) ORDER BY s.name`,
    [entityId, sorId ?? null, connection?.id ?? null, connection?.identifier ?? null],
  );
  return rows.map(({ name }) => name);
}

/** Sets where the next incremental reading continues (null: the beginning); `tx` holds a run under way. */
export async function updateSyncCursor(
  tx: Queryable,
  { entityId, id }: Pick<Sync, 'entityId' | 'id'>,
  cursor: string | null,
): Promise<void> {
  await tx.query('UPDATE syncs SET cursor = $3 WHERE entity_id = $1 AND id = $2', [entityId, id, cursor]);
}

/** Sets the source's known fields; null: what the next run finds. */
export async function updateKnownFields(
  tx: Queryable,
  entityId: number,
  id: number,
  fields: Sync['knownFields'],
): Promise<void> {
  await tx.query('UPDATE syncs SET known_fields = $3 WHERE entity_id = $1 AND id = $2', [
    entityId,
    id,
    fields && JSON.stringify(fields),
  ]);
}

/** Sets the fields that the source declares while it is read; null: those of the next reading. */
export async function updateReadFields(
  tx: Queryable,
  entityId: number,
  id: number,
  fields: Sync['readFields'],
): Promise<void> {
  await tx.query('UPDATE syncs SET read_fields = $3 WHERE entity_id = $1 AND id = $2', [
    entityId,
    id,
    fields && JSON.stringify(fields),
  ]);
}

/** Frees the name; its runs and records are deleted later. */
export async function deleteSync(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    `UPDATE syncs SET deleted_at = now(), cursor = NULL, known_fields = NULL, read_fields = NULL
    WHERE entity_id = $1 AND id = $2`,
    [entityId, id],
  );
}
