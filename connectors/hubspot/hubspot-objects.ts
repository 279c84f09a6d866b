/** Kinds of HubSpot objects, their properties, and the values of these as fields of records. */
import { z } from 'zod';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { ConnectorContext, Field, Json, SourceRecord, Stream } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { typedText } from '../core/typed-text.ts';
import { type Hubspot, scopesIn, VERSION } from './hubspot-api.ts';

/** The id of a record, a property of every kind of object. */
export const ID = 'hs_object_id';
/** Ids of the records that were merged into this one. */
export const MERGED = 'hs_merged_object_ids';
/** Companies of contacts, with the labels of their association. */
export const CONTACT_COMPANIES = 'contact_companies';

/** A kind of object: its name, and its part of paths. */
export type Kind = { name: string; path: string };

const STANDARD: Kind[] = ['contacts', 'companies'].map((name) => ({ name, path: name }));

const Property = z.object({
  name: z.string(),
  type: z.string(),
  fieldType: z.string().nullish(),
  calculated: z.boolean().nullish(),
  hasUniqueValue: z.boolean().nullish(),
  modificationMetadata: z.object({ readOnlyValue: z.boolean().nullish() }).nullish(),
  options: z.array(z.object({ value: z.string() })).nullish(),
});
export type Property = z.output<typeof Property>;

/** Maximum size of a list of properties: each has all its choices. */
const DESCRIBED_BYTES = 32 * 1024 * 1024;

const Properties = z.object({ results: z.array(Property) });
const Schemas = z.object({ results: z.array(z.object({ name: z.string(), objectTypeId: z.string() })) });

/** Records as HubSpot gives them: all values are texts. */
export const HubspotRecord = z.object({
  id: z.string(),
  properties: z.record(z.string(), z.string().nullable()),
  archivedAt: z.string().nullish(),
});
export type HubspotRecord = z.output<typeof HubspotRecord>;

/** Contacts have another name for the time of their last change than all other objects (search guide). */
export const changedAt = ({ name }: Kind): string => (name === 'contacts' ? 'lastmodifieddate' : 'hs_lastmodifieddate');

export const objectsPath = ({ path }: Kind, rest = ''): string =>
  `/crm/objects/${VERSION}/${encodeURIComponent(path)}${rest}`;

export async function propertiesOf(hubspot: Hubspot, { path }: Kind): Promise<Property[]> {
  const call = { path: `/crm/properties/${VERSION}/${encodeURIComponent(path)}`, mostBytes: DESCRIBED_BYTES };
  const { results } = await hubspot.read(Properties, call);
  return results.some(({ name }) => name === ID)
    ? results
    : [{ name: ID, type: 'number', modificationMetadata: { readOnlyValue: true } }, ...results];
}

async function customKinds(hubspot: Hubspot): Promise<Kind[]> {
  const { results } = await hubspot.read(Schemas, {
    path: `/crm-object-schemas/${VERSION}/schemas`,
    mostBytes: DESCRIBED_BYTES,
  });
  return results.map(({ name, objectTypeId }) => ({ name, path: objectTypeId }));
}

/** Returns the kind of a stream; refuses an unknown one. */
export async function kindOf(hubspot: Hubspot, stream: string): Promise<Kind> {
  const kind =
    STANDARD.find(({ name }) => name === stream) ?? (await customKinds(hubspot)).find(({ name }) => name === stream);
  if (kind) return kind;
  throw sourceRefusal(
    'source_refused',
    `stream: ${hubspot.host} has no object of this name: choose one of those listed`,
  );
}

/** A kind with its properties, or the scopes without which it can't be read. */
type Found = { kind: Kind; properties: Property[] } | { kind: Kind; missing: string[] };

/** Returns all kinds of objects; custom ones only if the credentials may list them. */
async function findKinds(hubspot: Hubspot): Promise<Found[]> {
  const custom = await orScopes(() => customKinds(hubspot));
  const kinds = [...STANDARD, ...(Array.isArray(custom) ? custom : [])];
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const properties = await orScopes(() => propertiesOf(hubspot, kind));
      return Array.isArray(properties) ? { kind, properties } : { kind, missing: properties.missing };
    }),
  );
  const schemas = { name: 'custom objects', path: '' };
  return Array.isArray(custom) ? found : [...found, { kind: schemas, missing: custom.missing }];
}

async function orScopes<T>(read: () => Promise<T[]>): Promise<T[] | { missing: string[] }> {
  return read().catch((error: unknown) => {
    const missing = scopesIn(error);
    if (missing.length === 0) throw error;
    return { missing };
  });
}

/**
 * Lists streams that can be read, or with `isWriting` written; writes a line into the log for what can't be read for
 * want of a scope.
 */
export async function listStreams(hubspot: Hubspot, { log }: ConnectorContext, isWriting = false): Promise<Stream[]> {
  const streams: Stream[] = [];
  for (const found of await findKinds(hubspot)) {
    if ('missing' in found) log(sayLeftOut(found.kind, found.missing));
    else streams.push(streamOf(found.kind, found.properties, isWriting));
  }
  if (isWriting) return streams;
  const both = STANDARD.every(({ name }) => streams.some((stream) => stream.name === name));
  return both ? [...streams, associations] : streams;
}

const sayLeftOut = ({ name }: Kind, missing: string[]) =>
  `${name} are left out: the credentials lack ${missing.join(', ')}`;

/** Refuses credentials that lack scopes, and names all of these; `isWriting`: also those for writing. */
export async function checkScopes(hubspot: Hubspot, isWriting = false): Promise<void> {
  const found = (await findKinds(hubspot)).filter(({ kind }) => kind.path !== '');
  const written = isWriting ? await Promise.all(found.map(({ kind }) => missingToWrite(hubspot, kind))) : [];
  const lacking = [...found.flatMap((each) => ('missing' in each ? each.missing : [])), ...written.flat()];
  const missing = [...new Set(lacking)];
  if (missing.length === 0) return;
  const message =
    `access_token lacks the scopes ${missing.join(', ')}: add them to the Service Key or the app; ` +
    `what they do not concern can be ${isWriting ? 'written' : 'read'} without them`;
  throw sourceRefusal('source_refused', message, { missing_scopes: missing });
}

/** Returns the scopes that a call without records, which changes nothing, asks for. */
async function missingToWrite(hubspot: Hubspot, kind: Kind): Promise<string[]> {
  const call = { path: objectsPath(kind, '/batch/update'), body: { inputs: [] }, takes: [400] };
  const sent = await orScopes(async () => (await hubspot.send(call), []));
  return Array.isArray(sent) ? [] : sent.missing;
}

const associations: Stream = {
  name: CONTACT_COMPANIES,
  key: ['contact_id', 'company_id'],
  incremental: { fields: [] },
  fields: [
    { name: 'contact_id', type: 'integer', nullable: false },
    { name: 'company_id', type: 'integer', nullable: false },
    { name: 'is_primary', type: 'boolean', nullable: false },
    { name: 'labels', type: 'array', nullable: false },
  ],
};

function streamOf(kind: Kind, properties: readonly Property[], isWriting: boolean): Stream {
  const stream: Stream = { name: kind.name, fields: fieldsOf(properties), key: [ID], incremental: 'own' };
  return isWriting ? { ...stream, keys: keysOf(kind, properties).map((name) => [name]) } : stream;
}

export function fieldsOf(properties: readonly Property[]): Field[] {
  return properties.map((property) => ({
    name: property.name,
    type: property.name === ID ? 'integer' : typeOf(property),
    nullable: property.name !== ID,
    ...(isReadOnly(property) ? { takes_values: property.name === ID ? ('as_key' as const) : ('never' as const) } : {}),
  }));
}

/** Finds contacts, though HubSpot does not call it unique. */
export const EMAIL = 'email';

/** Returns the properties by which records of a kind are found when they are written. */
export function keysOf({ name }: Kind, properties: readonly Property[]): string[] {
  const unique = properties.filter((property) => property.hasUniqueValue === true && !isReadOnly(property));
  return [...new Set([...(name === 'contacts' ? [EMAIL] : []), ...unique.map((property) => property.name), ID])];
}

const isReadOnly = ({ name, calculated, modificationMetadata }: Property): boolean =>
  name === ID || calculated === true || modificationMetadata?.readOnlyValue === true;

function typeOf({ type, fieldType }: Property): FieldType {
  if (type === 'enumeration') return fieldType === 'checkbox' ? 'array' : 'string';
  if (type === 'bool') return 'boolean';
  return type === 'number' || type === 'date' || type === 'datetime' ? type : 'string';
}

/** Returns a reader of records: values get the type of their property, an empty one is null. */
export function recordReader(properties: readonly Property[]): (record: HubspotRecord) => SourceRecord {
  const readers = properties.map((property) => [property.name, typeOf(property)] as const);
  return ({ id, properties: values }) => {
    const record: SourceRecord = {};
    for (const [name, type] of readers) {
      const value = (Object.hasOwn(values, name) && values[name]) || ''; // a property may be named constructor
      record[name] = value === '' ? null : valueOf(type, value);
    }
    record[ID] = valueOf('number', id);
    return record;
  };
}

/** A value that does not have the form of its type stays the text that it is. */
function valueOf(type: FieldType, value: string): Json {
  switch (type) {
    case 'date':
      return EPOCH.test(value) ? new Date(Number(value)).toISOString().slice(0, 10) : value;
    case 'datetime':
      return EPOCH.test(value) ? new Date(Number(value)).toISOString() : value;
    default:
      return typedText(type, value);
  }
}

/** Milliseconds since 1970, as older properties have them. */
const EPOCH = /^-?\d{1,15}$/;
