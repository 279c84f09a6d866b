/** Changes of attributes, as a merge takes them. */
import type { ScalarType, ScalarValue } from './attribute-value.ts';
import type { CustomerType } from './customer-id.ts';
import type { SetOperation } from './set-actions.ts';

export type ValueKey = { customerType: CustomerType; customerId: string; attributeId: number };

/** A checked row that is ready to be merged; `line` names it in errors. */
export type AttributeChange = ScalarChange | SetChange;

/** The time of a change, unless the whole merge has one time. `isTrait`: the change comes from an SDK. */
export type SaidChange = { saidAt?: Date; isTrait?: boolean };

export type ScalarChange = ValueKey &
  SaidChange & {
    kind: 'value';
    line: number;
    valueType: ScalarType;
    value: ScalarValue | null;
  };

export type SetChange = ValueKey & SetOperation & SaidChange & { kind: 'set' };

export type FoldedSet = ValueKey & { operations: (SetOperation & SaidChange)[] };

/** Collects the Set operations of each key: all of them, because the effect of an ADD depends on the stored Set. */
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
