import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isUnwanted, newestLiveStatus, newestStatus } from '../../../domain/apps/app-statuses.ts';

const status = fc.record({
  cdate: fc.nat(1_000),
  state: fc.constantFrom('live', 'inactive', 'removedFromSale', 'prepareForSubmission'),
  version_number: fc.string(),
});
const statuses = fc.uniqueArray(status, { selector: ({ cdate }) => cdate });

describe('the newest status', () => {
  test('is the same in whatever order they stand', () => {
    fc.assert(
      fc.property(statuses, (given) => {
        const sorted = given.toSorted((a, b) => a.cdate - b.cdate);
        expect(newestStatus(given)).toEqual(sorted.at(-1) ?? null);
        expect(newestLiveStatus(given)).toEqual(sorted.findLast(({ state }) => state === 'live') ?? null);
      }),
    );
  });

  test('of two from one second is the later in the list', () => {
    const at = (version_number: string) => ({ cdate: 1, state: 'live', version_number });
    expect(newestStatus([at('1'), at('2')])).toEqual(at('2'));
  });

  test('alone decides whether an app is unwanted', () => {
    fc.assert(
      fc.property(statuses, status, (given, last) => {
        const newest = { ...last, cdate: 2_000 };
        expect(isUnwanted([newest, ...given])).toBe(['inactive', 'removedFromSale'].includes(last.state));
      }),
    );
    expect(isUnwanted([])).toBe(false);
  });
});
