import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exportSchedule, lastMidnight, latestDue } from '../../../domain/exports/export-schedule.ts';
import { nextRuns } from '../../../domain/syncs/sync-schedule.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * With changes of clocks at night, at midnight, by half an hour, or of a whole day; and offsets that are no whole
 * hours.
 */
const ZONES = [
  'UTC',
  'Europe/Paris',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'America/Asuncion',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Scoresbysund',
  'America/St_Johns',
  'Atlantic/Azores',
];

const zone = fc.constantFrom(...ZONES);
const instant = fc
  .date({ min: new Date('2005-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  .map((date) => new Date(Math.floor(date.getTime() / 1000) * 1000));

/** What the clocks of a zone show, as Intl says it. */
function shown(at: Date, timeZone: string): { day: string; time: string } {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at);
  const of = (type: string) => parts.find((part) => part.type === type)!.value;
  return { day: `${of('year')}-${of('month')}-${of('day')}`, time: `${of('hour')}:${of('minute')}:${of('second')}` };
}

describe('the schedule of an exporter', () => {
  test('comes once each local day between 00:05 and 05:59, also where clocks change', () => {
    fc.assert(
      fc.property(fc.string(), zone, instant, (identifier, timeZone, after) => {
        const runs = nextRuns(exportSchedule(identifier, timeZone), after, 8);
        const days = runs.map((run) => shown(run, timeZone).day);
        expect(new Set(days).size).toBe(runs.length);
        for (const [index, run] of runs.entries()) {
          const { time } = shown(run, timeZone);
          expect(time >= '00:05:00' && time <= '06:59:00').toBe(true); // where the clocks leave it out, behind the gap
          if (index > 0) expect((run.getTime() - runs[index - 1]!.getTime()) / HOUR).toBeLessThanOrEqual(49);
        }
      }),
      { numRuns: sampledRuns(60) },
    );
  });

  test('is the same for the same exporter, and spread over the night for many', () => {
    const crons = Array.from({ length: 1_000 }, (_, number) => exportSchedule(`exp_${number}`, 'UTC').cron);
    expect(exportSchedule('exp_7', 'UTC')).toEqual({ cron: crons[7], zone: 'UTC', jitterSeconds: 0 });
    expect(new Set(crons).size).toBeGreaterThan(250);
    expect(new Set(crons.map((cron) => cron.split(' ')[1]))).toEqual(new Set(['0', '1', '2', '3', '4', '5']));
  });

  test('has the last time that has come stand for those before it', () => {
    fc.assert(
      fc.property(fc.string(), zone, instant, fc.nat({ max: 9 }), (identifier, timeZone, from, waited) => {
        const schedule = exportSchedule(identifier, timeZone);
        const runs = nextRuns(schedule, from, 10);
        const now = new Date(runs[waited]!.getTime() + 1_000);
        for (const due of runs.slice(0, waited + 1)) expect(latestDue(schedule, due, now)).toEqual(runs[waited]);
        const early = new Date(now.getTime() + HOUR / 2);
        expect(latestDue(schedule, early, now)).toEqual(early);
      }),
      { numRuns: sampledRuns(60) },
    );
  });
});

describe('the last midnight', () => {
  test('is the first instant of a local day, at or before, and the last one that is', () => {
    fc.assert(
      fc.property(zone, instant, (timeZone, at) => {
        const midnight = lastMidnight(timeZone, at);
        expect(midnight <= at).toBe(true);
        expect(at.getTime() - midnight.getTime()).toBeLessThanOrEqual(26 * HOUR);
        const before = shown(new Date(midnight.getTime() - 1_000), timeZone);
        expect(shown(midnight, timeZone).day > before.day).toBe(true);
        expect(lastMidnight(timeZone, midnight)).toEqual(midnight);
        expect(lastMidnight(timeZone, new Date(midnight.getTime() - 1)) < midnight).toBe(true);
      }),
    );
  });

  test('never goes back as time goes on', () => {
    fc.assert(
      fc.property(zone, instant, fc.nat({ max: 3 * DAY }), (timeZone, at, later) => {
        expect(lastMidnight(timeZone, new Date(at.getTime() + later)) >= lastMidnight(timeZone, at)).toBe(true);
      }),
    );
  });

  test.each([
    ['a day of 23 hours', 'Europe/Paris', '2026-03-30T03:00:00Z', '2026-03-29T22:00:00Z', 23],
    ['a day of 25 hours', 'Europe/Paris', '2026-10-26T03:00:00Z', '2026-10-25T23:00:00Z', 25],
    ['no midnight: the day begins at one', 'Africa/Cairo', '2026-04-24T03:00:00Z', '2026-04-23T22:00:00Z', 24],
    ['no midnight', 'America/Sao_Paulo', '2018-11-04T12:00:00Z', '2018-11-04T03:00:00Z', 24],
    ['two midnights: the first', 'America/Havana', '2026-11-01T12:00:00Z', '2026-11-01T04:00:00Z', 24],
    ['a day that nobody had', 'Pacific/Apia', '2011-12-30T12:00:00Z', '2011-12-30T10:00:00Z', 24],
  ])('of %s', (_, timeZone, at, midnight, hours) => {
    const found = lastMidnight(timeZone, new Date(at));
    expect(found).toEqual(new Date(midnight));
    expect((found.getTime() - lastMidnight(timeZone, new Date(found.getTime() - 1)).getTime()) / HOUR).toBe(hours);
  });
});
