import { spreadHash } from '../core/hash.ts';

/**
 * The people of an entity that only transactional campaigns reach. `salt`: the entity's own, so that each has other
 * people.
 */
export type ControlGroup = { percent: number; salt: string };

/** The largest share, in whole percents: beyond half, the group would be the audience. */
export const MAX_CONTROL_GROUP_PERCENT = 50;

/** For so long after its attempt it counts whether a person opened the app. */
export const OUTCOME_DAYS = 7;

const WHOLE = 100;

/**
 * Whether a person (`personOf`) is in the group. It goes by a hash of the person, not by a list: who is in it stays in
 * it for all campaigns, and when the share grows.
 */
export function isInControlGroup({ percent, salt }: ControlGroup, person: string): boolean {
  return percent > 0 && spreadHash(`control group/${salt}/${person}`) % WHOLE < percent;
}
