import type { Client } from '@temporalio/client';
import { exportSchedule } from '../domain/exports/export-schedule.ts';
import { runsBetween, type SyncSchedule } from '../domain/syncs/sync-schedule.ts';
import { findEntityZone } from '../store/accounts/entities.ts';
import type { Database } from '../store/core/database.ts';
import type { DataExporter } from '../store/exports/data-exporter-record.ts';
import { updateScheduledUntil as updateExporterScheduledUntil } from '../store/exports/data-exporters.ts';
import { listScheduledExporters, listScheduledSyncs } from '../store/jobs/jobs-across-entities.ts';
import type { Sync } from '../store/syncs/sync-record.ts';
import { updateScheduledUntil } from '../store/syncs/syncs.ts';
import {
  deleteSchedule,
  EXPORTER_SCHEDULES,
  type ListedSchedule,
  listSchedules,
  putSchedule,
  type ScheduleKind,
  SYNC_SCHEDULES,
  type TickRef,
} from './schedules.ts';

type FollowDependencies = { db: Database; temporal: Client };

/** What a row says of its Schedule. */
type Wanted = {
  kind: ScheduleKind;
  ref: TickRef;
  /** Null: it is to have none. */
  schedule: SyncSchedule | null;
  revision: number;
  scheduledUntil: Date | null;
  /** Notes down until when the Schedule of this revision has times. */
  note(until: Date): Promise<void>;
};

/** A Schedule is given more times while it still has so many. */
const TIMES_LEFT = 50;

/** Makes Temporal's Schedule of a sync what its row says: none where it has none, or is paused. */
export function followSchedule(deps: FollowDependencies, sync: Sync): Promise<void> {
  return follow(deps, wantedBySync(deps, sync));
}

/** The same of an exporter, by the clocks of its entity: none while it is not active, is paused, or is deleted. */
export async function followExporter(deps: FollowDependencies, exporter: DataExporter): Promise<void> {
  return follow(deps, wantedByExporter(deps, exporter, await findEntityZone(deps.db, exporter.entityId)));
}

/**
 * Makes Temporal's Schedules what the rows say: those that are missing, of an earlier revision, running out, or too
 * many.
 */
export async function repairSchedules(deps: FollowDependencies & { boundary(name: string): void }): Promise<void> {
  await repair(deps, SYNC_SCHEDULES, async () =>
    (await listScheduledSyncs(deps.db)).map((sync) => wantedBySync(deps, sync)),
  );
  await repair(deps, EXPORTER_SCHEDULES, async () =>
    (await listScheduledExporters(deps.db)).map(({ exporter, zone }) => wantedByExporter(deps, exporter, zone)),
  );
}

function wantedBySync({ db }: FollowDependencies, sync: Sync): Wanted {
  const { entityId, id: syncId, identifier, schedule, revision, paused, scheduledUntil } = sync;
  return {
    kind: SYNC_SCHEDULES,
    ref: { entityId, syncId, identifier },
    schedule: paused ? null : schedule,
    revision,
    scheduledUntil,
    note: (until) => updateScheduledUntil(db, sync, until),
  };
}

function wantedByExporter({ db }: FollowDependencies, exporter: DataExporter, zone: string): Wanted {
  const { entityId, id: exporterId, identifier, active, paused, revision, scheduledUntil } = exporter;
  return {
    kind: EXPORTER_SCHEDULES,
    ref: { entityId, exporterId, identifier },
    schedule: active && !paused ? exportSchedule(identifier, zone) : null,
    revision,
    scheduledUntil,
    note: (until) => updateExporterScheduledUntil(db, exporter, until),
  };
}

async function follow(
  { temporal }: FollowDependencies,
  { kind, ref, schedule, revision, note }: Wanted,
): Promise<void> {
  if (!schedule) return deleteSchedule(temporal, kind, ref.identifier);
  await note(await putSchedule(temporal, kind, { ref, schedule, revision }, new Date()));
}

async function repair(
  deps: FollowDependencies & { boundary(name: string): void },
  kind: ScheduleKind,
  listRows: () => Promise<Wanted[]>,
): Promise<void> {
  const listed = new Map<string, ListedSchedule>();
  for await (const schedule of listSchedules(deps.temporal, kind)) listed.set(schedule.identifier, schedule);
  // After the Schedules: one that a new row has got meanwhile would be taken for one too many.
  for (const wanted of await listRows()) {
    const found = listed.get(wanted.ref.identifier);
    listed.delete(wanted.ref.identifier);
    if (isCurrent(wanted, found)) continue;
    await follow(deps, wanted);
    deps.boundary('sweep: between schedules');
  }
  for (const { identifier } of listed.values()) await deleteSchedule(deps.temporal, kind, identifier);
}

function isCurrent({ schedule, revision, scheduledUntil }: Wanted, found: ListedSchedule | undefined): boolean {
  if (!found || found.revision !== revision || scheduledUntil === null) return false;
  return runsBetween(schedule!, new Date(), found.until, TIMES_LEFT) === TIMES_LEFT;
}
