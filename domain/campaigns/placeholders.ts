/** Placeholders in the texts of messages: reads them, and renders texts with values. */

import { numberText } from '../json/exact-json.ts';

/**
 * A placeholder (reference: Transactional campaigns): `*@name@*`, or `*@name|default@*`. A name has 1 to 64 letters,
 * digits, `_`, `-` and `.`; a default is any text without `*@` and `@*`, or empty. A name that begins with `sor:` is
 * that of a profile value: the identifier of a System of Records, a dot, and the key of an attribute, which may have
 * any characters but `|`.
 */
export type Placeholder = { name: string; hasDefault: boolean };

/** The values of a message by placeholder: JSON values, or numbers as `parseExactJson` keeps their digits. */
export type TemplateVars = { readonly [name: string]: unknown };

export const MAX_MESSAGE_BYTES = 32 * 1024;

type Template = {
  /** Each name once, by first occurrence. */
  placeholders: Placeholder[];
  /** The defaults of its placeholders, in their order. */
  defaults: readonly (readonly [name: string, text: string])[];
  startsWithPlaceholder: boolean;
  /** Adds missing placeholders to `missing`. Stops beyond a message's size: thousands of values fill the memory. */
  render(vars: TemplateVars, missing: Set<string>): string;
};

type Part = { before: string; name: string; otherwise: string | null };

const OPEN = '*@';
const CLOSE = '@*';
const PROFILE_PREFIX = 'sor:';
const NAME = /sor:(?:(?!\*@|@\*)[^|]){1,330}|[\p{L}\p{M}\p{N}_.-]{1,64}/uy;

/** Returns whether a placeholder takes a profile value, and no variable of a message. */
export function isProfileName(name: string): boolean {
  return name.startsWith(PROFILE_PREFIX);
}

/** Returns what a profile value names; null if it has no dot. */
export function readProfileName(name: string): { sor: string; key: string } | null {
  const dot = name.indexOf('.');
  return dot === -1 ? null : { sor: name.slice(PROFILE_PREFIX.length, dot), key: name.slice(dot + 1) };
}

/** Returns the placeholder of a profile value; null: without one, the message is not sent. */
export function profilePlaceholder({ sor, key }: { sor: string; key: string }, otherwise: string | null): string {
  return `${OPEN}${PROFILE_PREFIX}${sor}.${key}${otherwise === null ? '' : `|${otherwise}`}${CLOSE}`;
}

/** Returns whether a text may stand as the default of a placeholder. */
export function isDefaultText(text: string): boolean {
  return !text.includes(OPEN) && !text.includes(CLOSE);
}

export function compileTemplate(text: string): Template {
  const { parts, rest } = splitTemplate(text);
  const placeholders = joinPlaceholders(parts.map(({ name, otherwise }) => ({ name, hasDefault: otherwise !== null })));
  if (parts.length === 0) return { placeholders, defaults: [], startsWithPlaceholder: false, render: () => text };
  return {
    placeholders,
    defaults: parts.flatMap(({ name, otherwise }) => (otherwise === null ? [] : [[name, otherwise] as const])),
    startsWithPlaceholder: parts[0]!.before === '',
    render(vars, missing) {
      let rendered = '';
      for (const { before, name, otherwise } of parts) {
        const value = (Object.hasOwn(vars, name) ? templateText(vars[name]) : undefined) ?? otherwise;
        if (value === null) missing.add(name);
        else rendered += before + value;
        if (rendered.length > MAX_MESSAGE_BYTES) return rendered;
      }
      return rendered + rest;
    },
  };
}

const MAX_MISSPELT = 60;

/** Returns the first `*@…` that is no placeholder, such as `*@first name@*`, cut to size; null if there is none. */
export function findMisspelt(text: string): string | null {
  const { parts, rest } = splitTemplate(text);
  for (const piece of [...parts.map(({ before }) => before), rest]) {
    const open = piece.indexOf(OPEN);
    if (open === -1) continue;
    const close = piece.indexOf(CLOSE, open + OPEN.length);
    return piece.slice(open, Math.min(close === -1 ? piece.length : close + CLOSE.length, open + MAX_MISSPELT));
  }
  return null;
}

/** Returns each placeholder once, by first occurrence; it has a default if any of its occurrences has one. */
export function joinPlaceholders(placeholders: readonly Placeholder[]): Placeholder[] {
  const joined = new Map<string, boolean>();
  for (const { name, hasDefault } of placeholders) joined.set(name, hasDefault && (joined.get(name) ?? true));
  return Array.from(joined, ([name, hasDefault]) => ({ name, hasDefault }));
}

/** Returns a value as text: a string, a number with its digits, true or false. Others count as missing. */
export function templateText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(value) : numberText(value);
}

/** Splits a text in linear time: looks at each `*@` once, and for the next `@*` only beyond it. */
function splitTemplate(text: string): { parts: Part[]; rest: string } {
  const parts: Part[] = [];
  let start = 0;
  let close = -1;
  for (let open = text.indexOf(OPEN); open !== -1; open = text.indexOf(OPEN, Math.max(open + 1, start))) {
    NAME.lastIndex = open + OPEN.length;
    const name = NAME.exec(text)?.[0];
    if (name === undefined) continue;
    const nameEnd = NAME.lastIndex;
    if (text[nameEnd] !== '|' && !text.startsWith(CLOSE, nameEnd)) continue;
    if (close < nameEnd) close = text.indexOf(CLOSE, nameEnd);
    if (close === -1) break;
    const otherwise = close === nameEnd ? null : text.slice(nameEnd + 1, close);
    if (otherwise?.includes(OPEN)) continue;
    parts.push({ before: text.slice(start, open), name, otherwise });
    start = close + CLOSE.length;
  }
  return { parts, rest: text.slice(start) };
}
