import type { AttributeRules } from '../../domain/attributes/value-row.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { findSorById } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';

/**
 * The rules of a SoR for what is written to it, and the revision that they are those of; `sorDeleted` once it is gone.
 */
export type SorRules = AttributeRules & { sorDeleted: boolean; revision: number };

/** No revision of a SoR that is there: what was checked against a deleted one is checked again each time. */
const DELETED = -1;

/** Reads what decides about a value, whatever brings it: the SoR's state and its attributes. */
export async function sorRules(db: Queryable, entityId: number, sorId: number): Promise<SorRules> {
  // Before its attributes: where they change in between, the revision is that of before.
  const sor = await findSorById(db, entityId, sorId);
  const attributes = sor ? await listCustomerAttributesOf(db, entityId, [sorId]) : [];
  return {
    attributes: new Map(attributes.map((attribute) => [attribute.key, attribute])),
    sorDisabled: sor?.disabled ?? false,
    sorDeleted: sor === null,
    revision: sor?.revision ?? DELETED,
  };
}
