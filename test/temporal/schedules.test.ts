import { randomBytes } from 'node:crypto';
import { tsToDate } from '@temporalio/common/lib/time.js';
import { describe, expect, it } from 'vitest';
import { deleteSchedule, listSchedules, putSchedule, SYNC_SCHEDULES } from '../../temporal/schedules.ts';
import type { SyncRef } from '../../activities/jobs/run-ticks.ts';
import { nextRuns, type SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import { useStack } from '../harness/core/stack.ts';
import { waitFor } from '../harness/core/wait.ts';

const stack = useStack();

const newRef = (): SyncRef => ({ entityId: 1, syncId: 2, identifier: `syn_${randomBytes(6).toString('hex')}` });
const handleOf = ({ identifier }: SyncRef) => stack.temporal.schedule.getHandle(`sync/${identifier}`);
const put = (ref: SyncRef, schedule: SyncSchedule, revision = 1, now = new Date()) =>
  putSchedule(stack.temporal, SYNC_SCHEDULES, { ref, schedule, revision }, now);

const EVERY_HOUR: SyncSchedule = { everyMinutes: 60, jitterSeconds: 0 };
const NIGHTLY: SyncSchedule = { cron: '30 2 * * *', zone: 'Europe/Paris', jitterSeconds: 0 };

/** When Temporal itself says that it starts something. */
async function serverTimes(ref: SyncRef, after: Date, until: Date): Promise<Date[]> {
  const { startTime } = await stack.temporal.workflowService.listScheduleMatchingTimes({
    namespace: stack.namespace,
    scheduleId: `sync/${ref.identifier}`,
    startTime: timestamp(after),
    endTime: timestamp(until),
  });
  return startTime.map((time) => tsToDate(time));
}

const timestamp = (date: Date) => ({ seconds: Math.floor(date.getTime() / 1000) as never, nanos: 0 });

async function listed() {
  const found = new Map<string, { revision: number; until: Date }>();
  for await (const { identifier, ...rest } of listSchedules(stack.temporal, SYNC_SCHEDULES))
    found.set(identifier, rest);
  return found;
}

describe("a sync's Schedule", () => {
  it.each<[string, SyncSchedule]>([
    ['2026-03-20', NIGHTLY],
    ['2026-10-20', { cron: '0,30 2 * * *', zone: 'Europe/Paris', jitterSeconds: 0 }],
    ['2026-10-24', { cron: '0 * * * *', zone: 'Europe/Paris', jitterSeconds: 0 }],
    ['2026-04-20', { cron: '@daily', zone: 'Africa/Cairo', jitterSeconds: 0 }],
    ['2026-04-03', { cron: '15 1,2 * * *', zone: 'Australia/Lord_Howe', jitterSeconds: 0 }],
    ['2026-03-01', { everyMinutes: 17, jitterSeconds: 0 }],
  ])('has the next 100 times after %s of %j, where clocks change too', async (day, schedule) => {
    const ref = newRef();
    const now = new Date(day);
    const runs = nextRuns(schedule, now, 100);
    expect(await put(ref, schedule, 1, now)).toEqual(runs.at(-1));
    expect(await serverTimes(ref, now, new Date(runs.at(-1)!.getTime() + 86_400_000))).toEqual(runs);
  });

  it('starts the tick, as often as it is due, with the numbers and the name of the sync and nothing else', async () => {
    const ref = newRef();
    await put(ref, { ...EVERY_HOUR, jitterSeconds: 60 });
    const { action, policies, spec, info } = await handleOf(ref).describe();
    expect(action).toMatchObject({
      type: 'startWorkflow',
      workflowType: 'syncTick',
      workflowId: `sync-tick/${ref.identifier}`,
      taskQueue: 'flows',
      args: [ref],
    });
    expect(policies).toMatchObject({ overlap: 'ALLOW_ALL', catchupWindow: 7 * 86_400_000 });
    expect(spec.jitter).toBe(60_000);
    expect(info.nextActionTimes.length).toBeGreaterThan(1);
  });

  it('is replaced by another', async () => {
    const ref = newRef();
    const now = new Date();
    await put(ref, EVERY_HOUR, 1, now);
    const until = await put(ref, NIGHTLY, 2, now);
    const times = await waitFor('the new times', async () => {
      const found = await serverTimes(ref, now, until);
      return found.length === 100 && found;
    });
    expect(times).toEqual(nextRuns(NIGHTLY, now, 100));
  });

  it('is made by callers at once, whatever each of them finds', async () => {
    const ref = newRef();
    await Promise.all(Array.from({ length: 6 }, (_, revision) => put(ref, EVERY_HOUR, revision + 1)));
    for (let round = 1; round <= 5; round += 1) {
      await Promise.all(
        [1, 2, 3, 4].flatMap((revision) => [
          put(ref, NIGHTLY, revision),
          deleteSchedule(stack.temporal, SYNC_SCHEDULES, ref.identifier),
        ]),
      );
    }
    const until = await put(ref, NIGHTLY, 9);
    const { state } = await waitFor('the last revision', async () => {
      const found = await handleOf(ref).describe();
      return found.state.note?.startsWith('revision 9') && found;
    });
    expect(state).toEqual({
      paused: false,
      note: `revision 9, until ${until.toISOString()}`,
      remainingActions: undefined,
    });
  });

  it('may have only times that are past', async () => {
    const ref = newRef();
    const until = await put(ref, EVERY_HOUR, 1, new Date('2020-01-01'));
    expect(until).toEqual(new Date('2020-01-05T04:00:00Z'));
    expect((await handleOf(ref).describe()).info.nextActionTimes).toEqual([]);
    await put(ref, EVERY_HOUR, 2);
    await waitFor('times to come', async () => (await handleOf(ref).describe()).info.nextActionTimes.length > 0);
  });

  it("ends with the last year that Temporal's calendars know", async () => {
    const schedule = { cron: '0 0 29 2 *', zone: 'UTC', jitterSeconds: 0 };
    expect(await put(newRef(), schedule, 1, new Date('2026-01-01'))).toEqual(new Date('2096-02-29'));
    const after = new Date('2101-01-01');
    expect(await put(newRef(), schedule, 1, after)).toEqual(after);
  });

  it('is deleted, and deleting one that is not there is fine', async () => {
    const ref = newRef();
    await put(ref, EVERY_HOUR);
    await deleteSchedule(stack.temporal, SYNC_SCHEDULES, ref.identifier);
    await deleteSchedule(stack.temporal, SYNC_SCHEDULES, ref.identifier);
    await deleteSchedule(stack.temporal, SYNC_SCHEDULES, newRef().identifier);
    await waitFor('the list without it', async () => !(await listed()).has(ref.identifier));
    await put(ref, EVERY_HOUR, 2);
    const again = await waitFor('the list with it again', async () => (await listed()).get(ref.identifier));
    expect(again.revision).toBe(2);
  });
});

describe("the list of syncs' Schedules", () => {
  it('tells the revision of each and until when its times reach, and of nothing else', async () => {
    const [one, other] = [newRef(), newRef()];
    const [until, untilOther] = [await put(one, EVERY_HOUR, 7), await put(other, NIGHTLY, 1)];
    const before = await waitFor('both', async () => {
      const found = await listed();
      return found.has(one.identifier) && found.has(other.identifier) && found;
    });
    expect(before.get(one.identifier)).toEqual({ revision: 7, until });
    expect(before.get(other.identifier)).toEqual({ revision: 1, until: untilOther });
    // the sweep's is another
    expect([...before.keys()].every((identifier) => identifier.startsWith('syn_'))).toBe(true);

    const later = await put(one, NIGHTLY, 8);
    await waitFor('the new revision', async () => (await listed()).get(one.identifier)?.revision === 8);
    expect((await listed()).get(one.identifier)).toEqual({ revision: 8, until: later });
  });

  it('shows one that an operator has paused as of no revision, so that it is put again and runs on', async () => {
    const ref = newRef();
    await put(ref, EVERY_HOUR, 3);
    await handleOf(ref).pause('by hand');
    await waitFor('the note', async () => (await listed()).get(ref.identifier)?.revision === -1);
    await put(ref, EVERY_HOUR, 3);
    await waitFor('the revision', async () => (await listed()).get(ref.identifier)?.revision === 3);
    expect((await handleOf(ref).describe()).state.paused).toBe(false);
  });
});
