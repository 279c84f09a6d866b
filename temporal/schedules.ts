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
import { nextRuns, type SyncSchedule } from '../domain/syncs/sync-schedule.ts';

/** What has Schedules: how their names begin, those of the ticks that they start, and what these are. */
export type ScheduleKind = { prefix: string; tickPrefix: string; tick: 'syncTick' | 'exportTick' };

export const SYNC_SCHEDULES: ScheduleKind = { prefix: 'sync/', tickPrefix: 'sync-tick/', tick: 'syncTick' };
export const EXPORTER_SCHEDULES: ScheduleKind = { prefix: 'exporter/', tickPrefix: 'export-tick/', tick: 'exportTick' };

/** What the tick is told: the row, and the name that the API shows. */
export type TickRef = { entityId: number; identifier: string } & Record<string, number | string>;

/** A row that has a Schedule: of which revision of it, and until when its times are known. */
export type ListedSchedule = { identifier: string; revision: number; until: Date };

const FLOWS: TaskQueue = 'flows';
const TIMES = 100;
/** Temporal's calendars end with this year. */
const LAST_YEAR = 2_100;
/** Another process may make or delete the Schedule between two calls, though hardly so often. */
const ATTEMPTS = 5;
/** gRPC's FAILED_PRECONDITION: the Schedule was deleted while Temporal answered. */
const DELETED_MEANWHILE = 9;
const NOTE = /^revision (?<revision>\d+), until (?<until>\S+)$/;

/**
 * Makes or replaces the Schedule of a row, which starts its tick at each of the next 100 runs, and returns the
 * last of them: whoever wants more puts it again before. Runs that are due but still wait out their jitter stay due.
 */
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

/** Deletes the Schedule of a row; none is fine. */
export async function deleteSchedule(temporal: Client, { prefix }: ScheduleKind, identifier: string): Promise<void> {
  await temporal.schedule
    .getHandle(prefix + identifier)
    .delete()
    .catch(unlessGone);
}

/**
 * All Schedules of a kind, as Temporal's list shows them: a moment late. One whose note an operator has changed (as
 * pausing it does) has the revision -1, which no row has.
 */
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

/** False if there is none. */
async function replace(temporal: Client, options: ScheduleOptions): Promise<boolean> {
  try {
    await temporal.schedule.getHandle(options.scheduleId).update(() => ({ ...options, state: { ...options.state } }));
    return true;
  } catch (error) {
    return unlessGone(error);
  }
}

/** False if there is one. */
async function create(temporal: Client, options: ScheduleOptions): Promise<boolean> {
  try {
    await temporal.schedule.create(options);
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

/** Passes over a Schedule that is not there; any other error goes on. */
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
