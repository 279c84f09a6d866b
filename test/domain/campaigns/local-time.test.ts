import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { localMoment, zoneOf } from '../../../domain/campaigns/local-time.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { walkedClock, zoneAndMoment, ZONES } from './walked-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the zone of a device', () => {
  it.for<[string | null, number | null, string]>([
    ['Asia/Kolkata', 60, 'Asia/Kolkata'],
    ['Asia/Calcutta', 60, 'Asia/Calcutta'],
    ['UTC', null, 'UTC'],
    ['Etc/GMT+5', null, 'Etc/GMT+5'],
    [null, 330, '+05:30'],
    [null, 345, '+05:45'],
    [null, -210, '-03:30'],
    [null, 840, '+14:00'],
    [null, -5, '-00:05'],
    [null, 0, 'UTC'],
    ['Mars/Olympus', 120, '+02:00'],
    ['GMT+02:00', 120, '+02:00'],
    ['', 60, '+01:00'],
    [null, null, 'Europe/Paris'],
    ['Mars/Olympus', null, 'Europe/Paris'],
    [null, 900, 'Europe/Paris'],
    [null, -900, 'Europe/Paris'],
    [null, 19_800, 'Europe/Paris'],
    [null, 1.5, 'Europe/Paris'],
  ])('%s, %s minutes: %s', ([timezone, utcOffsetMinutes, zone]) => {
    expect(zoneOf({ timezone, utcOffsetMinutes }, 'Europe/Paris')).toBe(zone);
  });

  it('goes by its offset as its clock does', () => {
    fc.assert(
      fc.property(fc.integer({ min: -899, max: 899 }), (offset) => {
        const format = new Intl.DateTimeFormat('en', {
          timeZone: zoneOf({ timezone: null, utcOffsetMinutes: offset }, 'none'),
          dateStyle: 'short',
          timeStyle: 'short',
        });
        const utc = new Intl.DateTimeFormat('en', { timeZone: 'UTC', dateStyle: 'short', timeStyle: 'short' });
        expect(format.format(0)).toBe(utc.format(offset * MINUTE));
      }),
    );
  });
});

/**
 * A start whose time is shown in `zone` near `moment`, often where its clock changes; the launch lies within two days.
 */
const anySend = fc
  .record({
    place: zoneAndMoment,
    homeZone: fc.constantFrom(...ZONES),
    launchAfter: fc.integer({ min: -2 * DAY, max: 2 * DAY }),
  })
  .map(({ place: { zone, moment }, homeZone, launchAfter }) => {
    const start = walkedClock(homeZone).firstShowing(walkedClock(zone).shownAt(moment));
    return { zone, homeZone, start, launch: start + launchAfter };
  });

const momentOf = (start: number, homeZone: string, zone: string, launch: number) =>
  localMoment(new Date(start), homeZone, zone, new Date(launch)).getTime();

describe('a message at local time', () => {
  it('goes when the clock of its zone first shows the time, from the day of the start on, once it is launched', () => {
    fc.assert(
      fc.property(anySend, ({ zone, homeZone, start, launch }) => {
        const time = walkedClock(homeZone).shownAt(start);
        const isShownAtStart = walkedClock(zone).shownAt(start) === time;
        const moments = [0, 1, 2, 3, 4, 5].map((days) => walkedClock(zone).firstShowing(time + days * DAY));
        const expected = [...(isShownAtStart ? [start] : []), ...moments].find((moment) => moment >= launch);
        expect(momentOf(start, homeZone, zone, launch)).toBe(isShownAtStart && launch <= start ? start : expected);
      }),
      { numRuns: sampledRuns(300) },
    );
  });

  it('shows the hour of its home, unless the clock skips it; and waits for a day and a change of clocks at most', () => {
    fc.assert(
      fc.property(anySend, ({ zone, homeZone, start, launch }) => {
        const clock = walkedClock(zone);
        const at = momentOf(start, homeZone, zone, launch);
        const late = clock.shownAt(at) - walkedClock(homeZone).shownAt(start);
        const skipped = clock.shownAt(at) - clock.shownAt(at - 1) - 1;
        expect(at).toBeGreaterThanOrEqual(launch);
        if (skipped <= 0) expect(late % DAY).toBe(0);
        else expect(late % DAY).toBeLessThanOrEqual(skipped);
        const earliest = Math.max(launch, clock.firstShowing(walkedClock(homeZone).shownAt(start)));
        expect(at - earliest).toBeLessThanOrEqual((zone === 'Pacific/Apia' ? 2 * DAY : DAY) + HOUR);
      }),
      { numRuns: sampledRuns(200) },
    );
  });

  it('goes exactly at its start where clocks go as at home', () => {
    fc.assert(
      fc.property(zoneAndMoment, fc.integer({ min: 0, max: 3 * DAY }), ({ zone, moment }, early) => {
        expect(momentOf(moment, zone, zone, moment - early)).toBe(moment);
      }),
    );
  });

  it.for<[string, string, string, string, string, string]>([
    [
      'later in the west',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'America/New_York',
      '2026-05-31T00:00Z',
      '2026-06-01T13:00Z',
    ],
    [
      'earlier in the east',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'Asia/Kathmandu',
      '2026-05-31T00:00Z',
      '2026-06-01T03:15Z',
    ],
    [
      'a day later where it has passed',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'Asia/Kolkata',
      '2026-06-01T07:00Z',
      '2026-06-02T03:30Z',
    ],
    [
      'at the launch itself',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'Asia/Kolkata',
      '2026-06-01T03:30Z',
      '2026-06-01T03:30Z',
    ],
    [
      'a day later for 1 ms',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'Asia/Kolkata',
      '2026-06-01T03:30:00.001Z',
      '2026-06-02T03:30Z',
    ],
    [
      'long after the start',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'Asia/Kolkata',
      '2026-08-10T03:00Z',
      '2026-08-10T03:30Z',
    ],
    [
      'at a launch long after it',
      '2026-06-01T09:00+02:00',
      'Europe/Paris',
      'Asia/Kolkata',
      '2026-08-10T03:30Z',
      '2026-08-10T03:30Z',
    ],
    [
      'at a launch that ends a gap',
      '2026-03-28T02:30Z',
      'UTC',
      'Europe/Paris',
      '2026-03-29T01:00Z',
      '2026-03-29T01:00Z',
    ],
    ['after a gap', '2026-03-29T02:30Z', 'UTC', 'Europe/Paris', '2026-03-01T00:00Z', '2026-03-29T01:00Z'],
    [
      'after a gap of half an hour',
      '2026-10-04T02:15Z',
      'UTC',
      'Australia/Lord_Howe',
      '2026-10-01T00:00Z',
      '2026-10-03T15:30Z',
    ],
    ['at the first of two', '2026-10-25T02:30Z', 'UTC', 'Europe/Paris', '2026-10-01T00:00Z', '2026-10-25T00:30Z'],
    [
      'at the first, half an hour before',
      '2026-04-05T01:45Z',
      'UTC',
      'Australia/Lord_Howe',
      '2026-04-01T00:00Z',
      '2026-04-04T14:45Z',
    ],
    [
      'a day of 25 hours later',
      '2026-10-25T02:30Z',
      'UTC',
      'Europe/Paris',
      '2026-10-25T00:30:01Z',
      '2026-10-26T01:30Z',
    ],
    [
      'at a start that is the second',
      '2026-10-25T01:30Z',
      'Europe/Berlin',
      'Europe/Paris',
      '2026-10-25T01:30Z',
      '2026-10-25T01:30Z',
    ],
    [
      'after a day that was skipped',
      '2011-12-30T09:00Z',
      'UTC',
      'Pacific/Apia',
      '2011-12-01T00:00Z',
      '2011-12-30T10:00Z',
    ],
  ])('comes %s', ([, start, homeZone, zone, launch, at]) => {
    expect(localMoment(new Date(start), homeZone, zone, new Date(launch))).toEqual(new Date(at));
  });
});
