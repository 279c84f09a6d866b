import { CUSTOMER_TYPE_CODE } from '../attribute-values.ts';
import type { Secrets } from '../secrets.ts';
import type { Person } from '../tombstones.ts';

/** The parameters of statements over rows with a customer's id and type as they are stored: entity, ids, types. */
export function peopleKeys(entityId: number, people: Person[]): unknown[] {
  return [entityId, people.map(({ customerId }) => customerId), people.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType])];
}

/** Their keyed hashes. */
export function hashesOf(secrets: Secrets, entityId: number, people: Person[]): Buffer[] {
  return people.map(({ customerType, customerId }) => secrets.customerHash(entityId, customerType, customerId));
}
