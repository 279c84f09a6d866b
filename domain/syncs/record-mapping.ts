/** Maps a source's record to a customer id and values, by a sync's mapping. */
import type { CustomerType } from '../attributes/customer-id.ts';
import { type Conversion, type Converted, prepareConversion } from '../attributes/field-conversion.ts';
import type { Json } from '../json/plain-json.ts';
import { quote } from '../text/text-limits.ts';

export type SourceRecord = { [field: string]: Json };

export type Mapping = {
  /** Which field names the customer; null where no attributes are written. */
  customer: CustomerField | null;
  fields: readonly MappedField[];
  /** Writes fields without an entry under their own names, or drops them. */
  otherFields: 'keep' | 'drop';
  /** Effect of an empty text: EMPTY_VALUE as in imports, or a removal. */
  empty: 'fail' | 'remove';
};

export type CustomerField = { field: string; type: CustomerType };

export type MappedField =
  /** Default of `to`: `from`. */
  | { from: string; to?: string; convert?: Conversion }
  | { from: string; drop: true }
  | { to: string; value: string | number | boolean | null };

/** Returns the targets of a mapping's entries. */
export function targetsOf({ fields }: Mapping): string[] {
  return fields.flatMap((field) => {
    if ('drop' in field) return [];
    return ['from' in field ? (field.to ?? field.from) : field.to];
  });
}

/** Returns whether a mapping may write this field of another connection. */
export function mayWrite(mapping: Mapping, name: string): boolean {
  const isRead = mapping.fields.some((field) => 'from' in field && field.from === name);
  return targetsOf(mapping).includes(name) || (mapping.otherFields === 'keep' && !isRead);
}

/** Returns the source's fields that a mapping uses; null if it uses all of them. */
export function fieldsUsed({ customer, fields, otherFields }: Mapping): string[] | null {
  if (otherFields === 'keep') return null;
  const named = fields.flatMap((field) => ('from' in field && !('drop' in field) ? [field.from] : []));
  return [...new Set([...(customer === null ? [] : [customer.field]), ...named])].toSorted();
}

/**
 * Returns why records that a run has kept cannot be mapped: it read `fieldsRead` (null: all fields), and the mapping
 * uses others by now. Null if they can.
 */
export function sayNotRead(mapping: Mapping, fieldsRead: readonly string[] | null): string | null {
  if (fieldsRead === null) return null;
  const lacking = fieldsUsed(mapping)?.filter((field) => !fieldsRead.includes(field));
  if (lacking?.length === 0) return null;
  const what = lacking
    ? `${lacking.map(quote).join(', ')}, which the mapping names`
    : 'all fields, which the mapping takes';
  return `The run did not read ${what} by now: run the sync with fresh instead`;
}

/** A conversion that failed. The message quotes at most 60 characters of the value. */
export type FieldError = { from: string; to: string; errorType: 'EMPTY_VALUE' | 'INVALID_VALUE'; message: string };

export type MappedRecord = {
  /** As it stands in the record; undefined where that has no such field. */
  customerId: Json | undefined;
  /** Each name once; a null removes. */
  values: [to: string, value: Json][];
  errors: FieldError[];
};

type Outcome = { value: Json } | FieldError;
type Entry = { to: string; outcome(record: SourceRecord): Outcome | undefined };

/**
 * Prepares a mapping without errors. Null is never converted; a missing field gives no value. Of entries with one name,
 * the last that gives something counts. Keeps other fields, unless an entry names them; the customer's only with
 * `keepsCustomer`.
 */
export function prepareMapping(
  mapping: Mapping,
  { keepsCustomer = false } = {},
): (record: SourceRecord) => MappedRecord {
  const entries = mapping.fields.flatMap((field) => prepareEntry(field, mapping));
  const keep = mapping.otherFields === 'keep' ? keeper(mapping, keepsCustomer) : undefined;
  const customerField = mapping.customer?.field;
  return (record) => {
    const outcomes = new Map<string, Outcome>();
    keep?.(record, outcomes);
    for (const { to, outcome } of entries) {
      const found = outcome(record);
      if (found !== undefined) outcomes.set(to, found);
    }
    return {
      customerId: customerField === undefined ? undefined : fieldOf(record, customerField),
      ...sorted(outcomes),
    };
  };
}

/** Own fields alone: one may be named as what every object inherits. */
function fieldOf(record: SourceRecord, field: string): Json | undefined {
  return Object.hasOwn(record, field) ? record[field] : undefined;
}

function sorted(outcomes: Map<string, Outcome>): Pick<MappedRecord, 'values' | 'errors'> {
  const values: MappedRecord['values'] = [];
  const errors: FieldError[] = [];
  for (const [to, outcome] of outcomes) {
    if ('value' in outcome) values.push([to, outcome.value]);
    else errors.push(outcome);
  }
  return { values, errors };
}

type Keeper = (record: SourceRecord, outcomes: Map<string, Outcome>) => void;

function keeper({ fields, customer, empty }: Mapping, keepsCustomer: boolean): Keeper {
  const named = new Set(
    fields.flatMap((field) => [
      ...('from' in field ? [field.from] : []),
      ...('to' in field && field.to !== undefined ? [field.to] : []),
    ]),
  );
  if (customer !== null && !keepsCustomer) named.add(customer.field);
  return (record, outcomes) => {
    for (const [field, value] of Object.entries(record)) {
      if (!named.has(field)) outcomes.set(field, { value: emptied(value, empty) });
    }
  };
}

function emptied(value: Json, empty: Mapping['empty']): Json {
  return value === '' && empty === 'remove' ? null : value;
}

function prepareEntry(field: MappedField, { empty }: Mapping): Entry[] {
  if ('drop' in field) return [];
  if (!('from' in field)) {
    const constant = { value: emptied(field.value, empty) };
    return [{ to: field.to, outcome: () => constant }];
  }
  const { from, to = from } = field;
  const convert = field.convert && prepareConversion(field.convert);
  return [
    {
      to,
      outcome(record) {
        const found = fieldOf(record, from);
        if (found === undefined) return undefined;
        const value = emptied(found, empty);
        return convert === undefined ? { value } : outcomeOf(convert(value), { from, to, empty });
      },
    },
  ];
}

function outcomeOf(
  converted: Converted,
  { from, to, empty }: { from: string; to: string; empty: Mapping['empty'] },
): Outcome {
  if (converted.ok) return { value: converted.value };
  const { errorType, message } = converted;
  // Spaces or separators alone are as empty as no text.
  return errorType === 'EMPTY_VALUE' && empty === 'remove' ? { value: null } : { from, to, errorType, message };
}
