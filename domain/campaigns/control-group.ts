import { spreadHash } from '../core/hash.ts';

/** The people that only transactional campaigns reach. `salt` is the entity's: each entity has other people. */
export type ControlGroup = { percent: number; salt: string };

/** Maximum share in whole percents: beyond half, the group would be the audience. */
export const MAX_CONTROL_GROUP_PERCENT = 50;

/** How many days after an attempt an opened app counts. */
export const OUTCOME_DAYS = 7;

const WHOLE = 100;

/** Returns whether a person is in the group, by a hash: they stay in it for all campaigns, also when it grows. */
export function isInControlGroup({ percent, salt }: ControlGroup, person: string): boolean {
  return percent > 0 && spreadHash(`control group/${salt}/${person}`) % WHOLE < percent;
}
