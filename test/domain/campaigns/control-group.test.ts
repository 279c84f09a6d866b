import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInControlGroup, MAX_CONTROL_GROUP_PERCENT } from '../../../domain/campaigns/control-group.ts';
import { variantOf } from '../../../domain/campaigns/variants.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const PEOPLE = Array.from({ length: 20_000 }, (_, index) => `uuser-${index}@example.com`);
const percents = fc.integer({ min: 0, max: MAX_CONTROL_GROUP_PERCENT });
const entities = fc.stringMatching(/^ent_[A-Za-z0-9]{20}$/);
const membersOf = (percent: number, salt: string) =>
  PEOPLE.filter((person) => isInControlGroup({ percent, salt }, person));

describe('the control group of an entity', () => {
  it('is as large as it is to be, to a percent and a half, and another in each entity', () => {
    fc.assert(
      fc.property(percents, entities, entities, (percent, entity, other) => {
        const members = membersOf(percent, entity);
        expect(Math.abs((100 * members.length) / PEOPLE.length - percent)).toBeLessThan(1.5);
        if (percent === 0) expect(members).toEqual([]);
        if (percent < 5 || entity === other) return;
        const inBoth = members.filter((person) => isInControlGroup({ percent, salt: other }, person));
        expect(Math.abs((100 * inBoth.length) / members.length - percent)).toBeLessThan(6);
      }),
      { numRuns: sampledRuns(30) },
    );
  });

  it('keeps its people when it grows', () => {
    fc.assert(
      fc.property(percents, percents, entities, fc.string(), (one, two, salt, person) => {
        const [small, large] = [Math.min(one, two), Math.max(one, two)];
        if (isInControlGroup({ percent: small, salt }, person))
          expect(isInControlGroup({ percent: large, salt }, person)).toBe(true);
      }),
    );
    // They stay the same in later versions.
    expect(membersOf(1, 'ent_1').slice(0, 3)).toEqual([127, 151, 158].map((n) => `uuser-${n}@example.com`));
  });

  it('is drawn apart from the variants of a campaign, which so keep their shares', () => {
    fc.assert(
      fc.property(entities, fc.stringMatching(/^cmp_[A-Za-z0-9]{20}$/), (salt, campaign) => {
        const members = membersOf(MAX_CONTROL_GROUP_PERCENT, salt);
        const first = members.filter(
          (person) =>
            variantOf(
              [
                { share: 50, nth: 0 },
                { share: 50, nth: 1 },
              ],
              campaign,
              person,
            )!.nth === 0,
        );
        expect(Math.abs(first.length / members.length - 0.5)).toBeLessThan(0.03);
      }),
      { numRuns: sampledRuns(30) },
    );
  });
});
