import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Batch, Reading, SourceRecord } from '../../../connectors/core/contract.ts';
import { singer } from '../../../connectors/singer/singer.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore } from '../../harness/core/database.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { pythonProgram } from '../../harness/core/python-program.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { commandsOf } from '../../harness/syncs/sample-records.ts';
import { type PreparedSource, sourceContract, testContext } from '../core/contract.ts';

const source = singer.source!;
/** What a program does not do, or can't be brought to. */
const WITHOUT = ['malformed records', 'throttling', 'progress', 'deletions', 'cursor field'] as const;

const meltanoPostgres = await pythonProgram({
  name: 'meltanolabs-tap-postgres',
  version: '0.10.0',
  program: 'tap-postgres',
});
const wisePostgres = await pythonProgram({
  name: 'pipelinewise-tap-postgres',
  version: '1.8.4',
  program: 'tap-postgres',
});
const restApi = await pythonProgram({ name: 'tap-rest-api-msdk', version: '1.4.2', program: 'tap-rest-api-msdk' });
const jsonl = await pythonProgram({ name: 'tap-jsonl', version: '0.3.1', program: 'tap-jsonl' });

const COUNT = 12_000;
const row = (id: number, changed: number) => ({ id, email: personId(id), changed });

/** A table in a real Postgres, read by a tap with this program, as a user of its own. */
async function preparePostgres(
  program: string,
  stream: string,
  databaseName: 'database' | 'dbname',
  more: object,
): Promise<PreparedSource> {
  const { url } = await testStore();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { hostname: host, port, pathname } = new URL(url);
  const password = `zqtap${Math.random().toString(36).slice(2)}`;
  const user = `tap_${pathname.slice(1)}`;
  rememberSecret(password);
  await client.query(`
    CREATE SCHEMA shop;
    CREATE TABLE shop.buyers (id integer PRIMARY KEY, email text, changed bigint NOT NULL);
    INSERT INTO shop.buyers SELECT n, 'zqperson-' || n || '@example.com', n FROM generate_series(1, ${COUNT}) n;
    CREATE ROLE ${user} LOGIN PASSWORD '${password}';
    GRANT USAGE ON SCHEMA shop TO ${user};
    GRANT SELECT ON shop.buyers TO ${user};
  `);
  const config = { host, port: Number(port), user, password, [databaseName]: pathname.slice(1), ...more };
  const wrong = { ...config, password: `${password}-wrong` };
  return {
    stream,
    settings: { tap: 'postgres', config },
    wrong: { settings: { tap: 'postgres', config: wrong }, says: /password authentication failed/ },
    commands: commandsOf({ postgres: { kind: 'singer', command: [program] } }),
    cursorField: 'changed',
    records: Array.from({ length: COUNT }, (_, nth) => row(nth + 1, nth + 1)),
    async change() {
      await client.query(`UPDATE shop.buyers SET changed = id + ${COUNT} WHERE id <= 10`);
      return Array.from({ length: 10 }, (_, nth) => row(nth + 1, nth + 1 + COUNT));
    },
    async stop() {
      await client.query(`DROP SCHEMA shop CASCADE; DROP ROLE ${user}`);
      await client.end();
    },
  };
}

describe.runIf(meltanoPostgres)('the tap of MeltanoLabs for Postgres', () => {
  sourceContract(
    singer,
    () => preparePostgres(meltanoPostgres!, 'shop-buyers', 'database', { filter_schemas: ['shop'] }),
    WITHOUT,
  );
});

describe.runIf(wisePostgres)('the tap of PipelineWise for Postgres', () => {
  sourceContract(
    singer,
    () => preparePostgres(wisePostgres!, 'shop-buyers', 'dbname', { filter_schemas: 'shop' }),
    WITHOUT,
  );
});

/** A tap with this program; its readings know what `discover` has told. */
function tapOf(program: string, config: Record<string, unknown>) {
  const context = testContext(
    AbortSignal.timeout(HANGS_MS),
    [],
    commandsOf({ tap: { kind: 'singer', command: [program] } }),
  );
  const settings = { tap: 'tap', config };
  return {
    discover: () => source.discover(settings, context),
    readAll(asked: Partial<Reading> & { stream: string }): Promise<Batch[]> {
      const reading = { mode: 'incremental' as const, cursorField: null, cursor: null, fields: null, ...asked };
      return Array.fromAsync(source.read(settings, reading, context));
    },
  };
}
const recordsOf = (batches: Batch[]): SourceRecord[] =>
  batches.flatMap(({ items }) =>
    items.map((item) => (item.kind === 'record' ? item.record : { other: JSON.stringify(item) })),
  );

it.runIf(restApi)('the tap of Widen for REST APIs brings what an API has, and then what is new', async () => {
  const api = await httpSource();
  const rows = [
    { id: 1, score: 0.5, updated: '2026-01-01T00:00:00Z' },
    { id: 2, score: 1.0, updated: '2026-01-02T00:00:00Z' },
  ];
  api.serve('/buyers', ({ headers }, response) => {
    const isRight = headers.authorization === 'Bearer zqrest';
    response.statusCode = isRight ? 200 : 401;
    response
      .setHeader('content-type', 'application/json')
      .end(isRight ? JSON.stringify({ buyers: rows }) : 'no access');
  });
  const config = {
    api_url: `http://127.0.0.1:${api.port}`,
    headers: { Authorization: 'Bearer zqrest' },
    streams: [
      {
        name: 'buyers',
        path: '/buyers',
        records_path: '$.buyers[*]',
        primary_keys: ['id'],
        replication_key: 'updated',
      },
    ],
  };
  const tap = tapOf(restApi!, config);
  await tap.discover();
  const first = await tap.readAll({ stream: 'buyers', cursorField: 'updated' });
  expect(recordsOf(first)).toEqual(rows);
  const types = [
    ['id', 'integer'],
    ['score', 'number'],
    ['updated', 'string'],
  ];
  expect(first[0]!.fields!.map(({ name, type }) => [name, type])).toEqual(types);
  rows.push({ id: 3, score: 2, updated: '2026-01-03T00:00:00Z' });
  const after = { stream: 'buyers', cursorField: 'updated', cursor: first.at(-1)!.cursor };
  const second = recordsOf(await tap.readAll(after));
  expect(second).toContainEqual(rows[2]);
  const wrong = { ...config, headers: { Authorization: 'Bearer zqwrong' } };
  await expect(tapOf(restApi!, wrong).readAll({ stream: 'buyers', cursorField: 'updated' })).rejects.toThrow(
    /no access/,
  );
});

it.runIf(jsonl)('the tap for JSONL files brings a file, and nothing as long as it stays', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-jsonl-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  const path = join(folder, 'people.jsonl');
  await writeFile(path, `${JSON.stringify({ id: 1, tags: ['a'] })}\n{"id": 12345678901234567890, "tags": null}\n`);
  const config = { path, stream_name: 'people', primary_keys: ['id'] };
  const batches = await tapOf(jsonl!, config).readAll({ stream: 'people' });
  expect(recordsOf(batches)).toMatchObject([
    { id: 1, tags: ['a'] },
    { id: '12345678901234567890', tags: null },
  ]);
  expect(batches.at(-1)!.cursor).toContain('_sdc_last_modified');
});
