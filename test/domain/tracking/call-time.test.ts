import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { BY, DAY_MS, read, RECEIVED_AT, refusal } from './any-call.ts';

const iso = (ms: number) => new Date(ms).toISOString();
const call = (times: object) => ({ type: 'track', event: 'Bought', userId: 'ada', ...times });
const happenedAt = (times: object, sentAt: number | null = null) => read(call(times), { sentAt }).happenedAt;

describe('when a call happened', () => {
  it('does not hang on what the device has for a clock', () => {
    const age = fc.integer({ min: 0, max: 300 * DAY_MS });
    const wrongBy = fc.integer({ min: -20 * 365 * DAY_MS, max: 20 * 365 * DAY_MS });
    fc.assert(
      fc.property(age, wrongBy, fc.integer({ min: 0, max: 60_000 }), fc.boolean(), (ms, skew, underway, isOriginal) => {
        const sent = RECEIVED_AT - underway + skew;
        const timestamp = iso(sent - ms);
        const times = isOriginal ? { originalTimestamp: timestamp, timestamp: iso(0) } : { timestamp };
        // A clock that differs by no more than a request may take is right.
        const expected = Math.abs(RECEIVED_AT - sent) <= 60_000 ? Math.min(sent - ms, RECEIVED_AT) : RECEIVED_AT - ms;
        expect(happenedAt(times, sent)).toBe(expected);
        expect(happenedAt({ ...times, sentAt: iso(sent) }, 5)).toBe(expected);
      }),
    );
  });

  it('keeps the order of a device whose requests take more or less time', () => {
    const underWay = fc.integer({ min: 0, max: 59_000 });
    fc.assert(
      fc.property(underWay, underWay, fc.integer({ min: 0, max: 5_000 }), (first, second, gap) => {
        // Sent as soon as it happens; received so much later.
        const received = (at: number, later: number) =>
          read(call({ timestamp: iso(at) }), { sentAt: at, receivedAt: at + later }).happenedAt;
        expect(received(RECEIVED_AT, first)).toBeLessThanOrEqual(received(RECEIVED_AT + gap, second));
      }),
    );
  });

  it('is its timestamp where it was sent before it happened: a batch that is sent again with its first time', () => {
    const hour = 3_600_000;
    expect(happenedAt({ timestamp: iso(RECEIVED_AT - hour) }, RECEIVED_AT - 2 * hour)).toBe(RECEIVED_AT - hour);
    expect(happenedAt({ timestamp: iso(RECEIVED_AT - hour) }, RECEIVED_AT - 40 * 24 * hour)).toBe(RECEIVED_AT - hour);
    expect(happenedAt({ timestamp: iso(RECEIVED_AT - hour), sentAt: iso(RECEIVED_AT - 3 * hour) })).toBe(
      RECEIVED_AT - hour,
    );
    // Whole seconds of sentAt; the clock is five hours behind.
    expect(happenedAt({ timestamp: iso(RECEIVED_AT - 5 * hour + 999) }, RECEIVED_AT - 5 * hour)).toBe(RECEIVED_AT);
  });

  it('is never after its receipt', () => {
    for (const sentAt of [null, RECEIVED_AT + 1_000, RECEIVED_AT - 3_600_000]) {
      expect(happenedAt({ timestamp: iso(RECEIVED_AT + 20 * 3_600_000) }, sentAt)).toBe(RECEIVED_AT);
    }
  });

  it('is the timestamp of an import as it stands, whatever its clock', () => {
    const [then, shown] = [RECEIVED_AT - 30 * DAY_MS, RECEIVED_AT - 31 * DAY_MS];
    const imported = (times: object) => read(call(times), { sentAt: then, isImport: true }).happenedAt;
    expect(imported({ timestamp: iso(then), sentAt: iso(then) })).toBe(then);
    expect(imported({ timestamp: iso(then), originalTimestamp: iso(shown) })).toBe(then);
    expect(imported({ originalTimestamp: iso(shown), sentAt: iso(then) })).toBe(shown);
    expect(refusal(call({ timestamp: '1447-09-12T10:00:00Z' }), { isImport: true })).toMatchObject({ code: 'invalid' });
    for (const times of [{}, { timestamp: null, sentAt: iso(then) }]) {
      expect(refusal(call(times), { isImport: true })).toMatchObject({
        code: 'invalid',
        message: 'timestamp: must stand in a call of /v1/import',
      });
    }
    expect(refusal(call({ timestamp: iso(BY.newest + 1) }), { isImport: true }).message).not.toContain('sentAt');
  });

  it('is its timestamp where nobody tells when it was sent, and now where there is none', () => {
    expect(happenedAt({ timestamp: iso(RECEIVED_AT - 5) })).toBe(RECEIVED_AT - 5);
    expect(happenedAt({})).toBe(RECEIVED_AT);
    expect(happenedAt({ timestamp: null, sentAt: iso(0) })).toBe(RECEIVED_AT);
  });

  it.each([
    ['2026-02-28T23:00:00.123456789Z', '2026-02-28T23:00:00.123Z'],
    ['2026-02-28T23:00:00+0100', '2026-02-28T22:00:00.000Z'],
    ['2026-02-28 23:00:00', '2026-02-28T23:00:00.000Z'],
    ['2026-02-28', '2026-02-28T00:00:00.000Z'],
    // Digits of other scripts.
    ['٢٠٢٦-٠٢-٢٨T١٠:٤٨:٢٩.٥Z', '2026-02-28T10:48:29.500Z'],
    ['۲۰۲۶-۰۲-۲۸T۱۰:۴۸:۲۹٫۱۲۳Z', '2026-02-28T10:48:29.123Z'],
    ['२०२६-०२-२८T१०:४८:२९Z', '2026-02-28T10:48:29.000Z'],
    ['๒๕๖๙-๐๒-๒๘T๑๐:๔๘:๒๙.๐๐๐Z', '2026-02-28T10:48:29.000Z'],
    ['\u200f٢٠٢٦/٠٢/٢٨ ١٠:٤٨:٢٩', '2026-02-28T10:48:29.000Z'],
    // Twelve hours.
    ['2026-02-28T3:04:05 PM.123Z', '2026-02-28T15:04:05.123Z'],
    ['2026-02-28T12:04:05.123 AMZ', '2026-02-28T00:04:05.123Z'],
    ['2026-02-28T12:04:05 p.m. +0100', '2026-02-28T11:04:05.000Z'],
    ['2026-02-28 下午3:04:05', '2026-02-28T15:04:05.000Z'],
    ['2026-02-28T오전 9:04:05.000Z', '2026-02-28T09:04:05.000Z'],
    ['٢٠٢٦-٠٢-٢٨T٣:٠٤:٠٥ م.١٢٣Z', '2026-02-28T15:04:05.123Z'],
    ['2026-02-28T23.15.24Z', '2026-02-28T23:15:24.000Z'],
    // Calendars whose years say which they are: Buddhist, with a 29th of February that no Gregorian 2567 has, and
    // Persian.
    ['2569-02-28T10:48:29.000Z', '2026-02-28T10:48:29.000Z'],
    ['2568-02-28T10:48:29.000+07:00', '2025-02-28T03:48:29.000Z'],
    ['1404-12-09T10:48:29.000Z', '2026-02-28T10:48:29.000Z'],
    ['۱۴۰۴-۰۱-۰۱T۰۰:۳۰:۰۰.۰۰۰+03:30', '2025-03-20T21:00:00.000Z'],
  ])('may be written %s', (timestamp, expected) => {
    expect(iso(happenedAt({ timestamp }))).toBe(expected);
  });
});

test.each([
  '1447-09-11T10:48:29.000Z',
  '٠٨-٠٢-٢٨T١٠:٤٨:٢٩.٠٠٠Z',
  '0008-02-28T10:48:29Z',
  '115-02-28 10:48:29',
  '1947-12-09T10:48:29Z',
  '٢٨/٠٢/٢٠٢٦ ١٠:٤٨',
  '2026-02-28T15:04:05 AM.123Z',
  '2018-13-05 下午3:04',
  '0001-01-01T00:00:00Z',
  '1404-12-31T00:00:00Z',
])('a call of %s happened when it was received, and says so', (timestamp) => {
  expect(read(call({ timestamp, sentAt: iso(RECEIVED_AT - 4_000_000) }))).toMatchObject({
    happenedAt: RECEIVED_AT,
    note: 'timestamp: is of another calendar; the time of receipt counts',
  });
  // One that says when it was sent says nothing of the clock.
  expect(read(call({ timestamp: iso(RECEIVED_AT - 5), sentAt: timestamp }))).toMatchObject({
    happenedAt: RECEIVED_AT - 5,
    note: null,
  });
});

test('times at the edges of what is kept are taken, those beyond are refused', () => {
  const at = (ms: number) => call({ timestamp: iso(ms) });
  expect(read(at(BY.oldest)).happenedAt).toBe(BY.oldest);
  expect(read(at(BY.newest)).happenedAt).toBe(RECEIVED_AT);
  expect(refusal(at(BY.oldest - 1))).toMatchObject({ code: 'too_old' });
  expect(refusal(at(BY.newest + 1))).toMatchObject({ code: 'in_the_future' });
});
