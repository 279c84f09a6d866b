/** Types of Postgres, and their values as JSON. */
import { checkNesting } from '../../domain/json/parse-json.ts';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { Json } from '../core/contract.ts';
import { MAX_RECORD_NESTING } from '../core/json-record.ts';

/** A type of Postgres as a field. `parse` takes the text that Postgres writes for a value, and throws for any other. */
export type PostgresKind = {
  type: FieldType;
  /** Whether new rows can be found by a column of this type. */
  isOrdered: boolean;
  /** For a type of time: rows of the last moments wait for the next reading. */
  time?: 'instant' | 'day';
  parse(text: string): Json;
};

const asIs = (text: string): Json => text;
const OTHER: PostgresKind = { type: 'string', isOrdered: false, parse: asIs };
const TEXT: PostgresKind = { type: 'string', isOrdered: true, parse: asIs };
const INTEGER: PostgresKind = { type: 'integer', isOrdered: true, parse: exactNumber };
const NUMBER: PostgresKind = { type: 'number', isOrdered: true, parse: exactNumber };
const JSON_VALUE: PostgresKind = { type: 'object', isOrdered: false, parse: parseJson };
const INSTANT: PostgresKind = { type: 'datetime', isOrdered: true, time: 'instant', parse: isoInstant };

/** By the fixed numbers of the types (Postgres: src/include/catalog/pg_type.dat). */
const KINDS = new Map<number, PostgresKind>([
  [16, { type: 'boolean', isOrdered: false, parse: (text) => text === 't' }],
  [17, { type: 'string', isOrdered: false, parse: base64 }],
  [20, INTEGER],
  [21, INTEGER],
  [23, INTEGER],
  [26, INTEGER],
  [700, { ...NUMBER, isOrdered: false, parse: double }],
  [701, { ...NUMBER, isOrdered: false, parse: double }],
  [1700, NUMBER],
  [18, TEXT],
  [19, TEXT],
  [25, TEXT],
  [1042, TEXT],
  [1043, TEXT],
  [2950, TEXT],
  [114, JSON_VALUE],
  [3802, JSON_VALUE],
  [1082, { type: 'date', isOrdered: true, time: 'day', parse: asIs }],
  [1114, INSTANT],
  [1184, INSTANT],
]);

/** Columns of `pg_type`: the type under a domain, the type of an array's elements, and the delimiter of elements. */
export type PostgresType = { base: number | null; element: number | null; delimiter: string };

export const isBuiltIn = (oid: number) => KINDS.has(oid);

/** Returns the number of the type that a domain is finally based on. */
export function baseOf(oid: number, types: Map<number, PostgresType>): number {
  const base = types.get(oid)?.base ?? null;
  return base === null ? oid : baseOf(base, types);
}

/**
 * Returns the kind of a type. An unknown type is a text: enums, intervals, ranges, addresses, and types of extensions.
 */
export function postgresKind(oid: number, types: Map<number, PostgresType>): PostgresKind {
  const base = baseOf(oid, types);
  const { element, delimiter } = types.get(base) ?? { element: null, delimiter: ',' };
  if (element === null) return KINDS.get(base) ?? OTHER;
  const { parse } = postgresKind(element, types);
  const convert = (entry: Json): Json => {
    if (entry === null) return null;
    return Array.isArray(entry) ? entry.map(convert) : parse(entry as string);
  };
  return { type: 'array', isOrdered: false, parse: (text) => convert(parseArrayText(text, delimiter)) };
}

/** Returns a number if the shortest text of the double is the same number, else the text. */
function exactNumber(text: string): number | string {
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  return sameDecimal(text, String(number)) ? number : text;
}

/** NaN and infinities are texts, because JSON lacks them. */
function double(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function sameDecimal(a: string, b: string): boolean {
  const [x, y] = [decimalOf(a), decimalOf(b)];
  if (x === null || y === null || x.digits !== y.digits || x.exponent !== y.exponent) return false;
  return x.digits === '' || x.isNegative === y.isNegative;
}

/** 0.digits × 10^exponent, without zeros at either end. */
function decimalOf(text: string): { isNegative: boolean; digits: string; exponent: number } | null {
  const found = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
  if (found === null) return null;
  const [, sign, whole = '', fraction = '', power = '0'] = found;
  const all = whole + fraction;
  const leading = /^0*/.exec(all)![0].length;
  const digits = all.slice(leading).replace(/(?<!0)0+$/, '');
  return { isNegative: sign === '-', digits, exponent: digits === '' ? 0 : whole.length - leading + Number(power) };
}

/** Turns `2024-01-31 12:00:00.5+00` into `2024-01-31T12:00:00.500Z`: milliseconds, or microseconds if there are any. */
function isoInstant(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?$/.exec(text);
  // Infinity, before Christ, after the year 9999: as Postgres writes it.
  if (found === null) return text;
  const [, day, time, fraction = ''] = found;
  return `${day}T${time}.${fraction.padEnd(fraction.length > 3 ? 6 : 3, '0')}Z`;
}

function base64(text: string): string {
  if (!text.startsWith('\\x')) throw new Error('bytes that are not in hex');
  return Buffer.from(text.slice(2), 'hex').toString('base64');
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

/** Maximum depth of arrays and objects in a column: its record adds one level. */
export const MAX_COLUMN_NESTING = MAX_RECORD_NESTING - 1;

/** Parses JSON; numbers that a double would round become texts. Throws a `NestingError`. */
function parseJson(text: string): Json {
  checkNesting(text, MAX_COLUMN_NESTING);
  const exact = (_: string, value: Json, { source }: { source?: string }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value;
  return JSON.parse(text, exact as Reviver) as Json;
}

/**
 * Reads an array as Postgres writes it (Postgres: arrays, 8.15.6), with the delimiter of its element type: a comma, or
 * `;` for `box`. Drops the bounds of an array that does not begin at 1. Elements are texts.
 */
function parseArrayText(text: string, delimiter: string): Json[] {
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
