import { isDate, readDatetime } from '../time/date-value.ts';
import { numberText } from '../json/exact-json.ts';
import type { ValueType } from './attribute-value.ts';

/**
 * The type of an attribute that is made for the first value that came of it. Null where the value tells of none: null,
 * an empty text, an object.
 */
export function inferValueType(value: unknown): ValueType | null {
  if (typeof value === 'boolean') return 'Boolean';
  if (numberText(value) !== undefined) return 'Number';
  if (Array.isArray(value)) return 'Set';
  if (typeof value !== 'string' || value === '') return null;
  if (isDate(value)) return 'Date';
  return readDatetime(value) === undefined ? 'String' : 'Datetime';
}
