import { describe, expect, it } from 'vitest';
import { airbyte } from '../../../connectors/airbyte/airbyte.ts';
import type { SourceRecord } from '../../../connectors/core/contract.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { pythonProgram } from '../../harness/core/python-program.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { commandsOf } from '../../harness/syncs/sample-records.ts';
import { type PreparedSource, sourceContract, testContext } from '../core/contract.ts';

const source = airbyte.source!;

const PACKAGE = { name: 'airbyte-source-faker', version: '7.2.1' };
const faker = await pythonProgram({ ...PACKAGE, program: 'source-faker' });
/**
 * It comes with Airbyte's CDK: what runs the sources that are made of a manifest alone, several hundred of Airbyte's.
 */
const declarative = await pythonProgram({ ...PACKAGE, program: 'source-declarative-manifest' });

const COUNT = 12_000;
const START = Date.UTC(2026, 0, 1);
const time = (ms: number) => new Date(ms).toISOString().replace('.000', '');
const row = (id: number, minute = id) => ({ id, email: personId(id), changed_at: time(START + minute * 60_000) });

/** An API of HTTP that gives what has changed in a span of time, to whoever has the token. */
async function prepareApi(): Promise<PreparedSource> {
  const api = await httpSource();
  const tokens = ['zqairbyteright', 'zqairbytewrong'];
  tokens.forEach(rememberSecret);
  const rows = new Map(Array.from({ length: COUNT }, (_, id) => [id, row(id)]));
  api.serve('/buyers', ({ headers, url }, response) => {
    const { searchParams: asked } = new URL(url!, 'http://api');
    const [since, until] = [asked.get('since') ?? '', asked.get('until') ?? '9'];
    const given = [...rows.values()].filter(({ changed_at: at }) => at >= since && at <= until);
    response.statusCode = headers.authorization === `Bearer ${tokens[0]}` ? 200 : 401;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ buyers: given }));
  });
  const config = (token: string) => ({
    token,
    __injected_declarative_manifest: manifest(`http://127.0.0.1:${api.port}`),
  });
  return {
    stream: 'buyers',
    settings: { tap: 'api', config: config(tokens[0]!) },
    wrong: { settings: { tap: 'api', config: config(tokens[1]!) }, says: /401|[Uu]nauthorized/ },
    commands: commandsOf({ api: { kind: 'airbyte', command: [declarative!] } }),
    cursorField: null,
    records: [...rows.values()],
    async change() {
      const changed = Array.from({ length: 10 }, (_, id) => row(id, COUNT + id));
      for (const one of changed) rows.set(one.id, one);
      return changed;
    },
    stop: async () => undefined,
  };
}

function manifest(url: string): object {
  const properties = {
    id: { type: 'integer' },
    email: { type: 'string' },
    changed_at: { type: 'string', format: 'date-time' },
  };
  const stream = {
    type: 'DeclarativeStream',
    name: 'buyers',
    primary_key: ['id'],
    schema_loader: { type: 'InlineSchemaLoader', schema: { type: 'object', properties } },
    retriever: {
      type: 'SimpleRetriever',
      requester: {
        type: 'HttpRequester',
        url_base: url,
        path: '/buyers',
        http_method: 'GET',
        authenticator: { type: 'BearerAuthenticator', api_token: "{{ config['token'] }}" },
      },
      record_selector: { type: 'RecordSelector', extractor: { type: 'DpathExtractor', field_path: ['buyers'] } },
    },
    incremental_sync: {
      type: 'DatetimeBasedCursor',
      cursor_field: 'changed_at',
      datetime_format: '%Y-%m-%dT%H:%M:%SZ',
      start_datetime: time(START),
      end_datetime: time(START + 2 * COUNT * 60_000),
      step: 'P3D',
      cursor_granularity: 'PT1S',
      start_time_option: { type: 'RequestOption', inject_into: 'request_parameter', field_name: 'since' },
      end_time_option: { type: 'RequestOption', inject_into: 'request_parameter', field_name: 'until' },
    },
  };
  return {
    version: '6.0.0',
    type: 'DeclarativeSource',
    streams: [stream],
    check: { type: 'CheckStream', stream_names: ['buyers'] },
    spec: {
      type: 'Spec',
      connection_specification: { type: 'object', required: ['token'], properties: { token: { type: 'string' } } },
    },
  };
}

describe.runIf(declarative)("a source of Airbyte's CDK, made of a manifest", () => {
  sourceContract(airbyte, prepareApi, ['malformed records', 'throttling', 'progress', 'deletions', 'cursor field']);
});

it.runIf(faker)("Airbyte's own sample source brings its people, and goes on where it was", async () => {
  const settings = { tap: 'faker', config: { count: 100, seed: 1, records_per_slice: 20, always_updated: false } };
  const commands = commandsOf({ faker: { kind: 'airbyte', command: [faker!] } });
  const logged: string[] = [];
  const context = testContext(AbortSignal.timeout(HANGS_MS), logged, commands);
  await source.check(settings, context);
  const streams = await source.discover(settings, context);
  expect(streams.map(({ name, key, incremental }) => ({ name, key, incremental }))).toEqual(
    ['products', 'purchases', 'users'].map((name) => ({ name, key: ['id'], incremental: 'own' })),
  );
  const reading = { stream: 'users', mode: 'incremental' as const, cursorField: null, cursor: null, fields: null };
  const [batch, ...others] = await Array.fromAsync(source.read(settings, reading, context));
  expect(others).toEqual([]);
  const people = batch!.items.map((item) => (item as { record: SourceRecord }).record);
  expect(people.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 100 }, (_, nth) => nth + 1),
  );
  expect(people[0]).toMatchObject({ name: expect.any(String) as string, address: expect.any(Object) as object });
  const more = await Array.fromAsync(source.read(settings, { ...reading, cursor: batch!.cursor }, context));
  expect(more.flatMap(({ items }) => items)).toEqual([]);
  expect(logged.join('\n')).toMatch(/faker: Read 100 records from users stream/);
});
