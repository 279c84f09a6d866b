/** Finds ids of people within texts: as conditions of SQL, and in texts that are read. */
import { ERASED } from '../../domain/core/erased.ts';
import { createNameFinder } from '../../domain/text/name-finder.ts';
import { isVouchedFor } from './people-keys.ts';
import type { KnownBy } from './personal-data-location.ts';

const standsIn = (text: string) =>
  `CASE WHEN position(named.part IN ${text}) > 0 THEN (${text}) COLLATE "default" ~ named.pattern END`;

/**
 * Returns a condition: one of the ids (`namesOf` as $2 and $3) stands in a text as a word of its own. The part spares
 * most texts the pattern, since Postgres caches few patterns; CASE keeps the order, which AND does not.
 */
export const namedIn = (text: string) => `(${text} <> '${ERASED}' AND EXISTS (
  SELECT FROM unnest($2::text[], $3::text[]) AS named (part, pattern)
  WHERE ${standsIn(text)}))`;

/**
 * Returns SQL for the keyed hash of the first person who owns the row by `isOwn`, or else stands in one of the texts.
 * `isOwn` is over `named.id` and `named.type`; the parameters are what `textNames` gives.
 */
export const hashOfNamed = (texts: string[], isOwn: string) => `(
  SELECT named.hash FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) WITH ORDINALITY
    AS named (part, pattern, id, type, hash, ordinal)
  WHERE (${isOwn}) OR ${texts.map(standsIn).join(' OR ')} ORDER BY (${isOwn}) DESC NULLS LAST, named.ordinal LIMIT 1)`;

/** Returns the first parameters of a statement with `namedIn`, for ids that are vouched for. */
export function namesOf(entityId: number, people: readonly KnownBy[]): [number, string[], string[]] {
  const vouched = people.filter(isVouchedFor).map(({ customerId }) => customerId);
  return [entityId, vouched.map(longestPart), vouched.map(patternOf)];
}

type PeopleFinder = (text: string) => KnownBy[];

/** Finders by people: all locations get the same people. */
const finders = new WeakMap<readonly KnownBy[], PeopleFinder>();

/** Returns which of the people may stand in a text: all that `namedIn` would find there, and few others. */
export function peopleFinder(people: readonly KnownBy[]): PeopleFinder {
  if (!finders.has(people)) finders.set(people, createPeopleFinder(people));
  return finders.get(people)!;
}

function createPeopleFinder(all: readonly KnownBy[]): PeopleFinder {
  const people = all.filter(isVouchedFor);
  const [plain, others] = [people.filter(isWrittenAsItIs), people.filter((known) => !isWrittenAsItIs(known))];
  const findPlain = createNameFinder(plain.map(({ customerId }) => partsOf(customerId)));
  const findOthers = createNameFinder(
    others.map(({ customerId }) => customerId.split(/["\\/]+/).filter((part) => part !== '')),
  );
  return (text) => {
    const found = Array.from(findPlain(text), (place) => plain[place]!);
    if (others.length === 0) return found;
    const places = new Set([...findOthers(text), ...findOthers(unescaped(text))]);
    return [...found, ...Array.from(places, (place) => others[place]!)];
  };
}

/** Returns whether a part of the id stands unchanged in every text. */
function isWrittenAsItIs({ customerId }: KnownBy): boolean {
  return partsOf(customerId).length > 0;
}

function unescaped(text: string): string {
  return text.replaceAll(/(?<!\\)\\+u([0-9A-Fa-f]{4})|(?:%[0-9A-Fa-f]{2})+/g, (escaped, unit?: string) =>
    unit ? String.fromCharCode(Number.parseInt(unit, 16)) : Buffer.from(escaped.replaceAll('%', ''), 'hex').toString(),
  );
}

/** Returns the parts of an id that no way of writing changes. */
function partsOf(id: string): string[] {
  return id.split(/[^A-Za-z0-9_.~-]+/).filter((part) => part !== '');
}

function longestPart(id: string): string {
  return partsOf(id).reduce((longest, part) => (part.length > longest.length ? part : longest), '');
}

/** Escapes of JSON or of an address that may precede a word, though they end with a letter or digit. */
const ESCAPE_BEFORE = String.raw`\\[bfnrt]|\\u00[01][0-9A-Fa-f]|%[0-9A-Fa-f]{2}`;

/** Returns a pattern for Postgres that finds an id as it is, in CSV, in JSON (also nested), and in an address. */
function patternOf(id: string): string {
  return `(^|[^[:alnum:]_]|${ESCAPE_BEFORE})${[...id].map(asWritten).join('')}($|[^[:alnum:]_])`;
}

function asWritten(character: string): string {
  if (/[A-Za-z0-9_]/.test(character)) return character;
  if (/[.~-]/.test(character)) return `\\${character}`;
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const escaped = units.map((unit) => String.raw`\\+u${anyCase(unit.toString(16).padStart(4, '0'))}`).join('');
  const inAddress = [...Buffer.from(character)]
    .map((byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`)
    .join('');
  return `(${asItIs(character)}|${escaped}|${inAddress})`;
}

/** JSON writes quotes and backslashes behind backslashes, and sometimes slashes; CSV doubles quotes. */
function asItIs(character: string): string {
  if (character === '"') return String.raw`\\*"+`;
  if (character === '\\') return String.raw`\\+`;
  if (character === '/') return String.raw`\\*/`;
  return character <= '~' ? `\\${character}` : character;
}

function anyCase(digits: string): string {
  return digits.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
