import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timestamp } from '../../../store/tracking/app-call.ts';

test('a time is written in ISO 8601, whatever was written before it', () => {
  const instant = fc.oneof(fc.date({ noInvalidDate: true }).map(Number), fc.integer({ min: -120_000, max: 120_000 }));
  fc.assert(
    fc.property(fc.array(instant), (instants) => {
      for (const ms of instants) expect(timestamp(ms)).toBe(new Date(ms).toISOString());
    }),
  );
});
