import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Recurrence } from '../../../domain/campaigns/campaign-body.ts';
import {
  dueWindow,
  EXACT_WITHIN_MS,
  isNotified,
  type Known,
  LOOK_EVERY_MS,
  nextLook,
  nextLookIn,
  type SendSchedule,
} from '../../../domain/campaigns/send-plan.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const HOUR_MS = 3_600_000;
const LAUNCH = new Date('2026-11-23T08:00:00Z'); // a Monday
const END = new Date('2026-11-28T08:00:00Z');
const ZONES = ['UTC', 'Europe/Paris', 'Asia/Kolkata', 'America/New_York'];

const time = fc.record({ hour: fc.integer({ min: 0, max: 22 }), min: fc.integer({ min: 0, max: 59 }) });
const days = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 });
const recurrence = fc.oneof(
  fc.record({ day_of_week: days, start_time: time }),
  fc.tuple(days, time, fc.integer({ min: 0, max: 59 })).map(([day_of_week, start_time, min]) => ({
    day_of_week,
    start_time,
    end_time: { hour: start_time.hour + 1, min },
  })),
);
const of = (own: Recurrence, endDate: Date): SendSchedule => ({
  type: 'dynamic',
  startDate: LAUNCH,
  endDate,
  adaptTz: true,
  appZone: 'UTC',
  recurrence: own,
});
/** Whole days have a look each minute: of these an hour or two. */
const schedules = fc.oneof(
  recurrence.map((own) => of(own, END)),
  days.map((day_of_week) => of({ day_of_week }, new Date(LAUNCH.getTime() + 2 * HOUR_MS))),
);

/** Looks as the service makes them: each at the moment that the one before named, and `late` after it. */
function looksOf(
  schedule: SendSchedule,
  zone: string,
  late: readonly number[],
): { now: Date; from: Date; until: Date | null }[] {
  const looks = [];
  let [lookedAt, now]: [Date | null, Date] = [null, LAUNCH];
  for (let nth = 0; nth < 2_000; nth += 1) {
    const next = nextLook(schedule, zone, { launchedAt: LAUNCH, lookedAt, now });
    if (next === null) return looks;
    now = new Date(Math.max(next.getTime(), now.getTime()) + late[nth % late.length]!);
    const window = dueWindow(schedule, zone, { launchedAt: LAUNCH, lookedAt, now });
    if (window) looks.push({ now, ...window });
    lookedAt = now;
  }
  throw new Error('the looks have no end');
}

describe('the looks of a dynamic campaign', () => {
  it('come to each exact time once, and within its period every minute', () => {
    fc.assert(
      fc.property(schedules, fc.constantFrom(...ZONES), (schedule, zone) => {
        const looks = looksOf(schedule, zone, [0]);
        const isExact = looks[0]?.until === null;
        for (const [nth, { now, from, until }] of looks.entries()) {
          expect(
            now >= from && now < schedule.endDate! && (until === null ? now.getTime() === from.getTime() : now < until),
          ).toBe(true);
          const before = looks[nth - 1]?.now;
          if (before)
            expect(now.getTime() - before.getTime()).toBeGreaterThanOrEqual(isExact ? 22 * HOUR_MS : LOOK_EVERY_MS);
        }
      }),
      { numRuns: sampledRuns(10) },
    );
  });

  it('that come an hour late or less make up for an exact time, and end all the same', () => {
    const late = fc.array(fc.integer({ min: 0, max: EXACT_WITHIN_MS }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(schedules, fc.constantFrom(...ZONES), late, (schedule, zone, delays) => {
        const onTime = looksOf(schedule, zone, [0]);
        const looks = looksOf(schedule, zone, delays);
        // A look that comes after the end is none.
        if (onTime[0]?.until === null) {
          const moments = onTime.map(({ from }) => from.getTime());
          expect(looks.map(({ from }) => from.getTime())).toEqual(moments);
        }
        for (const { now, until } of looks) expect(until === null || now < until).toBe(true);
      }),
      { numRuns: sampledRuns(10) },
    );
  });

  it('that come later leave out an exact time', () => {
    const schedule = of({ day_of_week: [1, 2], start_time: { hour: 9, min: 0 } }, END);
    const lookedAt = LAUNCH;
    const after = (iso: string) => ({ launchedAt: LAUNCH, lookedAt, now: new Date(iso) });
    const [hour, more] = [after('2026-11-23T10:00:00Z'), after('2026-11-23T10:00:00.001Z')];
    expect(dueWindow(schedule, 'UTC', hour)).toEqual({ from: new Date('2026-11-23T09:00:00Z'), until: null });
    expect(dueWindow(schedule, 'UTC', more)).toBeNull();
    expect(nextLook(schedule, 'UTC', more)).toEqual(new Date('2026-11-24T09:00:00Z'));
  });

  it('are found anew while devices may come to new zones, leave time between them, and stop at the end', () => {
    const weekly = of({ day_of_week: [5], start_time: { hour: 9, min: 0 } }, END);
    const clock = { launchedAt: LAUNCH, lookedAt: null, now: LAUNCH };
    const bounds = { soonest: LAUNCH, end: END };
    expect(nextLookIn(weekly, ['UTC'], clock, bounds)).toEqual(new Date('2026-11-23T08:10:00Z'));
    const everywhere = { ...weekly, adaptTz: false };
    const before = { ...clock, now: new Date('2026-11-27T08:30:00Z') };
    expect(nextLookIn(everywhere, ['UTC'], clock, bounds)).toEqual(new Date('2026-11-23T09:00:00Z'));
    expect(nextLookIn(everywhere, ['UTC'], before, bounds)).toEqual(new Date('2026-11-27T09:00:00Z'));
    const daily = of({ day_of_week: [0, 1, 2, 3, 4, 5, 6] }, END);
    const soonest = new Date('2026-11-23T08:05:00Z');
    expect(nextLookIn(daily, ['UTC'], { ...clock, lookedAt: LAUNCH }, { soonest, end: END })).toEqual(soonest);
    expect(nextLookIn(everywhere, ['UTC'], { ...clock, now: new Date('2026-11-28T07:30:00Z') }, bounds)).toEqual(END);
  });
});

describe('a person in the audience', () => {
  const now = new Date('2026-11-24T10:00:00Z');
  const from = new Date('2026-11-24T09:00:00Z');
  const period = { from, until: new Date('2026-11-24T12:00:00Z') };
  const exact = { from, until: null };
  const known = (change: Partial<Known>): Known => ({
    isMember: false,
    notified: 0,
    lastNotifiedAt: null,
    lastWindow: null,
    ...change,
  });

  it('is notified at each exact time once, and in a period as they enter', () => {
    expect(isNotified(null, exact, {}, now)).toBe(true);
    expect(isNotified(null, period, {}, now)).toBe(true);
    expect(isNotified(known({ isMember: true, notified: 1, lastWindow: from }), exact, {}, now)).toBe(false);
    expect(
      isNotified(known({ isMember: true, notified: 1, lastWindow: new Date('2026-11-23T09:00:00Z') }), exact, {}, now),
    ).toBe(true);
    expect(isNotified(known({ isMember: true }), period, {}, now)).toBe(false);
    expect(isNotified(known({ notified: 1, lastWindow: from }), period, {}, now)).toBe(true);
  });

  it('is notified as often as the limit says, with so many hours between', () => {
    const left = known({ notified: 2, lastNotifiedAt: new Date('2026-11-24T05:00:00Z') });
    expect(isNotified(left, period, { maximum: 3, interval: 5 }, now)).toBe(true);
    expect(isNotified(left, period, { maximum: 2 }, now)).toBe(false);
    expect(isNotified(left, period, { interval: 6 }, now)).toBe(false);
  });
});
