import { z } from 'zod';
import { schemaFields } from '../commands/schema-fields.ts';
import type { Reading, Stream } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

const metadata = z.looseObject({
  breadcrumb: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
});

const entry = z.looseObject({
  tap_stream_id: z.string().optional(),
  stream: z.string(),
  schema: z.record(z.string(), z.unknown()),
  key_properties: z.array(z.string()).nullish(),
  replication_key: z.string().nullish(),
  replication_method: z.string().nullish(),
  metadata: z.array(metadata).nullish(),
});

/** What a tap prints with --discover (Singer spec: discovery mode), and takes with what is to be read marked in it. */
const catalog = z.looseObject({ streams: z.array(entry) });

export type SingerCatalog = z.output<typeof catalog>;
export type SingerEntry = z.output<typeof entry>;

/** Null where it is none. */
export function readCatalog(printed: unknown): SingerCatalog | null {
  const read = catalog.safeParse(printed);
  return read.success ? read.data : null;
}

export function streamOf(found: SingerEntry): Stream {
  const fields = schemaFields(found.schema);
  const told = ofStream(found);
  const keys = [told['table-key-properties'], told['view-key-properties'], found.key_properties].map(names);
  const key = keys.find((list) => list.length > 0) ?? [];
  return { name: nameOf(found), fields, key, incremental: incrementalOf(found, fields) };
}

export function findEntry({ streams }: SingerCatalog, name: string): SingerEntry {
  const found = streams.find((one) => nameOf(one) === name);
  if (!found)
    throw sourceRefusal('source_refused', 'stream: the tap has no stream of this name; choose one of those it tells');
  return found;
}

/** The catalogue with just this stream, and all its fields, to be read. */
export function select(whole: SingerCatalog, name: string, reading: Reading): SingerCatalog {
  return {
    ...whole,
    streams: whole.streams.map((one) => (nameOf(one) === name ? selected(one, reading) : deselected(one))),
  };
}

function selected(one: SingerEntry, { mode, cursorField }: Reading): SingerEntry {
  const method =
    mode === 'full' ? 'FULL_TABLE' : cursorField === null ? (forcedMethod(one) ?? 'INCREMENTAL') : 'INCREMENTAL';
  const key = mode === 'full' || cursorField === null ? {} : { 'replication-key': cursorField };
  const marks = [...(one.metadata ?? [])];
  for (const breadcrumb of [[], ...schemaFields(one.schema).map((field) => ['properties', field.name])]) {
    if (!marks.some((mark) => isSame(mark.breadcrumb, breadcrumb))) marks.push({ breadcrumb, metadata: {} });
  }
  const chosen = marks.map((mark) => {
    const own = mark.breadcrumb.length === 0 ? { 'replication-method': method, ...key } : {};
    const isTaken = mark.metadata['inclusion'] !== 'unsupported';
    return { ...mark, metadata: { ...mark.metadata, selected: isTaken, ...own } };
  });
  // Some taps look at the stream's own members instead.
  const own = cursorField === null || mode === 'full' ? {} : { replication_key: cursorField };
  return { ...one, schema: { ...one.schema, selected: true }, replication_method: method, ...own, metadata: chosen };
}

function deselected(one: SingerEntry): SingerEntry {
  const others = (one.metadata ?? []).filter(({ breadcrumb }) => breadcrumb.length > 0);
  return { ...one, metadata: [{ breadcrumb: [], metadata: { ...ofStream(one), selected: false } }, ...others] };
}

const COUNTING = new Set(['date', 'datetime', 'integer', 'number']);

/** By the keys that the tap names, by its own means, or, where it tells nothing, by any field with an order. */
function incrementalOf(found: SingerEntry, fields: Stream['fields']): Stream['incremental'] {
  const told = ofStream(found);
  const keys = [
    ...new Set([told['valid-replication-keys'], told['replication-key'], found.replication_key].flatMap(names)),
  ];
  const method = forcedMethod(found);
  if (method === 'FULL_TABLE') return { fields: [] };
  if (keys.length > 0) return { fields: keys };
  if (method !== undefined) return 'own';
  return { fields: fields.filter(({ type }) => COUNTING.has(type)).map(({ name }) => name) };
}

function forcedMethod(found: SingerEntry): string | undefined {
  const method = ofStream(found)['forced-replication-method'];
  return typeof method === 'string' && method !== '' ? method : undefined;
}

function ofStream(found: SingerEntry): Record<string, unknown> {
  return found.metadata?.find(({ breadcrumb }) => breadcrumb.length === 0)?.metadata ?? {};
}

function nameOf({ tap_stream_id, stream }: SingerEntry): string {
  return tap_stream_id ?? stream;
}

function names(value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(
    (name) => typeof name === 'string' && name !== '',
  ) as string[];
}

function isSame(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}
