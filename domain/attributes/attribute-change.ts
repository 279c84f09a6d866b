import type { ScalarType, ScalarValue } from './attribute-value.ts';
import type { CustomerType } from './customer-id.ts';
import type { SetOperation } from './set-actions.ts';

/** Whose value of which attribute. */
export type ValueKey = { customerType: CustomerType; customerId: string; attributeId: number };

/** A checked row, ready to be merged; `line` names it in errors. */
export type AttributeChange = ScalarChange | SetChange;

/** When a change was said, where that is not the same for all that is merged with it; `isTrait`: an SDK said it. */
export type SaidChange = { saidAt?: Date; isTrait?: boolean };

/** A null value removes what is there. */
export type ScalarChange = ValueKey &
  SaidChange & {
    kind: 'value';
    line: number;
    valueType: ScalarType;
    value: ScalarValue | null;
  };

export type SetChange = ValueKey & SetOperation & SaidChange & { kind: 'set' };

/** A key's Set operations in the order of their lines. */
export type FoldedSet = ValueKey & { operations: (SetOperation & SaidChange)[] };

/** Gathers the Set operations of each key. All of them are kept, since what an ADD does depends on what is stored. */
export class FoldedSets {
  readonly #byKey = new Map<string, FoldedSet>();

  add({ customerType, customerId, attributeId, action, elements, line, saidAt, isTrait }: SetChange): void {
    const key = `${attributeId}/${customerType}/${customerId}`;
    const operation = { action, elements, line, ...(saidAt && { saidAt }), ...(isTrait && { isTrait }) };
    const known = this.#byKey.get(key);
    if (known) known.operations.push(operation);
    else this.#byKey.set(key, { customerType, customerId, attributeId, operations: [operation] });
  }

  get size(): number {
    return this.#byKey.size;
  }

  all(): FoldedSet[] {
    return [...this.#byKey.values()];
  }
}
