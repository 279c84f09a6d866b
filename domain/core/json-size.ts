/** Elements of arrays and members of objects that a body may have, all together, where its operation says nothing else. */
export const MAX_ELEMENTS = 20_000;

/** Tells what is wrong with the size of a JSON value, whatever it means; null: nothing. Looks at `maxElements` elements at most. */
export function shapeError(value: unknown, { maxElements, maxNesting }: { maxElements: number; maxNesting: number }): string | null {
  let [level, elements] = [[value], 0];
  for (let nesting = 0; level.length > 0; nesting += 1) {
    const inner: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      if (nesting === maxNesting) return sayNesting(maxNesting);
      const children: unknown[] = Array.isArray(each) ? each : Object.values(each);
      elements += children.length;
      if (elements > maxElements) return `must have at most ${maxElements} elements and members in all`;
      for (const child of children) inner.push(child);
    }
    level = inner;
  }
  return null;
}

export function sayNesting(levels: number): string {
  return `must not nest deeper than ${levels} levels`;
}
