import { describe, expect, it } from 'vitest';
import type { Batch, ConnectorContext, Reading } from '../../../connectors/core/contract.ts';
import { readCatalog, select, streamOf } from '../../../connectors/singer/singer.ts';
import { singer } from '../../../connectors/singer/singer.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { commandsOf, printing, sampleRecords } from '../../harness/syncs/sample-records.ts';
import { sourceContract, testContext } from '../core/contract.ts';

sourceContract(singer, () => sampleRecords('singer', 'sample-tap.ts', 'public-people'), [
  'throttling',
  'progress',
  'cursor field',
]);

const source = singer.source!;
const SCHEMA = { type: 'object', properties: { id: { type: 'integer' } } };
const schema = (properties: object) => ({ type: 'SCHEMA', stream: 'people', schema: { type: 'object', properties } });
const record = (value: unknown, stream = 'people') => ({ type: 'RECORD', stream, record: value });
const state = (value: unknown) => ({ type: 'STATE', value });

/** A tap with one stream that prints these messages for a reading. */
function tap(messages: unknown[], status = 0): ConnectorContext & { logged: string[] } {
  const catalog = JSON.stringify({ streams: [{ stream: 'people', tap_stream_id: 'people', schema: SCHEMA }] });
  const [shell, option, print, ...lines] = printing(messages, status);
  const script = `case "$*" in *--discover*) echo '${catalog}';; *) ${print};; esac`;
  const logged: string[] = [];
  const commands = commandsOf({ tap: { kind: 'singer', command: [shell!, option!, script, ...lines] } });
  return { ...testContext(AbortSignal.timeout(HANGS_MS), logged, commands), logged };
}

const SETTINGS = { tap: 'tap', config: {} };
const READING: Reading = { stream: 'people', mode: 'full', cursorField: null, cursor: null, fields: null };
const readAll = (messages: unknown[]) => Array.fromAsync(source.read(SETTINGS, READING, tap(messages)));

describe('what a tap prints', () => {
  it('is cut where the fields change, and a state goes with all before it', async () => {
    const batches = await readAll(
      [
        schema({ id: { type: 'integer' } }),
        record({ id: 1 }),
        state({ at: 1 }),
        record({ id: 2 }),
        schema({ id: { type: 'integer' } }),
        record({ id: 3 }),
        schema({ id: { type: 'string' } }),
        record({ id: '4' }),
        state({ lsn: '#' }),
      ].map((message) => JSON.stringify(message).replace('"#"', '9007199254740993')),
    );
    expect(batches.map(({ items, cursor, fields }) => [items.length, cursor, fields?.[0]?.type])).toEqual([
      [3, '{"at":1}', 'integer'],
      [1, '{"lsn":9007199254740993}', 'string'],
    ]);
  });

  it('has a cursor of its own where a state comes last, and none where no state comes', async () => {
    expect(await readAll([state({ at: 1 })])).toMatchObject([{ items: [], cursor: '{"at":1}' }]);
    expect((await readAll([record({ id: 1 })])).map(({ cursor }) => cursor)).toEqual([null]);
    expect(await readAll([schema({ id: { type: 'integer' } })])).toEqual([]);
  });

  it('keeps its digits, and other streams out', async () => {
    const numbers = '{"a":[1.0,-12.50e3,1e-05,0.1234567890123456789],"b":12345678901234567890,"c":-0.0}';
    const line = `{"type":"RECORD","stream":"people","record":${numbers}}`;
    const [batch] = await readAll([line, record({ id: 9 }, 'pets'), { type: 'WHATEVER' }]);
    const kept = { a: [1, -12_500, 0.000_01, '0.1234567890123456789'], b: '12345678901234567890', c: -0 };
    expect(batch!.items).toEqual([{ kind: 'record', record: kept }]);
  });

  it('is malformed where it is no message, or no record', async () => {
    const long = `"${'x'.repeat(5_000)}"`;
    const [batch] = await readAll([
      'WARNING: old',
      record([1]),
      record(null),
      '7',
      '{"a": 1}',
      long,
      record({ id: 1 }),
    ]);
    const untyped = 'a line is not a message: it has no type';
    expect(batch!.items.map((item) => item.kind === 'malformed' && item.message)).toEqual([
      'a line is not JSON',
      'a record is not a JSON object',
      'a record is not a JSON object',
      untyped,
      untyped,
      untyped,
      false,
    ]);
    expect(batch!.items.map((item) => (item.kind === 'malformed' ? item.raw.length : 0)).at(5)).toBe(2_048);
  });

  it('is malformed or refused where it nests too deep, whatever numbers it has', async () => {
    for (const number of ['1', '1.50']) {
      const nested = (levels: number) => `${'['.repeat(levels)}${number}${']'.repeat(levels)}`;
      const line = (levels: number) => `{"type":"RECORD","stream":"people","record":{"a":${nested(levels - 1)}}}`;
      const [batch] = await readAll([line(100), line(101), line(10_000), record({ id: 1 })]);
      expect(batch!.items.map((item) => item.kind === 'malformed' && item.message)).toEqual([
        false,
        'a record has arrays or objects more than 100 deep',
        'a line has arrays or objects more than 500 deep',
        false,
      ]);
      expect(await readAll([`{"type":"STATE","value":{"a":${nested(300)}}}`])).toMatchObject([
        { cursor: `{"a":${nested(300)}}` },
      ]);
      await expect(
        readAll([record({ id: 1 }), `{"type":"STATE","value":{"a":${nested(10_000)}}}`]),
      ).rejects.toMatchObject({
        status: 'source_refused',
        message: 'the source printed a message STATE that has arrays or objects more than 500 deep',
      });
    }
  });

  it('stands up to where the tap failed', async () => {
    const given: Batch[] = [];
    const context = tap([record({ id: 1 }), state({ at: 1 }), record({ id: 2 })], 1);
    const reading = (async () => {
      for await (const batch of source.read(SETTINGS, READING, context)) given.push(batch);
    })();
    await expect(reading).rejects.toMatchObject({ status: 'transfer_broken' });
    expect(given).toMatchObject([{ items: [{}, {}], cursor: '{"at":1}' }]);
  });

  it('is told to be the whole of a stream', async () => {
    const context = tap([record({ id: 1 }), { type: 'ACTIVATE_VERSION', stream: 'people', version: 1 }]);
    await Array.fromAsync(source.read(SETTINGS, READING, context));
    expect(context.logged).toEqual([expect.stringMatching(/ACTIVATE_VERSION/)]);
  });
});

describe('a tap is refused', () => {
  const said = (promise: Promise<unknown>) =>
    promise.then(
      () => null,
      (error: unknown) => error,
    );

  it('that no operator has named, or only as a source of another kind', async () => {
    const [crm, shop] = [
      { kind: 'singer' as const, command: ['/opt/crm'] },
      { kind: 'airbyte' as const, command: ['/opt/shop'] },
    ];
    const commands = commandsOf({ crm, shop });
    const context = testContext(AbortSignal.timeout(HANGS_MS), [], commands);
    for (const name of ['shop', '/bin/sh']) {
      const refusal = await said(source.check({ tap: name, config: {} }, context));
      expect(refusal).toMatchObject({ status: 'source_refused', message: /MILLRACE_TAPS.*are crm$/ });
    }
  });

  it('that prints no catalogue, gives files, or lacks the stream', async () => {
    const noTap = commandsOf({ tap: { kind: 'singer', command: ['/bin/echo', 'hello'] } });
    const context = testContext(AbortSignal.timeout(HANGS_MS), [], noTap);
    expect(await said(source.check(SETTINGS, context))).toMatchObject({ message: /no catalogue/ });
    expect(await said(readAll([{ type: 'BATCH', stream: 'people' }]))).toMatchObject({ message: /batch_config/ });
    const other = source.read(SETTINGS, { ...READING, stream: 'pets' }, tap([]));
    expect(await said(Array.fromAsync(other))).toMatchObject({ status: 'source_refused', message: /^stream: / });
  });
});

describe('a tap that prints nothing', () => {
  it('is refused at first, as it may not know the option with its catalogue, and later has nothing new', async () => {
    await expect(readAll([])).rejects.toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/^tap printed nothing, .* catalog_option names in MILLRACE_TAPS$/),
    });
    expect(await Array.fromAsync(source.read(SETTINGS, { ...READING, cursor: '{"at":1}' }, tap([])))).toEqual([]);
  });
});

describe('how a stream is read on', () => {
  const properties = {
    id: { type: 'integer' },
    name: { type: ['null', 'string'] },
    at: { type: ['null', 'string'], format: 'date-time' },
  };
  const entry = (metadata: object, more: object = {}) => ({
    stream: 's',
    schema: { properties },
    metadata: [{ breadcrumb: [], metadata }],
    ...more,
  });
  it.for([
    ['by the keys that the tap names', entry({ 'valid-replication-keys': ['at'] }), { fields: ['at'] }],
    ['by the key of the stream', entry({}, { replication_key: 'at' }), { fields: ['at'] }],
    ['not at all', entry({ 'forced-replication-method': 'FULL_TABLE' }), { fields: [] }],
    ['by a log', entry({ 'forced-replication-method': 'LOG_BASED' }), 'own'],
    ['by any field with an order, where nothing is told', entry({}), { fields: ['id', 'at'] }],
  ] as const)('%s', ([, told, incremental]) => {
    expect(streamOf(readCatalog({ streams: [told] })!.streams[0]!).incremental).toEqual(incremental);
  });

  it('is marked in the catalogue, with all its fields but those that the tap cannot read', () => {
    const told = entry({ 'row-count': 3 });
    told.metadata.push({ breadcrumb: ['properties', 'name'], metadata: { inclusion: 'unsupported' } } as never);
    const reading: Reading = { ...READING, mode: 'incremental', cursorField: 'at' };
    const marked = select(readCatalog({ streams: [told, { ...told, stream: 't' }] })!, 's', reading);
    const marksOf = ({ metadata }: (typeof marked.streams)[number]) =>
      Object.fromEntries(metadata!.map((mark) => [mark.breadcrumb.join('.'), mark.metadata]));
    const marks = marked.streams.map(marksOf);
    expect(marks[0]).toEqual({
      '': { 'row-count': 3, selected: true, 'replication-method': 'INCREMENTAL', 'replication-key': 'at' },
      'properties.id': { selected: true },
      'properties.at': { selected: true },
      'properties.name': { inclusion: 'unsupported', selected: false },
    });
    expect(marks[1]!['']).toEqual({ 'row-count': 3, selected: false });
    const keyed = { ...entry({}), key_properties: ['id'] };
    const some = select(readCatalog({ streams: [keyed] })!, 's', { ...READING, fields: [] });
    expect(marksOf(some.streams[0]!)).toMatchObject({
      'properties.id': { selected: true },
      'properties.at': { selected: false },
      'properties.name': { selected: false },
    });
    expect(marked.streams[0]).toMatchObject({
      replication_method: 'INCREMENTAL',
      replication_key: 'at',
      schema: { selected: true },
    });
  });
});
