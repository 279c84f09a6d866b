/** Salesforce's objects in memory: fields, rights, records, and when a change shows. A change makes a new version. */
import { DAY_MS } from '../../../domain/time/durations.ts';
import {
  isCompound,
  type SalesforceField,
  STANDARD_OBJECTS,
  SYSTEM_FIELDS,
  timeText,
  type Value,
  type Values,
} from './salesforce-fields.ts';

/** How long a deleted record stays in the bin. */
export const BIN_MS = 15 * DAY_MS;

/** Times in ms; Salesforce keeps whole seconds. */
export type StoredRecord = {
  readonly id: string;
  readonly values: Readonly<Values>;
  readonly created: number;
  readonly modified: number;
  readonly stamp: number;
  readonly deletedAt: number | null;
  /** The record that this one was merged into. */
  readonly masterId: string | null;
  /** When answers begin to show this version; until then they show `older`. */
  readonly visibleAt: number;
  readonly older: StoredRecord | null;
};

/** Records that are made when they are read: `row(n)` returns the values of the n-th. */
type Generated = { count: number; row: (n: number) => Values; stamp: number };

/** Records of an answer, which need not be in memory. Null: it is gone meanwhile. */
export type Rows = { length: number; at(index: number): StoredRecord | null };

type Rights = { readable: boolean; createable: boolean; updateable: boolean; deletable: boolean };

export type ObjectType = {
  name: string;
  /** The first three characters of its ids. */
  prefix: string;
  custom: boolean;
  /** By name in lower case: SOQL doesn't tell cases apart. */
  fields: Map<string, SalesforceField>;
  /** Names in lower case of the fields that field-level security hides. */
  hidden: Set<string>;
  rights: Rights;
  records: Map<string, StoredRecord>;
  /** When a record was deleted, by id; erased ones among them. */
  deletions: Map<string, number>;
  /** Ids of live records by field and value, for fields that find records. */
  index: Map<string, Map<string, Set<string>>>;
  /** Validation rules: a message refuses a record that is to be written. */
  rules: ((values: Readonly<Values>) => string | null)[];
  generated: Generated | null;
  /** By date and id, and until when this holds; null: to be sorted anew. */
  sorted: { records: StoredRecord[]; until: number } | null;
  /** From this time on all changes show. */
  settledAt: number;
};

export class SalesforceRefusal extends Error {
  readonly status: number;
  readonly errorCode: string;

  constructor(status: number, errorCode: string, message: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }
}

export const noResource = () => new SalesforceRefusal(404, 'NOT_FOUND', 'The requested resource does not exist');

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SUFFIX = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';

/** Returns the id of 18 characters: 15 that differ by case, and three that say which of these are capital letters. */
export function idOf(prefix: string, number: number): string {
  let id = '';
  for (let left = number; id.length < 9; left = Math.floor(left / 62)) id = DIGITS[left % 62]! + id;
  id = `${prefix}5f0${id}`;
  for (let start = 0; start < 15; start += 5) {
    let capitals = 0;
    for (let bit = 0; bit < 5; bit += 1) {
      const code = id.charCodeAt(start + bit);
      if (code >= 65 && code <= 90) capitals += 1 << bit;
    }
    id += SUFFIX[capitals]!;
  }
  return id;
}

/** The number of the first id: the next ones pass from digits to capital and small letters. */
const FIRST_ID = 5;

const wholeSeconds = (ms: number) => Math.floor(ms / 1_000) * 1_000;
const byStamp = (a: StoredRecord, b: StoredRecord) => a.stamp - b.stamp || (a.id < b.id ? -1 : 1);

export class SalesforceRecords {
  readonly types: ObjectType[] = [];
  readonly now: () => number;
  readonly #lagMs: number;
  #next = FIRST_ID;

  constructor(now: () => number, lagMs: number) {
    this.now = now;
    this.#lagMs = lagMs;
    for (const { name, prefix, fields } of STANDARD_OBJECTS) this.addType(name, prefix, fields);
  }

  addType(name: string, prefix: string, fields: SalesforceField[]): ObjectType {
    const all = [...SYSTEM_FIELDS, ...fields];
    const type: ObjectType = {
      name,
      prefix,
      custom: name.endsWith('__c'),
      fields: new Map(all.map((field) => [field.name.toLowerCase(), field])),
      hidden: new Set(),
      rights: { readable: true, createable: true, updateable: true, deletable: true },
      records: new Map(),
      deletions: new Map(),
      index: new Map(),
      rules: [],
      generated: null,
      sorted: null,
      settledAt: 0,
    };
    for (const field of fields.filter(findsRecords)) type.index.set(field.name, new Map());
    this.types.push(type);
    return type;
  }

  /** Finds an object that the user may read, whatever the case of its name. */
  readable(name: string): ObjectType | undefined {
    return this.types.find((type) => type.rights.readable && type.name.toLowerCase() === name.toLowerCase());
  }

  /** Returns an object for a test, rights aside. */
  type(name: string): ObjectType {
    const found = this.types.find((type) => type.name === name);
    if (!found) throw new Error(`no object ${name}: define it with customObject()`);
    return found;
  }

  define(type: ObjectType, field: SalesforceField): void {
    type.fields.set(field.name.toLowerCase(), field);
    if (!findsRecords(field)) return;
    type.index.set(field.name, new Map());
    for (const record of type.records.values()) if (record.deletedAt === null) this.#index(type, record);
  }

  undefine(type: ObjectType, name: string): void {
    type.fields.delete(name.toLowerCase());
    type.index.delete(name);
  }

  /** Returns the newest version of a record by its id of 15 or 18 characters. */
  find(type: ObjectType, id: string): StoredRecord | undefined {
    if (id.length === 18) return type.records.get(id);
    return [...type.records.values()].find((record) => record.id.startsWith(id));
  }

  /** Returns the live records with this value of a field that finds records. */
  findBy(type: ObjectType, field: SalesforceField, value: Value): StoredRecord[] {
    const ids = type.index.get(field.name)?.get(indexKey(field, value)) ?? [];
    return [...ids].map((id) => type.records.get(id)!);
  }

  /** Creates or changes a record, unchecked; null clears, a deleted record is restored. */
  save(
    type: ObjectType,
    id: string | undefined,
    changes: Values,
    { at = this.now(), lagMs = this.#lagMs }: { at?: number; lagMs?: number } = {},
  ): StoredRecord {
    const known = id === undefined ? undefined : type.records.get(id);
    if (known) type.deletions.delete(known.id);
    const stamp = wholeSeconds(at);
    const values = { ...known?.values };
    for (const [name, value] of Object.entries(changes)) {
      const field = type.fields.get(name.toLowerCase());
      if (!field) throw new Error(`${type.name} has no field ${name}: define it with field()`);
      if (value === null) delete values[field.name];
      else values[field.name] = value;
    }
    return this.#store(type, known, {
      id: id ?? this.nextId(type),
      values,
      created: known?.created ?? stamp,
      modified: stamp,
      stamp,
      deletedAt: null,
      masterId: null,
      visibleAt: stamp + lagMs,
    });
  }

  nextId(type: ObjectType): string {
    this.#next += 1;
    return idOf(type.prefix, this.#next);
  }

  /** A change that is none of a user: `SystemModstamp` alone moves. */
  touch(type: ObjectType, id: string, at = this.now()): void {
    const known = this.#known(type, id);
    const stamp = wholeSeconds(at);
    this.#store(type, known, { ...known, stamp, visibleAt: stamp + this.#lagMs });
  }

  /** Changes values of formulas: no date moves. */
  recalculate(type: ObjectType, id: string, values: Values): void {
    const known = this.#known(type, id);
    this.#store(type, known, { ...known, values: { ...known.values, ...values } });
  }

  delete(type: ObjectType, id: string, at = this.now(), masterId: string | null = null): void {
    const known = this.#known(type, id);
    const stamp = wholeSeconds(at);
    type.deletions.set(id, stamp);
    const visibleAt = stamp + this.#lagMs;
    this.#store(type, known, { ...known, modified: stamp, stamp, deletedAt: stamp, masterId, visibleAt });
  }

  undelete(type: ObjectType, id: string, at = this.now()): void {
    this.save(type, id, {}, { at });
  }

  /** Deletes a record past the bin: `queryAll` lacks it at once. */
  erase(type: ObjectType, id: string): void {
    const known = this.#known(type, id);
    this.#unindex(type, known);
    type.records.delete(id);
    if (!type.deletions.has(id)) type.deletions.set(id, wholeSeconds(this.now()));
    type.sorted = null;
  }

  /** Merges the loser into the winner, whose values go first. */
  merge(type: ObjectType, winner: string, loser: string, at = this.now()): void {
    const [kept, ended] = [this.#known(type, winner), this.#known(type, loser)];
    this.delete(type, loser, at, winner);
    this.save(type, winner, { ...ended.values, ...kept.values }, { at });
  }

  /** Returns the record as answers show it now. */
  visible(type: ObjectType, id: string): StoredRecord | null {
    return this.#shown(type.records.get(id) ?? null, this.now());
  }

  /** Returns all records that answers show, deleted ones among them, in no order. */
  *scan(type: ObjectType): Iterable<StoredRecord> {
    const now = this.now();
    for (const record of type.records.values()) {
      const shown = this.#shown(record, now);
      if (shown) yield shown;
    }
    const { generated } = type;
    if (generated) for (let n = 0; n < generated.count; n += 1) yield this.generatedRow(type, generated, n);
  }

  /** Returns the same by date and id; sorted once until the next change. */
  sorted(type: ObjectType): StoredRecord[] {
    if (type.sorted && type.sorted.until > this.now()) return type.sorted.records;
    const records = [...this.scan(type)].toSorted(byStamp);
    const leavesBin =
      records.reduce((first, { deletedAt }) => Math.min(first, deletedAt ?? Infinity), Infinity) + BIN_MS;
    type.sorted = { records, until: type.settledAt <= this.now() ? leavesBin : 0 };
    return records;
  }

  generatedRow(type: ObjectType, { row, stamp }: Generated, n: number): StoredRecord {
    const dates = { created: stamp, modified: stamp, stamp, visibleAt: stamp };
    return { id: idOf(type.prefix, 1e9 + n), values: row(n), ...dates, deletedAt: null, masterId: null, older: null };
  }

  #shown(record: StoredRecord | null, now: number): StoredRecord | null {
    let shown = record;
    while (shown && shown.visibleAt > now) shown = shown.older;
    return shown && (shown.deletedAt === null || shown.deletedAt + BIN_MS > now) ? shown : null;
  }

  #known(type: ObjectType, id: string): StoredRecord {
    const known = type.records.get(id);
    if (!known) throw new Error(`no ${type.name} ${id}`);
    return known;
  }

  #store(type: ObjectType, known: StoredRecord | undefined, version: Omit<StoredRecord, 'older'>): StoredRecord {
    const isLate = version.visibleAt > this.now();
    const record = { ...version, older: isLate ? (known ?? null) : null };
    if (known) this.#unindex(type, known);
    type.records.set(record.id, record);
    if (record.deletedAt === null) this.#index(type, record);
    type.settledAt = Math.max(type.settledAt, record.visibleAt);
    type.sorted = null;
    return record;
  }

  #index(type: ObjectType, record: StoredRecord): void {
    for (const [name, ids] of type.index) {
      const value = record.values[name] ?? null;
      if (value === null) continue;
      const key = indexKey(type.fields.get(name.toLowerCase())!, value);
      const known = ids.get(key);
      if (known) known.add(record.id);
      else ids.set(key, new Set([record.id]));
    }
  }

  #unindex(type: ObjectType, record: StoredRecord): void {
    for (const [name, ids] of type.index) {
      const value = record.values[name] ?? null;
      if (value !== null) ids.get(indexKey(type.fields.get(name.toLowerCase())!, value))?.delete(record.id);
    }
  }
}

const findsRecords = ({ externalId, unique, idLookup }: SalesforceField) =>
  externalId === true || unique === true || idLookup === true;

/** Returns what two values of a field have in common if they find one record. */
export const indexKey = ({ caseSensitive = false }: SalesforceField, value: Value) =>
  caseSensitive ? String(value) : String(value).toLowerCase();

/** Returns a field that the user may see. */
export function visibleField(type: ObjectType, name: string): SalesforceField | undefined {
  const key = name.toLowerCase();
  return type.hidden.has(key) ? undefined : type.fields.get(key);
}

export const visibleFields = (type: ObjectType) =>
  [...type.fields.values()].filter(({ name }) => !type.hidden.has(name.toLowerCase()));

/** Returns how a field's value is read from a record, as answers show it. */
export function reader(type: ObjectType, field: SalesforceField): (record: StoredRecord) => Value | Values {
  const { name } = field;
  switch (name) {
    case 'Id':
      return ({ id }) => id;
    case 'IsDeleted':
      return ({ deletedAt }) => deletedAt !== null;
    case 'MasterRecordId':
      return ({ masterId }) => masterId;
    case 'CreatedDate':
      return ({ created }) => timeText(created);
    case 'LastModifiedDate':
      return ({ modified }) => timeText(modified);
    case 'SystemModstamp':
      return ({ stamp }) => timeText(stamp);
  }
  const parts = [...type.fields.values()].filter(({ compoundFieldName }) => compoundFieldName === name);
  if (isCompound(field)) return (record) => compound(field, parts, record);
  if (parts.length > 0)
    return ({ values }) => [values['FirstName'], values['LastName']].filter((part) => part !== undefined).join(' ');
  if (field.type === 'boolean') return ({ values }) => values[name] ?? false;
  if (field.type === 'datetime')
    return ({ values }) => (values[name] === undefined ? null : timeText(Date.parse(String(values[name]))));
  return ({ values }) => values[name] ?? null;
}

/** Returns an address or a place by its parts' last words, or null if none is set. */
function compound({ name, type }: SalesforceField, parts: SalesforceField[], { values }: StoredRecord): Values | null {
  if (parts.every((part) => (values[part.name] ?? null) === null)) return null;
  const shown: Values = type === 'address' ? { geocodeAccuracy: null } : {};
  const prefix = name.replace(/Address$/, '').replace(/__c$/, '__');
  for (const part of parts) {
    const word = part.name.slice(prefix.length).replace(/__s$/, '');
    shown[word[0]!.toLowerCase() + word.slice(1)] = values[part.name] ?? null;
  }
  return shown;
}
