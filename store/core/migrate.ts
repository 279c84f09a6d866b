import { readdir, readFile } from 'node:fs/promises';
import { refuse } from '../../domain/core/refusal.ts';
import type { Database, Tx } from './database.ts';

const FOLDER = new URL('../migrations/', import.meta.url);
/** Any number that no other program takes as an advisory lock of this database. */
const MIGRATION_LOCK = 5_717_023_440;
const FORMAT = /^\d{4}_[a-z0-9_]+\.sql$/;

export type Migrated = { version: number; applied: string[] };

/**
 * Applies every `migrations/*.sql` that this database lacks, in order, each in a transaction of its own.
 * An advisory lock makes processes that start together wait for the first.
 */
export async function migrate(db: Database): Promise<Migrated> {
  const files = await migrationFiles();
  const session = await db.connect();
  try {
    await session.query('SET transaction_timeout = 0');
    await session.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await applyMissing(session, files);
    return { version: files.length, applied };
  } finally {
    await session.query('SELECT pg_advisory_unlock_all()').catch(() => {});
    session.release(true); // its settings are not the pool's
  }
}

async function migrationFiles(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((file) => FORMAT.test(file)).toSorted();
}

/** Refuses a database that lacks migrations: an older backup was restored under a process that runs. */
export async function refuseMissingMigrations(db: Database): Promise<void> {
  const { rows } = await db.query<{ missing: string }>(
    `
    SELECT missing FROM unnest($1::text[]) AS missing
    WHERE missing NOT IN (SELECT file FROM schema_migrations)`,
    [await migrationFiles()],
  );
  if (rows.length > 0) {
    const files = rows.map(({ missing }) => missing).join(', ');
    refuse(503, 'older_database', `The database lacks ${files}: restart this process to migrate it`);
  }
}

async function applyMissing(session: Tx, files: string[]): Promise<string[]> {
  await session.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
    file text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
  const { rows } = await session.query<{ file: string }>('SELECT file FROM schema_migrations');
  const known = new Set(rows.map(({ file }) => file));
  refuseNewerDatabase(known, files);
  const missing = files.filter((file) => !known.has(file));
  for (const file of missing) await apply(session, file);
  return missing;
}

/** An older Millrace on a newer database would write rows that the newer one does not expect. */
function refuseNewerDatabase(known: Set<string>, files: string[]): void {
  const unknown = [...known].filter((file) => !files.includes(file));
  if (unknown.length === 0) return;
  refuse(
    500,
    'newer_database',
    `The database was migrated by a newer Millrace (${unknown.join(', ')}): start that version, or restore a backup.`,
  );
}

async function apply(session: Tx, file: string): Promise<void> {
  const statements = await readFile(new URL(file, FOLDER), 'utf8');
  await session.query('BEGIN');
  try {
    await session.query(statements);
    await session.query('INSERT INTO schema_migrations (file) VALUES ($1)', [file]);
    await session.query('COMMIT');
  } catch (error) {
    await session.query('ROLLBACK');
    throw error;
  }
}
