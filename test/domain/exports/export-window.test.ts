import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lastMidnight } from '../../../domain/exports/export-schedule.ts';
import { backfillWindow, daysError, exportFolder, windowName } from '../../../domain/exports/export-window.ts';

const NOW = new Date('2026-11-22T10:00:00Z');
const HOUR = 3_600_000;

test.each([
  ['2026-03-29', '2026-03-29', 'Europe/Paris', '2026-03-28T23:00:00Z', 23],
  ['2026-10-25', '2026-10-25', 'Europe/Paris', '2026-10-24T22:00:00Z', 25],
  ['2026-10-25', '2026-10-26', 'Europe/Paris', '2026-10-24T22:00:00Z', 49],
  ['2026-04-24', '2026-04-24', 'Africa/Cairo', '2026-04-23T22:00:00Z', 23],
  ['2024-02-29', '2024-02-29', 'UTC', '2024-02-29T00:00:00Z', 24],
])(
  'a backfill from %s to %s in %s begins at its first instant, and has all of its hours',
  (from, to, zone, start, hours) => {
    const window = backfillWindow({ from, to }, zone);
    expect(window).toMatchObject({ kind: 'happened', start: new Date(start) });
    expect((window.end.getTime() - window.start.getTime()) / HOUR).toBe(hours);
  },
);

test('backfills of days that follow each other meet, at midnights of daily windows', () => {
  const zones = fc.constantFrom(
    'Europe/Paris',
    'Africa/Cairo',
    'America/Havana',
    'America/Sao_Paulo',
    'Asia/Kathmandu',
  );
  const days = fc.integer({ min: Date.UTC(2010, 0, 1) / 86_400_000, max: Date.UTC(2026, 10, 20) / 86_400_000 });
  fc.assert(
    fc.property(zones, days, (zone, number) => {
      const [day, next] = [number, number + 1].map((of) => new Date(of * 86_400_000).toISOString().slice(0, 10)) as [
        string,
        string,
      ];
      const [window, following] = [
        backfillWindow({ from: day, to: day }, zone),
        backfillWindow({ from: next, to: next }, zone),
      ];
      expect(window.end).toEqual(following.start);
      expect(lastMidnight(zone, window.end)).toEqual(window.end);
    }),
  );
});

test.each([
  ['2026-11-1', '2026-11-02', 'from', 'such as'],
  ['2026-02-29', '2026-03-01', 'from', 'such as'],
  ['0000-01-01', '2026-01-01', 'from', 'such as'],
  ['2026-11-01', '2026-11-31', 'to', 'such as'],
  ['2026-11-02', '2026-11-01', 'to', 'before from'],
  ['2026-11-22', '2026-11-23', 'to', 'in the future: in UTC it is 2026-11-22'],
  ['2025-10-18', '2026-11-22', 'to', '400 days'],
])('a backfill from %s to %s is refused, and told why', (from, to, element, message) => {
  expect(daysError({ from, to }, 'UTC', NOW)).toEqual({ element, message: expect.stringContaining(message) });
});

test('a backfill may have 400 days, and end today by the clocks of the entity', () => {
  expect(daysError({ from: '2025-10-19', to: '2026-11-22' }, 'UTC', NOW)).toBeUndefined();
  expect(
    daysError({ from: '2026-11-23', to: '2026-11-23' }, 'Pacific/Kiritimati', new Date('2026-11-22T10:00:01Z')),
  ).toBeUndefined();
  expect(
    daysError({ from: '2026-11-22', to: '2026-11-22' }, 'America/New_York', new Date('2026-11-22T02:00:00Z')),
  ).toBeDefined();
});

test('windows have names that sort as they follow each other, without characters that tools choke on', () => {
  const [start, end] = [new Date('2026-11-19T23:00:00Z'), new Date('2026-11-20T23:00:00Z')];
  expect(windowName({ kind: 'received', start, end }, null)).toBe('2026-11-19T23-00-00Z_2026-11-20T23-00-00Z');
  expect(windowName({ kind: 'received', start: null, end }, null)).toBe('beginning_2026-11-20T23-00-00Z');
  expect(windowName({ kind: 'happened', start, end }, { from: '2026-11-20', to: '2026-11-20' })).toBe(
    'backfill/2026-11-20_2026-11-20',
  );
  expect(exportFolder({ subfolder: 'a/b', identifier: 'exp_1' }, 'w')).toBe('a/b/exp_1/w');
  expect(exportFolder({ subfolder: '', identifier: 'exp_1' }, 'w')).toBe('exp_1/w');
});
