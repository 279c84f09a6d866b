import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Batch, Cursor, Reading, SourceRecord, Stream } from '../../../connectors/core/contract.ts';
import { NOTHING_ALLOWED } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { postgres } from '../../../connectors/postgres/postgres.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { testStore } from '../../harness/core/database.ts';
import { certificate, httpSource } from '../../harness/core/http-source.ts';
import { HANGS_MS, waitFor } from '../../harness/core/wait.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { foreignPostgres, tlsBefore } from '../../harness/syncs/foreign-postgres.ts';
import { type PreparedSource, sourceContract, testContext } from '../core/contract.ts';

const store = await testStore();
const foreign = await foreignPostgres(store);
const { db } = store;
const source = postgres.source!;
const SCHEMA = `"${foreign.settings.schema.replaceAll('"', '""')}"`;

/** As the foreign user. */
async function sql(...statements: string[]): Promise<void> {
  const client = await db.connect();
  try {
    await client.query(`SET ROLE ${foreign.role}; SET search_path = ${SCHEMA}; SET timezone = 'UTC'`);
    for (const statement of statements) await client.query(statement);
  } finally {
    client.release(true);
  }
}

const settingsOf = (more: Record<string, unknown> = {}) => postgres.settings.parse({ ...foreign.settings, ...more });
const context = (signal = AbortSignal.timeout(HANGS_MS)) => testContext(signal);
const reading = (stream: string, cursorField: string | null = null, cursor: Cursor | null = null): Reading => ({
  stream,
  mode: cursorField === null ? 'full' : 'incremental',
  cursorField,
  cursor,
  fields: null,
});

async function batchesOf(asked: Reading, more: Record<string, unknown> = {}): Promise<Batch[]> {
  return Array.fromAsync(source.read(settingsOf(more), asked, context()));
}

async function recordsOf(asked: Reading, more: Record<string, unknown> = {}): Promise<SourceRecord[]> {
  const items = (await batchesOf(asked, more)).flatMap((batch) => batch.items);
  return items.map((item) => {
    if (item.kind !== 'record') throw new Error(`no record: ${JSON.stringify(item)}`);
    return item.record;
  });
}

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await work.then(
    () => 'no refusal',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error('expected a refusal', { cause: error });
  expect(error.message).not.toContain(foreign.settings.password);
  return error;
}

const checked = (more: Record<string, unknown> = {}) => refusalOf(source.check(settingsOf(more), context()));

const ROWS = 12_000;

/** Several rows have the same time, so that a batch may end between them. */
async function prepareTable(table: string, settings: Record<string, unknown>): Promise<PreparedSource> {
  const quoted = `"${table.replaceAll('"', '""')}"`;
  const record = (n: number, updatedAt: string): SourceRecord => ({
    id: n,
    name: `Name\t${n}\\`,
    updated_at: updatedAt,
  });
  const time = (day: string, n: number) =>
    new Date(Date.parse(`${day}T00:00:00Z`) + Math.floor(n / 7) * 1000).toISOString();
  await sql(
    `CREATE TABLE ${quoted} (id bigint PRIMARY KEY, name text, updated_at timestamptz)`,
    `INSERT INTO ${quoted} SELECT n, format(E'Name\\t%s\\\\', n), timestamptz '2024-01-01Z' + make_interval(secs => n / 7)
      FROM generate_series(1, ${ROWS}) AS n`,
  );
  return {
    settings: { ...foreign.settings, ...settings },
    wrong: {
      settings: { ...foreign.settings, ...settings, password: 'zqwrongpassword' },
      says: /does not take this user with this password/,
    },
    stream: table,
    cursorField: 'updated_at',
    records: Array.from({ length: ROWS }, (_, n) => record(n + 1, time('2024-01-01', n + 1))),
    async change() {
      await sql(
        `UPDATE ${quoted} SET updated_at = timestamptz '2025-01-01Z' + make_interval(secs => id / 7) WHERE id <= 10`,
        `INSERT INTO ${quoted} VALUES (20000, E'Name\\t20000\\\\', '2025-06-01Z')`,
      );
      return [
        ...Array.from({ length: 10 }, (_, n) => record(n + 1, time('2025-01-01', n + 1))),
        record(20_000, time('2025-06-01', 0)),
      ];
    },
    async lead() {
      await sql(
        `INSERT INTO ${quoted} VALUES (30001, 'a', 'infinity'), (30002, 'b', '-infinity'), (30003, 'c', '2999-01-01Z')`,
      );
      const odd = [
        ['infinity', 'a'],
        ['-infinity', 'b'],
        ['2999-01-01T00:00:00.000Z', 'c'],
      ];
      return {
        odd: odd.map(([updated_at, name], n) => ({ id: 30_001 + n, name: name!, updated_at: updated_at! })),
        async more() {
          await sql(`INSERT INTO ${quoted} VALUES (30004, 'd', '2025-06-02Z')`);
          return { id: 30_004, name: 'd', updated_at: '2025-06-02T00:00:00.000Z' };
        },
      };
    },
    async spoil() {
      await sql(`INSERT INTO ${quoted} VALUES (6000000, repeat('x', 5000000), '2025-07-01Z')`);
      return /more than 4 MiB/;
    },
    async throttle() {
      await db.query(`ALTER ROLE ${foreign.role} CONNECTION LIMIT 0`);
      return null;
    },
    async stop() {
      await db.query(`ALTER ROLE ${foreign.role} CONNECTION LIMIT -1`);
      await sql(`DROP TABLE ${quoted}`);
    },
  };
}

describe('a table with a primary key', () => {
  sourceContract(postgres, () => prepareTable('People "x"', {}));
});

describe('a query, which has none', () => {
  sourceContract(postgres, async () => {
    const prepared = await prepareTable('people', { queries: { everyone: 'SELECT * FROM people -- all;' } });
    return { ...prepared, stream: 'everyone' };
  });
});

const TYPES = `CREATE TYPE mood AS ENUM ('glad', 'sad');
  CREATE DOMAIN age AS int CHECK (VALUE >= 0);
  CREATE DOMAIN ages AS age[];
  CREATE TABLE kinds (
    small smallint, whole bigint, exact numeric, real4 real, real8 float8, yes boolean, day date, stamp timestamp, at timestamptz,
    doc json, docb jsonb, bytes bytea, uuid uuid, words text[], grid int[][], docs jsonb[], mood mood, moods mood[], age age, ages ages,
    span interval, "odd "" name" varchar(20)
  )`;

describe('what becomes of values', () => {
  it('nothing is lost of them: types, limits and what JSON has no word for', async () => {
    await sql(
      TYPES,
      `INSERT INTO kinds VALUES (
      -32768, 9007199254740991, 0.1, 1.5, 0.1, true, '2024-02-29', '2024-02-29 12:00:00', '2024-02-29 12:00:00.123456+02',
      '{"n":12345678901234567890,"f":1.10}', '[1,null,{"a":"\\u00e9"}]', '\\x00ff', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
      ARRAY['a,b', NULL, '"q"', 'NULL', ''], '{{1,2},{3,4}}', ARRAY['{"a":1}'::jsonb], 'glad', '{sad,glad}', 7, '{1,2}',
      '1 day 2 hours', E'tab\\tline\\nback\\\\slash')`,
      `INSERT INTO kinds (whole, exact, real8, day, at, words) VALUES
      (9007199254740993, 1234567890.12345678901, 'NaN', 'infinity', '-infinity', '[0:1]={a,b}'),
      (-0, 1e-400, '-Infinity', NULL, NULL, '{}'),
      (0, 100.00, 5e-324, '10000-01-01', '2024-01-01 00:00:00.1Z', NULL)`,
    );
    const nothing = Object.fromEntries(
      Object.keys((await recordsOf(reading('kinds')))[0]!).map((name) => [name, null]),
    );
    expect(await recordsOf(reading('kinds'))).toEqual([
      {
        small: -32768,
        whole: 9007199254740991,
        exact: 0.1,
        real4: 1.5,
        real8: 0.1,
        yes: true,
        day: '2024-02-29',
        stamp: '2024-02-29T12:00:00.000Z',
        at: '2024-02-29T10:00:00.123456Z',
        doc: { n: '12345678901234567890', f: 1.1 },
        docb: [1, null, { a: 'é' }],
        bytes: 'AP8=',
        uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
        words: ['a,b', null, '"q"', 'NULL', ''],
        grid: [
          [1, 2],
          [3, 4],
        ],
        docs: [{ a: 1 }],
        mood: 'glad',
        moods: ['sad', 'glad'],
        age: 7,
        ages: [1, 2],
        span: 'P1DT2H',
        'odd " name': 'tab\tline\nback\\slash',
      },
      {
        ...nothing,
        whole: '9007199254740993',
        exact: '1234567890.12345678901',
        real8: 'NaN',
        day: 'infinity',
        at: '-infinity',
        words: ['a', 'b'],
      },
      { ...nothing, whole: 0, exact: `0.${'0'.repeat(399)}1`, real8: '-Infinity', words: [] },
      { ...nothing, whole: 0, exact: 100, real8: 5e-324, day: '10000-01-01', at: '2024-01-01T00:00:00.100Z' },
    ]);
  });

  it('arrays come as their elements, whatever stands in those and between them', async () => {
    await sql(
      'CREATE TABLE shapes (id int PRIMARY KEY, boxes box[], grid text[][])',
      `INSERT INTO shapes VALUES (1, ARRAY[box '(3,4),(1,2)', box '(7,8),(5,6)'], NULL), (2, '{}', '{{a,"b,c"},{NULL,"NULL"}}')`,
    );
    expect(await recordsOf(reading('shapes'))).toEqual([
      { id: 1, boxes: ['(3,4),(1,2)', '(7,8),(5,6)'], grid: null },
      {
        id: 2,
        boxes: [],
        grid: [
          ['a', 'b,c'],
          [null, 'NULL'],
        ],
      },
    ]);
    await sql('CREATE TABLE lists (id int PRIMARY KEY, v text[])');
    const text = fc.option(
      fc.string({ unit: fc.constantFrom('a', ',', ';', '"', '\\', '{', '}', ' ', '\n', 'NULL', 'é', '=', '[') }),
    );
    const lists = fc.sample(fc.array(text, { maxLength: 4 }), sampledRuns(300));
    const client = await db.connect();
    await client.query(
      `INSERT INTO ${SCHEMA}.lists SELECT ordinal, ARRAY(SELECT json_array_elements_text(list))
      FROM json_array_elements($1::json) WITH ORDINALITY AS item (list, ordinal)`,
      [JSON.stringify(lists)],
    );
    client.release();
    expect((await recordsOf(reading('lists'))).map(({ v }) => v)).toEqual(lists);
    await sql('DROP TABLE shapes, lists');
  });

  it('JSON that nests too deep for a record makes the row malformed', async () => {
    const doc = (levels: number) => `SELECT (repeat('[', ${levels}) || '1.50' || repeat(']', ${levels}))::json AS doc`;
    const queries = { deep: [99, 100, 3_000].map(doc).join(' UNION ALL ') };
    const items = (await batchesOf(reading('deep'), { queries })).flatMap((batch) => batch.items);
    const fault = 'The column doc has arrays or objects more than 99 deep';
    expect(items.map((item) => item.kind === 'malformed' && item.message)).toEqual([false, fault, fault]);
  });

  it('their fields tell type, key and what can be read by', async () => {
    await sql(
      'CREATE TABLE pairs (a int, b text, c jsonb, d float8, e age[] NOT NULL, PRIMARY KEY (b, a))',
      'CREATE VIEW pairs_seen AS SELECT a, e FROM pairs',
      'CREATE TABLE parted (id int, at date NOT NULL) PARTITION BY RANGE (at)',
      'CREATE TABLE parted_2024 PARTITION OF parted DEFAULT',
      'CREATE TABLE bare ()',
    );
    const streams = await source.discover(settingsOf({ queries: { pairs_seen: 'VALUES (1::numeric);' } }), context());
    const found = (name: string): Stream | undefined => streams.find((stream) => stream.name === name);
    expect(found('pairs')).toEqual({
      name: 'pairs',
      key: ['b', 'a'],
      incremental: { fields: ['a', 'b'] },
      fields: [
        { name: 'a', type: 'integer', nullable: false },
        { name: 'b', type: 'string', nullable: false },
        { name: 'c', type: 'object', nullable: true },
        { name: 'd', type: 'number', nullable: true },
        { name: 'e', type: 'array', nullable: false },
      ],
    });
    expect(found('pairs_seen')!.fields).toEqual([{ name: 'column1', type: 'number', nullable: true }]);
    expect(streams.map(({ name }) => name)).toEqual(['kinds', 'pairs', 'parted', 'pairs_seen']);
  });
});

describe('an incremental reading', () => {
  it('leaves young rows to the next one, and rows without a value to a full one', async () => {
    await sql(
      'CREATE TABLE news (id int PRIMARY KEY, at timestamptz, local timestamp, day date)',
      `INSERT INTO news SELECT n, t, t, t FROM (VALUES (1, now() - interval '2 days'), (2, now() - interval '40 s'), (3, now()), (4, NULL))
        AS v (n, t)`,
    );
    const ids = async (field: string, more = {}) => (await recordsOf(reading('news', field), more)).map(({ id }) => id);
    expect(await ids('at')).toEqual([1, 2]);
    expect(await ids('local')).toEqual([1, 2]);
    expect(await ids('at', { lag_seconds: 60 })).toEqual([1]);
    expect(await ids('at', { lag_seconds: 0 })).toEqual([1, 2, 3]);
    expect(await ids('day', { lag_seconds: 86_400 })).toEqual([1]);
    expect(await ids('id')).toEqual([1, 2, 3, 4]);
    expect(await recordsOf(reading('news'))).toHaveLength(4);
  });

  const NEWS = ['numeric', 'date', 'timestamp', 'timestamptz'] as const;
  const ODD = {
    numeric: ['NaN', 'Infinity', '-Infinity'],
    date: ['infinity', '-infinity', '2999-01-01', '5874897-12-31'],
    timestamp: ['infinity', '-infinity', '2999-01-01', '294276-12-31'],
    timestamptz: ['infinity', '-infinity', '2999-01-01 00:00+14'],
  };
  const round = fc.record({ good: fc.nat({ max: 3 }), odd: fc.array(fc.nat({ max: 3 }), { maxLength: 2 }) });

  test('brings each odd cursor value in each reading, and each good one once at least, however they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...NEWS),
        fc.boolean(),
        fc.constantFrom(0, 30),
        fc.array(round, { minLength: 2, maxLength: 4 }),
        async (type, hasKey, lag_seconds, rounds) => {
          await sql('DROP TABLE IF EXISTS led', `CREATE TABLE led (id int ${hasKey ? 'PRIMARY KEY' : ''}, v ${type})`);
          let [id, cursor]: [number, Cursor | null] = [0, null];
          const [odd, seen] = [new Set<number>(), new Set<number>()];
          for (const { good, odd: some } of rounds) {
            const goods = Array.from({ length: good }, () => (type === 'numeric' ? `${id + 1}` : '2024-05-05'));
            const fresh = new Set<number>();
            const odds = some.map((n) => ODD[type][n % ODD[type].length]!);
            for (const value of [...odds, ...goods.map((text, n) => later(type, text, id + n))]) {
              id += 1;
              if (ODD[type].includes(value)) odd.add(id);
              else fresh.add(id);
              await sql(`INSERT INTO led VALUES (${id}, '${value}')`);
            }
            const batches = await batchesOf(reading('led', 'v', cursor), { lag_seconds });
            const ids = new Set(
              batches.flatMap(({ items }) => items.map((item) => (item.kind === 'record' ? item.record['id'] : 0))),
            );
            expect([...odd, ...fresh].filter((each) => !ids.has(each))).toEqual([]);
            if (hasKey) expect([...seen].filter((each) => ids.has(each))).toEqual([]);
            expect(batches.reduce((sum, { oddCursors = 0 }) => sum + oddCursors, 0)).toBe(odd.size);
            for (const each of fresh) seen.add(each);
            cursor = batches.at(-1)?.cursor ?? cursor;
          }
        },
      ),
      { numRuns: sampledRuns(60) },
    );
  });

  /** A good value behind all before it. */
  const later = (type: (typeof NEWS)[number], from: string, n: number) => {
    if (type === 'numeric') return String(n + 1);
    return new Date(Date.parse(from) + n * 86_400_000).toISOString().slice(0, 10);
  };

  it('begins again where an earlier version has left its cursor at an odd value', async () => {
    await sql(
      'CREATE TABLE stuck (id int PRIMARY KEY, at timestamptz, v numeric)',
      `INSERT INTO stuck VALUES (1, '2024-01-01', 1), (2, 'infinity', 'NaN')`,
    );
    for (const [field, value] of [
      ['at', 'infinity'],
      ['at', '2999-01-01 00:00:00+00'],
      ['v', 'NaN'],
      ['v', 'Infinity'],
    ] as const) {
      expect((await recordsOf(reading('stuck', field, [value, '2']))).map(({ id }) => id)).toEqual([1, 2]);
    }
    expect((await recordsOf(reading('stuck', 'at', ['-infinity', '2']))).map(({ id }) => id)).toEqual([1, 2]);
  });

  it('goes by a key of several columns, whatever their values', async () => {
    await sql(
      'CREATE TABLE tricky (a text, b numeric, at int, PRIMARY KEY (a, b))',
      `INSERT INTO tricky SELECT E'it''s \\\\ ' || (n % 5), n / 7.0, n % 3 FROM generate_series(1, 5100) AS n`,
    );
    const batches = await batchesOf(reading('tricky', 'at'));
    expect(batches.map(({ items }) => items.length)).toEqual([5000, 100]);
    const more = await batchesOf(reading('tricky', 'at', batches[0]!.cursor));
    expect(more.map(({ items }) => items)).toEqual([batches[1]!.items]);
    expect(await batchesOf(reading('tricky', 'at', batches[1]!.cursor))).toEqual([]);
  });
});

it('reads the columns that are asked for and no others, whatever identifies a row and its place', async () => {
  await sql(
    'CREATE TABLE many_columns (id int PRIMARY KEY, email text, salary int, at int)',
    `INSERT INTO many_columns SELECT n, 'w-' || n, n, n FROM generate_series(1, 5100) AS n`,
  );
  for (const cursorField of [null, 'at']) {
    const asked = { ...reading('many_columns', cursorField), fields: ['email', 'never'] };
    const [first, ...more] = await batchesOf(asked);
    expect(first!.items[0]).toEqual({ kind: 'record', record: { email: 'w-1' } });
    const after = await batchesOf({ ...asked, cursor: first!.cursor });
    expect(after.map(({ items }) => items)).toEqual(more.map(({ items }) => items));
  }
});

describe('what is refused', () => {
  it.for<[string, Record<string, unknown>, string, RegExp]>([
    ['another database', { database: 'nowhere' }, 'source_refused', /has no database of this name/],
    [
      'a schema that is not there',
      { schema: 'Nowhere' },
      'source_refused',
      /no schema Nowhere: check schema in the settings/,
    ],
    ['TLS where there is none', { tls: 'on' }, 'source_refused', /does not offer TLS/],
    ['a host that nobody knows', { host: 'nowhere.invalid' }, 'source_unavailable', /DNS/],
    ['a port where nothing is', { port: 1 }, 'source_unavailable', /refused the connection/],
    ['a query that is none', { queries: { q: 'SELEC 1' } }, 'source_refused', /42601.*syntax/],
    [
      'two statements',
      { queries: { q: 'SELECT 1) AS a; DROP TABLE kinds; SELECT * FROM (SELECT 1' } },
      'source_refused',
      /multiple commands/,
    ],
    [
      'a statement that writes',
      { queries: { q: 'WITH x AS (DELETE FROM kinds RETURNING 1) SELECT * FROM x' } },
      'source_refused',
      /top level/,
    ],
    ['two columns of one name', { queries: { q: 'SELECT 1 AS a, 2 AS a' } }, 'source_refused', /two columns named a/],
  ])('%s', async ([, more, status, says]) => {
    expect(await checked(more)).toMatchObject({ status, message: expect.stringMatching(says) });
  });

  it('a schema that the user may not use, to read and to write, in words that say what to do', async () => {
    await db.query(`CREATE SCHEMA closed; CREATE TABLE closed.people (id int PRIMARY KEY)`);
    const settings = settingsOf({ schema: 'closed' });
    const grant = `have its owner run GRANT USAGE ON SCHEMA "closed" TO "${foreign.role}"`;
    for (const side of [source, postgres.destination!]) {
      const refusal = await refusalOf(side.check(settings, context()));
      expect(refusal).toMatchObject({ status: 'source_refused', message: expect.stringContaining(grant) });
    }
    await expect(
      source.check(settingsOf({ schema: 'closed', queries: { q: 'SELECT 1 AS a' } }), context()),
    ).resolves.toBeUndefined();
    await db.query(`GRANT USAGE ON SCHEMA closed TO ${foreign.role}`);
    await expect(source.check(settings, context())).resolves.toBeUndefined();
    await expect(postgres.destination!.check(settings, context())).resolves.toBeUndefined();
    const nowhere = await refusalOf(postgres.destination!.check(settingsOf({ schema: 'Nowhere' }), context()));
    expect(nowhere.message).toContain('no schema Nowhere');
  });

  it('an address that nobody may reach, by number and by name', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const refusal = await refusalOf(source.check(settingsOf({ host }), { ...context(), allow: NOTHING_ALLOWED }));
      expect(refusal).toMatchObject({
        status: 'address_refused',
        message: expect.stringContaining('MILLRACE_FETCH_ALLOW'),
      });
    }
  });

  it('a server of another kind', async () => {
    const { port } = await httpSource();
    expect((await checked({ port, tls: 'on' })).message).toMatch(/does not speak TLS/);
    expect((await checked({ port })).status).toMatch(/source_unavailable|source_refused/);
  });

  it('a stream that is none, or that cannot be read so; a cursor of another key', async () => {
    await sql('CREATE TABLE plain (id int PRIMARY KEY, doc jsonb)');
    const says = async (asked: Reading) => {
      const { status, message } = await refusalOf(batchesOf(asked));
      return `${status}: ${message}`;
    };
    expect(await says(reading('nothing'))).toMatch(/source_refused: .*has no table or view nothing/);
    expect(await says(reading('pg_class'))).toMatch(/has no table or view/);
    expect(await says(reading('plain', 'doc'))).toMatch(/cannot be told by doc/);
    expect(await says(reading('plain', 'gone'))).toMatch(/cannot be told by gone/);
    expect(await says(reading('plain', null, ['1', '2']))).toMatch(/source_changed/);
    expect(await says(reading('plain', null, ['zqsecretvalue']))).not.toContain('zqsecretvalue');
  });

  it('wrong settings, in words', () => {
    const faults = (more: Record<string, unknown>) =>
      postgres.settings
        .safeParse({ ...foreign.settings, ...more })
        .error?.issues.map(({ message }) => message)
        .join('; ');
    expect(faults({ host: 'postgres://host/db' })).toMatch(/name or an address alone/);
    expect(faults({ host: '/var/run/postgresql' })).toMatch(/name or an address alone/);
    expect(faults({ port: 65_536 })).toMatch(/at most 65535/);
    expect(faults({ tls_ca: 'x' })).toMatch(/BEGIN CERTIFICATE/);
    expect(faults({ schema: 'x'.repeat(64) })).toMatch(/63/);
    expect(faults({ password: undefined })).toMatch(/give the password/);
    expect(faults({ host: '[::1]', queries: { a: 'SELECT 1' } })).toBeUndefined();
  });

  it('an alteration by what is read', async () => {
    await sql(`CREATE FUNCTION sneak() RETURNS int LANGUAGE sql AS 'DELETE FROM kinds RETURNING 1'`);
    const refusal = await refusalOf(batchesOf(reading('q'), { queries: { q: 'SELECT sneak()' } }));
    expect(refusal.message).toMatch(/read-only/);
    expect(await recordsOf(reading('kinds'))).toHaveLength(4);
  });
});

describe('a reading', () => {
  it('goes by TLS, where the certificate is verified', async () => {
    const trusted = await certificate();
    const port = await tlsBefore(foreign.settings.port, trusted);
    const secure = { tls: 'on', port, host: 'localhost' };
    await expect(source.check(settingsOf({ ...secure, tls_ca: trusted.cert }), context())).resolves.toBeUndefined();
    expect((await checked(secure)).message).toMatch(/no trusted authority.*tls_ca/);
    expect((await checked({ ...secure, host: '127.0.0.1', tls_ca: trusted.cert })).message).toMatch(
      /certificate for another name/,
    );
  });

  it('holds no more than a batch of rows that are wide, and ends when it is left', async () => {
    await sql(
      'CREATE TABLE wide (id int PRIMARY KEY, text text)',
      `INSERT INTO wide SELECT n, repeat('x', CASE WHEN n < 5 THEN 10 ELSE 1000000 END) FROM generate_series(1, 100) AS n`,
    );
    for (const stream of ['wide', 'all']) {
      let batches = 0;
      const settings = settingsOf({ queries: { all: 'SELECT * FROM wide' } });
      for await (const { items, bytes } of source.read(settings, reading(stream), context())) {
        batches += 1;
        expect(items.length).toBeLessThan(10);
        expect(bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
        // The server waits until it is asked for more.
        if (batches < 3) continue;
        await waitFor(
          'the server to wait',
          async () =>
            (
              await db.query(`SELECT FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'ClientWrite'`, [
                foreign.role,
              ])
            ).rowCount === 1,
        );
        break;
      }
      await waitFor('the connection to end', async () => (await connections()) === 0);
    }
  });

  // Postgres looks every 5 s whether we are there still: both wait for that at once.
  it.concurrent('ends with its signal', async () => {
    const stop = new AbortController();
    const slow = { queries: { slow: 'SELECT pg_sleep(61)::text' } };
    const read = Array.fromAsync(source.read(settingsOf(slow), reading('slow'), context(stop.signal)));
    await waitFor('it to be asked', async () => (await connections('COPY%pg_sleep(61)%')) === 1);
    stop.abort(new Error('drained'));
    await expect(read).rejects.toThrow('drained');
    await waitFor('the statement to end', async () => (await connections('%pg_sleep(61)%')) === 0);
  });

  it.concurrent('waits no longer for a row than it was told to', async () => {
    const slow = { queries: { slow: 'SELECT pg_sleep(62)::text' }, statement_timeout_seconds: 1 };
    expect(await refusalOf(batchesOf(reading('slow'), slow))).toMatchObject({
      status: 'source_unavailable',
      message: expect.stringMatching(/sent no row within 1 s/),
    });
    await waitFor('the statement to end', async () => (await connections('%pg_sleep(62)%')) === 0);
  });

  it.concurrent('ends if its rows drip', async () => {
    const dripping = `SELECT repeat('x', 9000) AS a, pg_sleep(0.3)::text AS b FROM generate_series(1, 200)`;
    const slow = settingsOf({ queries: { slow: dripping }, statement_timeout_seconds: 1 });
    const leastRate = { leastBytes: 64 * 1024, withinMs: 500 };
    const own = { ...context(), fetch: guardedFetch(NOTHING_ALLOWED, { limits: { leastRate } }) };
    expect(await refusalOf(Array.fromAsync(source.read(slow, reading('slow'), own)))).toMatchObject({
      status: 'source_unavailable',
      message: expect.stringMatching(/sent less than 64 KiB of rows within 1 s/),
    });
  });

  it('that is cut off is to be gone on with later', async () => {
    const broken = refusalOf(batchesOf(reading('slow'), { queries: { slow: 'SELECT pg_sleep(60)::text' } }));
    await waitFor('it to be asked', async () => (await connections('COPY%')) === 1);
    await db.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [foreign.role]);
    expect((await broken).status).toMatch(/source_unavailable|transfer_broken/);
  });

  async function connections(like = '%'): Promise<number> {
    const { rows } = await db.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = $1 AND query LIKE $2 AND application_name = 'millrace'",
      [foreign.role, like],
    );
    return rows[0]!.n;
  }
});
