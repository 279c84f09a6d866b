/** Which value of an attribute a person may have in the end: the one acknowledged last wins. */

export type Way = 'import' | 'feed' | `sync ${string}`;

export type Write = {
  person: string;
  attribute: string;
  /** Null removes the value. */
  value: string | null;
  way: Way;
  /** Names what was acknowledged: an import, a request, a run. */
  job: string;
  sentAt: number;
  acknowledgedAt: number;
  /** When the walk first saw that it had ended; Infinity before. */
  endedAt: number;
  /** It may have been left out: a run or import that was canceled or failed. */
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

  /** All that was written to an attribute of a person, for the search of a fault. */
  tell(person: string, attribute: string): string {
    return this.#writes.filter((write) => write.person === person && write.attribute === attribute)
      .map(({ value, way, job, sentAt, acknowledgedAt, endedAt, isUncertain }) => `    ${[
        new Date(sentAt).toISOString(), new Date(acknowledgedAt).toISOString(), endedAt, way, job, isUncertain ? 'uncertain' : '', value,
      ].join(' ')}`).join('\n');
  }

  /** The people and attributes that were written to. */
  written(): { person: string; attribute: string }[] {
    const keys = new Map(this.#writes.map(({ person, attribute }) => [`${person} ${attribute}`, { person, attribute }]));
    return [...keys.values()];
  }
}

/** Whether the later write wins for sure. Imports and feeds count as said when they were accepted, a run of a sync at a time within it. */
function isBefore(earlier: Write, later: Write): boolean {
  if (earlier === later || earlier.job === later.job) return false;
  const isRun = earlier.way !== 'import' && earlier.way !== 'feed';
  return (isRun && earlier.way !== later.way ? earlier.endedAt : earlier.acknowledgedAt) < later.sentAt;
}
