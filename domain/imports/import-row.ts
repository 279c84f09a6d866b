/** Rules for a row of an import: checks its fields, and returns its change or its error. */
import {
  parseAttributeValue,
  type ParsedValue,
  type ScalarType,
  type ScalarValue,
  type ValueFailure,
} from '../attributes/attribute-value.ts';
import { numberReader } from '../attributes/number-conversion.ts';
import { type Action, ACTIONS } from '../attributes/set-actions.ts';
import {
  type AttributeRules,
  findAction,
  findAttribute,
  type ImportAttribute,
  refused,
  type RefusedRow,
  type RowOutcome,
} from '../attributes/value-row.ts';
import { dayOfMidnight, isDate } from '../time/date-value.ts';
import type { DateRule, Decimal } from '../csv/table-format.ts';
import { quote } from '../text/text-limits.ts';
import { type ImportFormat, ownColumns, wrongColumns } from './import-file.ts';

export type RowContext = ImportFormat & AttributeRules;

/**
 * Checks a row (reference: Feeding attribute values, Batch CSV import). The first error counts: columns, customer id,
 * key, unknown key (ignored, all others fail), attribute or SoR disabled, action, value. In v2 every line replaces; a
 * Set's line without an element empties it. In v3 ADD, UPSERT and REMOVE replace a scalar, DEL removes it and ignores
 * the value; an empty value is EMPTY_VALUE for the others.
 */
export function checkRow(fields: readonly string[], context: RowContext): RowOutcome {
  if (fields.length !== context.columns) return wrongColumns('the line', fields.length, ownColumns(context));
  const customerId = fields[0]!;
  const key = fields[1]!;
  const attribute = findAttribute(customerId, key, context);
  if ('errorType' in attribute) return attribute;
  const action = readAction(fields[3]);
  if (action === undefined) return invalidAction(fields[3]!, customerId, key);
  return attribute.valueType === 'Set'
    ? checkSet(attribute, customerId, action, fields[2]!, context)
    : checkScalar(attribute, attribute.valueType, customerId, action, fields[2]!, context);
}

/** Reads an action. An empty or missing one is UPSERT, in v2 as well: there every line replaces. */
function readAction(text = ''): Action | undefined {
  return text === '' ? 'UPSERT' : findAction(text);
}

function checkScalar(
  { id, key }: ImportAttribute,
  valueType: ScalarType,
  customerId: string,
  action: Action,
  text: string,
  { decimal, dates }: RowContext,
): RowOutcome {
  const row = { kind: 'value', attributeId: id, valueType, customerId, customerType: 'user_id' } as const;
  if (action === 'DEL') return { ...row, action: 'remove', value: null };
  const parsed =
    valueType === 'Number'
      ? parseNumberWith(decimal ?? '.', text)
      : valueType === 'Date' || valueType === 'Datetime'
        ? parseDateWith(dates ?? 'strict', valueType, text)
        : parseAttributeValue(valueType, text);
  if (!parsed.ok) return refused(parsed.errorType, parsed.message, customerId, key);
  return { ...row, action: 'set', value: parsed.value };
}

const readWithComma = numberReader({ as: 'number', decimal: ',' });

/** Parses a number with this decimal separator; a comma is read as in the mapping of a sync. */
function parseNumberWith(decimal: Decimal, text: string): ParsedValue<ScalarValue> {
  if (decimal === ',' && text !== '') {
    const reading = readWithComma(text);
    if (!reading.ok) return invalidNumber(text, `${reading.message}; decimal is set to a comma`);
    return parseAttributeValue('Number', String(reading.value));
  }
  const parsed = parseAttributeValue('Number', text);
  if (parsed.ok || !/^-?\d+,\d+$/.test(text)) return parsed;
  return invalidNumber(text, 'is not a number as JSON writes it: for a comma before decimals, set decimal to a comma');
}

/** Parses a date. Lenient: a midnight counts as its day, a day as its midnight in UTC, since spreadsheets mix them. */
function parseDateWith(dates: DateRule, type: 'Date' | 'Datetime', text: string): ParsedValue<ScalarValue> {
  const parsed = parseAttributeValue(type, text);
  const other = parsed.ok ? undefined : type === 'Date' ? dayOfMidnight(text) : midnightOf(text);
  if (parsed.ok || other === undefined) return parsed;
  if (dates === 'lenient') return { ok: true, value: other };
  const wanted = type === 'Date' ? 'the day of a midnight' : 'the midnight of a day';
  return { ...parsed, message: `${parsed.message}: for ${wanted}, set dates to lenient` };
}

function midnightOf(day: string): string | undefined {
  return isDate(day) ? `${day}T00:00:00.000Z` : undefined;
}

function invalidNumber(text: string, why: string): ValueFailure {
  return { ok: false, errorType: 'INVALID_VALUE', message: `${quote(text)} ${why}` };
}

function checkSet(
  { id, key }: ImportAttribute,
  customerId: string,
  action: Action,
  text: string,
  { version }: RowContext,
): RowOutcome {
  const row = { kind: 'set', attributeId: id, valueType: 'Set', customerId, customerType: 'user_id' } as const;
  if (action === 'DEL') return { ...row, action, elements: [] };
  const parsed = parseAttributeValue('Set', text);
  if (parsed.ok) return { ...row, action, elements: parsed.value };
  if (parsed.errorType === 'EMPTY_VALUE' && version === 'v2') return { ...row, action: 'DEL', elements: [] };
  return refused(parsed.errorType, parsed.message, customerId, key);
}

function invalidAction(action: string, customerId: string, key: string): RefusedRow {
  const message = `${quote(action)} is no action: it is ${ACTIONS.join(', ')} or empty`;
  return refused('INVALID_ACTION', message, customerId, key);
}
