/** Objects of an org, their fields, and the values of these as fields of records. */
import { z } from 'zod';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import { numberText } from '../../domain/json/exact-json.ts';
import type { Field, Json, SourceRecord, Stream } from '../core/contract.ts';
import { inOrder } from '../core/pace.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { typedText } from '../core/typed-text.ts';
import { checkVersion, codesIn, type Salesforce } from './salesforce-api.ts';

/** The id of a record: 15 characters, and three more that make it unique without case. */
export const ID = 'Id';
/** Set on records in the recycle bin; merged ones are there, too. */
export const IS_DELETED = 'IsDeleted';
/** Times that tell a change, the best first: the first also moves by changes of the system. */
const TIMES = ['SystemModstamp', 'LastModifiedDate', 'CreatedDate'];

const DescribedField = z.object({
  name: z.string(),
  type: z.string(),
  filterable: z.boolean().optional(),
  sortable: z.boolean().optional(),
  nillable: z.boolean().optional(),
  calculated: z.boolean().optional(),
  createable: z.boolean().optional(),
  updateable: z.boolean().optional(),
  externalId: z.boolean().optional(),
  idLookup: z.boolean().optional(),
  unique: z.boolean().optional(),
  caseSensitive: z.boolean().optional(),
  picklistValues: z.array(z.object({ value: z.string(), active: z.boolean().optional() })).optional(),
});
export type DescribedField = z.output<typeof DescribedField>;

const Described = z.object({
  name: z.string(),
  queryable: z.boolean().optional(),
  createable: z.boolean().optional(),
  updateable: z.boolean().optional(),
  deletable: z.boolean().optional(),
  /** True: it can be asked for what was deleted when. */
  replicateable: z.boolean().optional(),
  fields: z.array(DescribedField),
});
export type Described = z.output<typeof Described>;

const Listed = z.object({
  sobjects: z.array(
    z.object({
      name: z.string(),
      queryable: z.boolean(),
      createable: z.boolean().optional(),
      updateable: z.boolean().optional(),
      deprecatedAndHidden: z.boolean().optional(),
      associateEntityType: z.string().nullish(),
    }),
  ),
});

/** Maximum size of a description: a field has all its choices. */
const DESCRIBED_BYTES = 32 * 1024 * 1024;
const IN_FLIGHT = 8;

/** Kinds of fields that not both ways can read: parts of compounds are fields of their own, base64 is a file. */
const UNREAD = new Set(['address', 'location', 'base64', 'complexvalue']);

export const isRead = ({ type }: DescribedField): boolean => !UNREAD.has(type);

/** Returns whether records may set a field, or be made or changed: Salesforce says so of the user's own rights. */
export const isSet = ({ createable, updateable }: { createable?: boolean; updateable?: boolean }): boolean =>
  createable === true || updateable === true;

/** Describes an object; refuses one that the org lacks or its user may not see. */
export async function describe(salesforce: Salesforce, stream: string): Promise<Described> {
  const call = { path: `/sobjects/${encodeURIComponent(stream)}/describe`, mostBytes: DESCRIBED_BYTES };
  try {
    return await salesforce.read(Described, call);
  } catch (error) {
    if (!codesIn(error).includes('NOT_FOUND')) throw error;
    const message = `stream: ${salesforce.host} has no object of this name, or the user may not see it: choose one of those listed`;
    throw sourceRefusal('source_refused', message);
  }
}

const listed = async (salesforce: Salesforce) =>
  (await salesforce.read(Listed, { path: '/sobjects', mostBytes: DESCRIBED_BYTES })).sobjects;

/** Refuses credentials that don't work or may not use the API, and an api_version that the org lacks. */
export async function checkAccess(salesforce: Salesforce): Promise<void> {
  await checkVersion(salesforce);
  await listed(salesforce); // versions are for everybody
}

/**
 * Lists streams. Each costs a call, so what belongs to other objects is left out: histories, shares, feeds. `only`: the
 * one stream that is asked for; if it is not there, the names of all. `isWriting`: those that the user may write to.
 */
export async function listStreams(
  salesforce: Salesforce,
  signal: AbortSignal,
  { only, isWriting = false }: { only?: string | undefined; isWriting?: boolean } = {},
): Promise<Stream[]> {
  const objects = (await listed(salesforce)).filter((found) => found.queryable && (!isWriting || isSet(found)));
  const main = objects.filter(({ deprecatedAndHidden, associateEntityType: other }) => !deprecatedAndHidden && !other);
  const wanted = only === undefined ? main : objects.filter(({ name }) => name === only);
  if (only !== undefined && wanted.length === 0)
    return main.map(({ name }) => ({ name, fields: [], key: [ID], incremental: { fields: [] } }));
  const names = wanted.map(({ name }) => name);
  const streams: Stream[] = [];
  for await (const found of inOrder(names, IN_FLIGHT, (name) => describe(salesforce, name), signal))
    streams.push(streamOf(found, isWriting));
  return streams;
}

function streamOf({ name, fields }: Described, isWriting: boolean): Stream {
  const time = timeOf(fields);
  return {
    name,
    fields: fieldsOf(fields),
    key: [ID],
    incremental: { fields: time === undefined ? [] : [time] },
    ...(isWriting && { keys: keysOf(fields).map((field) => [field.name]) }),
  };
}

/** Returns the fields by which writing finds records: external ids, unique ones that are looked up, and the id. */
export const keysOf = (fields: readonly DescribedField[]): DescribedField[] =>
  fields.filter(
    (field) => field.name === ID || (isSet(field) && (field.externalId || (field.idLookup && field.unique))),
  );

/** Returns the field that tells a change, if a query may be filtered and ordered by it. */
export const timeOf = (fields: readonly DescribedField[]): string | undefined =>
  TIMES.find((name) => fields.some((field) => field.name === name && field.filterable && field.sortable));

export function fieldsOf(fields: readonly DescribedField[]): Field[] {
  return fields.filter(isRead).map((field) => ({
    name: field.name,
    type: typeOf(field),
    nullable: field.nillable ?? true,
    ...(isSet(field) ? {} : { takes_values: field.name === ID ? ('as_key' as const) : ('never' as const) }),
  }));
}

/** Types by those of fields (SOAP API Developer Guide, "Field Types"); all others are texts. */
const TYPES: Record<string, FieldType> = {
  boolean: 'boolean',
  int: 'integer',
  long: 'integer',
  double: 'number',
  currency: 'number',
  percent: 'number',
  date: 'date',
  datetime: 'datetime',
  multipicklist: 'array',
};

export const typeOf = ({ type }: DescribedField): FieldType => TYPES[type] ?? 'string';

/** Times as Salesforce writes them: 2026-01-31T12:00:00.000+0000. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)$/;

/** Returns a value of JSON or CSV as one of its field's type; one without that form stays as it is. */
export function valueOf(type: FieldType, value: Json): Json {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') return type === 'string' && typeof value === 'number' ? `${value}` : value;
  if (type === 'datetime') return TIME.test(value) ? new Date(value).toISOString() : value;
  return typedText(type, value);
}

/** A record in an answer, by the names of its fields: of JSON with the digits of its numbers, or of CSV with texts. */
export type Row = Record<string, unknown>;

export function recordReader(fields: readonly DescribedField[]): (row: Row) => SourceRecord {
  const types = fields.map((field) => [field.name, typeOf(field)] as const);
  return (row) => {
    const record: SourceRecord = {};
    for (const [name, type] of types) {
      const value = row[name];
      if (value === undefined) continue;
      record[name] = valueOf(type, (typeof value === 'object' && numberText(value)) || (value as Json));
    }
    return record;
  };
}
