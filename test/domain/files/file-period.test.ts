import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dayOf, daysOf, lastDayOfPreviousMonth, momentsOf, periodOr, requiredPeriod, singleDays,
} from '../../../domain/files/file-period.ts';

const DAY = 86_400;
const seconds = (date: string): number => Date.parse(date) / 1000;
const NOW = new Date('2026-11-24T02:50:00Z');
const day = fc.integer({ min: 0, max: 30_000 }).map((days) => days * DAY);

describe('the days of a file', () => {
  it('are those from sd to ed, both included', () => {
    fc.assert(fc.property(day, fc.integer({ min: 0, max: 3_659 }), (firstDay, more) => {
      const period = requiredPeriod(String(firstDay), String(firstDay + more * DAY));
      const { from, until } = momentsOf(period);
      expect([from.getTime() / 1000, until.getTime() / 1000]).toEqual([firstDay, firstDay + (more + 1) * DAY]);
      expect([...singleDays(period)].map((single) => single.firstDay)).toEqual(
        Array.from({ length: daysOf(period) }, (_, at) => firstDay + at * DAY));
    }));
  });

  it.each([undefined, ''])('must be given: %o', (missing) => {
    const refusal = (sd: string | undefined, ed: string | undefined) => {
      try {
        return requiredPeriod(sd, ed);
      } catch (error) {
        return error;
      }
    };
    expect(refusal(missing, '0')).toMatchObject({ http: 404, status: 400, message: 'Missing start date' });
    expect(refusal('0', missing)).toMatchObject({ http: 404, status: 400, message: 'Missing end date' });
    expect(refusal(missing, missing)).toMatchObject({ http: 404, status: 400, message: 'Missing start date' });
  });

  it.each([
    ['1767225601', '1767225600', 'sd: must be a midnight in UTC: 1767225600 or 1767312000'],
    ['1767225600', '1767225600.5', 'ed: must be a midnight in UTC as seconds since 1970, such as 1767225600'],
    ['2026-01-01', '1767225600', 'sd: must be a midnight in UTC as seconds since 1970, such as 1767225600'],
    ['1767225600', '999999993600', 'ed: must be a midnight in UTC as seconds since 1970, such as 1767225600'],
    ['1767312000', '1767225600', 'ed: must not lie before sd'],
    ['0', '1767225600', 'ed: must lie within 3,660 days of sd'],
  ])('%s to %s are refused', (sd, ed, message) => {
    expect(() => requiredPeriod(sd, ed)).toThrow(message);
  });

  it('are six where neither is given: up to today, or up to the end of the month before', () => {
    expect(periodOr(dayOf(NOW), undefined, undefined)).toEqual({ firstDay: seconds('2026-11-19'), lastDay: seconds('2026-11-24') });
    expect(periodOr(lastDayOfPreviousMonth(NOW), undefined, '')).toEqual({ firstDay: seconds('2026-10-26'), lastDay: seconds('2026-10-31') });
    expect(lastDayOfPreviousMonth(new Date('2026-01-31T23:59:59Z'))).toBe(seconds('2025-12-31'));
    expect(() => periodOr(0, undefined, '0')).toThrow('Missing start date');
    expect(() => periodOr(0, '0', undefined)).toThrow('Missing end date');
  });
});
