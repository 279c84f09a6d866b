/** HubSpot's calls for up to 100 records: which one fails alone, and which one fails the whole call. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  type HubSpotProperty,
  HubSpotRefusal,
  type HubSpotRecords,
  invalid,
  LIFECYCLE_STAGES,
  type ObjectType,
  shownProperties,
  shownRecord,
  type StoredRecord,
  uniqueKey,
  uniqueValues,
} from './hubspot-records.ts';

export type BatchAction = 'read' | 'create' | 'update' | 'upsert' | 'archive';
export type Answered = { status: number; json?: unknown };

const Id = z.object({ id: z.string().min(1) });
// Values are strings: a number in JSON would lose digits on its way.
const Properties = z.record(z.string(), z.string());
const Trace = { objectWriteTraceId: z.string().optional() };
const inputs = <T extends z.ZodType>(input: T) => z.array(input).max(100);

const Bodies = {
  read: z.object({
    inputs: inputs(Id),
    properties: z.array(z.string()).default([]),
    propertiesWithHistory: z.array(z.string()).max(0).default([]),
    idProperty: z.string().optional(),
  }),
  create: z.object({ inputs: inputs(z.object({ properties: Properties, ...Trace })) }),
  update: z.object({
    inputs: inputs(Id.extend({ properties: Properties, idProperty: z.string().optional(), ...Trace })),
  }),
  upsert: z.object({ inputs: inputs(Id.extend({ properties: Properties, idProperty: z.string(), ...Trace })) }),
  archive: z.object({ inputs: inputs(Id) }),
};

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const read = schema.safeParse(body);
  if (!read.success) throw invalid(`Invalid input JSON: ${z.prettifyError(read.error)}`);
  return read.data;
}

type Input = { properties: Record<string, string>; objectWriteTraceId?: string | undefined };
/** An input with the record it means, if there is one, and the values to write. */
type Planned = { input: Input; record: StoredRecord | undefined; values: Record<string, string> };
type Failed = { input: Input; refusal: HubSpotRefusal };

/** Answers a batch call. `multiStatusUpsert`: upserts fail by record as creates with trace ids do. */
export function answerBatch(
  records: HubSpotRecords,
  type: ObjectType,
  action: BatchAction,
  body: unknown,
  options: { isArchived: boolean; multiStatusUpsert: boolean },
): Answered {
  switch (action) {
    case 'read':
      return readBatch(records, type, read(Bodies.read, body), options.isArchived);
    case 'create': {
      const { inputs: given } = read(Bodies.create, body);
      const isMulti = given.some(({ objectWriteTraceId }) => objectWriteTraceId !== undefined);
      const traces = given.map(({ objectWriteTraceId }) => objectWriteTraceId ?? '');
      if (isMulti && new Set(traces).size < given.length) throw invalid('objectWriteTraceId must differ in each input');
      const { planned, failed } = plan(records, type, given, () => undefined, isMulti);
      return written(201, save(records, type, planned, false), failed.map(failure));
    }
    case 'update': {
      const { inputs: given } = read(Bodies.update, body);
      for (const { idProperty } of given) checkUnique(type, idProperty);
      const of = ({ id, idProperty }: (typeof given)[number]) => records.find(type, idProperty, id);
      const found = given.filter((input) => of(input) !== undefined);
      const missing = given.filter((input) => of(input) === undefined).map(({ id }) => id);
      const { planned } = plan(records, type, found, of, false);
      return written(200, save(records, type, planned, false), notFound(type, missing));
    }
    case 'upsert': {
      const { inputs: given } = read(Bodies.upsert, body);
      for (const { idProperty } of given) checkUnique(type, idProperty);
      const of = ({ id, idProperty }: (typeof given)[number]) => records.find(type, idProperty, id);
      const withIds = given.map((input) => ({
        ...input,
        properties: { [input.idProperty]: input.id, ...input.properties },
      }));
      const { planned, failed } = plan(records, type, withIds, of, options.multiStatusUpsert);
      return written(200, save(records, type, planned, true), failed.map(failure));
    }
    case 'archive':
      for (const { id } of read(Bodies.archive, body).inputs) records.archive(type, id);
      return { status: 204 };
  }
}

function readBatch(
  records: HubSpotRecords,
  type: ObjectType,
  { inputs: given, properties, idProperty }: z.output<typeof Bodies.read>,
  isArchived: boolean,
): Answered {
  if (idProperty !== undefined && idProperty !== 'email') checkUnique(type, idProperty);
  const find = (id: string) => {
    if (!isArchived) return records.find(type, idProperty, id);
    const record = type.records.get(id);
    return record?.archived ? record : undefined;
  };
  const ids = [...new Set(given.map(({ id }) => id))];
  const found = new Set(ids.map(find).filter((record) => record !== undefined));
  const names = shownProperties(type, properties);
  const results = [...found].map((record) => shownRecord(record, names)).toReversed();
  return written(
    200,
    results,
    notFound(
      type,
      ids.filter((id) => !find(id)),
    ),
  );
}

/** Refuses a property that HubSpot doesn't call unique; so it does with email and hs_object_id. */
function checkUnique(type: ObjectType, idProperty: string | undefined): void {
  if (idProperty === undefined || type.uniqueNames.includes(idProperty)) return;
  throw invalid(`Unable to perform update/upsert by non-unique ${type.objectTypeId} property ${idProperty}`);
}

/** Checks all inputs before any is written. Without `isMulti` the first that fails fails the call. */
function plan<T extends Input>(
  records: HubSpotRecords,
  type: ObjectType,
  given: readonly T[],
  find: (input: T) => StoredRecord | undefined,
  isMulti: boolean,
): { planned: Planned[]; failed: Failed[] } {
  refuseDuplicates(type, given, find);
  const [planned, failed]: [Planned[], Failed[]] = [[], []];
  for (const input of given) {
    const record = find(input);
    try {
      planned.push({ input, record, values: checkValues(records, type, record, input.properties) });
    } catch (error) {
      if (!isMulti || !(error instanceof HubSpotRefusal)) throw error;
      failed.push({ input, refusal: error });
    }
  }
  return { planned, failed };
}

/** Refuses the call if two inputs mean one record: by its id, or by a value that only one record can have. */
function refuseDuplicates<T extends Input>(
  type: ObjectType,
  given: readonly T[],
  find: (input: T) => StoredRecord | undefined,
): void {
  const seen = new Set<string>();
  for (const input of given) {
    const record = find(input);
    const values = uniqueValues(type, input.properties).map(([name, value]) => `${name}=${uniqueKey(name, value)}`);
    for (const name of [...new Set(values), ...(record ? [`id=${record.id}`] : [])]) {
      if (seen.has(name)) throw invalid(`Duplicate IDs found in batch input: [${name}]. IDs must be unique`);
      seen.add(name);
    }
  }
}

/** Returns the values to write as HubSpot keeps them; refuses those that it refuses, by property. */
function checkValues(
  records: HubSpotRecords,
  type: ObjectType,
  record: StoredRecord | undefined,
  properties: Record<string, string>,
): Record<string, string> {
  const wrong: { name: string; error: string; message: string }[] = [];
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(properties)) {
    const property = type.properties.get(name);
    const error = property ? valueError(property, value) : 'PROPERTY_DOESNT_EXIST';
    if (error !== null) wrong.push({ name, error, message: `"${value}" was not accepted for ${name}: ${error}` });
    else values[name] = keptValue(property!, record, value);
  }
  if (wrong.length > 0) {
    const listed = JSON.stringify(wrong.map((one) => ({ isValid: false, ...one })));
    throw invalid(`Property values were not valid: ${listed}`, {
      errors: wrong.map(({ name, error: code, message }) => ({ message, code, context: { propertyName: [name] } })),
    });
  }
  const unset = record ? [] : type.required.filter((name) => (values[name] ?? '') === '');
  if (unset.length > 0)
    throw invalid('Some required properties were not set', {
      errors: unset.map((name) => ({ message: `${name} is required`, context: { properties: [name] } })),
    });
  for (const [name, value] of uniqueValues(type, values)) {
    const other = records.find(type, name, value);
    if (other && other !== record)
      throw new HubSpotRefusal(409, 'CONFLICT', `${type.name}: ${value} already exists. Existing ID: ${other.id}`);
  }
  return values;
}

const MAX_TEXT = 65_536;
const EMAIL = /^[^@\s]+@[^@\s.]+(\.[^@\s.]+)*\.[^@\s.\d]{2,}$/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const DAY_MS = 86_400_000;

/** Returns HubSpot's code for a value that it refuses; '' clears and is always right. */
function valueError(property: HubSpotProperty, value: string): string | null {
  const { name, type, fieldType, readOnly = false, calculated = false, options = [] } = property;
  if (readOnly || calculated) return 'READ_ONLY_VALUE';
  if (value === '') return null;
  switch (type) {
    case 'number':
      return NUMBER.test(value) ? null : 'INVALID_LONG';
    case 'bool':
      return ['true', 'false'].includes(value) ? null : 'INVALID_OPTION';
    case 'enumeration': {
      const known = options.map((option) => (typeof option === 'string' ? option : option.value));
      const chosen = fieldType === 'checkbox' ? value.split(';') : [value];
      return known.length === 0 || chosen.every((one) => known.includes(one)) ? null : 'INVALID_OPTION';
    }
    case 'date':
      if (/^\d{4}-\d\d-\d\d$/.test(value)) return Number.isNaN(Date.parse(value)) ? 'INVALID_DATE' : null;
      return /^-?\d+$/.test(value) && Number(value) % DAY_MS === 0 ? null : 'INVALID_DATE';
    case 'datetime':
      return Number.isNaN(timeOf(value)) ? 'INVALID_DATE' : null;
    case 'phone_number':
    case 'string':
      if (value.length > MAX_TEXT) return 'INVALID_LENGTH';
      return name === 'email' && !EMAIL.test(value) ? 'INVALID_EMAIL' : null;
  }
}

const timeOf = (value: string) => (/^-?\d+$/.test(value) ? Number(value) : Date.parse(value));

/** Returns a value as HubSpot keeps it: times as ISO text, addresses in lower case, a lifecycle that only advances. */
function keptValue({ name, type }: HubSpotProperty, record: StoredRecord | undefined, value: string): string {
  if (value === '') return '';
  if (type === 'date') return new Date(timeOf(value)).toISOString().slice(0, 10);
  if (type === 'datetime') return new Date(timeOf(value)).toISOString();
  if (name === 'email') return value.toLowerCase();
  const stage = name === 'lifecyclestage' ? record?.properties[name] : undefined;
  return stage !== undefined && LIFECYCLE_STAGES.indexOf(value) < LIFECYCLE_STAGES.indexOf(stage) ? stage : value;
}

/** Writes what was planned, and returns the results: in another order than the inputs, as HubSpot may. */
function save(records: HubSpotRecords, type: ObjectType, planned: Planned[], showsNew: boolean): object[] {
  const results = planned.map(({ input, record, values }) => {
    const saved = records.save(type, record?.id, values);
    const names = shownProperties(type, Object.keys(record ? values : saved.properties));
    const { objectWriteTraceId } = input;
    return {
      ...shownRecord(saved, names),
      ...(objectWriteTraceId === undefined ? {} : { objectWriteTraceId }),
      ...(showsNew ? { new: record === undefined } : {}),
    };
  });
  return results.toReversed();
}

type StandardError = { category: string; message: string; context: Record<string, string[]> };

/** Returns the answer to a call: with errors of single records, 207. */
export function written(status: number, results: readonly object[], errors: readonly StandardError[]): Answered {
  const now = new Date().toISOString();
  const shown = errors.map((error) => ({ status: 'error', id: randomUUID(), errors: [], links: {}, ...error }));
  return {
    status: errors.length > 0 ? 207 : status,
    json: {
      status: 'COMPLETE',
      results,
      ...(errors.length > 0 ? { numErrors: errors.length, errors: shown } : {}),
      startedAt: now,
      completedAt: now,
    },
  };
}

const failure = ({ input: { objectWriteTraceId }, refusal }: Failed): StandardError => ({
  ...refusal.body,
  context: objectWriteTraceId === undefined ? {} : { objectWriteTraceId: [objectWriteTraceId] },
});

const notFound = (type: ObjectType, ids: string[]): StandardError[] =>
  ids.length === 0
    ? []
    : [{ category: 'OBJECT_NOT_FOUND', message: `Could not get some ${type.name}`, context: { ids } }];
