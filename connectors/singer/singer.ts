/** Connector that runs a Singer tap as a command. */
import { z } from 'zod';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { checkNesting, NestingError } from '../../domain/json/parse-json.ts';
import { type Line, type Message, messageOf } from '../commands/command-message.ts';
import { commandLines, configFile } from '../commands/command-lines.ts';
import { type CommandSettings, commandSettings, findCommand, type NamedCommand } from '../commands/command-settings.ts';
import { catalogCache, schemaFields } from '../commands/catalogs.ts';
import { type Batcher, batcher } from '../core/batcher.ts';
import { type Batch, connector, type ConnectorContext, type Reading, type Stream } from '../core/contract.ts';
import { itemOrDeletion, MAX_OUTSIDE_NESTING, recordItem, sayDepth, malformed } from '../core/json-record.ts';
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

/**
 * The catalog that a tap prints with --discover (Singer spec: discovery mode), and takes with a selection marked in it.
 */
const catalog = z.looseObject({ streams: z.array(entry) });

type SingerCatalog = z.output<typeof catalog>;
type SingerEntry = z.output<typeof entry>;

/** Returns null for any other value. */
export function readCatalog(printed: unknown): SingerCatalog | null {
  const read = catalog.safeParse(printed);
  return read.success ? read.data : null;
}

export function streamOf(found: SingerEntry): Stream {
  const fields = schemaFields(found.schema);
  const marks = ofStream(found);
  const keys = [marks['table-key-properties'], marks['view-key-properties'], found.key_properties].map(names);
  const key = keys.find((list) => list.length > 0) ?? [];
  return { name: nameOf(found), fields, key, incremental: incrementalOf(found, fields) };
}

function findEntry({ streams }: SingerCatalog, name: string): SingerEntry {
  const found = streams.find((one) => nameOf(one) === name);
  if (!found)
    throw sourceRefusal('source_refused', 'stream: the tap has no stream of this name; choose one of those it tells');
  return found;
}

/** Returns the catalog with only this stream, and of it the fields of the reading, selected. */
export function select(whole: SingerCatalog, name: string, reading: Reading): SingerCatalog {
  return {
    ...whole,
    streams: whole.streams.map((one) => (nameOf(one) === name ? selected(one, reading) : deselected(one))),
  };
}

function selected(one: SingerEntry, { mode, cursorField, fields }: Reading): SingerEntry {
  const method =
    mode === 'full' ? 'FULL_TABLE' : cursorField === null ? (forcedMethod(one) ?? 'INCREMENTAL') : 'INCREMENTAL';
  const key = mode === 'full' || cursorField === null ? {} : { 'replication-key': cursorField };
  const own = [...streamOf(one).key, DELETED_AT, ...(cursorField === null ? [] : [cursorField])];
  const asked = fields && new Set([...fields, ...own]);
  const marks = [...(one.metadata ?? [])];
  for (const breadcrumb of [[], ...schemaFields(one.schema).map((field) => ['properties', field.name])]) {
    if (!marks.some((mark) => isSame(mark.breadcrumb, breadcrumb))) marks.push({ breadcrumb, metadata: {} });
  }
  const chosen = marks.map((mark) => {
    const marksOfStream = mark.breadcrumb.length === 0 ? { 'replication-method': method, ...key } : {};
    const [part, field] = mark.breadcrumb;
    const isAsked = part !== 'properties' || asked === null || asked.has(field!);
    const isTaken = mark.metadata['inclusion'] !== 'unsupported' && isAsked;
    return { ...mark, metadata: { ...mark.metadata, selected: isTaken, ...marksOfStream } };
  });
  // Some taps read the stream's own members instead.
  const members = cursorField === null || mode === 'full' ? {} : { replication_key: cursorField };
  return {
    ...one,
    schema: { ...one.schema, selected: true },
    replication_method: method,
    ...members,
    metadata: chosen,
  };
}

function deselected(one: SingerEntry): SingerEntry {
  const others = (one.metadata ?? []).filter(({ breadcrumb }) => breadcrumb.length > 0);
  return { ...one, metadata: [{ breadcrumb: [], metadata: { ...ofStream(one), selected: false } }, ...others] };
}

const COUNTING = new Set(['date', 'datetime', 'integer', 'number']);

/** Returns the keys that the tap names, its own way or, if unknown, any ordered field. */
function incrementalOf(found: SingerEntry, fields: Stream['fields']): Stream['incremental'] {
  const marks = ofStream(found);
  const keys = [
    ...new Set([marks['valid-replication-keys'], marks['replication-key'], found.replication_key].flatMap(names)),
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

/** Field of a tap that reads a log of changes, which says when a record was deleted (the Meltano SDK's and others'). */
const DELETED_AT = '_sdc_deleted_at';

const CATALOG_BYTES = 64 * 1024 * 1024;

const catalogs = catalogCache<SingerCatalog>();

/**
 * Runs any Singer tap that supports --discover (Singer spec 0.3:
 * https://github.com/singer-io/getting-started/blob/master/docs/SPEC.md). The cursor is the text of the tap's last
 * STATE.
 */
export const singer = connector({
  name: 'singer',
  title: 'Singer tap',
  settings: commandSettings,
  source: {
    reportsDeletions: true,

    async check(settings, context) {
      await discovered(findCommand('singer', settings, context), context);
    },

    async discover(settings, context) {
      const catalog = await discovered(findCommand('singer', settings, context), context);
      catalogs.keep(context, settings, catalog);
      return catalog.streams.map(streamOf);
    },

    read: readTap,
  },
});

async function* readTap(settings: CommandSettings, reading: Reading, context: ConnectorContext): AsyncGenerator<Batch> {
  const tap = findCommand('singer', settings, context);
  const catalog = catalogs.find(context, settings) ?? (await discovered(tap, context));
  const entry = findEntry(catalog, reading.stream);
  const taking = { entry, batches: batcher(reading.cursor), key: keyOfDeleted(entry, schemaFields(entry.schema)) };
  const { batches } = taking;
  const args = [
    '--config',
    configFile(tap),
    tap.command.catalogOption,
    { name: 'catalog.json', text: JSON.stringify(select(catalog, reading.stream, reading)) },
    ...(typeof reading.cursor === 'string' ? ['--state', { name: 'state.json', text: reading.cursor }] : []),
  ];
  let isSilent = true;
  try {
    for await (const line of commandLines({ ...tap, args, error: 'transfer_broken' }, context)) {
      isSilent = false;
      yield* take(line, taking, context);
    }
  } catch (error) {
    // Records before the failure are kept, and reading continues from their state.
    if (!context.signal.aborted) yield* batches.rest();
    throw error;
  }
  // A tap prints the schema of an empty stream; one that does not know the catalog's option ends well, too.
  if (isSilent && reading.cursor === null) {
    throw sourceRefusal(
      'source_refused',
      `${tap.name} printed nothing, not even a schema: ask an operator whether it takes its ` +
        'catalogue by another option, which catalog_option names in MILLRACE_TAPS',
    );
  }
  yield* batches.rest();
}

/** `key`: the fields that identify a record, of a stream that says which ones are deleted. */
type Taking = { entry: SingerEntry; batches: Batcher; key: string[] | null };

function keyOfDeleted(entry: SingerEntry, fields: Stream['fields']): string[] | null {
  return fields.some(({ name }) => name === DELETED_AT) ? streamOf(entry).key : null;
}

function take(line: Line, taking: Taking, { log }: ConnectorContext): Batch[] {
  const { entry, batches } = taking;
  const message = messageOf(line);
  if (typeof message === 'string') return batches.add(malformed(line.text, message), line.bytes);
  if (message.type === 'STATE') {
    batches.passed(JSON.stringify(message['value'] ?? {}));
    return [];
  }
  if (message.type === 'BATCH') {
    throw sourceRefusal(
      'source_refused',
      'the tap gives files instead of records: take batch_config out of its config',
    );
  }
  return isOf(message, entry) ? takeOfStream(line, message, taking, log) : [];
}

function takeOfStream(line: Line, message: Message, taking: Taking, log: (line: string) => void): Batch[] {
  const { entry, batches, key } = taking;
  switch (message.type) {
    case 'RECORD': {
      const item = recordItem(message['record'], line.text);
      return batches.add(key ? itemOrDeletion(item, DELETED_AT, key) : item, line.bytes);
    }
    case 'SCHEMA': {
      const fields = schemaFields(message['schema']);
      taking.key ??= keyOfDeleted(entry, fields);
      return batches.setFields(fields);
    }
    case 'ACTIVATE_VERSION':
      log('the tap says that what it has sent of the stream by now is the whole of it (ACTIVATE_VERSION)');
      return [];
    default:
      return [];
  }
}

/** Returns whether a message is of this stream: taps use either of its names. */
function isOf({ stream }: Message, entry: SingerEntry): boolean {
  return stream === entry.stream || stream === entry.tap_stream_id;
}

async function discovered(tap: NamedCommand, context: ConnectorContext): Promise<SingerCatalog> {
  const printed: string[] = [];
  let bytes = 0;
  const call = { ...tap, args: ['--config', configFile(tap), '--discover'], error: 'source_refused' as const };
  for await (const line of commandLines(call, context)) {
    bytes += line.bytes;
    if (line.isCut || bytes > CATALOG_BYTES) {
      throw sourceRefusal('source_refused', `the catalogue of ${tap.name} is too large: narrow it by its config`);
    }
    printed.push(line.text);
  }
  const catalog = readCatalog(jsonOf(printed.join('\n'), tap.name));
  if (catalog) return catalog;
  throw sourceRefusal(
    'source_refused',
    `${tap.name} prints no catalogue with --discover: it is no Singer tap that can be used here`,
  );
}

function jsonOf(text: string, tap: string): unknown {
  try {
    checkNesting(text, MAX_OUTSIDE_NESTING);
    return parseExactJson(text);
  } catch (error) {
    if (!(error instanceof NestingError)) return undefined;
    throw sourceRefusal('source_refused', `the catalog of ${tap} ${sayDepth(MAX_OUTSIDE_NESTING)}`);
  }
}
