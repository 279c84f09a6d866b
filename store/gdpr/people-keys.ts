/** Ids of people as parameters of statements, and which of them are vouched for. */
import { CUSTOMER_TYPE_CODE } from '../attributes/attribute-values.ts';
import type { Secrets } from '../core/secrets.ts';
import type { KnownBy } from './personal-data-location.ts';
import type { Person } from './tombstones.ts';

export function isCustomer<T extends KnownBy>(known: T): known is T & Person {
  return known.customerType === 'user_id' || known.customerType === 'device_id';
}

/**
 * Returns whether free texts are searched for the id: only if staff, a user token or a System of Records vouches for
 * it. With an app's key alone, anyone could claim the id of another person.
 */
export function isVouchedFor({ customerType, isClaimed }: KnownBy): boolean {
  return customerType === 'user_id' && isClaimed !== true;
}

/**
 * Returns the ids by which rows of Systems of Records are found: not a device that asks for itself, nor an earlier
 * user id that an SDK claims.
 */
export function knownToSors<T extends KnownBy>(people: readonly T[]): (T & Person)[] {
  const whole = new Set(idsOfType(people, 'whole_device'));
  const isKnown = (known: KnownBy) =>
    known.customerType === 'device_id' ? !whole.has(known.customerId) : isVouchedFor(known);
  return people.filter(isCustomer).filter(isKnown);
}

/** Returns an id as rows hold it that name type and id in one text: `u` or `d`, and the id. */
export function subjectOf({ customerType, customerId }: Person): string {
  return `${customerType === 'user_id' ? 'u' : 'd'}${customerId}`;
}

export function idsOfType(people: readonly KnownBy[], type: KnownBy['customerType']): string[] {
  return people.filter(({ customerType }) => customerType === type).map(({ customerId }) => customerId);
}

/** Returns parameters for rows with users and devices: the entity, user ids, device ids. */
export function idsOf(entityId: number, people: readonly KnownBy[]): [number, string[], string[]] {
  return [entityId, idsOfType(people, 'user_id'), idsOfType(people, 'device_id')];
}

/** Returns these, and the devices that ask for all that they sent, and the user ids that are vouched for. */
export function rowIdsOf(
  entityId: number,
  people: readonly KnownBy[],
): [number, string[], string[], string[], string[]] {
  return [
    ...idsOf(entityId, people),
    idsOfType(people, 'whole_device'),
    idsOfType(people.filter(isVouchedFor), 'user_id'),
  ];
}

/** Returns parameters for types as codes: the entity, ids, types. */
export function peopleKeys(entityId: number, people: readonly KnownBy[]): unknown[] {
  const customers = people.filter(isCustomer);
  return [
    entityId,
    customers.map(({ customerId }) => customerId),
    customers.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
  ];
}

/** Returns parameters for types as texts: the entity, ids, types. */
export function customerKeys(entityId: number, people: readonly KnownBy[]): unknown[] {
  const customers = people.filter(isCustomer);
  return [entityId, customers.map(({ customerId }) => customerId), customers.map(({ customerType }) => customerType)];
}

export function hashesOf(secrets: Secrets, entityId: number, people: readonly KnownBy[]): Buffer[] {
  return people
    .filter(isCustomer)
    .map(({ customerType, customerId }) => secrets.customerHash(entityId, customerType, customerId));
}
