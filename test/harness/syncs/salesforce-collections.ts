/** Salesforce's sObject Collections: up to 200 records a call, and what becomes of each. */
import { z } from 'zod';
import { isNumber, isReadOnly, isTime, type SalesforceField, type Value, type Values } from './salesforce-fields.ts';
import {
  indexKey,
  noResource,
  type ObjectType,
  type SalesforceRecords,
  SalesforceRefusal,
  type StoredRecord,
  visibleField,
} from './salesforce-records.ts';

type RecordError = { statusCode: string; message: string; fields: string[] };
type Result = { id?: string; success: boolean; created?: boolean; errors: RecordError[] };

/** An error that a test has the next records get. */
export type PlannedFailure = {
  matches: (values: Readonly<Values>, id: string | undefined) => boolean;
  error: RecordError;
  left: number;
};

/** A call's work on one record: `check` throws why it can't be written. */
type Step = { check(): void; write(): Result };

export type Collections = {
  records: SalesforceRecords;
  failures: PlannedFailure[];
  /** A value of the wrong JSON type fails its record; otherwise the whole call. */
  typeErrorsByRecord: boolean;
};

const MAX_RECORDS = 200;
const Body = z.object({
  allOrNone: z.boolean().default(false),
  records: z.array(z.looseObject({ attributes: z.object({ type: z.string() }), id: z.string().optional() })),
});

class RecordFailure extends Error {
  readonly error: RecordError;

  constructor(statusCode: string, message: string, fields: string[] = []) {
    super(message);
    this.error = { statusCode, message, fields };
  }
}

const malformedBody = (message: string) => new SalesforceRefusal(400, 'JSON_PARSER_ERROR', message);

function tooMany(count: number): void {
  if (count <= MAX_RECORDS) return;
  const message = `record limit reached. cannot submit more than ${MAX_RECORDS} records into this call`;
  throw new SalesforceRefusal(400, 'EXCEEDED_ID_LIMIT', message);
}

function readBody(body: unknown) {
  const read = Body.safeParse(body);
  if (!read.success) throw malformedBody(`Unexpected content: ${z.prettifyError(read.error)}`);
  tooMany(read.data.records.length);
  const records = read.data.records.map(({ attributes: { type }, id, ...values }) => ({ type, id, values }));
  return { allOrNone: read.data.allOrNone, records };
}

/** Inserts records, or updates them by id; those without one fail then. */
export function writeById(deps: Collections, action: 'insert' | 'update', body: unknown): Result[] {
  const { allOrNone, records: given } = readBody(body);
  const steps = given.map(({ type: name, id, values }, at) => {
    const type = writable(deps.records, name);
    return writeStep(deps, type, values, false, () => {
      if (action === 'insert') return undefined;
      if (id === undefined) throw new RecordFailure('MISSING_ARGUMENT', 'Id not specified in an update call');
      if (given.some((one, index) => one.id === id && index !== at))
        throw new RecordFailure('DUPLICATE_VALUE', `duplicate id specified: ${id}`, ['Id']);
      return liveRecord(deps.records, type, id);
    });
  });
  return results(steps, allOrNone);
}

/** Inserts or updates records by a field that finds them. */
export function upsert(deps: Collections, typeName: string, fieldName: string, body: unknown): Result[] {
  const type = writable(deps.records, typeName);
  const field = visibleField(type, fieldName);
  const isId = field?.name === 'Id';
  if (!field || !(isId || field.externalId || field.idLookup)) {
    const message = `Provided external ID field does not exist or is not accessible: ${fieldName}`;
    throw new SalesforceRefusal(404, 'NOT_FOUND', message);
  }
  const { allOrNone, records: given } = readBody(body);
  const other = given.find((one) => one.type.toLowerCase() !== type.name.toLowerCase());
  if (other) throw new SalesforceRefusal(400, 'INVALID_TYPE', `${other.type} is not of type ${type.name}`);
  const keys = given.map(({ values, id }) => {
    const key = (isId ? id : values[field.name]) ?? null;
    return key === null || key === '' ? null : { key: key as Value, same: indexKey(field, key as Value) };
  });
  const find = (at: number): StoredRecord | undefined => {
    const found = keys[at];
    if (isId) return found ? liveRecord(deps.records, type, String(found.key)) : undefined;
    if (given[at]!.id !== undefined)
      throw new RecordFailure('INVALID_FIELD_FOR_INSERT_UPDATE', 'The Id field should not be specified', ['Id']);
    if (!found) throw new RecordFailure('MISSING_ARGUMENT', `${field.name} not specified`);
    // All records of a call that share an external id fail.
    if (keys.some((one, index) => one?.same === found.same && index !== at))
      throw new RecordFailure('DUPLICATE_VALUE', `Duplicate external id specified: ${found.key}`, [field.name]);
    const live = deps.records.findBy(type, field, found.key);
    if (live.length <= 1) return live[0];
    const ids = live.map(({ id }) => id).join(', ');
    const message = `${labelOf(field)}: more than one record found for external id field: [${ids}]`;
    throw new RecordFailure('DUPLICATE_EXTERNAL_ID', message, [field.name]);
  };
  const steps = given.map(({ values }, at) => writeStep(deps, type, values, true, () => find(at)));
  return results(steps, allOrNone);
}

/** Deletes records by id, which may be of several objects. */
export function deleteByIds(deps: Collections, ids: string[], allOrNone: boolean): Result[] {
  tooMany(ids.length);
  const steps = ids.map((id): Step => {
    const type = deps.records.types.find(({ prefix }) => id.startsWith(prefix));
    let record: StoredRecord;
    return {
      check() {
        if (!/^[a-z0-9]{15}(?:[a-z0-9]{3})?$/i.test(id)) throw new RecordFailure('MALFORMED_ID', `bad id ${id}`);
        if (!type?.rights.readable)
          throw new RecordFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id');
        record = liveRecord(deps.records, type, id);
        if (!type.rights.deletable) throw noAccess();
        failAsPlanned(deps, record.values, record.id);
      },
      write() {
        deps.records.delete(type!, record.id);
        return { id: record.id, success: true, errors: [] };
      },
    };
  });
  return results(steps, allOrNone);
}

function writable(records: SalesforceRecords, name: string): ObjectType {
  const type = records.readable(name);
  if (!type) throw noResource();
  return type;
}

function liveRecord(records: SalesforceRecords, type: ObjectType, id: string): StoredRecord {
  const record = records.find(type, id);
  if (record?.deletedAt === null) return record;
  if (record || type.deletions.has(id)) throw new RecordFailure('ENTITY_IS_DELETED', 'entity is deleted');
  throw new RecordFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id');
}

const noAccess = () => new RecordFailure('INSUFFICIENT_ACCESS_OR_READONLY', 'insufficient access rights on object id');

function failAsPlanned({ failures }: Collections, values: Readonly<Values>, id: string | undefined): void {
  const failure = failures.find(({ left, matches }) => left > 0 && matches(values, id));
  if (!failure) return;
  failure.left -= 1;
  const { statusCode, message, fields } = failure.error;
  throw new RecordFailure(statusCode, message, fields);
}

/** Prepares one record; what its JSON has wrong refuses the whole call. */
function writeStep(
  deps: Collections,
  type: ObjectType,
  given: Record<string, unknown>,
  showsCreated: boolean,
  find: () => StoredRecord | undefined,
): Step {
  const values: Values = {};
  let [record, failed]: [StoredRecord | undefined, RecordFailure | null] = [undefined, null];
  for (const [name, value] of Object.entries(given)) {
    const field = visibleField(type, name);
    if (!field) {
      const message = `No such column '${name}' on sobject of type ${type.name}`;
      throw new SalesforceRefusal(400, 'INVALID_FIELD', message);
    }
    try {
      values[field.name] = typed(deps, field, value);
    } catch (error) {
      if (!(error instanceof RecordFailure)) throw error;
      failed = error;
    }
  }
  return {
    check() {
      if (failed) throw failed;
      record = find();
      check(deps, type, record, values);
    },
    write() {
      delete values['Id'];
      const { id } = deps.records.save(type, record?.id, values);
      return { id, success: true, errors: [], ...(showsCreated ? { created: record === undefined } : {}) };
    },
  };
}

/** Returns a value as it is kept; one of the wrong JSON type refuses the call, or fails the record. */
function typed(deps: Collections, field: SalesforceField, value: unknown): Value {
  const { name, type } = field;
  const wrong = (kind: string) => {
    const shown = JSON.stringify(value);
    const parsing = `Cannot deserialize instance of ${kind} from ${jsonKind(value)} value ${shown}`;
    if (deps.typeErrorsByRecord)
      return new RecordFailure(
        'INVALID_TYPE_ON_FIELD_IN_RECORD',
        `${labelOf(field)}: value not of required type: ${shown}`,
        [name],
      );
    return malformedBody(`${parsing} or request may be missing a required field`);
  };
  if (value === null || value === '') return null;
  if (type === 'boolean') {
    if (typeof value === 'boolean') return value;
    throw wrong('boolean');
  }
  if (isNumber(field)) {
    const form = type === 'int' ? /^-?\d+$/ : /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
    if ((typeof value === 'number' || typeof value === 'string') && form.test(String(value))) return value;
    throw wrong(type === 'int' ? 'int' : 'double');
  }
  if (isTime(field)) {
    const form = type === 'date' ? /^\d{4}-\d\d-\d\d$/ : /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/;
    if (typeof value !== 'string' || !form.test(value) || Number.isNaN(Date.parse(value))) throw wrong(type);
    return value;
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw wrong('string');
  return value.trim();
}

const jsonKind = (value: unknown) =>
  typeof value === 'object' ? 'START_OBJECT' : `VALUE_${typeof value}`.toUpperCase();
const labelOf = ({ label, name }: SalesforceField) => label ?? name;

/** Refuses what Salesforce refuses of one record: rights, values, rules, and what a test plans. */
function check(deps: Collections, type: ObjectType, record: StoredRecord | undefined, values: Values): void {
  if (!(record ? type.rights.updateable : type.rights.createable)) throw noAccess();
  const fields = Object.keys(values).map((name) => visibleField(type, name)!);
  const readOnly = fields.filter((field) => field.name !== 'Id' && isReadOnly(field)).map(({ name }) => name);
  if (readOnly.length > 0) {
    const hint = 'Please check the security settings of this field and verify that it is read/write for your profile.';
    const message = `Unable to create/update fields: ${readOnly.join(', ')}. ${hint}`;
    throw new RecordFailure('INVALID_FIELD_FOR_INSERT_UPDATE', message, readOnly);
  }
  const isUnset = ({ name, required }: SalesforceField) =>
    required === true && (name in values ? values[name] === null : record === undefined);
  const missing = [...type.fields.values()].filter(isUnset).map(({ name }) => name);
  if (missing.length > 0) {
    const message = `Required fields are missing: [${missing.join(', ')}]`;
    throw new RecordFailure('REQUIRED_FIELD_MISSING', message, missing);
  }
  for (const field of fields) checkValue(deps.records, field, values[field.name]!);
  for (const field of fields.filter(({ unique }) => unique === true)) {
    const value = values[field.name]!;
    const other = deps.records.findBy(type, field, value).find(({ id }) => id !== record?.id);
    if (value === null || !other) continue;
    const message = `duplicate value found: ${field.name} duplicates value on record with id: ${other.id}`;
    throw new RecordFailure('DUPLICATE_VALUE', message, [field.name]);
  }
  const merged = { ...record?.values, ...values };
  for (const rule of type.rules) {
    const message = rule(merged);
    if (message !== null) throw new RecordFailure('FIELD_CUSTOM_VALIDATION_EXCEPTION', message);
  }
  failAsPlanned(deps, merged, record?.id);
}

const EMAIL = /^[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+$/;

function checkValue(records: SalesforceRecords, field: SalesforceField, value: Value): void {
  if (value === null) return;
  const { name, type, length = 255, picklist = [], precision = type === 'int' ? 9 : 18, scale = 2 } = field;
  const text = String(value);
  const fail = (statusCode: string, message: string) => {
    throw new RecordFailure(statusCode, `${labelOf(field)}: ${message}`, [name]);
  };
  if (isNumber(field)) {
    const whole = Math.trunc(Math.abs(Number(value))).toString().length;
    if (whole > precision - (type === 'int' ? 0 : scale))
      fail('NUMBER_OUTSIDE_VALID_RANGE', `value outside of valid range on numeric field: ${text}`);
    return;
  }
  if (type === 'boolean' || isTime(field)) return;
  if (type === 'picklist' || type === 'multipicklist') {
    const chosen = type === 'multipicklist' ? text.split(';') : [text];
    const unknown = chosen.find((one) => !picklist.includes(one));
    if (field.restricted && unknown !== undefined)
      fail('INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST', `bad value for restricted picklist field: ${unknown}`);
    return;
  }
  if (type === 'reference') {
    if (!/^[a-z0-9]{15}(?:[a-z0-9]{3})?$/i.test(text)) fail('MALFORMED_ID', `id value of incorrect type: ${text}`);
    const target = records.types.find(({ prefix }) => text.startsWith(prefix));
    if (!target || records.find(target, text)?.deletedAt !== null)
      throw new RecordFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id');
    return;
  }
  if (type === 'email' && !EMAIL.test(text)) fail('INVALID_EMAIL_ADDRESS', `invalid email address: ${text}`);
  if (text.length > length) fail('STRING_TOO_LONG', `data value too large: ${text} (max length=${length})`);
}

/** Takes the steps one by one, and returns the results in order; with `allOrNone` one that fails fails all. */
function results(steps: Step[], allOrNone: boolean): Result[] {
  const checked = (step: Step): RecordError | null => {
    try {
      step.check();
      return null;
    } catch (error) {
      if (error instanceof RecordFailure) return error.error;
      throw error;
    }
  };
  const failed = (error: RecordError): Result => ({ success: false, errors: [error] });
  if (!allOrNone)
    return steps.map((step) => {
      const error = checked(step);
      return error ? failed(error) : step.write();
    });
  const errors = steps.map(checked);
  if (errors.every((error) => error === null)) return steps.map((step) => step.write());
  const message = 'Record rolled back because not all records were valid and the request was using AllOrNone header';
  const rolledBack = { statusCode: 'ALL_OR_NONE_OPERATION_ROLLED_BACK', message, fields: [] };
  return errors.map((error) => failed(error ?? rolledBack));
}
