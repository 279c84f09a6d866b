/** HubSpot's objects in memory, with their rules: properties, unique values, archive, merge, associations. */
import { randomUUID } from 'node:crypto';

export type HubSpotRecord = {
  id: string;
  /** Set ones alone, the properties that HubSpot keeps itself among them. */
  properties: Record<string, string>;
  createdAt: string;
  updatedAt: string;
  archived: boolean;
  archivedAt?: string;
  mergedInto?: string;
};

/** `number`: the id; `modified`: the date of the last change, in ms. */
export type StoredRecord = HubSpotRecord & { number: number; modified: number };

type PropertyType = 'bool' | 'date' | 'datetime' | 'enumeration' | 'number' | 'phone_number' | 'string';

/** A property as a test defines it. `options`: the values that HubSpot takes; without any, it takes all. */
export type HubSpotProperty = {
  name: string;
  type: PropertyType;
  /** `checkbox`: several values, joined by `;`. */
  fieldType?: string;
  label?: string;
  hasUniqueValue?: boolean;
  readOnly?: boolean;
  calculated?: boolean;
  options?: (string | { label: string; value: string })[];
  dataSensitivity?: 'non_sensitive' | 'sensitive' | 'highly_sensitive';
};

type Sorted = { byId: StoredRecord[]; byDate: StoredRecord[]; windows: Map<string, StoredRecord[]> };

export type ObjectType = {
  name: string;
  objectTypeId: string;
  /** Other names that paths take. */
  aliases: string[];
  /** The word in scopes. */
  scope: 'contacts' | 'companies' | 'custom';
  created: string;
  modified: string;
  required: string[];
  /** Names of the properties that an answer has if none is asked for. */
  defaults: string[];
  properties: Map<string, HubSpotProperty>;
  records: Map<string, StoredRecord>;
  uniqueNames: string[];
  /** Ids by property and value, for properties that have each value once. */
  unique: Map<string, Map<string, string>>;
  sorted: Sorted | null;
};

/** An answer that refuses; `body` without the members that all of them have. */
export class HubSpotRefusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string> | undefined;
  readonly body: { category: string; message: string } & Record<string, unknown>;

  constructor(
    status: number,
    category: string,
    message: string,
    more: Record<string, unknown> = {},
    headers?: Record<string, string>,
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.body = { category, message, ...more };
  }

  json() {
    return { status: 'error', correlationId: randomUUID(), ...this.body };
  }
}

export const invalid = (message: string, more?: Record<string, unknown>) =>
  new HubSpotRefusal(400, 'VALIDATION_ERROR', message, more);

const text = (name: string): HubSpotProperty => ({ name, type: 'string', fieldType: 'text' });
const kept = (name: string, type: PropertyType): HubSpotProperty => ({ name, type, fieldType: type, readOnly: true });

export const LIFECYCLE_STAGES = [
  'subscriber',
  'lead',
  'marketingqualifiedlead',
  'salesqualifiedlead',
  'opportunity',
  'customer',
  'evangelist',
  'other',
];
const LIFECYCLE: HubSpotProperty = {
  name: 'lifecyclestage',
  type: 'enumeration',
  fieldType: 'radio',
  options: LIFECYCLE_STAGES,
};

const CONTACT_PROPERTIES: HubSpotProperty[] = [
  // HubSpot compares addresses without case, but doesn't call them unique: batch/update refuses email as idProperty.
  ...['email', 'firstname', 'lastname', 'company', 'city', 'jobtitle', 'website'].map(text),
  { name: 'phone', type: 'string', fieldType: 'phonenumber' },
  LIFECYCLE,
  { name: 'associatedcompanyid', type: 'number', fieldType: 'number', readOnly: true },
  { name: 'hs_additional_emails', type: 'enumeration', fieldType: 'checkbox', readOnly: true },
];
const COMPANY_PROPERTIES: HubSpotProperty[] = [
  ...['name', 'domain', 'city', 'industry', 'phone'].map(text),
  { name: 'numberofemployees', type: 'number', fieldType: 'number' },
  LIFECYCLE,
];

function objectType(
  given: Pick<ObjectType, 'name' | 'objectTypeId' | 'aliases' | 'scope' | 'created' | 'modified'> & {
    own: HubSpotProperty[];
    defaults: string[];
    required?: string[];
  },
): ObjectType {
  const { own, defaults, required = [], ...type } = given;
  const all = [
    ...own,
    kept('hs_object_id', 'number'),
    kept(type.created, 'datetime'),
    kept(type.modified, 'datetime'),
    { name: 'hs_merged_object_ids', type: 'enumeration', fieldType: 'checkbox', readOnly: true } as const,
  ];
  return {
    ...type,
    required,
    defaults: [...defaults, 'hs_object_id', type.created, type.modified],
    properties: new Map(all.map((property) => [property.name, property])),
    records: new Map(),
    uniqueNames: own.flatMap(({ name, hasUniqueValue }) => (hasUniqueValue ? [name] : [])),
    unique: new Map(),
    sorted: null,
  };
}

/** The first id: a hundred records later ids have one digit more, and their order as text is another. */
const FIRST_ID = 9_951;

export class HubSpotRecords {
  readonly types: ObjectType[] = [
    objectType({
      name: 'contacts',
      objectTypeId: '0-1',
      aliases: ['contact', '0-1'],
      scope: 'contacts',
      created: 'createdate',
      modified: 'lastmodifieddate',
      own: CONTACT_PROPERTIES,
      defaults: ['email', 'firstname', 'lastname'],
    }),
    objectType({
      name: 'companies',
      objectTypeId: '0-2',
      aliases: ['company', '0-2'],
      scope: 'companies',
      created: 'createdate',
      modified: 'hs_lastmodifieddate',
      own: COMPANY_PROPERTIES,
      defaults: ['name', 'domain'],
    }),
  ];
  /** Ids of companies by contact, the primary one first. */
  readonly companiesOf = new Map<string, string[]>();
  readonly #now: () => number;
  #nextId = FIRST_ID;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Finds a type by any of its names; refuses an unknown one as HubSpot does. */
  type(name: string): ObjectType {
    const found = this.types.find((type) => type.name === name || type.aliases.includes(name));
    if (!found) throw invalid(`Unable to infer object type from: ${name}`);
    return found;
  }

  addType(name: string, properties: HubSpotProperty[], required: string[]): ObjectType {
    const objectTypeId = `2-${1_000_001 + this.types.length}`;
    const added = objectType({
      name,
      objectTypeId,
      aliases: [objectTypeId, `p7_${name}`],
      scope: 'custom',
      created: 'hs_createdate',
      modified: 'hs_lastmodifieddate',
      own: properties,
      defaults: [],
      required,
    });
    this.types.push(added);
    return added;
  }

  define(type: ObjectType, property: HubSpotProperty): void {
    this.undefine(type, property.name);
    type.properties.set(property.name, property);
    if (property.hasUniqueValue) type.uniqueNames.push(property.name);
    for (const record of type.records.values()) this.#index(type, record);
  }

  undefine(type: ObjectType, name: string): void {
    type.properties.delete(name);
    type.uniqueNames = type.uniqueNames.filter((unique) => unique !== name);
    type.unique.delete(name);
  }

  /**
   * Returns the record with this value of a unique property, an address of a contact or an id. The ids of merged
   * records still find the one that is left.
   */
  find(type: ObjectType, property: string | undefined, value: string): StoredRecord | undefined {
    const id = property === undefined ? value : type.unique.get(property)?.get(uniqueKey(property, value));
    let record = id === undefined ? undefined : type.records.get(id);
    while (record?.mergedInto !== undefined) record = type.records.get(record.mergedInto);
    return record && isLive(record) ? record : undefined;
  }

  /** Creates or changes a record; null and '' clear. A value that another record has fails: check it before. */
  save(type: ObjectType, id: string | undefined, changes: Record<string, string | null>, at = this.#now()) {
    const number = id === undefined ? this.#nextId : Number(id);
    this.#nextId = Math.max(this.#nextId, number + 1);
    const stamp = new Date(at).toISOString();
    const record = type.records.get(String(number)) ?? newRecord(type, number, stamp);
    this.#unindex(type, record);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') delete record.properties[name];
      else record.properties[name] = value;
    }
    for (const [property, value] of uniqueValues(type, record.properties)) {
      if (this.find(type, property, value)) throw new Error(`two ${type.name} with one ${property}`);
    }
    record.properties[type.modified] = stamp;
    Object.assign(record, { updatedAt: stamp, modified: at, archived: false });
    if (record.archivedAt !== undefined) delete record.archivedAt;
    type.records.set(record.id, record);
    this.#index(type, record);
    type.sorted = null;
    return record;
  }

  archive(type: ObjectType, id: string): void {
    const record = this.find(type, undefined, id);
    if (!record) return;
    this.#unindex(type, record);
    Object.assign(record, { archived: true, archivedAt: new Date(this.#now()).toISOString() });
    type.sorted = null;
  }

  erase(type: ObjectType, id: string): void {
    const record = type.records.get(id);
    if (record) this.#unindex(type, record);
    type.records.delete(id);
    type.sorted = null;
  }

  /**
   * Merges two records into a new one, as HubSpot does since 2025, and returns it; the winner's values go first.
   * `keepsId`: into the winner, as before.
   */
  merge(type: ObjectType, winnerId: string, loserId: string, keepsId: boolean): StoredRecord {
    const [winner, loser] = [winnerId, loserId].map((id) => this.find(type, undefined, id));
    if (!winner || !loser || winner === loser) throw new Error('merge takes two records that are there');
    const ended = keepsId ? [loser] : [winner, loser];
    const id = keepsId ? winner.id : String(this.#nextId);
    for (const record of ended) {
      this.#unindex(type, record);
      record.mergedInto = id;
    }
    const joined = (name: string, ...more: (string | undefined)[]) =>
      [winner.properties[name], ...more, loser.properties[name]].filter((part) => part !== undefined).join(';');
    const hasTwoAddresses = winner.properties['email'] !== undefined && loser.properties['email'] !== undefined;
    if (type.name === 'contacts') this.#mergeAssociations(winner.id, loser.id, id);
    return this.save(type, keepsId ? id : undefined, {
      ...loser.properties,
      ...winner.properties,
      hs_object_id: id,
      hs_merged_object_ids: joined('hs_merged_object_ids', ...ended.map((record) => record.id)),
      ...(hasTwoAddresses ? { hs_additional_emails: joined('hs_additional_emails', loser.properties['email']) } : {}),
    });
  }

  #mergeAssociations(winnerId: string, loserId: string, id: string): void {
    const companies = [winnerId, loserId].flatMap((contactId) => this.companiesOf.get(contactId) ?? []);
    if (companies.length > 0) this.companiesOf.set(id, [...new Set(companies)]);
  }

  associate(contactId: string, companyId: string): void {
    const companies = this.companiesOf.get(contactId) ?? [];
    if (companies.length === 0) this.save(this.type('contacts'), contactId, { associatedcompanyid: companyId });
    this.companiesOf.set(contactId, [...companies, companyId]);
  }

  /** Returns the live records, by id and by date of the last change. */
  sorted(type: ObjectType): Sorted {
    if (type.sorted) return type.sorted;
    const byId = [...type.records.values()].filter(isLive).toSorted((a, b) => a.number - b.number);
    const byDate = byId.toSorted((a, b) => a.modified - b.modified);
    type.sorted = { byId, byDate, windows: new Map() };
    return type.sorted;
  }

  #index(type: ObjectType, record: StoredRecord): void {
    if (!isLive(record)) return;
    for (const [property, value] of uniqueValues(type, record.properties)) {
      const ids = type.unique.get(property) ?? new Map<string, string>();
      ids.set(uniqueKey(property, value), record.id);
      type.unique.set(property, ids);
    }
  }

  #unindex(type: ObjectType, record: StoredRecord): void {
    if (!isLive(record)) return;
    for (const [property, value] of uniqueValues(type, record.properties))
      type.unique.get(property)?.delete(uniqueKey(property, value));
  }
}

const isLive = ({ archived, mergedInto }: StoredRecord) => !archived && mergedInto === undefined;

function newRecord(type: ObjectType, number: number, stamp: string): StoredRecord {
  return {
    id: String(number),
    number,
    modified: 0,
    properties: { hs_object_id: String(number), [type.created]: stamp },
    createdAt: stamp,
    updatedAt: stamp,
    archived: false,
  };
}

export const uniqueKey = (property: string, value: string) => (property === 'email' ? value.toLowerCase() : value);

/** Returns the values that another record must not have; all addresses of a contact count as its email. */
export function uniqueValues(type: ObjectType, properties: Record<string, string>): [string, string][] {
  const found: [string, string][] = [];
  for (const name of type.uniqueNames) {
    const value = properties[name];
    if (value !== undefined && value !== '') found.push([name, value]);
  }
  if (type.name !== 'contacts') return found;
  const { email, hs_additional_emails: more } = properties;
  if (email) found.push(['email', email]);
  if (more) found.push(...more.split(';').map((value): [string, string] => ['email', value]));
  return found;
}

/** Returns the names of properties that an answer has: those asked for that exist, and HubSpot's own. */
export function shownProperties(type: ObjectType, asked: readonly string[]): string[] {
  const names = asked.length === 0 ? type.defaults : [...asked, 'hs_object_id', type.created, type.modified];
  return [...new Set(names)].filter((name) => type.properties.has(name));
}

/** Returns a record as answers have it. Properties that are not set are absent. */
export function shownRecord(record: StoredRecord, names: readonly string[]) {
  const properties: Record<string, string> = {};
  for (const name of names) {
    const value = record.properties[name];
    if (value !== undefined) properties[name] = value;
  }
  const { id, createdAt, updatedAt, archived, archivedAt } = record;
  return { id, properties, createdAt, updatedAt, archived, ...(archivedAt === undefined ? {} : { archivedAt }) };
}

/** Returns a property as the properties endpoint shows it. */
export function shownProperty(property: HubSpotProperty) {
  const { name, type, fieldType = 'text', label = name, hasUniqueValue = false, calculated = false } = property;
  const readOnlyValue = (property.readOnly ?? false) || calculated;
  return {
    name,
    label,
    type,
    fieldType,
    description: '',
    groupName: 'information',
    options: (property.options ?? []).map((option, displayOrder) => {
      const shown = typeof option === 'string' ? { label: option, value: option } : option;
      return { ...shown, description: '', displayOrder, hidden: false };
    }),
    displayOrder: -1,
    calculated,
    externalOptions: false,
    hasUniqueValue,
    hidden: false,
    formField: !readOnlyValue,
    dataSensitivity: property.dataSensitivity ?? 'non_sensitive',
    archived: false,
    modificationMetadata: { archivable: true, readOnlyDefinition: readOnlyValue, readOnlyValue },
  };
}
