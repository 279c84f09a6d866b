/** Strings, keys, customer ids and Set elements: at most so many Unicode code points (reference: Limits). */
export const MAX_CODE_POINTS = 256;

/** Whether `text` has more than `max` Unicode code points; an astral character counts once. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > max * 2) return true;
  let codePoints = 0;
  for (let at = 0; at < text.length; codePoints += 1) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return codePoints > max;
}

/** Whether Postgres can store `text`: neither NUL nor half a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** The same of every text and every member's name of a JSON value. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorableJson(member));
}

/** `text` with what Postgres can't store replaced. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** `text` cut to `max` UTF-16 units and made storable, for an error that shows what was found. */
export function shorten(text: string, max: number = MAX_CODE_POINTS * 2): string {
  return storable(text.slice(0, max));
}

/** A short quotation of `text` for an error's message. */
export function quote(text: string): string {
  return text.length <= 60 ? `"${shorten(text)}"` : `"${shorten(text, 60)}…"`;
}
