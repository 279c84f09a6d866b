// Temporal's Schedules of syncs and exporters: makes them what the rows say.
import {
  type CalendarSpec,
  type Client,
  isGrpcServiceError,
  MONTHS,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
  ServiceError,
} from '@temporalio/client';
import type { TaskQueue } from '../domain/jobs/workflow-id.ts';
import { nextRuns, runsBetween, type SyncSchedule } from '../domain/syncs/sync-schedule.ts';
import { exportSchedule } from '../domain/exports/export-schedule.ts';
import { findEntityZone } from '../store/accounts/entities.ts';
import type { Database } from '../store/core/database.ts';
import type { DataExporter } from '../store/exports/data-exporter-record.ts';
import { exporters } from '../store/exports/data-exporters.ts';
import { listScheduled } from '../store/jobs/jobs-across-entities.ts';
import type { Owners } from '../store/jobs/run-owners.ts';
import type { Sync } from '../store/syncs/sync-record.ts';
import { syncs } from '../store/syncs/syncs.ts';

type Owner = { entityId: number; id: number; identifier: string; revision: number; scheduledUntil: Date | null };

type ScheduleKind = { prefix: string; tickPrefix: string; tick: 'syncTick' | 'exportTick' };

/** Adds which Schedule an owner wants, null for none, and how its ticks name its id. */
type OwnerSchedules<O> = ScheduleKind & {
  owners: Owners<O>;
  idName: 'syncId' | 'exporterId';
  scheduleOf(owner: O, zone: string): SyncSchedule | null;
};

export const SYNC_SCHEDULES: OwnerSchedules<Sync> = {
  prefix: 'sync/',
  tickPrefix: 'sync-tick/',
  tick: 'syncTick',
  owners: syncs,
  idName: 'syncId',
  scheduleOf: ({ paused, schedule }) => (paused ? null : schedule),
};
export const EXPORTER_SCHEDULES: OwnerSchedules<DataExporter> = {
  prefix: 'exporter/',
  tickPrefix: 'export-tick/',
  tick: 'exportTick',
  owners: exporters,
  idName: 'exporterId',
  scheduleOf: ({ active, paused, identifier }, zone) => (active && !paused ? exportSchedule(identifier, zone) : null),
};

type TickRef = { entityId: number; identifier: string } & Record<string, number | string>;

/** A row with a Schedule, the row's revision that the Schedule has, and until when the Schedule has times. */
type ListedSchedule = { identifier: string; revision: number; until: Date };

const FLOWS: TaskQueue = 'flows';
const TIMES = 100;
/** Temporal's calendars end with this year. */
const LAST_YEAR = 2_100;
/** How often a Schedule is replaced or made: another process may make or delete it between the two calls. */
const ATTEMPTS = 5;
/** gRPC's FAILED_PRECONDITION: the Schedule was deleted while Temporal answered. */
const DELETED_MEANWHILE = 9;
const NOTE = /^revision (?<revision>\d+), until (?<until>\S+)$/;

type FollowDependencies = { db: Database; temporal: Client };

/** A Schedule with fewer times left gets more. */
const TIMES_LEFT = 50;

/** Makes Temporal's Schedule of a sync what its row says: none if the sync has none or is paused. */
export function followSync(deps: FollowDependencies, sync: Sync): Promise<void> {
  return follow(deps, SYNC_SCHEDULES, sync, '');
}

/** Does the same for an exporter: none while it is not active, is paused, or is deleted. */
export async function followExporter(deps: FollowDependencies, exporter: DataExporter): Promise<void> {
  return follow(deps, EXPORTER_SCHEDULES, exporter, await findEntityZone(deps.db, exporter.entityId));
}

/** Makes missing Schedules, replaces outdated ones and ones with few times left, and deletes those without a row. */
export async function repairSchedules(deps: FollowDependencies & { boundary(name: string): void }): Promise<void> {
  await repair(deps, SYNC_SCHEDULES);
  await repair(deps, EXPORTER_SCHEDULES);
}

async function follow<O extends Owner>(
  { db, temporal }: FollowDependencies,
  kind: OwnerSchedules<O>,
  owner: O,
  zone: string,
): Promise<void> {
  const { entityId, id, identifier, revision } = owner;
  const schedule = kind.scheduleOf(owner, zone);
  if (!schedule) return deleteSchedule(temporal, kind, identifier);
  const ref = { entityId, [kind.idName]: id, identifier };
  const until = await putSchedule(temporal, kind, { ref, schedule, revision }, new Date());
  await kind.owners.updateScheduledUntil(db, owner, until);
}

async function repair<O extends Owner>(
  deps: FollowDependencies & { boundary(name: string): void },
  kind: OwnerSchedules<O>,
): Promise<void> {
  const listed = new Map<string, ListedSchedule>();
  for await (const schedule of listSchedules(deps.temporal, kind)) listed.set(schedule.identifier, schedule);
  // Listed after the Schedules: one that a new row gets in between would otherwise be deleted.
  for (const { owner, zone } of await listScheduled(deps.db, kind.owners.kind)) {
    const found = listed.get(owner.identifier);
    listed.delete(owner.identifier);
    if (isCurrent(owner, kind.scheduleOf(owner, zone)!, found)) continue;
    await follow(deps, kind, owner, zone);
    deps.boundary('sweep: between schedules');
  }
  for (const { identifier } of listed.values()) await deleteSchedule(deps.temporal, kind, identifier);
}

function isCurrent(
  { revision, scheduledUntil }: Owner,
  schedule: SyncSchedule,
  found: ListedSchedule | undefined,
): boolean {
  if (!found || found.revision !== revision || scheduledUntil === null) return false;
  return runsBetween(schedule, new Date(), found.until, TIMES_LEFT) === TIMES_LEFT;
}

/** Makes or replaces a Schedule with its next 100 runs, and returns the last one's time. Jittered runs stay due. */
export async function putSchedule(
  temporal: Client,
  { prefix, tickPrefix, tick }: ScheduleKind,
  { ref, schedule, revision }: { ref: TickRef; schedule: SyncSchedule; revision: number },
  now: Date,
): Promise<Date> {
  const times = nextRuns(schedule, new Date(now.getTime() - schedule.jitterSeconds * 1000), TIMES).filter(
    (time) => time.getUTCFullYear() <= LAST_YEAR,
  );
  const until = times.at(-1) ?? now;
  await put(temporal, {
    scheduleId: prefix + ref.identifier,
    // The times are UTC's, so that Temporal has no say in what happens where clocks change.
    spec: { calendars: times.map(calendarOf), jitter: schedule.jitterSeconds * 1000 },
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: '7 days' },
    action: {
      type: 'startWorkflow',
      workflowType: tick,
      workflowId: tickPrefix + ref.identifier,
      taskQueue: FLOWS,
      args: [ref],
    },
    // Not a memo: Temporal keeps that as it was when the Schedule was made.
    state: { note: `revision ${revision}, until ${until.toISOString()}` },
  });
  return until;
}

export async function deleteSchedule(temporal: Client, { prefix }: ScheduleKind, identifier: string): Promise<void> {
  await temporal.schedule
    .getHandle(prefix + identifier)
    .delete()
    .catch(unlessGone);
}

/** Lists Schedules, a moment late. One whose note an operator has changed (pausing does) has the revision -1. */
export async function* listSchedules(temporal: Client, { prefix }: ScheduleKind): AsyncGenerator<ListedSchedule> {
  for await (const { scheduleId, state } of temporal.schedule.list()) {
    if (!scheduleId.startsWith(prefix)) continue;
    const { revision = '-1', until = 0 } = NOTE.exec(state.note ?? '')?.groups ?? {};
    yield { identifier: scheduleId.slice(prefix.length), revision: Number(revision), until: new Date(until) };
  }
}

async function put(temporal: Client, options: ScheduleOptions): Promise<void> {
  for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
    if ((await replace(temporal, options)) || (await create(temporal, options))) return;
  }
  await temporal.schedule.create(options);
}

/** Returns false if there is none. */
async function replace(temporal: Client, options: ScheduleOptions): Promise<boolean> {
  try {
    await temporal.schedule.getHandle(options.scheduleId).update(() => ({ ...options, state: { ...options.state } }));
    return true;
  } catch (error) {
    return unlessGone(error);
  }
}

/** Returns false if there is one. */
async function create(temporal: Client, options: ScheduleOptions): Promise<boolean> {
  try {
    await temporal.schedule.create(options);
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

/** Ignores a missing Schedule; rethrows other errors. */
function unlessGone(error: unknown): false {
  if (error instanceof ScheduleNotFoundError) return false;
  const cause = error instanceof ServiceError ? error.cause : undefined;
  if (isGrpcServiceError(cause) && Number(cause.code) === DELETED_MEANWHILE) return false;
  throw error;
}

function calendarOf(time: Date): CalendarSpec {
  return {
    year: time.getUTCFullYear(),
    month: MONTHS[time.getUTCMonth()]!,
    dayOfMonth: time.getUTCDate(),
    hour: time.getUTCHours(),
    minute: time.getUTCMinutes(),
    second: 0,
  };
}
