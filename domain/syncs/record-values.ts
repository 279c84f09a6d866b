/** Checks a mapped record by the attributes of its SoR, and returns rows to merge or refusals. */
import { parseAttributeValue, parseElements, type ScalarType, type ValueType } from '../attributes/attribute-value.ts';
import { customerIdError, type CustomerType, newCustomerIdError } from '../attributes/customer-id.ts';
import { sayType, scalarText, textOf } from '../attributes/json-value.ts';
import {
  type AttributeRules,
  findAttributeOf,
  type ImportAttribute,
  refused,
  type RefusedRow,
  type SetRow,
  sorDeleted,
  type ValueRow,
} from '../attributes/value-row.ts';
import { numberText } from '../json/exact-json.ts';
import { readNumber } from '../text/number-value.ts';
import type { Json } from '../json/plain-json.ts';
import { quote } from '../text/text-limits.ts';
import type { ImportErrorType } from '../imports/import-error-type.ts';
import type { CustomerField, MappedRecord } from './record-mapping.ts';

export type RecordRules = AttributeRules & { sorDeleted: boolean };

/** Every value of a record is a row or a refusal. */
export type CheckedRecord = { rows: (ValueRow | SetRow)[]; refusals: RefusedRow[] };

type Person = { customerId: string; customerType: CustomerType };

/** Returns a record's changes by the rules of imports, or its refusal. An array, or a text with `;`, replaces a Set. */
export function checkRecord(mapped: MappedRecord, rules: RecordRules, customer: CustomerField): CheckedRecord {
  const { customerId } = mapped;
  if (rules.sorDeleted) return { rows: [], refusals: [sorDeleted(textOf(customerId))] };
  const error = idError(customerId, customer.field);
  if (error !== undefined) return { rows: [], refusals: [refused('INVALID_CUSTOMER_ID', error, textOf(customerId))] };
  const person = { customerId: idText(customerId)!, customerType: customer.type };
  const checked: CheckedRecord = { rows: [], refusals: [] };
  for (const [key, value] of mapped.values) {
    const outcome = checkValue(person, key, value, rules);
    if ('errorType' in outcome) checked.refusals.push(outcome);
    else checked.rows.push(outcome);
  }
  for (const { errorType, message, to } of mapped.errors) {
    checked.refusals.push(refused(errorType, message, person.customerId, to));
  }
  return checked;
}

export function customerIdOf({ customerId }: MappedRecord): string | null {
  const text = idText(customerId);
  return text === undefined || customerIdError(text) !== undefined ? null : text;
}

/** Returns the digits of a number, without an exponent; undefined for a value that is no id. */
function idText(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value;
  const reading = readNumber(numberText(value) ?? '');
  return reading.ok ? reading.value : undefined;
}

function idError(value: Json | undefined, field: string): string | undefined {
  const text = idText(value);
  if (text !== undefined) return newCustomerIdError(text);
  if (value === undefined) return `the field ${quote(field)} is missing`;
  const digits = numberText(value);
  if (digits !== undefined)
    return `the field ${quote(field)} is the number ${digits}, which is too large or too long: send a text`;
  return `the field ${quote(field)} is ${sayType(value)}: it must be a text or a number`;
}

function checkValue(person: Person, key: string, value: Json, rules: RecordRules): ValueRow | SetRow | RefusedRow {
  const attribute = findAttributeOf(person.customerId, key, rules);
  if ('errorType' in attribute) return attribute;
  return attribute.valueType === 'Set'
    ? checkSet(person, attribute, value)
    : checkScalar(person, { ...attribute, valueType: attribute.valueType }, value);
}

function checkScalar(
  person: Person,
  { id, key, valueType }: ImportAttribute & { valueType: ScalarType },
  value: Json,
): ValueRow | RefusedRow {
  const row = { kind: 'value', attributeId: id, valueType, ...person } as const;
  if (value === null) return { ...row, action: 'remove', value: null };
  const text = isTextToo(valueType, value) ? String(value) : scalarText(valueType, value);
  if (text === undefined) return wrongType(person, { key, valueType }, value);
  const parsed = parseAttributeValue(valueType, text);
  return parsed.ok
    ? { ...row, action: 'set', value: parsed.value }
    : refused(parsed.errorType, parsed.message, person.customerId, key);
}

/** A String takes what a feed's doesn't: sources have types of their own. */
function isTextToo(type: ScalarType, value: Json): value is number | boolean {
  return type === 'String' && (typeof value === 'number' || typeof value === 'boolean');
}

function checkSet(person: Person, { id, key }: ImportAttribute, value: Json): SetRow | RefusedRow {
  const row = { kind: 'set', attributeId: id, valueType: 'Set', ...person } as const;
  if (value === null || (Array.isArray(value) && value.length === 0)) return { ...row, action: 'DEL', elements: [] };
  const parsed = Array.isArray(value)
    ? readElements(value)
    : typeof value === 'string' && parseAttributeValue('Set', value);
  if (parsed === false) return wrongType(person, { key, valueType: 'Set' }, value);
  if (!parsed.ok) return refused(parsed.errorType, parsed.message, person.customerId, key);
  return { ...row, action: 'UPSERT', elements: parsed.value };
}

type ElementsReading = { ok: true; value: string[] } | { ok: false; errorType: ImportErrorType; message: string };

function readElements(values: readonly Json[]): ElementsReading {
  const texts: string[] = [];
  for (const value of values) {
    const text = typeof value === 'boolean' ? String(value) : textOf(value);
    if (text === undefined) {
      const message = `an element is ${sayType(value)}: a Set takes texts, numbers, true and false`;
      return { ok: false, errorType: 'INVALID_VALUE', message };
    }
    texts.push(text);
  }
  return parseElements(texts);
}

const ADVICE: Record<ValueType, string> = {
  String: 'map it as: string',
  Number: 'send a number, or a text that holds one',
  Boolean: 'send true or false, or map it as: boolean',
  Date: 'send YYYY-MM-DD, or map it as: date with its format, such as unix',
  Datetime: 'send ISO 8601, or map it as: datetime with its format, such as unix',
  Set: 'send an array or a text, or map it as: set',
};

function wrongType(
  { customerId }: Person,
  { key, valueType }: Pick<ImportAttribute, 'key' | 'valueType'>,
  value: Json,
): RefusedRow {
  const isScalarMeant = typeof value === 'object' && valueType !== 'Set' && valueType !== 'String';
  const advice = isScalarMeant ? 'map it as: string, to a String' : ADVICE[valueType];
  return refused('INVALID_VALUE', `${sayType(value)} is no value of a ${valueType}: ${advice}`, customerId, key);
}
