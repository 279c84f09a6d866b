/** A sync as its form holds it: texts as they were typed, and the body that they make. */
import { type NewSync, parse, stringify, type Sync } from '../../../api/client.ts';
import type { InputOf } from '../../session/calls.ts';

export type SyncBody = InputOf<'createSync'>['body'];
type EntryBody = NonNullable<NonNullable<NewSync['mapping']>['fields']>[number];

export const KINDS = { field: 'a field', constant: 'a constant', drop: 'leave it out' } as const;
export const CONVERSIONS = ['string', 'number', 'boolean', 'date', 'datetime', 'set'] as const;
export const CONSTANTS = { text: 'text', number: 'number', boolean: 'true or false', null: 'nothing' } as const;

/** An entry of the mapping. Words of a boolean stand on a line each: they may have commas. */
export type Entry = {
  id: number;
  kind: keyof typeof KINDS;
  from: string;
  to: string;
  value: string;
  valueType: keyof typeof CONSTANTS;
  as: '' | (typeof CONVERSIONS)[number];
  format: string;
  zone: string;
  decimal: '' | '.' | ',';
  yes: string;
  no: string;
  separator: string;
};

const EMPTY_ENTRY: Omit<Entry, 'id'> = {
  kind: 'field',
  from: '',
  to: '',
  value: '',
  valueType: 'text',
  as: '',
  format: '',
  zone: '',
  decimal: '',
  yes: '',
  no: '',
  separator: '',
};

export type Draft = {
  name: string;
  connection: string;
  stream: string;
  to: 'sor' | 'connection';
  sor: string;
  toConnection: string;
  toStream: string;
  key: string[];
  customerField: string;
  customerType: string;
  fields: Entry[];
  otherFields: 'keep' | 'drop';
  empty: 'fail' | 'remove';
  mode: 'full' | 'incremental';
  cursorField: string;
  removes: boolean;
  removalLimit: string;
  when: 'request' | 'every' | 'cron';
  every: string;
  cron: string;
  zone: string;
  jitter: string;
  schemaRule: Sync['on_schema_change'];
  emails: string;
  alertConnections: string[];
  failedRecords: string;
  pauseAfter: string;
};

export function emptyDraft(connection: string, zone: string): Draft {
  return {
    name: '',
    connection,
    stream: '',
    to: 'sor',
    sor: '',
    toConnection: '',
    toStream: '',
    key: [],
    customerField: '',
    customerType: 'user_id',
    fields: [],
    otherFields: 'drop',
    empty: 'fail',
    mode: 'full',
    cursorField: '',
    removes: false,
    removalLimit: '50',
    when: 'every',
    every: '60',
    cron: '0 6 * * *',
    zone,
    jitter: '0',
    schemaRule: 'ignore',
    emails: '',
    alertConnections: [],
    failedRecords: '',
    pauseAfter: '5',
  };
}

/** Adds an entry of a field to those that are there. */
export function withEntry(fields: readonly Entry[], entry: Partial<Entry>): Entry[] {
  const id = Math.max(-1, ...fields.map((each) => each.id)) + 1;
  return [...fields, { ...EMPTY_ENTRY, ...entry, id }];
}

export function draftOf(sync: Sync, zone: string): Draft {
  const { source, destination, mapping, schedule, alerts } = sync;
  return {
    ...emptyDraft(source.connection, zone),
    name: sync.name,
    stream: source.stream,
    to: destination.sor === undefined ? 'connection' : 'sor',
    sor: destination.sor ?? '',
    toConnection: destination.connection ?? '',
    toStream: destination.stream ?? '',
    key: destination.key ?? [],
    customerField: mapping.customer?.field ?? '',
    customerType: mapping.customer?.type ?? 'user_id',
    fields: mapping.fields.reduce<Entry[]>((all, each) => withEntry(all, entryOf(each as EntryBody)), []),
    otherFields: mapping.other_fields,
    empty: mapping.empty,
    mode: sync.mode,
    cursorField: sync.cursor_field ?? '',
    removes: sync.removes,
    removalLimit: String(sync.removal_limit),
    ...(schedule === null
      ? { when: 'request' as const }
      : schedule.cron === undefined
        ? { when: 'every' as const, every: textOf(schedule.every_minutes) }
        : { when: 'cron' as const, cron: schedule.cron, zone: schedule.zone ?? 'UTC' }),
    jitter: textOf(schedule?.jitter_seconds ?? 0),
    schemaRule: sync.on_schema_change,
    emails: alerts.emails.join(', '),
    alertConnections: alerts.connections,
    failedRecords: textOf(alerts.failed_records),
    pauseAfter: textOf(alerts.pause_after),
  };
}

const textOf = (value: number | null | undefined): string => (value === null || value === undefined ? '' : `${value}`);

function entryOf(entry: EntryBody): Partial<Entry> {
  const { from, to = '', value, drop, as = '', format = '', zone = '', decimal = '', separator = '' } = entry;
  const valueType =
    value === null ? 'null' : typeof value === 'string' ? 'text' : typeof value === 'boolean' ? 'boolean' : 'number';
  return {
    kind: drop === true ? 'drop' : from === undefined ? 'constant' : 'field',
    from: from ?? '',
    to,
    as,
    format,
    zone,
    decimal,
    separator,
    ...(value === undefined ? {} : { value: value === null ? '' : String(value), valueType }),
    yes: (entry.true ?? []).join('\n'),
    no: (entry.false ?? []).join('\n'),
  };
}

export function bodyOf(draft: Draft): SyncBody {
  const { name, connection, stream, to, mode, cursorField } = draft;
  return {
    name: name.trim(),
    source: { connection, stream },
    destination:
      to === 'sor' ? { sor: draft.sor } : { connection: draft.toConnection, stream: draft.toStream, key: draft.key },
    mapping: {
      customer:
        draft.customerField === '' && to === 'connection'
          ? null
          : { field: draft.customerField, type: draft.customerType as 'user_id' },
      fields: draft.fields.map(entryBody),
      other_fields: draft.otherFields,
      empty: draft.empty,
    },
    mode,
    cursor_field: mode === 'full' || cursorField === '' ? null : cursorField,
    removes: draft.removes,
    removal_limit: numberOf(draft.removalLimit),
    schedule: scheduleOf(draft),
    on_schema_change: draft.schemaRule,
    alerts: {
      emails: wordsOf(draft.emails, /[\s,;]+/),
      connections: draft.alertConnections,
      failed_records: draft.failedRecords === '' ? null : Number(draft.failedRecords),
      pause_after: draft.pauseAfter === '' ? null : Number(draft.pauseAfter),
    },
  } as SyncBody;
}

/** Undefined is left out of the body, and its default holds. */
const numberOf = (text: string): number | undefined => (text === '' ? undefined : Number(text));

const wordsOf = (text: string, by: RegExp): string[] => text.split(by).filter((word) => word.trim() !== '');

function scheduleOf({ when, every, cron, zone, jitter }: Draft): SyncBody['schedule'] {
  if (when === 'request') return null;
  const shared = { jitter_seconds: Number(jitter) };
  return when === 'every' ? { every_minutes: Number(every), ...shared } : { cron, zone, ...shared };
}

function entryBody(entry: Entry): EntryBody {
  const { kind, from, to, as } = entry;
  const target = to === '' ? {} : { to };
  if (kind === 'drop') return { from, drop: true };
  if (kind === 'constant') return { ...target, value: constantOf(entry) };
  return { from, ...target, ...(as === '' ? {} : { as, ...optionsOf(entry) }) };
}

function constantOf({ value, valueType }: Entry): EntryBody['value'] {
  if (valueType === 'null') return null;
  if (valueType === 'boolean') return value === 'true';
  if (valueType !== 'number') return value;
  // Whole numbers keep all their digits.
  return (/^-?\d+$/.test(value) ? parse(String(BigInt(value))) : Number(value)) as number;
}

function optionsOf({ as, format, zone, decimal, yes, no, separator }: Entry): Partial<EntryBody> {
  const [words, others] = [wordsOf(yes, /\n/), wordsOf(no, /\n/)];
  if (as === 'number') return decimal === '' ? {} : { decimal };
  if (as === 'set') return separator === '' ? {} : { separator };
  if (as === 'boolean')
    return { ...(words.length === 0 ? {} : { true: words }), ...(others.length === 0 ? {} : { false: others }) };
  if (as === 'string') return {};
  return { ...(format === '' ? {} : { format }), ...(zone === '' ? {} : { zone }) };
}

/** Returns the members that the person changed: the server keeps the others. */
export function changesOf(base: Draft, draft: Draft): InputOf<'updateSync'>['body'] {
  const [before, after] = [Object.entries(bodyOf(base)), Object.entries(bodyOf(draft))];
  const known = new Map(before.map(([name, value]) => [name, stringify(value)]));
  return Object.fromEntries(after.filter(([name, value]) => stringify(value) !== known.get(name)));
}

/** Returns the members of a draft that differ from another's. */
export function differing(one: Draft, other: Draft): (keyof Draft)[] {
  const names = Object.keys(one) as (keyof Draft)[];
  return names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
}

/** Returns what someone else saved, with the members that the person changed since `base`. */
export function rebased(base: Draft, mine: Draft, theirs: Draft): Draft {
  return { ...theirs, ...Object.fromEntries(differing(base, mine).map((name) => [name, mine[name]])) };
}
