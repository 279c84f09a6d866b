import { spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { endChildrenLeftBehind, type ProcessIdentity } from '../../../runtime/embedded/children.ts';
import { type EmbeddedPostgres, startPostgres, postgresUser } from '../../../runtime/embedded/postgres.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { useDataFolder } from '../temporary-folder.ts';

const SLEEPING = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%pg_sleep%'";

const folder = { path: '' };
const started = new Set<EmbeddedPostgres>();

afterEach(async () => {
  await Promise.all([...started].map((postgres) => postgres.stop()));
  started.clear();
});

async function start(say: (line: string) => void = () => {}): Promise<EmbeddedPostgres> {
  const postgres = await startPostgres({ dataDir: folder.path, say });
  started.add(postgres);
  return postgres;
}

async function query(url: string, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end().catch(() => {});
  }
}

function postmaster(): ProcessIdentity {
  return JSON.parse(readFileSync(join(folder.path, 'child.postgres.json'), 'utf8')) as ProcessIdentity;
}

/** The area of Postgres in the data folder. */
function area(): string {
  return join(folder.path, 'postgres');
}

// To make a database takes longer than all else here: most look at the same one, each test at what the one before has
// left.
describe('a database', () => {
  useDataFolder(folder, { isShared: true });

  it('a second start finds what the first one kept, at the same address', async () => {
    const said: string[] = [];
    const first = await start((line) => said.push(line));
    await query(first.url, "CREATE TABLE kept AS SELECT 'Äpfel' AS word");
    await first.stop();
    const second = await start((line) => said.push(line));
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT lower(word) AS word FROM kept')).toEqual([{ word: 'äpfel' }]);
    expect(said).toEqual([
      'postgres: making the database …',
      expect.stringMatching(/^postgres: embedded 18, ready in \d+\.\d s$/),
      expect.stringMatching(/^postgres: embedded 18, ready in \d+\.\d s$/),
    ]);
    expect(readdirSync(area())).toEqual(['18']);
  });

  it('only who knows the password gets in, and only this user reads it', async () => {
    const { url } = await start();
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect(statSync(join(folder.path, 'postgres.password')).mode & 0o777).toBe(0o600);
    expect(statSync(area()).mode & 0o777).toBe(0o700);
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const durable = "'fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums'";
    expect(await query(url, `SELECT setting FROM pg_settings WHERE name IN (${durable})`)).toEqual(
      Array(4).fill({ setting: 'on' }),
    );
  });

  it('a start waits for a database that still holds the data, as one that was killed may for a moment', async () => {
    const user = await postgresUser();
    const holder = spawn('sleep', ['300'], { ...user, stdio: 'ignore' });
    const pidFile = join(area(), '18', 'postmaster.pid');
    writeFileSync(pidFile, `${holder.pid}\n${join(area(), '18')}\n`);
    if (user.uid !== undefined) chownSync(pidFile, user.uid, user.gid!);
    const starting = start();
    await waitFor('a try that finds it held', async () => {
      await Promise.race([starting, Promise.resolve()]);
      return readFileSync(join(folder.path, 'postgres.log'), 'utf8').includes('"postmaster.pid" already exists');
    });
    holder.kill('SIGKILL');
    expect(await query((await starting).url, 'SELECT word FROM kept')).toEqual([{ word: 'Äpfel' }]);
  });

  it('after SIGKILL of the database a start recovers what was committed', async () => {
    const first = await start();
    await query(first.url, 'CREATE TABLE many AS SELECT generate_series(1, 10000) AS n');
    process.kill(postmaster().pid, 'SIGKILL');
    await waitFor('its record to go', async () => !existsSync(join(folder.path, 'child.postgres.json')));
    expect(existsSync(join(area(), '18', 'postmaster.pid'))).toBe(true);
    const second = await start();
    expect(await query(second.url, 'SELECT count(*)::int AS rows FROM many')).toEqual([{ rows: 10_000 }]);
  });

  it('a database that an ended run left behind is stopped, and starts again at its address', async () => {
    const first = await start();
    expect(await endChildrenLeftBehind(folder.path)).toEqual(['postgres']);
    await expect(query(first.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect((await start()).url).toBe(first.url);
  });

  it('its log quotes no value, whatever fails', async () => {
    const { url } = await start();
    const planted = 'Planted.Person@example.com';
    await query(url, 'CREATE TABLE people (email text PRIMARY KEY, age int CHECK (age > 0))');
    await query(url, 'CREATE TABLE notes (of text REFERENCES people)');
    await query(url, 'INSERT INTO people VALUES ($1, 1)', [planted]);
    const failing: [string, unknown[]?][] = [
      [`SELECT '${planted}'::int`],
      ['SELECT $1::int', [planted]],
      ['SELECT $1::timestamptz', [planted]],
      ['INSERT INTO people VALUES ($1, 2)', [planted]],
      ['INSERT INTO people VALUES ($1, -1)', [`${planted}2`]],
      ['INSERT INTO notes VALUES ($1)', [`nobody ${planted}`]],
      [`SELEC '${planted}'`],
      [`SELECT * FROM "${planted}"`],
      [`DO $$ BEGIN RAISE EXCEPTION 'about ${planted}'; END $$`],
      [`DO $$ BEGIN RAISE WARNING 'about ${planted}'; RAISE LOG 'control'; END $$; SELECT 1/0`],
      [`SET statement_timeout = 10; SELECT pg_sleep(60) /* ${planted} */`],
      [`SET transaction_timeout = 10; SELECT pg_sleep(60) /* ${planted} */`],
    ];
    for (const [sql, values] of failing) await expect(query(url, sql, values)).rejects.toThrow(/./);
    await crash(url, planted);
    const log = readFileSync(join(folder.path, 'postgres.log'), 'utf8');
    expect(log).toContain('LOG:  control');
    expect(log).toMatch(/terminated by signal/);
    expect(log.toLowerCase()).not.toContain('planted');
  });

  it('is not started where its password is lost, and that is said', async () => {
    await (await start()).stop();
    const right = readFileSync(join(folder.path, 'postgres.password'));
    writeFileSync(join(folder.path, 'postgres.password'), 'another');
    await expect(start()).rejects.toThrow(/does not take the password in postgres\.password/);
    expect(existsSync(join(folder.path, 'child.postgres.json'))).toBe(false);
    writeFileSync(join(folder.path, 'postgres.password'), right);
  });

  it('is not started where it is damaged, and the reason is said', async () => {
    await (await start()).stop();
    renameSync(join(area(), '18', 'global', 'pg_control'), join(area(), '18', 'global', 'lost'));
    await expect(start()).rejects.toThrow(/did not start; its log .*postgres\.log ends: .*pg_control/);
  });
});

describe('a first start', () => {
  useDataFolder(folder);

  it('that was killed half-way is begun anew', async () => {
    mkdirSync(join(area(), 'unfinished-abc', '18'), { recursive: true });
    writeFileSync(join(area(), 'unfinished-abc', '18', 'PG_VERSION'), '18\n');
    expect(await query((await start()).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(readdirSync(area())).toEqual(['18']);
  });

  it('is refused in words where another major version of the database is there', async () => {
    mkdirSync(join(area(), '17'), { recursive: true });
    await expect(start()).rejects.toThrow(/was made by Postgres 17, and this version of Millrace runs Postgres 18/);
    renameSync(join(area(), '17'), join(area(), '18'));
    writeFileSync(join(area(), '18', 'PG_VERSION'), '19\n');
    await expect(start()).rejects.toThrow(/was made by Postgres 19/);
  });
});

/** Ends a session by a fault in the middle of a statement that quotes `text`. */
async function crash(url: string, text: string): Promise<void> {
  const victim = new pg.Client({ connectionString: url });
  victim.on('error', () => {});
  await victim.connect();
  const {
    rows: [session],
  } = await victim.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const statement = victim.query(`SELECT pg_sleep(60) /* ${text} */`).then(
    () => 'finished',
    () => 'cut off',
  );
  await waitFor('the statement to run', async () => (await query(url, SLEEPING, [session!.pid])).length > 0);
  process.kill(session!.pid, 'SIGKILL');
  expect(await statement).toBe('cut off');
  await waitFor('Postgres to be back', () => query(url, 'SELECT 1').catch(() => null));
}
