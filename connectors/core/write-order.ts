/** Order of calls that write many records: those of one record follow each other, and a refused one is halved. */

/** Lets parts that write one record follow each other in the order in which they were begun. */
export class Turns {
  readonly #begun: { names: Promise<Set<string>>; done: Promise<void> }[] = [];

  /** Writes after all earlier parts that share one of `names`. */
  async take<T>(names: Promise<Set<string>>, write: () => Promise<T>): Promise<T> {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const before = [...this.#begun];
    const turn = { names, done };
    this.#begun.push(turn);
    try {
      const own = await names;
      for (const other of before) {
        if ([...(await other.names)].some((name) => own.has(name))) await other.done;
      }
      return await write();
    } finally {
      this.#begun.splice(this.#begun.indexOf(turn), 1);
      resolve();
    }
  }
}

/** Cuts rows so that none has two of one name, for calls that refuse two inputs for one record. */
export function roundsOf<Row>(rows: readonly Row[], nameOf: (row: Row) => string): Row[][] {
  const rounds: Row[][] = [];
  const counts = new Map<string, number>();
  for (const row of rows) {
    const name = nameOf(row);
    const earlier = counts.get(name) ?? 0;
    counts.set(name, earlier + 1);
    (rounds[earlier] ??= []).push(row);
  }
  return rounds;
}

export function halvesOf<T>(items: readonly T[]): T[][] {
  const half = Math.ceil(items.length / 2);
  return [items.slice(0, half), items.slice(half)];
}

/** The next records of a writing, cut for calls; `from`: how many records come before the part. */
export function partsOf<T>(records: readonly T[], answered: number, perCall: number): { from: number; some: T[] }[] {
  return Array.from({ length: Math.ceil((records.length - answered) / perCall) }, (_, part) => {
    const from = answered + part * perCall;
    return { from, some: records.slice(from, from + perCall) };
  });
}
