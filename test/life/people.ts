/** The people of a walk. Each is in every feature, under the same ids in both entities. */

/** Carried by everything that tells of a person, so that one search finds all of it. */
export const MARK = 'zqlife';

export type Person = {
  name: string;
  userId: string;
  /** The id before they signed in. */
  alias: string;
  deviceId: string;
  pushToken: string;
};

const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve'];

export const PEOPLE: readonly Person[] = NAMES.map((name) => ({
  name,
  userId: `${MARK}-${name}@example.com`,
  alias: `${MARK}-before-${name}`,
  deviceId: `${MARK}-device-${name}`,
  pushToken: `${MARK}-token-${name}`,
}));

/** A text that an entity was told of a person, a new one each time. */
export function valueOf(entity: string, { name }: Person, ordinal: number): string {
  return `${MARK}-${name}-of-${entity}-${ordinal}`;
}

/** Carried by all texts of people that an entity was told, and by none of another entity. */
export function markOfEntity(entity: string): string {
  return `-of-${entity}-`;
}
