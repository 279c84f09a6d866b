import type { Json } from '../core/contract.ts';

/**
 * Reads an array as Postgres writes it (Postgres: arrays, 8.15.6): elements stand between the delimiter of their type,
 * a comma unless the type says otherwise (`box` has `;`). The bounds of an array that doesn't begin at 1 are left out.
 * Elements come as their texts.
 */
export function parseArrayText(text: string, delimiter: string): Json[] {
  let at = text.startsWith('[') ? text.indexOf('=') + 1 : 0;
  const element = (): Json => {
    if (text[at] === '{') return list();
    if (text[at] === '"') return quoted();
    let found = '';
    for (; at < text.length && text[at] !== delimiter && text[at] !== '}'; at += 1) {
      if (text[at] === '\\') at += 1;
      found += text[at] ?? '';
    }
    return found === 'NULL' ? null : found;
  };
  const quoted = (): string => {
    let found = '';
    for (at += 1; text[at] !== '"'; at += 1) {
      if (text[at] === '\\') at += 1;
      if (at >= text.length) throw new Error('an array whose quote is not closed');
      found += text[at];
    }
    at += 1;
    return found;
  };
  const list = (): Json[] => {
    const found: Json[] = [];
    at += 1;
    if (text[at] === '}') {
      at += 1;
      return found;
    }
    for (; ; at += 1) {
      found.push(element());
      if (text[at] === delimiter) continue;
      if (text[at] !== '}') throw new Error('an array that is not closed');
      at += 1;
      return found;
    }
  };
  if (text[at] !== '{') throw new Error('no array');
  return list();
}
