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
    fc.assert(fc.property(age, wrongBy, fc.integer({ min: 0, max: 60_000 }), fc.boolean(), (ms, skew, underway, isOriginal) => {
      const sent = RECEIVED_AT - underway + skew;
      const timestamp = iso(sent - ms);
      const times = isOriginal ? { originalTimestamp: timestamp, timestamp: iso(0) } : { timestamp };
      expect(happenedAt(times, sent)).toBe(RECEIVED_AT - ms);
      expect(happenedAt({ ...times, sentAt: iso(sent) }, 5)).toBe(RECEIVED_AT - ms);
    }));
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
  ])('may be written %s', (timestamp, expected) => {
    expect(iso(happenedAt({ timestamp }))).toBe(expected);
  });
});

test('times at the edges of what is kept are taken, those beyond are refused', () => {
  const at = (ms: number) => call({ timestamp: iso(ms) });
  expect(read(at(BY.oldest)).happenedAt).toBe(BY.oldest);
  expect(read(at(BY.newest)).happenedAt).toBe(BY.newest);
  expect(refusal(at(BY.oldest - 1))).toMatchObject({ code: 'too_old' });
  expect(refusal(at(BY.newest + 1))).toMatchObject({ code: 'in_the_future' });
});
