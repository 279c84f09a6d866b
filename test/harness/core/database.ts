import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { type Database, openDatabase, write } from '../../../store/core/database.ts';
import { type Files, filesIn } from '../../../store/core/files.ts';
import { sealedColumns, sealedElsewhere } from '../../../store/core/rotate-keys.ts';
import type { Scratch } from '../../../store/core/scratch.ts';
import { openSecrets, type Secrets } from '../../../store/core/secrets.ts';
import { onFileEnd } from './clean-up.ts';
import { openTestFiles, openTestScratch, type S3Settings } from './open-test-files.ts';
import { testS3 } from './s3.ts';

export type TestStore = {
  db: Database;
  /** For another process that opens the same database. */
  url: string;
  files: Files;
  filesFolder: string;
  /** As a worker of tests writes mails. */
  outbox: Files;
  /** Of the tests' process, in the area that its workers share. */
  scratch: Scratch;
  /** Where the files are instead, if asked for. */
  s3: S3Settings | null;
  secrets: Secrets;
  secretKey: Buffer;
};

export type StoreOptions = { filesOnS3?: boolean | undefined };

/**
 * A database of this test file's own, cloned from the migrated template, with a folder or bucket for files and fresh
 * keys.
 */
export async function testStore({ filesOnS3 = false }: StoreOptions = {}): Promise<TestStore> {
  const url = await clone(inject('postgres').template);
  const filesFolder = await mkdtemp(join(tmpdir(), 'millrace-files-'));
  onFileEnd(() => rm(filesFolder, { recursive: true, force: true }));
  const s3 = filesOnS3 ? (await testS3()).settings : null;
  return openStore({ url, filesFolder, s3, secretKey: randomBytes(32) });
}

/** A copy of another's database as it is now, with the same files and keys. No worker runs over that one. */
export async function copyStore({ url, ...rest }: TestStore): Promise<TestStore> {
  const copy = await clone(nameOf(url));
  // What belongs to a role that goes with the original goes before it.
  onFileEnd(() => asAdmin((admin) => admin.query(`DROP DATABASE ${nameOf(copy)} WITH (FORCE)`)));
  return openStore({ ...rest, url: copy });
}

/** A database with nothing in it, not even the tables. */
export async function emptyDatabase(): Promise<Database> {
  const db = openDatabase({ url: await clone('template1'), name: 'test' });
  onFileEnd(() => db.end());
  return db;
}

type Place = Pick<TestStore, 'url' | 'filesFolder' | 's3' | 'secretKey'>;

async function openStore({ url, filesFolder, s3, secretKey }: Place): Promise<TestStore> {
  const db = openDatabase({ url, name: 'test' });
  const files = openTestFiles({ filesFolder, s3 });
  onFileEnd(() => db.end());
  const outbox = filesIn(files, 'outbox');
  const scratch = await openTestScratch(filesFolder);
  onFileEnd(() => scratch.close());
  return {
    db,
    url,
    files,
    filesFolder,
    outbox,
    scratch,
    s3,
    secrets: knowingColumns(await openSecrets(db, files, secretKey)),
    secretKey,
  };
}

/** No test seals what a rotation of the data key would not find. */
function knowingColumns(secrets: Secrets): Secrets {
  const known = new Set([...sealedColumns.map(({ table, column }) => `${table}.${column}`), ...sealedElsewhere]);
  return {
    ...secrets,
    seal(value, place) {
      const name = `${place.table}.${place.column}`;
      if (!known.has(name)) throw new Error(`${name} is sealed, and stands not in store/core/rotate-keys.ts`);
      return secrets.seal(value, place);
    },
  };
}

/**
 * Vacuums and analyzes a table, null: all. Its rows then show as visible to all: here commits wait for no disk, and
 * VACUUM takes a row for visible once its commit is there, so these are written out first.
 */
export async function vacuum(db: Database, table: string | null): Promise<void> {
  await write(db, (tx) => tx.query(`SELECT pg_logical_emit_message(true, 'test', '')`), {
    settings: 'SET LOCAL synchronous_commit = on',
  });
  await db.query(`VACUUM (ANALYZE) ${table ?? ''}`);
}

/** Inserts what a test begins with. On a busy machine that may take longer than a transaction of Millrace may. */
export async function insertMany(db: Database, statements: string, values?: unknown[]): Promise<void> {
  await write(db, (tx) => tx.query(statements, values), { settings: 'SET LOCAL transaction_timeout = 0' });
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

async function clone(original: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(async (admin) => {
    // Two files that clone at once wait for each other: Postgres copies a template for one at a time.
    await admin.query('SELECT pg_advisory_lock(1)');
    // It is not copied while somebody is connected; whoever needs a connection again makes one.
    await admin.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [original]);
    // By files: block by block it costs Postgres twice as much.
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${original} STRATEGY FILE_COPY`);
  });
  const url = new URL(inject('postgres').adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function asAdmin(work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('postgres').adminUrl });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
