import { describe, expect, it } from 'vitest';
import type { SourceRecord, WriteOutcome, Writing } from '../../../connectors/core/contract.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { postgres } from '../../../connectors/postgres/postgres.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { testStore } from '../../harness/core/database.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { foreignPostgres } from '../../harness/syncs/foreign-postgres.ts';
import { testContext } from '../core/contract.ts';
import { destinationContract } from '../core/destination-contract.ts';

const { db, ...store } = await testStore();
const foreign = await foreignPostgres({ db, ...store });
const SCHEMA = `"${foreign.settings.schema.replaceAll('"', '""')}"`;
const settings = postgres.settings.parse(foreign.settings);

async function sql(statement: string): Promise<SourceRecord[]> {
  const client = await db.connect();
  try {
    await client.query(`SET ROLE ${foreign.role}; SET search_path = ${SCHEMA}; SET timezone = 'UTC'`);
    return (await client.query(statement)).rows as SourceRecord[];
  } finally {
    client.release(true);
  }
}

async function write(
  stream: string,
  key: string[],
  records: SourceRecord[],
  more: Partial<Writing> = {},
): Promise<WriteOutcome[]> {
  const writing = { stream, key, batchId: 'b', records, answered: 0, isRemoval: false, ...more };
  return (
    await Array.fromAsync(postgres.destination!.write(settings, writing, testContext(AbortSignal.timeout(HANGS_MS))))
  ).flat();
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => 'no refusal',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error('expected a refusal', { cause: error });
  return `${error.status}: ${error.message}`;
}

describe('a table', () => {
  destinationContract(postgres, async () => {
    await sql('CREATE TABLE "Target" (id bigint PRIMARY KEY, "na""me" text, score int, doc json)');
    const record = (id: number, score = id): SourceRecord => ({
      id: id,
      'na"me': `it's ${id}`,
      score,
      doc: { a: [id] },
    });
    return {
      settings: foreign.settings,
      wrong: { settings: { ...foreign.settings, password: 'zqwrongpassword' }, says: /does not take this user/ },
      stream: 'Target',
      key: ['id'],
      records: Array.from({ length: 5_000 }, (_, n) => record(n + 1)),
      changed: record(1, 99),
      bad: {
        record: { ...record(70_000), score: 'zqvalue' },
        quotesNot: 'zqvalue',
        says: /^is no integer \(SQLSTATE 22P02\)$/,
      },
      held: () => sql('SELECT id::int, "na""me", score, doc FROM "Target"'),
      async throttle() {
        await db.query(`ALTER ROLE ${foreign.role} CONNECTION LIMIT 0`);
        return null;
      },
      async stop() {
        await db.query(`ALTER ROLE ${foreign.role} CONNECTION LIMIT -1`);
      },
    };
  });
});

describe('rows that are written', () => {
  it('take a place of every type, as a source gives it', async () => {
    await sql(`CREATE TYPE mood AS ENUM ('glad', 'sad');
      CREATE TABLE kinds (id int UNIQUE, exact numeric, yes boolean, day date, at timestamptz, doc jsonb, bytes bytea, uuid uuid,
        words text[], grid int[][], mood mood)`);
    const record = {
      id: 1,
      exact: '12345678901234567890.123',
      yes: true,
      day: '2024-02-29',
      at: '2024-02-29T12:00:00.123456Z',
      doc: { a: [null, 1] },
      bytes: 'AP8=',
      uuid: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
      words: ['a,b', null, '"'],
      grid: [
        [1, 2],
        [3, 4],
      ],
      mood: 'glad',
    };
    const empty = Object.fromEntries(Object.keys(record).map((name) => [name, null]));
    const records = [record, { ...empty, id: 2 }];
    expect(await write('kinds', ['id'], records)).toEqual([{ kind: 'ok' }, { kind: 'ok' }]);
    expect(await write('kinds', ['id'], records)).toEqual([{ kind: 'unchanged' }, { kind: 'unchanged' }]);
    const [batch] = await Array.fromAsync(
      postgres.source!.read(
        settings,
        { stream: 'kinds', mode: 'full', cursorField: null, cursor: null, fields: null },
        testContext(AbortSignal.timeout(HANGS_MS)),
      ),
    );
    expect(batch!.items.map((item) => item.kind === 'record' && item.record)).toEqual(records);
  });

  it('change what they name and nothing else, the last of a key at the end', async () => {
    await sql('CREATE TABLE part (a int, b text, c int DEFAULT 7, d text, PRIMARY KEY (a, b))');
    expect(
      await write(
        'part',
        ['b', 'a'],
        [
          { a: 1, b: 'x', d: 'first' },
          { a: '1', b: 'x', c: 8 },
          { a: '01', b: 'x', c: 9 },
          { a: 2, b: 'x' },
          { a: 2, b: 'x' },
        ],
      ),
    ).toEqual([{ kind: 'ok' }, { kind: 'ok' }, { kind: 'ok' }, { kind: 'ok' }, { kind: 'unchanged' }]);
    expect(await sql('SELECT * FROM part ORDER BY a')).toEqual([
      { a: 1, b: 'x', c: 9, d: 'first' },
      { a: 2, b: 'x', c: 7, d: null },
    ]);
  });

  it('change one that is there, though the record lacks a column that may not be empty; one that is not there fails alone', async () => {
    await sql(`CREATE TABLE needs (id int PRIMARY KEY, plan text, mail text NOT NULL);
      INSERT INTO needs VALUES (1, 'a', 'm'), (2, 'b', 'n')`);
    const lacking = {
      kind: 'failed',
      message: expect.stringMatching(/^The column mail may not be empty/),
      later: false,
    };
    expect(
      await write(
        'needs',
        ['id'],
        [
          { id: 1, plan: 'gold' },
          { id: 3, plan: 'gold' },
          { id: 2, plan: 'b' },
        ],
      ),
    ).toEqual([{ kind: 'ok' }, lacking, { kind: 'unchanged' }]);
    expect(await write('needs', ['id'], [{ id: 1 }, { id: 3 }])).toEqual([{ kind: 'unchanged' }, lacking]);
    expect(await sql('SELECT * FROM needs ORDER BY id')).toEqual([
      { id: 1, plan: 'gold', mail: 'm' },
      { id: 2, plan: 'b', mail: 'n' },
    ]);
  });

  it('leave out columns that the record has not: domains, identities, generated ones', async () => {
    await sql(`CREATE DOMAIN label AS text NOT NULL;
      CREATE TABLE dst_people (id text PRIMARY KEY, plan text, note label DEFAULT 'x');
      CREATE TABLE dst_ident (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, plan text);
      CREATE TABLE dst_gen (id bigint PRIMARY KEY, plan text, up text GENERATED ALWAYS AS (upper(plan)) STORED);
      CREATE TABLE dst_other (id bigint PRIMARY KEY, plan varchar(4), n int GENERATED ALWAYS AS IDENTITY)`);
    for (const table of ['dst_people', 'dst_ident', 'dst_gen', 'dst_other']) {
      expect(
        await write(
          table,
          ['id'],
          [
            { id: '7', plan: 'gold' },
            { id: '8', plan: 'free' },
          ],
        ),
      ).toEqual([{ kind: 'ok' }, { kind: 'ok' }]);
      expect(
        (
          await write(
            table,
            ['id'],
            [
              { id: '7', plan: 'iron' },
              { id: '8', plan: 'free' },
            ],
          )
        ).map(({ kind }) => kind),
      ).toEqual(['ok', 'unchanged']);
      expect(await write(table, ['id'], [{ id: '8' }], { isRemoval: true })).toEqual([{ kind: 'ok' }]);
      expect(await sql(`SELECT id::int, plan FROM ${table}`)).toEqual([{ id: 7, plan: 'iron' }]);
    }
    expect(await sql('SELECT note FROM dst_people')).toEqual([{ note: 'x' }]);
    expect(
      await write(
        'dst_people',
        ['id'],
        [
          { id: '1', note: null },
          { id: '2', note: 'y' },
        ],
      ),
    ).toEqual([
      { kind: 'failed', message: expect.stringMatching(/may not be empty|23502/), later: false },
      { kind: 'ok' },
    ]);
    const generated = write('dst_gen', ['id'], [{ id: 1, plan: 'a', up: 'A' }]);
    expect(await refusalOf(generated)).toMatch(/field up of dst_gen takes no values, since/);
    expect(await refusalOf(write('dst_other', ['id'], [{ id: 1, n: 1 }]))).toMatch(
      /takes no values unless it is part of the key/,
    );
    const streams = await postgres.destination!.discover(settings, testContext(AbortSignal.timeout(HANGS_MS)));
    expect(streams!.find(({ name }) => name === 'dst_gen')!.fields.at(-1)).toMatchObject({
      name: 'up',
      takes_values: 'never',
    });
  });

  it('fail alone with any state that a trigger raises, but those of the server, its connections and collisions', async () => {
    await sql(`CREATE TABLE dst_trig (id text PRIMARY KEY, plan text);
      CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.plan <> 'good' THEN RAISE EXCEPTION 'zqno' USING ERRCODE = NEW.plan; END IF; RETURN NEW; END $$;
      CREATE TRIGGER t BEFORE INSERT OR UPDATE ON dst_trig FOR EACH ROW EXECUTE FUNCTION no()`);
    const write3 = (state: string) =>
      write(
        'dst_trig',
        ['id'],
        [
          { id: '1', plan: 'good' },
          { id: '2', plan: state },
          { id: '3', plan: 'good' },
        ],
      );
    for (const state of ['PT400', 'P0001', '42501', '25006', '42P01', '55P03', '0A000', '28000', '99ZZZ', 'XX000']) {
      const [first, failing, last] = await write3(state);
      const message = `A trigger of the table refused it (SQLSTATE ${state})`;
      expect(failing).toEqual({ kind: 'failed', message, later: state === '55P03' });
      expect([first!.kind, last!.kind]).not.toContain('failed');
    }
    for (const state of ['08006', '40001', '53200', '57014', '58030', 'XX001']) {
      expect(await refusalOf(write3(state))).toMatch(/^source_unavailable: /);
    }
  });

  it('fail each for its own reason, in words that quote none of it', async () => {
    await sql(`CREATE TABLE strict (id int PRIMARY KEY, name varchar(3) NOT NULL, mail text UNIQUE, age int CHECK (age >= 0), bytes bytea,
      born date, tags int[], doc jsonb, boss int REFERENCES strict DEFERRABLE INITIALLY DEFERRED)`);
    const bad: [SourceRecord, RegExp, field?: string][] = [
      [{ id: 2, name: null }, /column name may not be empty/],
      [{ id: 3, name: 'zqvalue', age: 1 }, /^is too long for type character varying\(3\) \(/, 'name'],
      [{ id: 4, name: 'c', mail: 'zqmail' }, /unique index \(constraint strict_mail_key\)/],
      [{ id: 5, name: 'd', age: -1 }, /check strict_age_check/],
      [{ id: 6, name: 'e', age: 99_999_999_999 }, /^is a number out of the range/, 'age'],
      [{ id: 7, name: 'f', boss: 77 }, /constraint strict_boss_fkey/],
      [{ id: 8, name: 'g', other: 1 }, /has no column other/],
      [{ name: 'h' }, /has no id/],
      [{ id: null, name: 'i' }, /has no id/],
      [{ id: 'zqid', name: 'j' }, /^is no integer \(SQLSTATE 22P02\)$/, 'id'],
      [{ id: 9, name: 'k', bytes: 'zq!' }, /base64/],
      [{ id: 10, name: 'a\0b' }, /zero byte/, 'name'],
      [{ id: 12, name: 'l', age: 1, born: 'zqday' }, /^is no date/, 'born'],
      [{ id: 13, name: 'm', tags: ['zqtag'] }, /^is no integer/, 'tags'],
      [
        { id: 14, name: 'n\ud800' },
        /^has half of a surrogate pair, which is no character \(SQLSTATE 22P0\d\)$/,
        'name',
      ],
      [{ id: 15, name: 'o', doc: { a: ['\udc00'] } }, /^has half of a surrogate pair/, 'doc'],
    ];
    const records = [{ id: 1, name: 'a', mail: 'zqmail' }, ...bad.map(([record]) => record), { id: 11, name: 'z' }];
    const outcomes = await write('strict', ['id'], records);
    expect(outcomes).toEqual([
      { kind: 'ok' },
      ...bad.map(([, says, field]) => ({
        kind: 'failed',
        message: expect.stringMatching(says),
        later: false,
        ...(field === undefined ? {} : { field }),
      })),
      { kind: 'ok' },
    ]);
    expect(JSON.stringify(outcomes)).not.toMatch(/zq(?:value|mail|id|day|tag|!)/);
    expect(await sql('SELECT id FROM strict ORDER BY id')).toEqual([{ id: 1 }, { id: 11 }]);
  });

  it('are removed by their key alone, whatever else they have', async () => {
    await sql("CREATE TABLE removed (id int PRIMARY KEY, name text); INSERT INTO removed VALUES (1, 'a'), (2, 'b')");
    const gone: SourceRecord[] = [{ id: 1, unknown: 1 }, { id: 3 }, { id: 'zq' }, { name: 'b' }, { id: 1 }];
    expect((await write('removed', ['id'], gone, { isRemoval: true })).map(({ kind }) => kind)).toEqual([
      'ok',
      'unchanged',
      'failed',
      'failed',
      'unchanged',
    ]);
    expect(await sql('SELECT * FROM removed')).toEqual([{ id: 2, name: 'b' }]);
  });
});

describe('what is refused', () => {
  it('a table without a unique index over the key alone, and what is no table', async () => {
    await sql(`CREATE TABLE loose (a int, b int, c int, d int UNIQUE DEFERRABLE, UNIQUE (a, b));
      CREATE UNIQUE INDEX ON loose (c) WHERE c > 0; CREATE VIEW seen AS SELECT 1 AS id`);
    for (const key of [['a'], ['c'], ['d'], ['a', 'b', 'c'], []]) {
      expect(await refusalOf(write('loose', key, [{ a: 1, b: 1, c: 1, d: 1 }]))).toMatch(
        /source_refused: loose has no unique index over/,
      );
    }
    expect(await refusalOf(write('seen', ['id'], [{ id: 1 }]))).toMatch(/seen is no table/);
    expect(await refusalOf(write('gone', ['id'], [{ id: 1 }]))).toMatch(/no table or view gone/);
    const streams = await postgres.destination!.discover(settings, testContext(AbortSignal.timeout(HANGS_MS)));
    expect(streams!.map(({ name }) => name)).not.toContain('seen');
  });

  it('a server that takes too long over a batch, though over no statement', async () => {
    await sql(`CREATE TABLE slow (id int PRIMARY KEY, ${Array.from({ length: 9 }, (_, n) => `c${n} int`).join(', ')});
      CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$;
      CREATE TRIGGER pause BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION pause()`);
    const context = testContext(AbortSignal.timeout(HANGS_MS));
    const limits = { leastRate: { leastBytes: 1, withinMs: 500 } };
    const own = { ...context, fetch: guardedFetch(context.allow, { limits }) };
    const brief = postgres.settings.parse({ ...foreign.settings, statement_timeout_seconds: 1 });
    // A statement for each, since each has other columns.
    const records = Array.from({ length: 9 }, (_, n) => ({ id: n, [`c${n}`]: n }));
    const writing = { stream: 'slow', key: ['id'], batchId: 'b', records, answered: 0, isRemoval: false };
    expect(await refusalOf(Array.fromAsync(postgres.destination!.write(brief, writing, own)))).toMatch(
      /^source_unavailable: 127\.0\.0\.1 did not write a batch within 2 s/,
    );
  });

  it('a user who may not write there', async () => {
    await db.query(
      `CREATE TABLE ${SCHEMA}.theirs (id int PRIMARY KEY); GRANT SELECT ON ${SCHEMA}.theirs TO ${foreign.role}`,
    );
    expect(await refusalOf(write('theirs', ['id'], [{ id: 1 }]))).toMatch(/source_refused: .*grant it the rights/);
    await db.query(`DROP TABLE ${SCHEMA}.theirs`);
  });
});
