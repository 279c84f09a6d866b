/** Lengths of ids that are looked for in texts: a shorter id stands in many texts by chance. */
const [MIN_LENGTH, MAX_LENGTH] = [3, 256];

/** Characters that end a word of a call as it is kept: quotes and brackets, but nothing that ids are made of. */
const BETWEEN_WORDS = /[\s"'`,;<>()[\]{}|\\]+/;
/** These, and the characters around an id in an address, or in front of it. */
const BETWEEN_PARTS = /[\s"'`,;<>()[\]{}|\\:=/?&#]+/;

/** Returns at most `limit` possible ids of a text: its JSON strings, its words, and their parts, each once. */
export function possibleIds(text: string, limit: number): Set<string> {
  const found = new Set<string>();
  const strings = Array.from(text.matchAll(/"([^"\\]{3,256})"/g), ([, string]) => string!);
  for (const id of [...strings, ...text.split(BETWEEN_WORDS), ...text.split(BETWEEN_PARTS)]) {
    if (found.size === limit) break;
    const trimmed = id.replace(/[.!]$/, '');
    if (trimmed.length >= MIN_LENGTH && trimmed.length <= MAX_LENGTH) found.add(trimmed);
  }
  return found;
}
