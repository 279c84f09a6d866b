import type { ValueType } from '../../domain/attributes/attribute-value.ts';

/**
 * Which value of an attribute a person may have in the end: the one acknowledged last wins, of traits the one said
 * last.
 */

export type Way = 'import' | 'feed' | 'trait' | `sync ${string}`;

export type Write = {
  person: string;
  attribute: string;
  /** Null removes the value. */
  value: string | null;
  way: Way;
  /** The type that an attribute would get by this value alone; only of traits. */
  type?: ValueType | null;
  /** Where the call stood in its batch; only of traits. */
  place?: { batch: readonly unknown[]; ordinal: number };
  /** Names what was acknowledged: an import, a request, a run, a call. */
  job: string;
  /** For a trait, this and the next are the time of its call, however late it comes. */
  sentAt: number;
  acknowledgedAt: number;
  /** When the walk first saw that it had ended; Infinity before. */
  endedAt: number;
  /** It may have been left out: a run or import that was canceled or failed, a call without an answer. */
  isUncertain: boolean;
};

export class ValueModel {
  readonly #writes: Write[] = [];

  add(write: Omit<Write, 'endedAt' | 'isUncertain'>): void {
    this.#writes.push({ ...write, endedAt: Infinity, isUncertain: false });
  }

  /** Notes what may have been written. */
  addUncertain(write: Omit<Write, 'endedAt' | 'isUncertain'>): void {
    this.#writes.push({ ...write, endedAt: Infinity, isUncertain: true });
  }

  /** Notes that an import, a request or a run has ended. */
  ended(job: string, { isComplete }: { isComplete: boolean }): void {
    for (const write of this.#writes) {
      if (write.job !== job || write.endedAt !== Infinity) continue;
      write.endedAt = Date.now();
      write.isUncertain = !isComplete;
    }
  }

  /** The values that an attribute of a person may have once all work has ended; null: none. */
  possible(person: string, attribute: string): Set<string | null> {
    const writes = this.#writes.filter((write) => write.person === person && write.attribute === attribute);
    const last = writes.filter((write) => !writes.some((other) => isBefore(write, other) && !other.isUncertain));
    const values = new Set(last.map(({ value }) => value));
    if (writes.every(({ isUncertain }) => isUncertain)) values.add(null);
    return values;
  }

  /** Whether a value of the attribute was taken in for sure. */
  isKnown(attribute: string): boolean {
    return this.#writes.some((write) => write.attribute === attribute && !write.isUncertain);
  }

  /** The types that an attribute may have of which the type was guessed; empty where it may be missing. */
  possibleTypes(attribute: string): Set<ValueType> {
    const typed = this.#writes.filter((write) => write.attribute === attribute && write.type);
    const all = new Set(typed.map(({ type }) => type!));
    const certain = new Set(typed.filter(({ isUncertain }) => !isUncertain).map(({ type }) => type!));
    if (certain.size === 0) return new Set();
    // A Set stays one whatever comes; any other type becomes String with the first value of another one.
    const widened: ValueType[] = all.size === 1 ? [] : all.has('Set') ? ['String', 'Set'] : ['String'];
    return new Set([...(certain.size === 1 ? certain : []), ...widened]);
  }

  /** All that was written to an attribute of a person, for the search of a fault. */
  tell(person: string, attribute: string): string {
    return this.#writes
      .filter((write) => write.person === person && write.attribute === attribute)
      .map(
        ({ value, way, job, sentAt, acknowledgedAt, endedAt, isUncertain }) =>
          `    ${[
            new Date(sentAt).toISOString(),
            new Date(acknowledgedAt).toISOString(),
            endedAt,
            way,
            job,
            isUncertain ? 'uncertain' : '',
            value,
          ].join(' ')}`,
      )
      .join('\n');
  }

  /** The people and attributes that were written to. */
  written(): { person: string; attribute: string }[] {
    const keys = new Map(
      this.#writes.map(({ person, attribute }) => [`${person} ${attribute}`, { person, attribute }]),
    );
    return [...keys.values()];
  }
}

/**
 * Whether the later write wins for sure. Imports and feeds count as said when they were accepted, a run of a sync at a
 * time within it, a trait at the time of its call: of calls of one time, a batch has the order.
 */
function isBefore(earlier: Write, later: Write): boolean {
  if (earlier === later || earlier.job === later.job) return false;
  if (earlier.place && earlier.place.batch === later.place?.batch && earlier.sentAt === later.sentAt) {
    return earlier.place.ordinal < later.place.ordinal;
  }
  const isRun = earlier.way.startsWith('sync ');
  return (isRun && earlier.way !== later.way ? earlier.endedAt : earlier.acknowledgedAt) < later.sentAt;
}
