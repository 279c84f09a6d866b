/** Limits of texts, in Unicode code points, and texts that Postgres can store. */

/** Maximum length of Strings, keys, customer ids and Set elements, in Unicode code points (reference: Limits). */
export const MAX_CODE_POINTS = 256;

export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > max * 2) return true;
  let codePoints = 0;
  for (let at = 0; at < text.length; codePoints += 1) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return codePoints > max;
}

/** Returns whether Postgres can store `text`: neither NUL nor half a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorableJson(member));
}

export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Cuts a text, and makes it storable. Drops the word at the limit: an erasure searches texts for whole ids. */
export function shorten(text: string, max: number = MAX_CODE_POINTS * 2): string {
  return storable(text.slice(0, cutBetweenWords(text, max)));
}

/** Characters between words: neither an address nor an id contains them. */
const BETWEEN_WORDS = /[\s,;|"'`<>()[\]{}=&?…]/;

/** Returns the start of the word that a cut at `max` would break; `max` if it is too long to be an id. */
function cutBetweenWords(text: string, max: number): number {
  if (text.length <= max) return max;
  const from = lastWordBegins(text, max);
  let to = max;
  while (to < text.length && to - from <= MAX_CODE_POINTS && !BETWEEN_WORDS.test(text[to]!)) to += 1;
  return to - from > MAX_CODE_POINTS ? max : from;
}

/** Leaves out the last word of a text that was cut elsewhere, unless the word is too long to be an id. */
export function withoutCutWord(text: string): string {
  const from = lastWordBegins(text, text.length);
  return text.length - from > MAX_CODE_POINTS ? text : text.slice(0, from);
}

/** Looks back no further than the maximum length of an id. */
function lastWordBegins(text: string, end: number): number {
  let from = end;
  while (from > 0 && end - from <= MAX_CODE_POINTS && !BETWEEN_WORDS.test(text[from - 1]!)) from -= 1;
  return from;
}

export function quote(text: string): string {
  return text.length <= 60 ? `"${shorten(text)}"` : `"${shorten(text, 60)}…"`;
}
