import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { airbyteState } from '../../../connectors/airbyte/airbyte.ts';
import { airbyte } from '../../../connectors/airbyte/airbyte.ts';
import type { Reading } from '../../../connectors/core/contract.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { commandsOf, printing, sampleRecords } from '../../harness/syncs/sample-records.ts';
import { sourceContract, testContext } from '../core/contract.ts';

sourceContract(airbyte, async () => {
  const sample = await sampleRecords('airbyte', 'sample-airbyte-source.ts', 'public.people');
  return {
    ...sample,
    async throttle() {
      await writeFile(join(sample.folder, 'busy'), '40');
      return 40;
    },
  };
}, ['progress', 'cursor field']);

const source = airbyte.source!;
const SPEC = { type: 'SPEC', spec: { connectionSpecification: { required: ['account', 'token'] } } };
const PROPERTIES = { id: { type: 'integer' }, at: { type: 'string' } };
const stream = (more: object = {}) => ({ name: 'people', json_schema: { properties: PROPERTIES }, ...more });
const catalog = (...streams: object[]) => ({ type: 'CATALOG', catalog: { streams } });
const failure = (message: string, kind: string) => ({
  type: 'TRACE',
  trace: { type: 'ERROR', error: { message, internal_message: 'zqinternal', failure_type: kind } },
});
const record = (data: unknown, more: object = {}) => ({ type: 'RECORD', record: { stream: 'people', data, ...more } });
const state = (value: unknown) => ({ type: 'STATE', state: value });
const ofStream = (name: string, since: number) => ({
  type: 'STREAM',
  stream: { stream_descriptor: { name }, stream_state: { since } },
});

const SETTINGS = { tap: 'source', config: { account: 'a', token: 'zqairbytetoken' } };
const READING: Reading = { stream: 'people', mode: 'incremental', cursorField: 'at', cursor: null, fields: null };

function printed(messages: unknown[], status = 0, logged: string[] = []) {
  const commands = commandsOf({ source: { kind: 'airbyte', command: printing(messages, status) } });
  return testContext(AbortSignal.timeout(HANGS_MS), logged, commands);
}
const said = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );
const MODES = ['full_refresh', 'incremental'];
const readAll = (messages: unknown[], reading = READING) =>
  Array.fromAsync(
    source.read(SETTINGS, reading, printed([catalog(stream({ supported_sync_modes: MODES })), ...messages])),
  );

describe('an Airbyte source is refused', () => {
  it('whose config misses what it requires', async () => {
    expect(await said(source.check({ tap: 'source', config: { token: 't' } }, printed([SPEC])))).toMatchObject({
      status: 'source_refused',
      message: 'config: source requires account, too',
    });
  });

  it('that speaks something else, or leaves the answer out', async () => {
    for (const messages of [['hello'], [], [{ type: 'LOG', log: { level: 'INFO', message: 'hi' } }]]) {
      const refusal = await said(source.check(SETTINGS, printed(messages)));
      expect(refusal).toMatchObject({ status: 'source_refused', message: /no Airbyte source/ });
    }
    expect(await said(source.discover(SETTINGS, printed([{ type: 'CATALOG', catalog: {} }])))).toMatchObject({
      message: /catalogue/,
    });
  });

  it('whose answer or state nests too deep', async () => {
    const nested = `${'{"a":['.repeat(5_000)}1.50${']}'.repeat(5_000)}`;
    const says = (type: string) => ({
      status: 'source_refused',
      message: `the source printed a message ${type} that has arrays or objects more than 500 deep`,
    });
    expect(await said(source.check(SETTINGS, printed([`{"type":"SPEC","spec":${nested}}`])))).toMatchObject(
      says('SPEC'),
    );
    expect(await said(source.discover(SETTINGS, printed([`{"type":"CATALOG","catalog":${nested}}`])))).toMatchObject(
      says('CATALOG'),
    );
    expect(await said(readAll([`{"type":"STATE","state":{"type":"GLOBAL","global":${nested}}}`]))).toMatchObject(
      says('STATE'),
    );
  });

  it('with its own words for an error, whether it ends well or not', async () => {
    for (const status of [0, 1]) {
      const config = printed([failure('bad zqairbytetoken', 'config_error')], status);
      expect(await said(source.discover(SETTINGS, config))).toMatchObject({
        status: 'source_refused',
        message: 'source failed: bad ***',
      });
      const system = printed([failure('out of order', 'system_error')], status);
      expect(await said(source.discover(SETTINGS, system))).toMatchObject({
        status: 'source_unavailable',
        message: 'source failed: out of order',
        extra: {},
      });
    }
    expect(await said(readAll([record({ id: 1 }), failure('lost', 'transient_error')]))).toMatchObject({
      message: 'source failed: lost',
    });
  });
});

describe('what an Airbyte source prints', () => {
  it('is told with its own means to be read on', async () => {
    const streams = await source.discover(
      SETTINGS,
      printed([
        catalog(
          stream({ name: 'a' }),
          stream({ name: 'b', supported_sync_modes: MODES, default_cursor_field: ['at'] }),
          stream({
            name: 'c',
            supported_sync_modes: MODES,
            source_defined_cursor: true,
            source_defined_primary_key: [['id'], ['at']],
          }),
          stream({ name: 'd', namespace: 'n', source_defined_primary_key: [['id', 'part']] }),
        ),
      ]),
    );
    expect(streams.map(({ name, key, incremental }) => [name, key, incremental])).toEqual([
      ['a', [], { fields: [] }],
      ['b', [], { fields: ['at', 'id'] }],
      ['c', ['id', 'at'], 'own'],
      ['n.d', [], { fields: [] }],
    ]);
  });

  it('is this stream alone, and lines that are no messages are only logged', async () => {
    const others = [record({ id: 2 }, { stream: 'pets' }), record({ id: 3 }, { namespace: 'n' })];
    const batches = await readAll(['Loading', record({ id: 1 }), ...others, record(7), '{"typ']);
    expect(
      batches
        .flatMap(({ items }) => items)
        .map((item) => (item.kind === 'record' ? item.record : item.kind === 'malformed' ? item.message : item)),
    ).toEqual([{ id: 1 }, 'a record is not a JSON object', 'a line is not JSON']);
  });

  it('starts a full reading over, unless the source can go on with one', async () => {
    const [batch] = await readAll([record({ id: 1 }), state(ofStream('people', 1))], {
      ...READING,
      mode: 'full',
      cursorField: null,
    });
    expect(batch!.cursor).toBeNull();
    const [other] = await readAll([record({ id: 1 }), state(ofStream('people', 1))]);
    expect(other!.cursor).toBe(JSON.stringify([ofStream('people', 1)]));
  });

  it('is logged without its secrets, and without what is only for its makers', async () => {
    const logged: string[] = [];
    const entry = (level: string, message: string) => ({ type: 'LOG', log: { level, message } });
    const messages = [
      catalog(),
      entry('INFO', 'token zqairbytetoken'),
      entry('DEBUG', 'a record'),
      entry('WARN', 'slow'),
    ];
    await source.discover(SETTINGS, printed(messages, 0, logged));
    expect(logged).toEqual(['source: token ***', 'source: slow']);
  });
});

describe('the state of an Airbyte source', () => {
  it('is the last of each stream, or of all', () => {
    const kept = airbyteState(null);
    kept.take(ofStream('people', 1));
    kept.take(ofStream('pets', 1));
    const cursor = kept.take({ ...ofStream('people', 2), sourceStats: { recordCount: 1 } });
    expect(JSON.parse(cursor)).toEqual([ofStream('people', 2), ofStream('pets', 1)]);
    expect(JSON.parse(airbyteState(cursor).take(ofStream('pets', 3)))).toEqual([
      ofStream('people', 2),
      ofStream('pets', 3),
    ]);
    const global = { type: 'GLOBAL', global: { shared_state: { lsn: 1 }, stream_states: [] } };
    expect(JSON.parse(airbyteState(cursor).take(global))).toEqual([global]);
  });

  it('is the object itself where it is of the first kind', () => {
    expect(airbyteState(null).take({ data: { people: 1 } })).toBe('{"people":1}');
    expect(airbyteState('{"people":1}').take({ type: 'LEGACY', data: { people: 2 } })).toBe('{"people":2}');
  });
});
