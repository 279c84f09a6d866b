/** Values of records as Salesforce takes them, in JSON and as literals of SOQL, and as it compares those of keys. */
import { exactNumber } from '../../domain/json/exact-json.ts';
import { isKeptByDouble, readNumber } from '../../domain/text/number-value.ts';
import type { Json } from '../core/contract.ts';
import { type DescribedField, ID, typeOf } from './salesforce-objects.ts';

/** A value that JSON.stringify writes as Salesforce takes it: numbers to their last digit. */
export type Sent = null | boolean | number | string | ReturnType<typeof exactNumber>;
/** The end of a sentence about a value. */
type Wrong = { fault: string };

const DATE = /^\d{4}-\d\d-\d\d$/;
const MIDNIGHT = /^(\d{4}-\d\d-\d\d)T00:00:00(?:\.0+)?(?:Z|[+-]00:?00)$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
const ID_TEXT = /^[a-zA-Z0-9]{15}(?:[a-zA-Z0-9]{3})?$/;

export const isFault = (sent: Sent | Wrong): sent is Wrong =>
  typeof sent === 'object' && sent !== null && 'fault' in sent;

/**
 * Returns a value as a field takes it. A value of another type is a fault: Salesforce refuses the whole call for it
 * (JSON_PARSER_ERROR). An empty text clears, as null does.
 */
export function sentOf(field: DescribedField, value: Json): Sent | Wrong {
  if (value === null || value === '') return null;
  const type = typeOf(field);
  if (Array.isArray(value)) {
    return type === 'array' ? choicesOf(value) : { fault: 'is a list, which only a field of several choices takes' };
  }
  if (typeof value === 'object') return { fault: 'is an object, which no field of Salesforce takes' };
  switch (type) {
    case 'integer':
    case 'number':
      return numberOf(value, type === 'integer');
    case 'boolean':
      if (typeof value === 'boolean') return value;
      return value === 'true' || value === 'false' ? value === 'true' : { fault: 'is neither true nor false' };
    case 'date':
    case 'datetime':
      return timeOf(`${value}`, type);
    default:
      return field.name === ID && !ID_TEXT.test(textOf(value))
        ? { fault: 'is not an id of Salesforce' }
        : textOf(value);
  }
}

function textOf(value: string | number | boolean): string {
  if (typeof value !== 'number') return `${value}`;
  const read = readNumber(`${value}`);
  return read.ok ? read.value : `${value}`;
}

function numberOf(value: string | number | boolean, isWhole: boolean): Sent | Wrong {
  const read = readNumber(`${value}`);
  if (!read.ok) return { fault: read.message };
  if (isWhole && !Number.isInteger(Number(read.value))) return { fault: 'is not a whole number' };
  return isKeptByDouble(read.value) ? Number(read.value) : exactNumber(read.value);
}

/** Fields of dates take no time, and fields of times no date (REST API Developer Guide, "Valid Date Formats"). */
function timeOf(text: string, type: 'date' | 'datetime'): Sent | Wrong {
  const isDate = DATE.test(text);
  const time = isDate || TIME.test(text) ? new Date(text) : null;
  if (time === null || Number.isNaN(time.getTime()) || !isDay(text.slice(0, 10))) {
    return { fault: type === 'date' ? 'is not a date such as 2026-01-31' : 'is not a time as ISO 8601 writes it' };
  }
  if (type === 'datetime') return time.toISOString();
  const date = isDate ? text : MIDNIGHT.exec(text)?.[1];
  return date ?? { fault: 'is a time, and the field takes dates' };
}

/** Returns whether a date is in the calendar: V8 takes February 31 for March 3. */
const isDay = (date: string) => new Date(date).toISOString().startsWith(date);

function choicesOf(value: Json[]): Sent | Wrong {
  if (value.some((entry) => typeof entry === 'object'))
    return { fault: 'is a list with something else than texts, numbers and booleans' };
  const texts = value.map((entry) => textOf(entry as string | number | boolean));
  if (texts.some((text) => text.includes(';')))
    return { fault: 'has an entry with a semicolon, by which Salesforce separates entries' };
  return texts.length === 0 ? null : texts.join(';');
}

const isNumeric = (field: DescribedField) => ['integer', 'number'].includes(typeOf(field));

/**
 * Returns one form for all values of a key that Salesforce takes for the same: it trims texts, and compares them
 * without case unless the field says otherwise. Ids have 15 characters, or 18 that are unique without case.
 */
export function comparable(field: DescribedField, value: string): string {
  if (field.name === ID) return (value.length === 15 ? `${value}${suffixOf(value)}` : value).toLowerCase();
  if (isNumeric(field)) return `${Number(value)}`;
  return field.caseSensitive ? value.trim() : value.trim().toLowerCase();
}

const FIVE_BITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';

/** Returns the end of an id of 18 characters: by five letters of the id, a character that says which are capitals. */
const suffixOf = (id: string) =>
  [0, 5, 10]
    .map((from) =>
      Array.from(id.slice(from, from + 5)).reduce((bits, sign, n) => bits + (/[A-Z]/.test(sign) ? 2 ** n : 0), 0),
    )
    .map((bits) => FIVE_BITS[bits])
    .join('');

const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f' };

/** Returns a key's value as a literal of SOQL. Salesforce reads a number without a point as one of 32 bits. */
export function literalOf(field: DescribedField, value: string): string {
  if (!isNumeric(field)) return `'${value.replaceAll(/[\\'"\n\r\t\b\f]/g, (sign) => ESCAPES[sign] ?? `\\${sign}`)}'`;
  return typeOf(field) === 'number' && !value.includes('.') ? `${value}.0` : value;
}
