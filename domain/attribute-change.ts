import type { ScalarType, ScalarValue } from './attribute-value.ts';
import type { CustomerType } from './customer-id.ts';
import type { SetOperation } from './set-actions.ts';

/** Whose value of which attribute. */
export type ValueKey = { customerType: CustomerType; customerId: string; attributeId: number };

/** A checked row, ready to be merged; `line` names it in errors. */
export type AttributeChange = ScalarChange | SetChange;

/** A null value removes what is there. */
export type ScalarChange = ValueKey & {
  kind: 'value';
  line: number;
  valueType: ScalarType;
  value: ScalarValue | null;
};

export type SetChange = ValueKey & SetOperation & { kind: 'set' };

/** The changes of one batch with at most one scalar per key, and a key's Set operations in file order. */
export type FoldedChanges = {
  scalars: ScalarChange[];
  sets: (ValueKey & { operations: SetOperation[] })[];
};

/**
 * Folds changes in file order: of a scalar's rows the last one stands; a Set's rows are all kept, since
 * what an ADD does depends on what is stored.
 */
export function foldChanges(changes: Iterable<AttributeChange>): FoldedChanges {
  const scalars = new KeyedChanges<ScalarChange>();
  const sets = new KeyedChanges<ValueKey & { operations: SetOperation[] }>();
  for (const change of changes) {
    if (change.kind === 'value') {
      scalars.of(change).set(change.customerId, change);
      continue;
    }
    const { customerType, customerId, attributeId, action, elements, line } = change;
    const ofAttribute = sets.of(change);
    const known = ofAttribute.get(customerId);
    if (known) known.operations.push({ action, elements, line });
    else ofAttribute.set(customerId, { customerType, customerId, attributeId, operations: [{ action, elements, line }] });
  }
  return { scalars: scalars.all(), sets: sets.all() };
}

/** By attribute and type of customer, then by customer: a key of all three would be a text made for every row. */
class KeyedChanges<T> {
  readonly #byAttribute = { user_id: new Map<number, Map<string, T>>(), device_id: new Map<number, Map<string, T>>() };

  of({ attributeId, customerType }: ValueKey): Map<string, T> {
    const attributes = this.#byAttribute[customerType];
    let byCustomer = attributes.get(attributeId);
    if (!byCustomer) attributes.set(attributeId, byCustomer = new Map());
    return byCustomer;
  }

  all(): T[] {
    return Object.values(this.#byAttribute).flatMap((attributes) => [...attributes.values()].flatMap((each) => [...each.values()]));
  }
}
