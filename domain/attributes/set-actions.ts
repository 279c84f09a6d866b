/** Actions on Sets: adds, removes and replaces elements. */
import { MAX_SET_SIZE } from './attribute-value.ts';

/** Actions on Sets (reference: Feeding attribute values, action semantics). */
export const ACTIONS = ['ADD', 'REMOVE', 'DEL', 'UPSERT'] as const;

export type Action = (typeof ACTIONS)[number];

/** A point in time in the caller's own form, compared for equality only. */
export type Instant = string | number;

export type SetOperation = { action: Action; elements: readonly string[]; line: number };

export type StoredElement = { element: string; since: Instant };

export type SetOutcome = {
  /** Elements in stored order, then new ones in order of arrival. */
  elements: StoredElement[];
  /** True if an element came, went, or went and came again. */
  changed: boolean;
  failures: { line: number; errorType: 'TOO_LONG_SET_SIZE'; message: string }[];
};

/**
 * Applies operations in the order of the file. ADD and UPSERT keep the time of an element already there; one removed
 * and added again gets `now`, so that the outcome does not depend on batches. An operation that would leave over 1,000
 * elements fails as a whole.
 */
export function applySetOperations(
  stored: readonly StoredElement[],
  operations: readonly SetOperation[],
  now: Instant,
): SetOutcome {
  const current = new Map(stored.map(({ element, since }) => [element, since]));
  const failures: SetOutcome['failures'] = [];
  for (const { action, elements, line } of operations) {
    if (apply(current, action, elements, now)) continue;
    const message = `${action} would leave over ${MAX_SET_SIZE} elements in the Set`;
    failures.push({ line, errorType: 'TOO_LONG_SET_SIZE', message });
  }
  const changed = current.size !== stored.length || stored.some(({ element, since }) => current.get(element) !== since);
  return { elements: Array.from(current, ([element, since]) => ({ element, since })), changed, failures };
}

/** Returns false, and changes nothing, if the Set would grow too large. */
function apply(current: Map<string, Instant>, action: Action, elements: readonly string[], now: Instant): boolean {
  switch (action) {
    case 'ADD':
      return add(current, elements, now);
    case 'REMOVE':
      for (const element of elements) current.delete(element);
      return true;
    case 'DEL':
      current.clear();
      return true;
    case 'UPSERT':
      return replace(current, elements, now);
  }
}

function add(current: Map<string, Instant>, elements: readonly string[], now: Instant): boolean {
  const added = new Set(elements.filter((element) => !current.has(element)));
  if (current.size + added.size > MAX_SET_SIZE) return false;
  for (const element of added) current.set(element, now);
  return true;
}

function replace(current: Map<string, Instant>, elements: readonly string[], now: Instant): boolean {
  const kept = new Set(elements);
  if (kept.size > MAX_SET_SIZE) return false;
  for (const element of current.keys()) {
    if (!kept.has(element)) current.delete(element);
  }
  return add(current, elements, now);
}
