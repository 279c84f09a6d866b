import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { onFileEnd } from './clean-up.ts';
import { type Database, openDatabase } from '../../store/database.ts';
import { type Files, folderFiles } from '../../store/files.ts';
import { openSecrets, type Secrets } from '../../store/secrets.ts';

export type TestStore = {
  db: Database;
  /** For another process that opens the same database. */
  url: string;
  files: Files;
  filesFolder: string;
  secrets: Secrets;
  secretKey: Buffer;
};

/** A database of this test file's own, cloned from the migrated template, with a folder for files and fresh keys. */
export async function testStore(): Promise<TestStore> {
  const url = await cloneTemplate();
  const db = openDatabase({ url, name: 'test' });
  const filesFolder = await mkdtemp(join(tmpdir(), 'millrace-files-'));
  const files = folderFiles(filesFolder);
  const secretKey = randomBytes(32);
  const secrets = await openSecrets(db, files, secretKey);
  onFileEnd(async () => {
    await db.end();
    await rm(filesFolder, { recursive: true, force: true });
  });
  return { db, url, files, filesFolder, secrets, secretKey };
}

async function cloneTemplate(): Promise<string> {
  const { adminUrl, template } = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  // Two files that clone at once wait for each other: Postgres copies a template for one at a time.
  await admin.query('SELECT pg_advisory_lock(1)');
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}
