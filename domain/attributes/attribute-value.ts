/** Values of attributes: their types, and how they are read from texts. */
import { isDate, readDatetime } from '../time/date-value.ts';
import { readNumber } from '../text/number-value.ts';
import { isLongerThan, isStorable, MAX_CODE_POINTS, quote } from '../text/text-limits.ts';

/** Types of attributes (reference: Attribute value types). */
export const VALUE_TYPES = ['String', 'Number', 'Boolean', 'Date', 'Datetime', 'Set'] as const;

export type ValueType = (typeof VALUE_TYPES)[number];
export type ScalarType = Exclude<ValueType, 'Set'>;

/** A Number is a decimal string that keeps all digits, a Date is YYYY-MM-DD, a Datetime is ISO in UTC with ms. */
export type ScalarValue = string | boolean;

/** Maximum number of distinct elements of a Set (reference: Limits). */
export const MAX_SET_SIZE = 1000;

type ValueErrorType = 'EMPTY_VALUE' | 'INVALID_VALUE' | 'TOO_LONG_VALUE' | 'TOO_LONG_SET_SIZE';
export type ValueFailure = { ok: false; errorType: ValueErrorType; message: string };
export type ParsedValue<T> = { ok: true; value: T } | ValueFailure;

/**
 * Reads a CSV field as a value of `type`; nothing is trimmed. Booleans are `true` and `false`, also in upper case, as
 * spreadsheets write them. A String has at most 256 code points and no NUL. `;` separates a Set's elements; empty ones
 * are dropped, repeated ones keep their first position. EMPTY_VALUE: no text, or separators alone.
 */
export function parseAttributeValue(type: 'Set', text: string): ParsedValue<string[]>;
export function parseAttributeValue(type: ScalarType, text: string): ParsedValue<ScalarValue>;
export function parseAttributeValue(type: ValueType, text: string): ParsedValue<ScalarValue | string[]> {
  if (text === '') return EMPTY;
  switch (type) {
    case 'String':
      return parseString(text);
    case 'Number':
      return parseNumber(text);
    case 'Boolean':
      if (text === 'true' || text === 'TRUE') return { ok: true, value: true };
      return text === 'false' || text === 'FALSE'
        ? { ok: true, value: false }
        : invalid(text, 'is none of true, false, TRUE and FALSE');
    case 'Date':
      return isDate(text) ? { ok: true, value: text } : invalid(text, 'is no day written as YYYY-MM-DD');
    case 'Datetime':
      return parseDatetime(text);
    case 'Set':
      return parseSet(text);
  }
}

const EMPTY: ValueFailure = { ok: false, errorType: 'EMPTY_VALUE', message: 'the value is empty' };

function invalid(text: string, why: string): ValueFailure {
  return { ok: false, errorType: 'INVALID_VALUE', message: `${quote(text)} ${why}` };
}

function tooLong(what: string): ValueFailure {
  return { ok: false, errorType: 'TOO_LONG_VALUE', message: `${what} has over ${MAX_CODE_POINTS} characters` };
}

function parseString(text: string): ParsedValue<string> {
  if (isLongerThan(text, MAX_CODE_POINTS)) return tooLong('the value');
  return isStorable(text) ? { ok: true, value: text } : invalid(text, 'has a NUL or half a surrogate pair');
}

function parseNumber(text: string): ParsedValue<string> {
  const reading = readNumber(text);
  return reading.ok ? reading : invalid(text, reading.message);
}

function parseDatetime(text: string): ParsedValue<string> {
  const value = readDatetime(text);
  return value === undefined ? invalid(text, 'is no date and time in ISO 8601') : { ok: true, value };
}

function parseSet(text: string): ParsedValue<string[]> {
  return parseElements(text.split(';'));
}

/** Reads elements of a Set that come one by one, by the same rules. An element may then contain `;`. */
export function parseElements(texts: readonly string[]): ParsedValue<string[]> {
  const elements = new Set(texts);
  elements.delete('');
  if (elements.size === 0) return EMPTY;
  for (const element of elements) {
    if (isLongerThan(element, MAX_CODE_POINTS)) return tooLong(`the element ${quote(element)}`);
  }
  const text = texts.join(';');
  if (!isStorable(text)) return invalid(text, 'has a NUL or half a surrogate pair');
  if (elements.size > MAX_SET_SIZE) {
    const message = `the value has ${elements.size} elements; a Set has at most ${MAX_SET_SIZE}`;
    return { ok: false, errorType: 'TOO_LONG_SET_SIZE', message };
  }
  return { ok: true, value: [...elements] };
}
