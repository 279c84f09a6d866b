import { CUSTOMER_TYPE_CODE } from '../attributes/attribute-values.ts';
import type { Secrets } from '../core/secrets.ts';
import type { KnownBy } from './personal-data-location.ts';
import type { Person } from './tombstones.ts';

/** Whether it is an id that values may be kept under. */
export function isCustomer<T extends KnownBy>(known: T): known is T & Person {
  return known.customerType === 'user_id' || known.customerType === 'device_id';
}

export function idsOfType(people: readonly KnownBy[], type: KnownBy['customerType']): string[] {
  return people.filter(({ customerType }) => customerType === type).map(({ customerId }) => customerId);
}

/** The parameters of statements over rows with both: the entity, the user ids, the device ids. */
export function idsOf(entityId: number, people: readonly KnownBy[]): [number, string[], string[]] {
  return [entityId, idsOfType(people, 'user_id'), idsOfType(people, 'device_id')];
}

/** The same with the devices of which everything is asked for, as a fourth. */
export function rowIdsOf(entityId: number, people: readonly KnownBy[]): [number, string[], string[], string[]] {
  return [...idsOf(entityId, people), idsOfType(people, 'whole_device')];
}

/** The parameters of statements over rows with a customer's id and type as they are stored: entity, ids, types. */
export function peopleKeys(entityId: number, people: KnownBy[]): unknown[] {
  const customers = people.filter(isCustomer);
  return [
    entityId, customers.map(({ customerId }) => customerId), customers.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
  ];
}

/** The same with the types as other tables have them, which are texts. */
export function customerKeys(entityId: number, people: KnownBy[]): unknown[] {
  const customers = people.filter(isCustomer);
  return [entityId, customers.map(({ customerId }) => customerId), customers.map(({ customerType }) => customerType)];
}

/** The keyed hashes of their ids. */
export function hashesOf(secrets: Secrets, entityId: number, people: readonly KnownBy[]): Buffer[] {
  return people.filter(isCustomer).map(({ customerType, customerId }) => secrets.customerHash(entityId, customerType, customerId));
}

/** The keyed hashes, in hex, of the user ids among them, in the order of `idsOf`. */
export function hashesOfUsers(secrets: Secrets, entityId: number, people: readonly KnownBy[]): string[] {
  return idsOfType(people, 'user_id').map((id) => secrets.customerHash(entityId, 'user_id', id).toString('hex'));
}
