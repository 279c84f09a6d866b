import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RIGHTS, withFlags } from '../../../domain/accounts/rights.ts';

describe('rights', () => {
  it('change by the flags that are set, and by no others', () => {
    const flags = fc.dictionary(fc.constantFrom(...RIGHTS), fc.boolean());
    fc.assert(
      fc.property(fc.subarray([...RIGHTS]), flags, (rights, set) => {
        const after = withFlags(rights, set);
        for (const right of RIGHTS) expect(after.includes(right)).toBe(set[right] ?? rights.includes(right));
        expect(withFlags(after, set)).toEqual(after);
        expect(after).toEqual(RIGHTS.filter((right) => after.includes(right)));
      }),
    );
  });
});
