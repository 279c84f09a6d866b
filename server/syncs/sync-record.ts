/** Syncs as the API shows them. */
import type * as api from '../../api/syncs/syncs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { MappedField } from '../../domain/syncs/record-mapping.ts';
import { toldFields } from '../../domain/syncs/schema-change.ts';
import { nextRuns, type SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import { listSorNames } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import { listConnectionNames } from '../../store/syncs/connections.ts';
import type { NewSync, Sync } from '../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findLastRuns } from '../../store/syncs/sync-runs.ts';
import { findSync } from '../../store/syncs/syncs.ts';

const NEXT_RUNS = 3;

export async function showDefinition(db: Queryable, entityId: number, sync: NewSync): Promise<api.SyncDefinition> {
  return define(sync, await namesIn(db, entityId, [sync]));
}

export async function showSyncs(db: Queryable, entityId: number, syncs: Sync[], now: Date): Promise<api.Sync[]> {
  const names = await namesIn(db, entityId, syncs);
  const lastRuns = await findLastRuns(
    db,
    entityId,
    syncs.map(({ id }) => id),
  );
  return syncs.map((sync) => show(sync, { ...names, lastRun: lastRuns.get(sync.id) ?? null, now }));
}

export async function showSync(db: Queryable, sync: Sync): Promise<api.Sync> {
  return (await showSyncs(db, sync.entityId, [sync], new Date()))[0]!;
}

/** Returns the caller's sync, locked if `find` is `lockSync`. Refuses an unknown one with 404. */
export async function knownSync(db: Queryable, entityId: number, identifier: string, find = findSync): Promise<Sync> {
  return (await find(db, entityId, identifier)) ?? refuse(404, 'not_found', 'Sync not found');
}

type Names = Map<number, { identifier: string; name: string }>;
type NamesIn = { connections: Names; sors: Names };
type Facts = NamesIn & { lastRun: SyncRun | null; now: Date };

async function namesIn(db: Queryable, entityId: number, syncs: NewSync[]): Promise<NamesIn> {
  const connectionIds = syncs.flatMap(({ connectionId, destination }) =>
    'sorId' in destination ? [connectionId] : [connectionId, destination.connectionId],
  );
  const connections = await listConnectionNames(db, entityId, connectionIds);
  const sors = await listSorNames(
    db,
    entityId,
    syncs.flatMap(({ destination }) => ('sorId' in destination ? destination.sorId : [])),
  );
  return { connections, sors };
}

function show(sync: Sync, { lastRun, now, ...names }: Facts): api.Sync {
  const { schedule, paused } = sync;
  return {
    identifier: sync.identifier,
    ...define(sync, names),
    revision: sync.revision,
    state: paused ? 'paused' : 'active',
    paused_at: paused?.at.toISOString() ?? null,
    paused_reason: paused?.reason ?? null,
    failures: sync.failures,
    next_runs: schedule && !paused ? nextRuns(schedule, now, NEXT_RUNS).map((time) => time.toISOString()) : [],
    fields: sync.knownFields && toldFields(sync.knownFields, sync.readFields ?? []),
    last_run: lastRun && {
      run_id: lastRun.identifier,
      state: lastRun.state,
      started_at: lastRun.startedAt?.toISOString() ?? null,
      ended_at: lastRun.endedAt?.toISOString() ?? null,
      failed_records: lastRun.progress.failed,
    },
    created_by: sync.createdBy,
    created_at: sync.createdAt.toISOString(),
    updated_at: sync.updatedAt.toISOString(),
  };
}

function define(sync: NewSync, { connections, sors }: NamesIn): api.SyncDefinition {
  const { mapping, schedule, alerts } = sync;
  const source = connections.get(sync.connectionId)!;
  return {
    name: sync.name,
    source: { connection: source.identifier, stream: sync.stream, name: source.name },
    destination: showDestination(sync, connections, sors),
    mapping: {
      customer: mapping.customer,
      fields: mapping.fields.map(showField),
      other_fields: mapping.otherFields,
      empty: mapping.empty,
    },
    mode: sync.mode,
    cursor_field: sync.cursorField,
    removes: sync.removes,
    removal_limit: sync.removalLimit,
    schedule: schedule && showSchedule(schedule),
    on_schema_change: sync.schemaRule,
    alerts: {
      emails: alerts.emails,
      connections: alerts.connections,
      failed_records: alerts.failedRecords,
      pause_after: alerts.pauseAfter,
    },
  };
}

function showDestination({ destination }: NewSync, connections: Names, sors: Names): api.SyncDefinition['destination'] {
  if ('sorId' in destination) {
    const sor = sors.get(destination.sorId);
    return { sor: sor?.identifier ?? '', name: sor?.name ?? null };
  }
  const { identifier, name } = connections.get(destination.connectionId)!;
  return { connection: identifier, stream: destination.stream, key: destination.key, name };
}

function showSchedule(schedule: SyncSchedule): NonNullable<api.SyncDefinition['schedule']> {
  return 'cron' in schedule
    ? { cron: schedule.cron, zone: schedule.zone, jitter_seconds: schedule.jitterSeconds }
    : { every_minutes: schedule.everyMinutes, jitter_seconds: schedule.jitterSeconds };
}

function showField(field: MappedField): Record<string, unknown> {
  if ('convert' in field && field.convert) {
    const { convert, ...entry } = field;
    return { ...entry, ...convert };
  }
  return field;
}
