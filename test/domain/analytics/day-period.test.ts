import fc from 'fast-check';
import { expect, it } from 'vitest';
import { daysOf, lastDays, lastDaysOfPreviousMonth, readDayPeriod } from '../../../domain/analytics/day-period.ts';
import { DAY_SECONDS } from '../../../domain/time/durations.ts';

const shown = ({ from, until }: { from: Date; until: Date }) => [
  from.toISOString().slice(0, 10),
  until.toISOString().slice(0, 10),
];

it('a period has each of its days once, the first and the last included', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 0, max: 730 }), (first, more) => {
      const [sd, ed] = [first * DAY_SECONDS, (first + more) * DAY_SECONDS];
      const days = [...daysOf(readDayPeriod({ sd: String(sd), ed: String(ed) })!)];
      expect(days.map(({ from }) => from.getTime() / 1_000)).toEqual(
        Array.from({ length: more + 1 }, (_, at) => sd + at * DAY_SECONDS),
      );
      expect(days.every(({ from, until }) => until.getTime() - from.getTime() === DAY_SECONDS * 1_000)).toBe(true);
    }),
  );
});

it('without days, a file of events has the last six, and one of their details the last six of the month before', () => {
  expect(shown(lastDays(new Date('2026-11-24T23:59:59.999Z')))).toEqual(['2026-11-19', '2026-11-25']);
  expect(shown(lastDays(new Date('2026-11-25T00:00:00Z')))).toEqual(['2026-11-20', '2026-11-26']);
  expect(shown(lastDaysOfPreviousMonth(new Date('2026-11-24T10:00:00Z')))).toEqual(['2026-10-26', '2026-11-01']);
  expect(shown(lastDaysOfPreviousMonth(new Date('2026-01-31T23:59:59Z')))).toEqual(['2025-12-26', '2026-01-01']);
});
