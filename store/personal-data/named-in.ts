import type { Person } from '../tombstones.ts';

/** What is left of a text that told of a person. */
export const ERASED = 'erased';

/**
 * A condition on a text: one of the ids stands in it as a word of its own. The statement's $2 and $3 are what `namesOf` gives.
 * The part spares nearly all texts the pattern, of which Postgres keeps no more than a few at hand: by CASE, since of AND
 * either side may come first. A text that was erased already names nobody, whatever the id.
 */
export const namedIn = (text: string) => `(${text} <> '${ERASED}' AND EXISTS (
  SELECT FROM unnest($2::text[], $3::text[]) AS named (part, pattern)
  WHERE CASE WHEN position(named.part IN ${text}) > 0 THEN (${text}) COLLATE "default" ~ named.pattern END))`;

/** The first parameters of a statement with `namedIn`: the entity, and of each id a part and a pattern. */
export function namesOf(entityId: number, people: Person[]): [number, string[], string[]] {
  return [entityId, people.map(({ customerId }) => longestPart(customerId)), people.map(({ customerId }) => patternOf(customerId))];
}

/** The longest of what every way of writing leaves as it is. */
function longestPart(id: string): string {
  return id.split(/[^A-Za-z0-9_.~-]+/).reduce((longest, part) => (part.length > longest.length ? part : longest), '');
}

/** What may stand before a word though it ends with a letter or digit: an escape of JSON or of an address. */
const ESCAPE_BEFORE = String.raw`\\[bfnrt]|\\u00[01][0-9A-Fa-f]|%[0-9A-Fa-f]{2}`;

/** A regular expression of Postgres that finds an id as it is, in CSV, in JSON, in JSON within JSON, and in an address. */
function patternOf(id: string): string {
  return `(^|[^[:alnum:]_]|${ESCAPE_BEFORE})${[...id].map(asWritten).join('')}($|[^[:alnum:]_])`;
}

function asWritten(character: string): string {
  if (/[A-Za-z0-9_]/.test(character)) return character;
  if (/[.~-]/.test(character)) return `\\${character}`;
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const escaped = units.map((unit) => String.raw`\\+u${anyCase(unit.toString(16).padStart(4, '0'))}`).join('');
  const inAddress = [...Buffer.from(character)].map((byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`).join('');
  return `(${asItIs(character)}|${escaped}|${inAddress})`;
}

/** JSON has quotes and backslashes behind backslashes, and some write / so, too; CSV doubles quotes. */
function asItIs(character: string): string {
  if (character === '"') return String.raw`\\*"+`;
  if (character === '\\') return String.raw`\\+`;
  if (character === '/') return String.raw`\\*/`;
  return character <= '~' ? `\\${character}` : character;
}

function anyCase(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
