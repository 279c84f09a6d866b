import type { AttributeRules } from '../../domain/attributes/value-row.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { findSorById } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';

/** A SoR's rules for values, with their revision; `sorDeleted` once it is deleted. */
export type SorRules = AttributeRules & { sorDeleted: boolean; revision: number };

/** Revision of a deleted SoR: rows that were checked against it are checked again each time. */
const DELETED = -1;

/** Reads the rules for any value: the SoR's state and its attributes. */
export async function sorRules(db: Queryable, entityId: number, sorId: number): Promise<SorRules> {
  // Read before its attributes: if they change in between, the revision is the older one.
  const sor = await findSorById(db, entityId, sorId);
  const attributes = sor ? await listCustomerAttributesOf(db, entityId, [sorId]) : [];
  return {
    attributes: new Map(attributes.map((attribute) => [attribute.key, attribute])),
    sorDisabled: sor?.disabled ?? false,
    sorDeleted: sor === null,
    revision: sor?.revision ?? DELETED,
  };
}
