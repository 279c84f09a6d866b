import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Recurrence } from '../../../domain/campaigns/campaign-body.ts';
import { mayNotify, nextWindow, type SendWindow, windowsBetween } from '../../../domain/campaigns/send-plan.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { walkedClock, zoneAndMoment, ZONES } from './walked-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];

/** The windows as somebody finds them who walks along a clock, day by day. */
function walkedWindows(recurrence: Recurrence, zone: string, after: number, until: number): SendWindow[] {
  const { start_time: start, end_time: end, day_of_week: weekdays } = recurrence;
  const clock = walkedClock(zone);
  const showing = (day: number, { hour, min }: { hour: number; min: number }) =>
    clock.firstShowing(day + hour * HOUR + min * MINUTE);
  const days = clock.daysBetween(after - 2 * DAY, until + 2 * DAY).filter(({ weekday }) => weekdays.includes(weekday));
  return days.flatMap<SendWindow>(({ day }) => {
    const from = showing(day, start ?? { hour: 0, min: 0 });
    if (start && !end) return from >= after && from < until ? [{ from: new Date(from), until: null }] : [];
    const [first, last] = [Math.max(from, after), Math.min(showing(day, end ?? { hour: 24, min: 0 }), until)];
    return first < last ? [{ from: new Date(first), until: new Date(last) }] : [];
  });
}

/** Most clocks change in the first hours of a day, or in its last. */
const minuteOfDay = fc.oneof(
  fc.integer({ min: 0, max: 1_439 }),
  fc.integer({ min: 0, max: 16 }).map((quarter) => quarter * 15),
  fc.integer({ min: 1_320, max: 1_439 }),
);
const timeOf = (minute: number) => ({ hour: Math.floor(minute / 60), min: minute % 60 });
const periods = fc.uniqueArray(minuteOfDay, { minLength: 2, maxLength: 2 }).map((minutes) => {
  const [start, end] = minutes.toSorted((one, other) => one - other);
  return { start_time: timeOf(start!), end_time: timeOf(end!) };
});
const times = fc.oneof(
  fc.constant({}),
  minuteOfDay.map((minute) => ({ start_time: timeOf(minute) })),
  periods,
);
const weekdays = fc.oneof(fc.constant(EVERY_DAY), fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }));
const anyRecurrence: fc.Arbitrary<Recurrence> = fc
  .tuple(weekdays, times)
  .map(([days, time]) => ({ ...time, day_of_week: days }));
const lengthMs = fc.oneof(
  fc.integer({ min: 0, max: 4 * DAY }),
  fc.integer({ min: 0, max: 24 * 21 }).map((hours) => hours * HOUR),
);

const write = (date: Date) => date.toISOString().replace(':00.000Z', 'Z');

/**
 * The windows at a time such as 9:00, in a period such as 9:00-18:30, or of whole days, from one instant to another: as
 * ISO 8601.
 */
function windowsOf(days: number[], time: string, zone: string, [after, until]: [string, string]): string[] {
  const [start, end] =
    time === ''
      ? []
      : time.split('-').map((part) => {
          const [hour, min] = part.split(':').map(Number);
          return { hour: hour!, min: min! };
        });
  const recurrence = { day_of_week: days, ...(start && { start_time: start }), ...(end && { end_time: end }) };
  const windows = Array.from(windowsBetween(recurrence, zone, new Date(after), new Date(until)));
  return windows.map((window) => (window.until ? `${write(window.from)}/${write(window.until)}` : write(window.from)));
}

describe('the windows of a recurrence', () => {
  it('are those of a clock that somebody walks along', () => {
    fc.assert(
      fc.property(anyRecurrence, zoneAndMoment, lengthMs, (recurrence, { zone, moment }, length) => {
        const found = Array.from(windowsBetween(recurrence, zone, new Date(moment), new Date(moment + length)));
        expect(found).toEqual(walkedWindows(recurrence, zone, moment, moment + length));
        expect(nextWindow(recurrence, zone, new Date(moment), new Date(moment + length))).toEqual(found[0] ?? null);
      }),
      { numRuns: sampledRuns(200) },
    );
  });

  it.for(ZONES)('are so all year in %s', (zone) => {
    const [from, until] = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)];
    const late = { hour: 23, min: 30 };
    for (const time of [
      {},
      { start_time: late },
      { start_time: { hour: 1, min: 40 }, end_time: { hour: 2, min: 50 } },
    ]) {
      const recurrence = { ...time, day_of_week: EVERY_DAY };
      const found = Array.from(windowsBetween(recurrence, zone, new Date(from), new Date(until)));
      expect(found).toEqual(walkedWindows(recurrence, zone, from, until));
      expect(found.length).toBeGreaterThanOrEqual(364);
    }
  });

  it('follow each other without a gap or an overlap, whichever one asks for next', () => {
    fc.assert(
      fc.property(anyRecurrence, zoneAndMoment, lengthMs, (recurrence, { zone, moment }, length) => {
        const [after, until] = [new Date(moment), new Date(moment + length)];
        let last = after;
        for (const window of windowsBetween(recurrence, zone, after, until)) {
          const end = window.until ?? new Date(window.from.getTime() + 1);
          expect(window.from >= last && window.from < end && end <= new Date(moment + length + 1)).toBe(true);
          expect(nextWindow(recurrence, zone, last, until)).toEqual(window);
          last = end;
        }
        expect(nextWindow(recurrence, zone, last, until)).toBeNull();
      }),
      { numRuns: sampledRuns(100) },
    );
  });

  it('of all days are the whole time, each day from midnight to midnight', () => {
    expect(windowsOf(EVERY_DAY, '', 'Europe/Paris', ['2026-03-28T12:00Z', '2026-03-30T12:00Z'])).toEqual([
      '2026-03-28T12:00Z/2026-03-28T23:00Z',
      '2026-03-28T23:00Z/2026-03-29T22:00Z',
      '2026-03-29T22:00Z/2026-03-30T12:00Z',
    ]);
    expect(windowsOf([0], '', 'Europe/Paris', ['2026-10-24T00:00Z', '2026-10-31T00:00Z'])).toEqual([
      '2026-10-24T22:00Z/2026-10-25T23:00Z',
    ]);
  });

  it('fall on the days of the week that the zone has', () => {
    expect(windowsOf([1], '0:30', 'Asia/Kolkata', ['2026-06-01T00:00Z', '2026-06-08T00:00Z'])).toEqual([
      '2026-06-07T19:00Z',
    ]);
    expect(windowsOf([1], '22:00', 'America/St_Johns', ['2026-06-01T00:00Z', '2026-06-08T00:00Z'])).toEqual([
      '2026-06-02T00:30Z',
    ]);
  });

  it('of a day begin with it, though the clock goes back to the day before', () => {
    expect(windowsOf([0], '', 'America/St_Johns', ['2010-11-07T02:00Z', '2010-11-07T03:00Z'])).toEqual([
      '2010-11-07T02:30Z/2010-11-07T03:00Z',
    ]);
  });

  it('come a week later where the clock skips one', () => {
    expect(windowsOf([0], '2:00-3:00', 'Europe/Paris', ['2026-03-23T00:00Z', '2026-04-06T00:00Z'])).toEqual([
      '2026-04-05T00:00Z/2026-04-05T01:00Z',
    ]);
  });

  it.for<[string, string, string, [string, string], string[]]>([
    [
      'a time in a gap is its end',
      '2:30',
      'Europe/Paris',
      ['2026-03-29T00:00Z', '2026-03-30T00:00Z'],
      ['2026-03-29T01:00Z'],
    ],
    [
      'in a gap of half an hour, too',
      '2:15',
      'Australia/Lord_Howe',
      ['2026-10-03T12:00Z', '2026-10-04T12:00Z'],
      ['2026-10-03T15:30Z'],
    ],
    [
      'in a gap until midnight, too',
      '23:30',
      'America/Nuuk',
      ['2026-03-29T01:00Z', '2026-03-30T00:00Z'],
      ['2026-03-29T01:00Z'],
    ],
    [
      'midnight in a gap is its end',
      '0:00',
      'Africa/Cairo',
      ['2026-04-23T12:00Z', '2026-04-24T12:00Z'],
      ['2026-04-23T22:00Z'],
    ],
    [
      'a period begins after a gap',
      '2:30-4:00',
      'Europe/Paris',
      ['2026-03-29T00:00Z', '2026-03-30T00:00Z'],
      ['2026-03-29T01:00Z/2026-03-29T02:00Z'],
    ],
    [
      'a period ends at a gap',
      '1:00-2:30',
      'Europe/Paris',
      ['2026-03-28T23:00Z', '2026-03-29T22:00Z'],
      ['2026-03-29T00:00Z/2026-03-29T01:00Z'],
    ],
    ['a period within a gap is left out', '2:00-3:00', 'Europe/Paris', ['2026-03-28T23:00Z', '2026-03-29T22:00Z'], []],
    [
      'a time that is shown twice comes once',
      '2:30',
      'Europe/Paris',
      ['2026-10-24T22:00Z', '2026-10-25T23:00Z'],
      ['2026-10-25T00:30Z'],
    ],
    [
      'and so by half an hour',
      '1:45',
      'Australia/Lord_Howe',
      ['2026-04-04T12:00Z', '2026-04-05T12:00Z'],
      ['2026-04-04T14:45Z'],
    ],
    [
      'a period is longer by what is shown twice',
      '1:00-4:00',
      'America/New_York',
      ['2026-11-01T04:00Z', '2026-11-02T05:00Z'],
      ['2026-11-01T05:00Z/2026-11-01T09:00Z'],
    ],
    [
      'a day that was skipped has none',
      '9:00',
      'Pacific/Apia',
      ['2011-12-29T00:00Z', '2011-12-31T00:00Z'],
      ['2011-12-29T19:00Z', '2011-12-30T19:00Z'],
    ],
    [
      'an exact time may be the beginning, not the end',
      '9:00',
      'UTC',
      ['2026-06-01T09:00Z', '2026-06-02T09:00Z'],
      ['2026-06-01T09:00Z'],
    ],
    [
      'one that has passed comes the next day',
      '9:00',
      'UTC',
      ['2026-06-01T09:00:00.001Z', '2026-06-02T09:01Z'],
      ['2026-06-02T09:00Z'],
    ],
    [
      'a period under way begins now, and ends with the campaign',
      '9:00-18:00',
      'UTC',
      ['2026-06-01T17:00Z', '2026-06-02T10:00Z'],
      ['2026-06-01T17:00Z/2026-06-01T18:00Z', '2026-06-02T09:00Z/2026-06-02T10:00Z'],
    ],
    [
      'a period that is over is none, nor one from the end on',
      '9:00-18:00',
      'UTC',
      ['2026-06-01T18:00Z', '2026-06-02T09:00Z'],
      [],
    ],
    ['a campaign that is over has none', '', 'UTC', ['2026-06-01T18:00Z', '2026-06-01T18:00Z'], []],
  ])('%s', ([, time, zone, between, expected]) => {
    expect(windowsOf(EVERY_DAY, time, zone, between)).toEqual(expected);
  });
});

describe('a limit of notifications', () => {
  const hours = fc.integer({ min: 0, max: 72 });
  const limits = fc.record({ maximum: fc.integer({ min: 1, max: 5 }), interval: hours }, { requiredKeys: [] });

  it('is kept, and lets everything through that keeps it', () => {
    fc.assert(
      fc.property(
        limits,
        fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 30 }),
        ({ maximum, interval }, minutes) => {
          const sent: number[] = [];
          let now = Date.UTC(2026, 0, 1);
          for (const passed of minutes) {
            now += passed * MINUTE;
            const last = sent.at(-1);
            const isTooMany = maximum !== undefined && sent.length + 1 > maximum;
            const isTooSoon = interval !== undefined && last !== undefined && last + interval * HOUR > now;
            const notified = { count: sent.length, lastAt: last === undefined ? null : new Date(last) };
            const may = mayNotify({ maximum, interval }, notified, new Date(now));
            expect(may).toBe(!isTooMany && !isTooSoon);
            if (may) sent.push(now);
          }
        },
      ),
    );
  });

  it('ends to the millisecond', () => {
    const last = { count: 1, lastAt: new Date('2026-06-01T09:00:00Z') };
    expect(mayNotify({ interval: 24 }, last, new Date('2026-06-02T08:59:59.999Z'))).toBe(false);
    expect(mayNotify({ interval: 24 }, last, new Date('2026-06-02T09:00:00Z'))).toBe(true);
    expect(mayNotify({ maximum: 1 }, last, new Date('2026-06-02T09:00:00Z'))).toBe(false);
    expect(mayNotify({ maximum: 2, interval: 0 }, last, last.lastAt)).toBe(true);
  });
});
