/** Finds many names in a text in one pass. */

/** Number of a name's characters that are searched at each position of a text. */
const GRAM = 8;
const BASE = 31;
const BITS = 18;
const MASK = 2 ** BITS - 1;

type Grams = { length: number; power: number; seen: Uint8Array; names: Map<string, number[]> };

/** Finds names in one pass over a text that has all parts of a name; a name without parts may be in any text. */
export function createNameFinder(names: readonly (readonly string[])[]): (text: string) => Set<number> {
  const always = [...names.keys()].filter((name) => names[name]!.length === 0);
  const tiers = gramsOf(names);
  return (text) => {
    const found = new Set(always);
    const looked = new Set<number>();
    for (const tier of tiers) {
      for (const name of standingIn(text, tier)) {
        if (looked.has(name)) continue;
        looked.add(name);
        if (names[name]!.every((part) => text.includes(part))) found.add(name);
      }
    }
    return found;
  };
}

/** Returns for each name the piece that the fewest names share, so that a common beginning or domain costs nothing. */
function gramsOf(names: readonly (readonly string[])[]): Grams[] {
  const shared = new Map<string, number>();
  for (const parts of names) {
    for (const gram of new Set(parts.flatMap(piecesOf))) shared.set(gram, (shared.get(gram) ?? 0) + 1);
  }
  const tiers = new Map<number, Grams>();
  for (const [name, parts] of names.entries()) {
    if (parts.length === 0) continue;
    const gram = parts.flatMap(piecesOf).reduce((best, piece) => (isRarer(piece, best, shared) ? piece : best));
    if (!tiers.has(gram.length)) tiers.set(gram.length, emptyTier(gram.length));
    addTo(tiers.get(gram.length)!, gram, name);
  }
  return [...tiers.values()];
}

function piecesOf(part: string): string[] {
  if (part.length <= GRAM) return [part];
  return Array.from({ length: part.length - GRAM + 1 }, (_, start) => part.slice(start, start + GRAM));
}

function isRarer(piece: string, best: string, shared: ReadonlyMap<string, number>): boolean {
  const difference = shared.get(piece)! - shared.get(best)!;
  return difference < 0 || (difference === 0 && piece.length > best.length);
}

function emptyTier(length: number): Grams {
  let power = 1;
  for (let times = 0; times < length; times += 1) power = Math.imul(power, BASE);
  return { length, power, seen: new Uint8Array(2 ** BITS), names: new Map() };
}

function addTo({ seen, names }: Grams, gram: string, name: number): void {
  let hash = 0;
  for (let at = 0; at < gram.length; at += 1) hash = (Math.imul(hash, BASE) + gram.charCodeAt(at)) | 0;
  seen[slotOf(hash)] = 1;
  const sharing = names.get(gram);
  if (sharing) sharing.push(name);
  else names.set(gram, [name]);
}

/** Yields matches by a rolling hash (Karp and Rabin, 1987): most positions of a text cost a few additions. */
function* standingIn(text: string, { length, power, seen, names }: Grams): Generator<number> {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) {
    hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
    if (at >= length) hash = (hash - Math.imul(text.charCodeAt(at - length), power)) | 0;
    if (at < length - 1 || seen[slotOf(hash)] === 0) continue;
    yield* names.get(text.slice(at - length + 1, at + 1)) ?? [];
  }
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> BITS)) & MASK;
}
