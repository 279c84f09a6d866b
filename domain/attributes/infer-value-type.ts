import { isDate, readDatetime } from '../time/date-value.ts';
import { numberText } from '../json/exact-json.ts';
import type { ValueType } from './attribute-value.ts';

/** Returns the type for an attribute whose first value is this one; null for null, an empty text and an object. */
export function inferValueType(value: unknown): ValueType | null {
  if (typeof value === 'boolean') return 'Boolean';
  if (numberText(value) !== undefined) return 'Number';
  if (Array.isArray(value)) return 'Set';
  if (typeof value !== 'string' || value === '') return null;
  if (isDate(value)) return 'Date';
  return readDatetime(value) === undefined ? 'String' : 'Datetime';
}
