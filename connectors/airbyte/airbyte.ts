/** Connector that runs an Airbyte source as a command. */
import { z } from 'zod';
import { isObject, parseExactJson } from '../../domain/json/exact-json.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { type Line, type Message, messageOf } from '../commands/command-message.ts';
import { type CommandFile, commandLines, configFile } from '../commands/command-lines.ts';
import { type CommandSettings, commandSettings, findCommand, type NamedCommand } from '../commands/command-settings.ts';
import { catalogCache, schemaFields } from '../commands/catalogs.ts';
import { type Batcher, batcher } from '../core/batcher.ts';
import {
  type Batch,
  connector,
  type ConnectorContext,
  type Cursor,
  type Field,
  type Reading,
  type Stream,
} from '../core/contract.ts';
import { itemOrDeletion, recordItem, malformed } from '../core/json-record.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

/** AirbyteStream of the Airbyte protocol, version 0. */
const airbyteStream = z.looseObject({
  name: z.string(),
  namespace: z.string().nullish(),
  json_schema: z.record(z.string(), z.unknown()),
  supported_sync_modes: z.array(z.string()).nullish(),
  source_defined_cursor: z.boolean().nullish(),
  default_cursor_field: z.array(z.string()).nullish(),
  source_defined_primary_key: z.array(z.array(z.string())).nullish(),
  is_resumable: z.boolean().nullish(),
});

const catalog = z.looseObject({ streams: z.array(airbyteStream) });

type AirbyteStream = z.output<typeof airbyteStream>;

function streamOf(stream: AirbyteStream): Stream {
  const fields = schemaFields(stream.json_schema);
  const paths = stream.source_defined_primary_key ?? [];
  // A key inside an object cannot name a record here.
  const key = paths.every((path) => path.length === 1) ? paths.flat() : [];
  return { name: nameOf(stream), fields, key, incremental: incrementalOf(stream, fields) };
}

function findStream(streams: AirbyteStream[], name: string): AirbyteStream {
  const found = streams.find((stream) => nameOf(stream) === name);
  if (!found)
    throw sourceRefusal(
      'source_refused',
      'stream: the source has no stream of this name; choose one of those it tells',
    );
  return found;
}

/** Returns a ConfiguredAirbyteCatalog with only this stream. */
function configured(stream: AirbyteStream, { mode, cursorField }: Reading): unknown {
  const cursor = cursorField === null ? (stream.default_cursor_field ?? []) : [cursorField];
  return {
    streams: [
      {
        stream,
        sync_mode: mode === 'full' ? 'full_refresh' : 'incremental',
        cursor_field: cursor,
        primary_key: stream.source_defined_primary_key ?? [],
        destination_sync_mode: 'append',
      },
    ],
  };
}

function nameOf({ name, namespace }: { name: string; namespace?: string | null | undefined }): string {
  return namespace ? `${namespace}.${name}` : name;
}

/** Field of a source that reads a log of changes, which says when a record was deleted (Airbyte: CDC). */
const DELETED_AT = '_ab_cdc_deleted_at';

const ORDERED = new Set(['string', 'date', 'datetime', 'integer', 'number']);

/** Returns the source's own cursor, or the fields that a user may choose, its default first. */
function incrementalOf(stream: AirbyteStream, fields: Field[]): Stream['incremental'] {
  if (!stream.supported_sync_modes?.includes('incremental')) return { fields: [] };
  if (stream.source_defined_cursor) return 'own';
  const proposed = stream.default_cursor_field?.length === 1 ? stream.default_cursor_field : [];
  const others = fields.filter(({ type }) => ORDERED.has(type)).map(({ name }) => name);
  return { fields: [...new Set([...proposed, ...others])] };
}

const catalogs = catalogCache<AirbyteStream[]>();

/** Runs any Airbyte source as a command (Airbyte protocol, version 0); the cursor is its state. */
export const airbyte = connector({
  name: 'airbyte',
  title: 'Airbyte source',
  settings: commandSettings,
  source: {
    reportsDeletions: true,

    async check(settings, context) {
      const source = findCommand('airbyte', settings, context);
      await checkMembers(source, settings, context);
      const status = await answer(source, 'CONNECTION_STATUS', ['check', '--config', configFile(source)], context);
      const { status: word, message } = isObject(status) ? status : {};
      if (word === 'SUCCEEDED') return;
      const words = typeof message === 'string' ? shorten(source.redact(message), 500) : 'it does not say why';
      throw sourceRefusal('source_refused', `${source.name} can't reach what it reads: ${words}`);
    },

    async discover(settings, context) {
      const streams = await discovered(findCommand('airbyte', settings, context), context);
      catalogs.keep(context, settings, streams);
      return streams.map(streamOf);
    },

    read: readSource,
  },
});

async function* readSource(
  settings: CommandSettings,
  reading: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch> {
  const source = findCommand('airbyte', settings, context);
  const stream = findStream(catalogs.find(context, settings) ?? (await discovered(source, context)), reading.stream);
  // Other sources restart a full reading, whatever state they get.
  const isResumable = reading.mode === 'incremental' || stream.is_resumable === true;
  const cursor = isResumable ? reading.cursor : null;
  const { fields, key } = streamOf(stream);
  const taking = {
    stream,
    isResumable,
    key: fields.some(({ name }) => name === DELETED_AT) ? key : null,
    batches: batcher(cursor),
    state: airbyteState(cursor),
    voice: sourceVoice(source, context),
  };
  const args = [
    'read',
    '--config',
    configFile(source),
    '--catalog',
    { name: 'catalog.json', text: JSON.stringify(configured(stream, reading)) },
    ...(typeof cursor === 'string' ? ['--state', { name: 'state.json', text: cursor }] : []),
  ];
  yield* taking.batches.setFields(fields);
  try {
    for await (const line of commandLines({ ...source, args, error: 'transfer_broken' }, context))
      yield* take(line, taking);
    taking.voice.throwFailure();
  } catch (error) {
    // Records before the failure are kept, and reading continues from their state.
    if (!context.signal.aborted) yield* taking.batches.rest();
    taking.voice.throwFailure();
    throw error;
  }
  yield* taking.batches.rest();
}

type Taking = {
  stream: AirbyteStream;
  isResumable: boolean;
  /** The fields that identify a record, of a stream that says which ones are deleted. */
  key: string[] | null;
  batches: Batcher;
  state: AirbyteState;
  voice: SourceVoice;
};

function take(line: Line, { stream, isResumable, key, batches, state, voice }: Taking): Batch[] {
  const message = messageOf(line);
  if (typeof message === 'string') {
    if (line.text.trimStart().startsWith('{')) return batches.add(malformed(line.text, message), line.bytes);
    // Libraries print, too; only a line that begins as a message must be one.
    voice.say(line.text);
    return [];
  }
  if (message.type === 'RECORD') {
    const { record } = message;
    if (isObject(record) && !isOf(record, stream)) return [];
    const item = recordItem(isObject(record) ? record['data'] : record, line.text);
    return batches.add(key ? itemOrDeletion(item, DELETED_AT, key) : item, line.bytes);
  }
  if (message.type === 'STATE' && isResumable) batches.passed(state.take(message['state']));
  else voice.hear(message);
  return [];
}

function isOf(record: Record<string, unknown>, stream: AirbyteStream): boolean {
  return record['stream'] === stream.name && (record['namespace'] ?? null) === (stream.namespace ?? null);
}

/** Refuses a config without members that the source's specification requires. */
async function checkMembers(source: NamedCommand, settings: CommandSettings, context: ConnectorContext): Promise<void> {
  const spec = await answer(source, 'SPEC', ['spec'], context);
  const specification = isObject(spec) ? spec['connectionSpecification'] : undefined;
  const required = isObject(specification) ? specification['required'] : undefined;
  const missing = (Array.isArray(required) ? (required as unknown[]) : []).filter(
    (name) => typeof name === 'string' && !Object.hasOwn(settings.config, name),
  );
  if (missing.length > 0)
    throw sourceRefusal('source_refused', `config: ${source.name} requires ${missing.join(', ')}, too`);
}

async function discovered(source: NamedCommand, context: ConnectorContext): Promise<AirbyteStream[]> {
  const printed = await answer(source, 'CATALOG', ['discover', '--config', configFile(source)], context);
  const read = catalog.safeParse(printed);
  if (!read.success)
    throw sourceRefusal('source_refused', `${source.name} gives a catalogue that is not as the Airbyte protocol says`);
  return read.data.streams.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** Returns the content of the one message with which a source answers. */
async function answer(
  source: NamedCommand,
  type: 'SPEC' | 'CONNECTION_STATUS' | 'CATALOG',
  args: (string | CommandFile)[],
  context: ConnectorContext,
): Promise<unknown> {
  const voice = sourceVoice(source, context);
  let found: Message | undefined;
  try {
    for await (const line of commandLines({ ...source, args, error: 'source_refused' }, context)) {
      const message = messageOf(line);
      if (typeof message === 'string') voice.say(line.text);
      else if (message.type === type) found = message;
      else voice.hear(message);
    }
  } catch (error) {
    voice.throwFailure();
    throw error;
  }
  if (found) return found[MEMBER[type]];
  voice.throwFailure();
  throw sourceRefusal('source_refused', `${source.name} answers without a message ${type}: it is no Airbyte source`);
}

const MEMBER = { SPEC: 'spec', CONNECTION_STATUS: 'connectionStatus', CATALOG: 'catalog' };

type AirbyteState = {
  /** Takes the content of a STATE message, and returns the text for the option --state. */
  take(state: unknown): string;
};

/**
 * Keeps the source's state to pass it back (Airbyte protocol, version 0): for STREAM and GLOBAL a list of the last
 * messages, for LEGACY the object itself. A later message replaces an earlier one of the same stream.
 */
export function airbyteState(cursor: Cursor | null): AirbyteState {
  const known = new Map<string, unknown>();
  const before = typeof cursor === 'string' ? parseExactJson(cursor) : [];
  for (const message of Array.isArray(before) ? (before as unknown[]) : [])
    if (isObject(message)) known.set(placeOf(message), message);
  return {
    take(state) {
      const message = isObject(state) ? state : {};
      const kind = message['type'];
      if (kind !== 'STREAM' && kind !== 'GLOBAL') return JSON.stringify(message['data'] ?? {});
      // Its other members are counts of records.
      const member = kind.toLowerCase();
      if (kind === 'GLOBAL') known.clear();
      known.set(placeOf(message), { type: kind, [member]: message[member] });
      return JSON.stringify([...known.values()]);
    },
  };
}

function placeOf({ stream }: Record<string, unknown>): string {
  const descriptor = isObject(stream) ? stream['stream_descriptor'] : undefined;
  const { namespace, name } = isObject(descriptor) ? descriptor : {};
  return JSON.stringify([namespace ?? null, name ?? null]);
}

const LOGGED_LINES = 1_000;
const LOGGED_LETTERS = 2_000;
const LEVELS = new Set(['FATAL', 'ERROR', 'WARN', 'INFO']);

/** Messages of an Airbyte source about itself: LOG and TRACE. */
type SourceVoice = {
  /** Passes on a LOG, remembers a TRACE, and ignores others. */
  hear(message: Message): void;
  /** Writes a line into the run's log. */
  say(text: string): void;
  /** Refuses if the source has reported an error. */
  throwFailure(): void;
};

function sourceVoice({ name, redact }: NamedCommand, { log, signal }: ConnectorContext): SourceVoice {
  let lines = 0;
  let failure: { kind: unknown; words: string } | undefined;
  let quietUntil: number | undefined;

  const say = (text: string) => {
    lines += 1;
    if (lines <= LOGGED_LINES) log(`${name}: ${shorten(redact(text.trim()), LOGGED_LETTERS)}`);
    else if (lines === LOGGED_LINES + 1) log(`${name}: and more lines, left out`);
  };

  const hearTrace = (trace: Record<string, unknown>) => {
    const { error, stream_status: status } = trace;
    if (trace['type'] === 'ERROR' && isObject(error)) {
      const { message, failure_type: kind } = error;
      // The stack and the internal message may contain records.
      failure = { kind, words: shorten(redact(typeof message === 'string' ? message : 'it does not say why'), 500) };
    }
    if (trace['type'] === 'STREAM_STATUS' && isObject(status)) quietUntil = resetOf(status) ?? quietUntil;
  };

  return {
    say,
    hear({ type, log: entry, trace }) {
      if (type === 'TRACE' && isObject(trace)) hearTrace(trace);
      if (type !== 'LOG' || !isObject(entry) || typeof entry['message'] !== 'string') return;
      if (typeof entry['level'] === 'string' && LEVELS.has(entry['level'])) say(entry['message']);
    },
    throwFailure() {
      if (!failure || signal.aborted) return;
      const message = `${name} failed: ${failure.words}`;
      if (failure.kind === 'config_error') throw sourceRefusal('source_refused', message);
      const seconds = quietUntil === undefined ? 0 : Math.ceil((quietUntil - Date.now()) / 1_000);
      throw sourceRefusal('source_unavailable', message, seconds > 0 ? { retry_after: seconds } : {});
    },
  };
}

/** Returns when the quota resets that the source waits for, in ms since 1970. */
function resetOf(status: Record<string, unknown>): number | undefined {
  const reasons = Array.isArray(status['reasons']) ? (status['reasons'] as unknown[]) : [];
  for (const reason of reasons) {
    const limited = isObject(reason) && reason['type'] === 'RATE_LIMITED' ? reason['rate_limited'] : undefined;
    if (isObject(limited) && typeof limited['quota_reset'] === 'number') return limited['quota_reset'];
  }
  return undefined;
}
