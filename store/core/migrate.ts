// Migrations of the database, and the take-over of a database of an older Millrace.
import { readdir, readFile } from 'node:fs/promises';
import { refuse } from '../../domain/core/refusal.ts';
import type { Database, Tx } from './database.ts';

const FOLDER = new URL('../migrations/', import.meta.url);
/** Advisory lock of this database; the number is arbitrary. */
const MIGRATION_LOCK = 5_717_023_440;
const FORMAT = /^\d{4}_[a-z0-9_]+\.sql$/;

const TAKE_OVER = 'take-over.sql';
/** The last of the migrations into which the old ones were squashed. */
const LAST_SQUASHED = '0015_jobs.sql';
/** Old migrations: the first, by which their databases are recognized, and the last one before take-over.sql. */
const FIRST_OLD = '0001_house.sql';
const LAST_BEFORE_TAKE_OVER = '0062_messages_side_by_side.sql';

export type Migrated = { version: number; applied: string[] };

/** Applies missing `migrations/*.sql` in order, each in a transaction, one process at a time. */
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

/** Refuses a database without all migrations: an older backup was restored under a running process. */
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
  const old = await listApplied(session);
  if (old.has(FIRST_OLD)) await takeOver(session, old, files);
  const known = await listApplied(session);
  refuseNewerDatabase(known, (file) => files.includes(file));
  const missing = files.filter((file) => !known.has(file));
  for (const file of missing) await apply(session, await readFile(new URL(file, FOLDER), 'utf8'), [file]);
  return old.has(FIRST_OLD) ? [TAKE_OVER, ...missing] : missing;
}

async function listApplied(session: Tx): Promise<Set<string>> {
  const { rows } = await session.query<{ file: string }>('SELECT file FROM schema_migrations');
  return new Set(rows.map(({ file }) => file));
}

async function takeOver(session: Tx, known: Set<string>, files: string[]): Promise<void> {
  const [, ...parts] = (await readFile(new URL(TAKE_OVER, FOLDER), 'utf8')).split(/^-- (\d{4}_[a-z_]+\.sql)$/m);
  const names = parts.filter((_, index) => index % 2 === 0);
  refuseNewerDatabase(known, (file) => file <= LAST_BEFORE_TAKE_OVER || names.includes(file));
  if (!known.has(LAST_BEFORE_TAKE_OVER)) {
    refuse(
      500,
      'older_database',
      'The database was migrated by a Millrace from before commit a7bb75c: start that first.',
    );
  }
  const missing = names.flatMap((name, index) => (known.has(name) ? [] : [parts[2 * index + 1]!]));
  const squashed = files.filter((file) => file <= LAST_SQUASHED);
  await apply(session, [...missing, 'DELETE FROM schema_migrations;'].join('\n'), squashed);
}

/** Refuses a newer database, which does not expect the rows of an older Millrace. */
function refuseNewerDatabase(known: Set<string>, isOurs: (file: string) => boolean): void {
  const unknown = [...known].filter((file) => !isOurs(file));
  if (unknown.length === 0) return;
  refuse(
    500,
    'newer_database',
    `The database was migrated by a newer Millrace (${unknown.join(', ')}): start that version, or restore a backup.`,
  );
}

async function apply(session: Tx, statements: string, files: string[]): Promise<void> {
  await session.query('BEGIN');
  try {
    await session.query(statements);
    await session.query('INSERT INTO schema_migrations (file) SELECT unnest($1::text[])', [files]);
    await session.query('COMMIT');
  } catch (error) {
    await session.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
