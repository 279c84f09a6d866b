/** How filters compare values: operators, the values that each takes, and versions. */

import type { ValueType } from '../attributes/attribute-value.ts';
import { isDate, readDatetime } from '../time/date-value.ts';
import { ERASED } from '../core/erased.ts';
import { readNumber } from '../text/number-value.ts';
import { sayUnknown } from '../text/say-unknown.ts';
import { isLongerThan, isStorable, MAX_CODE_POINTS } from '../text/text-limits.ts';

export type ComparedType = ValueType | 'Version';

type ComparisonOperator =
  | 'is_set'
  | 'is'
  | 'contains'
  | 'starts_with'
  | 'greater_than'
  | 'at_least'
  | 'less_than'
  | 'at_most'
  | 'between'
  | 'before'
  | 'after'
  | 'in_last_days'
  | 'contains_any'
  | 'contains_all';

/** A comparison: the filter finds people with such a value, or with `isNegated` all others. */
export type Comparison = { type: ComparedType; operator: ComparisonOperator; isNegated: boolean; values: string[] };

const NEGATIONS: Record<string, ComparisonOperator> = {
  is_not_set: 'is_set',
  is_not: 'is',
  does_not_contain: 'contains',
  not_in_last_days: 'in_last_days',
  contains_none: 'contains_any',
};

const ORDERED = ['greater_than', 'at_least', 'less_than', 'at_most', 'between'];
const DATED = ['before', 'after', 'between', 'in_last_days', 'not_in_last_days'];

const OPERATORS: Record<ComparedType, readonly string[]> = {
  String: ['is', 'is_not', 'contains', 'does_not_contain', 'starts_with'],
  Number: ['is', 'is_not', ...ORDERED],
  Boolean: ['is', 'is_not'],
  Date: ['is', 'is_not', ...DATED],
  Datetime: DATED,
  Set: ['contains_any', 'contains_all', 'contains_none'],
  Version: ['is', 'is_not', ...ORDERED],
};

export function isNegation(operator: string): boolean {
  return Object.hasOwn(NEGATIONS, operator);
}

/** Returns whether an operator compares with bounds or a number of days, not with values that a person has. */
export function isBound(operator: string): boolean {
  return ORDERED.includes(operator) || DATED.includes(operator);
}

export function operatorsOf(type: ComparedType): string[] {
  return ['is_set', 'is_not_set', ...OPERATORS[type]];
}

export const MAX_VALUES = 100;
const MAX_DAYS = 36_500;

const SEVERAL: readonly ComparisonOperator[] = ['is', 'contains', 'starts_with', 'contains_any', 'contains_all'];

/** Returns how many values an operator of a filter takes. */
export function valuesTaken(operator: string): { min: number; max: number } {
  return valueCount(NEGATIONS[operator] ?? (operator as ComparisonOperator));
}

/** Returns how many values an operator takes. */
function valueCount(operator: ComparisonOperator): { min: number; max: number } {
  if (operator === 'is_set') return { min: 0, max: 0 };
  if (operator === 'between') return { min: 2, max: 2 };
  return { min: 1, max: SEVERAL.includes(operator) ? MAX_VALUES : 1 };
}

type ComparisonError = { element: string; message: string };

/**
 * Reads a comparison's values, or returns the error. `valuesErased`: number of values that erasures removed; there may
 * then be none. With `isStored` a value may be the placeholder of an earlier erasure, which equals no value.
 */
export function readComparison(
  type: ComparedType,
  given: string,
  values: readonly string[],
  { isStored = false, valuesErased = 0 } = {},
): Comparison | ComparisonError {
  const allowed = operatorsOf(type);
  if (!allowed.includes(given)) return { element: 'operator', message: sayUnknown(given, allowed) };
  const isNegated = given in NEGATIONS;
  const operator = NEGATIONS[given] ?? (given as ComparisonOperator);
  const { min: least, max } = valueCount(operator);
  if (valuesErased > 0 && !SEVERAL.includes(operator)) {
    return { element: 'values_erased', message: `must be left out with ${given}: erasures remove no values from it` };
  }
  const min = valuesErased > 0 ? 0 : least;
  if (values.length < min || values.length > max) {
    const count = min === max ? `${min === 0 ? 'no' : min} value${min === 1 ? '' : 's'}` : `${min} to ${max} values`;
    return { element: 'values', message: `must have ${count} with ${given}` };
  }
  const read: string[] = [];
  for (const [index, value] of values.entries()) {
    const outcome = operator === 'in_last_days' ? readDays(value) : READERS[type](value);
    if (typeof outcome !== 'string' && isStored && operator === 'is' && value === ERASED) continue;
    if (typeof outcome !== 'string') return { element: `values.${index}`, message: outcome.message };
    read.push(outcome);
  }
  // With one value gone, no person can have all of them.
  return { type, operator, isNegated, values: operator === 'contains_all' && valuesErased > 0 ? [] : read };
}

type Read = string | { message: string };

const READERS: Record<ComparedType, (text: string) => Read> = {
  String: readText,
  Set: readText,
  Number(text) {
    const reading = readNumber(text);
    return reading.ok ? reading.value : { message: reading.message };
  },
  Boolean: (text) => (text === 'true' || text === 'false' ? text : { message: 'must be true or false' }),
  Date: (text) => (isDate(text) ? text : { message: 'must be a date such as 2026-01-31' }),
  Datetime: (text) =>
    isDate(text)
      ? `${text}T00:00:00.000Z`
      : (readDatetime(text) ?? {
          message: 'must be a date, or a date and time in ISO 8601 such as 2026-01-31T12:30:00Z',
        }),
  Version(text) {
    if (text.length > MAX_VERSION_CHARS) return { message: `must have at most ${MAX_VERSION_CHARS} characters` };
    return versionNumbers(text) === null ? { message: 'must have a number in it, such as 2.10' } : text;
  },
};

function readText(text: string): Read {
  if (text === '') return { message: 'must not be empty' };
  if (isLongerThan(text, MAX_CODE_POINTS)) return { message: `must have at most ${MAX_CODE_POINTS} characters` };
  return isStorable(text) ? text : { message: 'must not hold NUL or half a surrogate pair' };
}

function readDays(text: string): Read {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= MAX_DAYS
    ? text
    : { message: `must be a number of days from 1 to ${MAX_DAYS}` };
}

const MAX_VERSION_CHARS = 100;

/**
 * Returns the numbers of the first run of digits and points, null if there is none: 2.10 is above 2.9, 2.0 equals 2,
 * and 2.10.0-beta3 counts as 2.10.
 */
export function versionNumbers(text: string): string[] | null {
  const run = text.length > MAX_VERSION_CHARS ? null : /\d+(?:\.\d+)*/.exec(text);
  if (run === null) return null;
  const numbers = run[0].split('.').map((digits) => String(BigInt(digits)));
  while (numbers.length > 1 && numbers.at(-1) === '0') numbers.pop();
  return numbers;
}

const DEVICE_FIELD_TYPES = {
  opt_in: 'Boolean',
  opt_out: 'Boolean',
  uninstalled: 'Boolean',
  number_of_sessions: 'Number',
  number_of_sessions_30d: 'Number',
  total_session_duration: 'Number',
  total_session_duration_30d: 'Number',
  last_city: 'String',
  country_code: 'String',
  language_code: 'String',
  app_version: 'Version',
  os_version: 'Version',
  sdk_version: 'Version',
  device_model: 'String',
  device_type: 'String',
  last_location_latitude: 'Number',
  last_location_longitude: 'Number',
  timezone_offset: 'Number',
  number_of_crashes: 'Number',
  number_of_crashes_30d: 'Number',
  first_opened_app_at: 'Datetime',
  last_opened_app_at: 'Datetime',
  updated_at: 'Datetime',
} as const satisfies Record<string, ComparedType>;

/** Fields of a device in filters (reference: Event, session, device, location). */
export type DeviceField = keyof typeof DEVICE_FIELD_TYPES;
export const DEVICE_FIELDS = Object.keys(DEVICE_FIELD_TYPES) as DeviceField[];

export function deviceFieldType(field: string): ComparedType | undefined {
  return Object.hasOwn(DEVICE_FIELD_TYPES, field) ? DEVICE_FIELD_TYPES[field as DeviceField] : undefined;
}
