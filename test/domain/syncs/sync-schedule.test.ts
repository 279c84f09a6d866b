import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextRuns, runsBetween, scheduleError, type SyncSchedule } from '../../../domain/syncs/sync-schedule.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * Nights on which clocks change, a day before each: forward and back, at midnight, by half an hour, to the next day.
 */
const NIGHTS: [zone: string, eve: string][] = [
  ['Europe/Paris', '2025-03-29'],
  ['Europe/Paris', '2025-10-25'],
  ['Africa/Cairo', '2025-04-24'],
  ['Africa/Cairo', '2025-10-30'],
  ['Australia/Lord_Howe', '2025-10-04'],
  ['Australia/Lord_Howe', '2025-04-05'],
  ['America/New_York', '2025-03-08'],
  ['America/New_York', '2025-11-01'],
  ['America/Nuuk', '2025-03-29'],
  ['America/Nuuk', '2025-10-25'],
  ['America/Santiago', '2025-09-06'],
  ['America/Santiago', '2025-04-05'],
  ['Asia/Kolkata', '2025-03-29'],
  ['UTC', '2025-03-29'],
];
const nights = fc.constantFrom(...NIGHTS).map(([zone, eve]) => ({ zone, from: new Date(Date.parse(eve) - DAY_MS) }));

const cron = (fields: string, zone = 'UTC'): SyncSchedule => ({ cron: fields, zone, jitterSeconds: 0 });
const every = (everyMinutes: number): SyncSchedule => ({ everyMinutes, jitterSeconds: 0 });
const texts = (dates: Date[]) => dates.map((date) => date.toISOString().slice(0, 16));

/** What the clocks of a zone show, by Intl itself: 2025-03-30 03:00. */
function clock(zone: string): (instant: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return (instant) => format.format(instant);
}

/** What each minute of four days shows, in the order in which they come. */
function minutesOf({ zone, from }: { zone: string; from: Date }): { instant: number; shown: string }[] {
  const show = clock(zone);
  return Array.from({ length: 4 * 1_440 }, (_, minute) => from.getTime() + minute * MINUTE_MS).map((instant) => ({
    instant,
    shown: show(instant),
  }));
}

const hours = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 5 });
const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 4 });
const daily = fc.record({ hours, minutes });
const twoDigits = (number: number) => String(number).padStart(2, '0');

describe('a cron at fixed times, whatever the clocks do,', () => {
  it('runs once at each of its times, at the end of the gap for those that are left out', () => {
    fc.assert(
      fc.property(nights, daily, (night, times) => {
        const shown = minutesOf(night);
        const days = [...new Set(shown.map((minute) => minute.shown.slice(0, 10)))].slice(1, 4);
        const wanted = days.flatMap((day) =>
          times.hours.flatMap((hour) =>
            times.minutes.map((minute) => {
              const time = `${day} ${twoDigits(hour)}:${twoDigits(minute)}`;
              // The first minute that shows the time, or else the first that shows a later one.
              return (shown.find((one) => one.shown === time) ?? shown.find((one) => one.shown > time))!.instant;
            }),
          ),
        );
        const expected = [...new Set(wanted)].toSorted((a, b) => a - b);
        const before = new Date(shown.find((minute) => minute.shown.startsWith(days[0]!))!.instant - 1);
        const runs = nextRuns(
          cron(`${times.minutes.join()} ${times.hours.join()} * * *`, night.zone),
          before,
          expected.length,
        );
        expect(runs.map(Number)).toEqual(expected);
      }),
      { numRuns: sampledRuns(150) },
    );
  });

  it.each(NIGHTS)('runs once each day in %s around %s, at any minute of the day', (zone, eve) => {
    const from = new Date(Date.parse(eve) - DAY_MS);
    const show = clock(zone);
    for (let minute = 0; minute < 1_440; minute += 30) {
      const runs = nextRuns(cron(`${minute % 60} ${Math.floor(minute / 60)} * * *`, zone), from, 5);
      const steps = runs.slice(1).map((run, index) => (run.getTime() - runs[index]!.getTime()) / HOUR_MS);
      const shown = runs.map((run) => show(run.getTime())).join();
      expect(
        steps.every((step) => step >= 22.5 && step <= 25.5),
        `minute ${minute} runs at ${shown}`,
      ).toBe(true);
    }
  });

  it.each([
    ['Europe/Paris', '30 2 * * *', '2025-03-29T12:00', ['2025-03-30T01:00', '2025-03-31T00:30']],
    ['Europe/Paris', '30 2 * * *', '2025-10-25T12:00', ['2025-10-26T00:30', '2025-10-27T01:30']],
    [
      'Europe/Paris',
      '0,30 2,3 * * *',
      '2025-03-29T12:00',
      ['2025-03-30T01:00', '2025-03-30T01:30', '2025-03-31T00:00'],
    ],
    ['Africa/Cairo', '0 0 * * *', '2025-04-24T12:00', ['2025-04-24T22:00', '2025-04-25T21:00']],
    ['Africa/Cairo', '30 23 * * *', '2025-10-30T12:00', ['2025-10-30T20:30', '2025-10-31T21:30']],
    ['Australia/Lord_Howe', '15 2 * * *', '2025-10-04T12:00', ['2025-10-04T15:30', '2025-10-05T15:15']],
    ['Australia/Lord_Howe', '45 1 * * *', '2025-04-05T12:00', ['2025-04-05T14:45', '2025-04-06T15:15']],
    ['America/New_York', '30 2 * * *', '2025-03-08T12:00', ['2025-03-09T07:00', '2025-03-10T06:30']],
    ['America/New_York', '30 1 * * *', '2025-11-01T12:00', ['2025-11-02T05:30', '2025-11-03T06:30']],
    ['America/Nuuk', '30 23 * * *', '2025-03-29T12:00', ['2025-03-30T01:00', '2025-03-31T00:30']],
  ])('in %s, %s after %s, runs at %j', (zone, fields, after, expected) => {
    expect(texts(nextRuns(cron(fields, zone), new Date(`${after}Z`), expected.length))).toEqual(expected);
  });
});

describe('a cron that follows the clocks', () => {
  const fields = fc.constantFrom(
    '0 * * * *',
    '*/15 * * * *',
    '45 * * * *',
    '* 2 * * *',
    '*/20 1-3 * * *',
    '0 */2 * * *',
    '10,50 */1 * * *',
  );

  it('runs at each minute at which they show one of its times', () => {
    const matches = (text: string, shown: string) => {
      const [minute, hour] = text.split(' ');
      const time = { hour: Number(shown.slice(11, 13)), minute: Number(shown.slice(14)) };
      return matchesField(minute!, time.minute) && matchesField(hour!, time.hour);
    };
    fc.assert(
      fc.property(nights, fields, (night, text) => {
        const expected = minutesOf(night)
          .filter(({ shown }) => matches(text, shown))
          .map(({ instant }) => instant);
        const runs = nextRuns(cron(text, night.zone), new Date(night.from.getTime() - 1), expected.length);
        expect(runs.map(Number)).toEqual(expected);
      }),
      { numRuns: sampledRuns(100) },
    );
  });

  it.each(NIGHTS.filter(([zone]) => zone !== 'Australia/Lord_Howe' && zone !== 'Asia/Kolkata'))(
    'runs each hour in %s after %s, if hourly',
    (zone, eve) => {
      const from = new Date(eve);
      const expected = Array.from({ length: 60 }, (_, hour) => new Date(from.getTime() + (hour + 1) * HOUR_MS));
      expect(nextRuns(cron('@hourly', zone), from, 60)).toEqual(expected);
    },
  );

  it('runs each hour that its clocks show, where they change by half of one', () => {
    const at = (after: string) => texts(nextRuns(cron('0 * * * *', 'Australia/Lord_Howe'), new Date(after), 3));
    expect(at('2025-10-04T14:00:00Z')).toEqual(['2025-10-04T14:30', '2025-10-04T16:00', '2025-10-04T17:00']);
    expect(at('2025-04-05T13:30:00Z')).toEqual(['2025-04-05T14:00', '2025-04-05T15:30', '2025-04-05T16:30']);
  });
});

// Of stars, steps of a star, one range, and lists only.
function matchesField(field: string, value: number): boolean {
  if (field.startsWith('*/')) return value % Number(field.slice(2)) === 0;
  const [from, until] = field.split('-').map(Number);
  return (
    field === '*' ||
    (until === undefined ? field.split(',').map(Number).includes(value) : value >= from! && value <= until)
  );
}

const schedules: fc.Arbitrary<SyncSchedule> = fc.oneof(
  fc.integer({ min: 1, max: 10_080 }).map(every),
  fc
    .record({
      fields: fc.constantFrom(
        '* * * * *',
        '7 * * * *',
        '0 0 * * *',
        '30 2 * * *',
        '0 2,3 * * *',
        '*/7 1-4 * * 1-5',
        '0 0 L * *',
        '0 12 29 2 *',
        '5 4 1 * MON',
        '@weekly',
        '@monthly',
        '@yearly',
        '59 23 * * FRI#2',
        '0 6 15W * *',
      ),
      zone: fc.constantFrom(...NIGHTS.map(([zone]) => zone)),
    })
    .map(({ fields, zone }) => cron(fields, zone)),
);
const instants = fc.date({ min: new Date('1990-01-01'), max: new Date('2060-01-01'), noInvalidDate: true });

describe('the next runs of any schedule', () => {
  it('come after the instant, each later than the one before, at whole minutes', () => {
    fc.assert(
      fc.property(schedules, instants, (schedule, after) => {
        const runs = nextRuns(schedule, after, 30);
        expect(runs).toHaveLength(30);
        expect(runs.every((run, index) => run > (runs[index - 1] ?? after))).toBe(true);
        expect(runs.every((run) => run.getTime() % MINUTE_MS === 0)).toBe(true);
      }),
      { numRuns: sampledRuns(300) },
    );
  });

  it('are the same from wherever one begins', () => {
    fc.assert(
      fc.property(schedules, instants, fc.nat(20), (schedule, after, skipped) => {
        const runs = nextRuns(schedule, after, 30);
        expect(nextRuns(schedule, runs[skipped]!, 29 - skipped)).toEqual(runs.slice(skipped + 1));
        expect(nextRuns(schedule, new Date(runs[skipped]!.getTime() - 1), 1)).toEqual([runs[skipped]]);
      }),
      { numRuns: sampledRuns(300) },
    );
  });

  it('are counted between two instants, the first left out and the last counted in, up to a limit', () => {
    fc.assert(
      fc.property(schedules, instants, fc.integer({ min: 1, max: 20 }), (schedule, after, most) => {
        const runs = nextRuns(schedule, after, 10);
        const last = runs[9]!;
        expect(runsBetween(schedule, after, last, most)).toBe(Math.min(10, most));
        expect(runsBetween(schedule, after, new Date(last.getTime() - 1), most)).toBe(Math.min(9, most));
        expect(runsBetween(schedule, runs[0]!, last, most)).toBe(Math.min(9, most));
        expect(runsBetween(schedule, last, after, most)).toBe(0);
      }),
      { numRuns: sampledRuns(200) },
    );
  });

  it('may be none', () => {
    expect(nextRuns(every(5), new Date(0), 0)).toEqual([]);
    expect(runsBetween(every(5), new Date(0), new Date(), 0)).toBe(0);
  });
});

describe('an interval', () => {
  it('runs at its multiples since 1970, however often it is edited', () => {
    expect(texts(nextRuns(every(15), new Date('2026-03-01T10:07:31Z'), 2))).toEqual([
      '2026-03-01T10:15',
      '2026-03-01T10:30',
    ]);
    expect(texts(nextRuns(every(1_440), new Date('2026-03-01T00:00:00Z'), 1))).toEqual(['2026-03-02T00:00']);
    expect(texts(nextRuns(every(10_080), new Date('2026-03-01T00:00:00Z'), 1))).toEqual(['2026-03-05T00:00']);
  });
});

describe('a cron of days', () => {
  it.each([
    ['0 0 L * *', ['2026-01-31T00:00', '2026-02-28T00:00']],
    ['0 0 * * FRI#2', ['2026-01-09T00:00', '2026-02-13T00:00']],
    ['0 0 * * FRIL', ['2026-01-30T00:00', '2026-02-27T00:00']],
    ['0 0 15W * *', ['2026-01-15T00:00', '2026-02-16T00:00']],
    ['0 0 13 * FRI', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-13T00:00', '2026-01-16T00:00']],
    ['0 0 * * 0', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['0 0 * * 7', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['@weekly', ['2026-01-04T00:00', '2026-01-11T00:00']],
    ['@monthly', ['2026-02-01T00:00', '2026-03-01T00:00']],
    ['@annually', ['2027-01-01T00:00', '2028-01-01T00:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00']],
  ])('%s runs on %j', (fields, expected) => {
    expect(texts(nextRuns(cron(fields), new Date('2026-01-01T00:00:00Z'), expected.length))).toEqual(expected);
  });
});

describe('a schedule is refused', () => {
  it.each([
    ['', 'five fields'],
    ['* * * *', 'five fields'],
    ['0 * * * * *', 'five fields'],
    ['0 0 1 1 * 2030', 'five fields'],
    ['@reboot', '@hourly'],
    ['@dayly', '@hourly'],
    ['@daily @daily', '@hourly'],
    ['constructor', 'five fields'],
    ['60 * * * *', "the minute can't be 60: it takes 0 to 59"],
    ['x * * * *', 'the minute'],
    ['*/0 * * * *', 'the minute'],
    ['5/5 * * * *', 'the minute'],
    ['1,,2 * * * *', 'the minute'],
    ['? * * * *', 'the minute'],
    ['22-2 * * * *', 'the minute'],
    ['٣ * * * *', 'the minute'],
    ['-5 * * * *', 'the minute'],
    ['1.5 * * * *', 'the minute'],
    ['L * * * *', 'the minute'],
    ['0 24 * * *', "the hour can't be 24: it takes 0 to 23"],
    ['0 0 0 * *', 'the day of the month'],
    ['0 0 32 * *', 'the day of the month'],
    ['0 0 * 13 *', "the month can't be 13: it takes 1 to 12"],
    ['0 0 * MAI *', 'the month'],
    ['0 0 * * 8', 'the day of the week'],
    ['0 0 * * +MON', 'the day of the week'],
    ['0 0 * * MONDAY', 'the day of the week'],
    ['0 0 * * FRI#6', 'the day of the week'],
    ['0 0 30 2 *', 'never comes'],
    ['0 0 31 4,6,9,11 *', 'never comes'],
    ['0 0 31W 2 *', 'never comes'],
    [`${'0,'.repeat(200)}0 * * * *`, '256 characters'],
    ['* '.repeat(100_000), '256 characters'],
  ])('with the cron %j: %s', (fields, message) => {
    expect(scheduleError(cron(fields))).toEqual({
      element: 'schedule.cron',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each(['Europe/Atlantis', '+02:00', 'CET', ''])('in the zone %j', (zone) => {
    const message = expect.stringContaining('Europe/Paris') as string;
    expect(scheduleError(cron('0 3 * * *', zone))).toEqual({ element: 'schedule.zone', message });
  });

  it.each([0, -1, 10_081, 1.5, NaN, Infinity])('every %d minutes', (everyMinutes) => {
    expect(scheduleError(every(everyMinutes))).toMatchObject({ element: 'schedule.every_minutes' });
  });

  it.each<[SyncSchedule, string]>([
    [{ everyMinutes: 1, jitterSeconds: 60 }, '0 to 59, less than the distance between two runs'],
    [{ everyMinutes: 60, jitterSeconds: 3_600 }, '0 to 3599, less than the distance between two runs'],
    [{ everyMinutes: 61, jitterSeconds: 3_601 }, '0 to 3600'],
    [{ everyMinutes: 61, jitterSeconds: -1 }, '0 to 3600'],
    [{ everyMinutes: 61, jitterSeconds: 0.5 }, '0 to 3600'],
    [{ cron: '* * * * *', zone: 'UTC', jitterSeconds: 60 }, '0 to 59, less than the distance between two runs'],
    [
      { cron: '0,20 9,17 * * MON', zone: 'UTC', jitterSeconds: 1_200 },
      '0 to 1199, less than the distance between two runs',
    ],
    [{ cron: '5 0 * * *', zone: 'UTC', jitterSeconds: 3_601 }, '0 to 3600'],
    [{ cron: '5,55 0,23 * * *', zone: 'UTC', jitterSeconds: 600 }, '0 to 599, less than the distance between two runs'],
  ])('with too much jitter: %j', (schedule, message) => {
    expect(scheduleError(schedule)).toEqual({
      element: 'schedule.jitter_seconds',
      message: `takes whole seconds, ${message}`,
    });
  });
});

describe('a schedule is accepted', () => {
  it.each([
    '* * * * *',
    '0 3 * * *',
    '*/5 * * * *',
    '1-9/2 * * * *',
    '0,30 8-18 * * MON-FRI',
    '0 0 L * *',
    '0 0 LW * *',
    '0 0 15W * *',
    '0 0 1 JAN,jul *',
    '0 0 * * SUN',
    '0 0 * * 7',
    '0 0 * * FRI#2',
    '0 0 29 2 *',
    '0 0 31 2 MON',
    ' 0  3\t* * * ',
    '@yearly',
    '@annually',
    '@monthly',
    '@weekly',
    '@daily',
    '@midnight',
    '@hourly',
    '@Daily',
  ])('with the cron %j', (fields) => {
    expect(scheduleError(cron(fields, 'Europe/Paris'))).toBeUndefined();
    expect(nextRuns(cron(fields, 'Europe/Paris'), new Date('2026-01-01T00:00:00Z'), 3)).toHaveLength(3);
  });

  it.each<SyncSchedule>([
    { everyMinutes: 1, jitterSeconds: 59 },
    { everyMinutes: 10_080, jitterSeconds: 3_600 },
    { cron: '* * * * *', zone: 'UTC', jitterSeconds: 59 },
    { cron: '0 3 * * *', zone: 'Asia/Kolkata', jitterSeconds: 3_600 },
  ])('with jitter: %j', (schedule) => {
    expect(scheduleError(schedule)).toBeUndefined();
  });
});
