import { shorten } from '../../domain/core/text-limits.ts';
import type { Line } from '../commands/bounded-lines.ts';
import { type CommandFile, commandLines } from '../commands/command-lines.ts';
import { type Message, messageOf } from '../commands/command-message.ts';
import { type CommandSettings, commandSettings, findCommand, type NamedCommand } from '../commands/command-settings.ts';
import { handedOver } from '../commands/handed-over.ts';
import { schemaFields } from '../commands/schema-fields.ts';
import { type Batcher, batcher } from '../core/batcher.ts';
import { type Batch, connector, type ConnectorContext, type Reading } from '../core/contract.ts';
import { isObject, recordItem } from '../core/json-record.ts';
import { malformed } from '../core/malformed.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { type AirbyteStream, configured, findStream, nameOf, readCatalog, streamOf } from './airbyte-catalog.ts';
import { type AirbyteState, airbyteState } from './airbyte-state.ts';
import { type SourceVoice, sourceVoice } from './source-voice.ts';

const catalogs = handedOver<AirbyteStream[]>();

/**
 * Any Airbyte source that can be run as a command (Airbyte protocol, version 0:
 * https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol). The cursor is the text of its state.
 */
export const airbyte = connector({
  name: 'airbyte',
  title: 'Airbyte source',
  settings: commandSettings,
  source: {
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
  // Others start a full reading over, whatever state they are given.
  const isResumable = reading.mode === 'incremental' || stream.is_resumable === true;
  const cursor = isResumable ? reading.cursor : null;
  const taking = {
    stream,
    isResumable,
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
  yield* taking.batches.tell(schemaFields(stream.json_schema));
  try {
    for await (const line of commandLines({ ...source, args, error: 'transfer_broken' }, context))
      yield* take(line, taking);
    taking.voice.throwFailure();
  } catch (error) {
    // What came before the failure stands, and its state is where reading goes on.
    if (!context.signal.aborted) yield* taking.batches.rest();
    taking.voice.throwFailure();
    throw error;
  }
  yield* taking.batches.rest();
}

type Taking = {
  stream: AirbyteStream;
  isResumable: boolean;
  batches: Batcher;
  state: AirbyteState;
  voice: SourceVoice;
};

function take(line: Line, { stream, isResumable, batches, state, voice }: Taking): Batch[] {
  const message = messageOf(line);
  if (typeof message === 'string') {
    if (line.text.trimStart().startsWith('{')) return batches.add(malformed(line.text, message), line.bytes);
    // Libraries print; only what begins as a message was meant to be one.
    voice.say(line.text);
    return [];
  }
  if (message.type === 'RECORD') {
    const { record } = message;
    if (isObject(record) && !isOf(record, stream)) return [];
    return batches.add(recordItem(isObject(record) ? record['data'] : record, line.text), line.bytes);
  }
  if (message.type === 'STATE' && isResumable) batches.passed(state.take(message['state']));
  else voice.hear(message);
  return [];
}

function isOf(record: Record<string, unknown>, stream: AirbyteStream): boolean {
  return record['stream'] === stream.name && (record['namespace'] ?? null) === (stream.namespace ?? null);
}

/** What the source's own specification requires and the config does not have. */
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
  const streams = readCatalog(await answer(source, 'CATALOG', ['discover', '--config', configFile(source)], context));
  if (!streams)
    throw sourceRefusal('source_refused', `${source.name} gives a catalogue that is not as the Airbyte protocol says`);
  return streams.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** What the one message holds that a source answers with. */
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

function configFile({ config }: NamedCommand): CommandFile {
  return { name: 'config.json', text: config };
}
