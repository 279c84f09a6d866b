import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../store/core/database.ts';
import { migrate } from '../../../store/core/migrate.ts';
import { emptyDatabase, testStore } from '../../harness/core/database.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { schemaModule } from '../../harness/run/write-schema.ts';

const files = (await readdir(new URL('../../../store/migrations/', import.meta.url)))
  .filter((file) => file !== 'take-over.sql')
  .toSorted();

/** Migrations that came after the take-over. */
const SINCE = files.filter((file) => file >= '0016');

/** A database of an older Millrace, with a row in each table (pg_dump of that commit's schema). */
async function databaseOf(commit: string): Promise<Database> {
  const db = await emptyDatabase();
  await db.query(await readFile(new URL(`../../dumps/${commit}.sql`, import.meta.url), 'utf8'));
  return db;
}

const IN_PUBLIC = `relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S') AND NOT relispartition
  AND relname <> 'schema_migrations'`;

/** Describes the schema by a line for each column, constraint, index, trigger, function and sequence. */
async function describeSchema(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ line: string }>(`
    WITH tables AS (SELECT oid, relkind, relpersistence, reloptions FROM pg_class WHERE ${IN_PUBLIC})
    SELECT concat_ws(' ', oid::regclass, relkind, relpersistence, reloptions, pg_get_partkeydef(oid)) AS line FROM tables
    UNION ALL
    SELECT concat_ws(' ', t.oid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attstorage,
      attcollation::regcollation, pg_get_expr(adbin, adrelid))
    FROM tables t JOIN pg_attribute ON attrelid = t.oid LEFT JOIN pg_attrdef ON adrelid = t.oid AND adnum = attnum
    WHERE attnum > 0 AND NOT attisdropped AND relkind <> 'S'
    UNION ALL
    SELECT concat_ws(' ', t.oid::regclass, conname, pg_get_constraintdef(c.oid))
    FROM tables t JOIN pg_constraint c ON conrelid = t.oid
    UNION ALL
    SELECT pg_get_indexdef(indexrelid) FROM tables t JOIN pg_index ON indrelid = t.oid
    UNION ALL
    SELECT pg_get_triggerdef(g.oid) FROM tables t JOIN pg_trigger g ON tgrelid = t.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', seqrelid::regclass, seqtypid::regtype, seqincrement, seqstart) FROM pg_sequence`);
  return rows.map(({ line }) => line).toSorted();
}

/** The rows of each table, without names of columns, and without null columns at the end, which migrations add. */
async function rowsOf(db: Database): Promise<Map<string, string[]>> {
  const { rows: tables } = await db.query<{ relname: string }>(
    `SELECT relname FROM pg_class WHERE ${IN_PUBLIC} AND relkind <> 'S' ORDER BY relname`,
  );
  const found = new Map<string, string[]>();
  for (const { relname } of tables) {
    const { rows } = await db.query<{ row: string }>(`SELECT t::text AS row FROM ${relname} t ORDER BY 1`);
    found.set(
      relname,
      rows.map(({ row }) => row.replace(/,+\)$/, ')')),
    );
  }
  return found;
}

describe('a database of an older Millrace', () => {
  it('of the last commit before the migrations were squashed is taken over as it is', async () => {
    const db = await databaseOf('7730069f');
    const before = await rowsOf(db);
    expect((await migrate(db)).applied).toEqual(['take-over.sql', ...SINCE]);
    const after = await rowsOf(db);
    // New tables are empty, and new columns are the last ones.
    for (const [table, rows] of before) {
      // The days whose attempts are kept are counted again.
      if (table === 'report_rollups') rows[0] = rows[0]!.replace('12:00:00', '00:00:00');
      const kept = after.get(table)!.map((row, index) => row.slice(0, rows[index]!.length - 1));
      expect({ table, rows: kept }).toEqual({ table, rows: rows.map((row) => row.slice(0, -1)) });
    }
    for (const [table, rows] of after) if (!before.has(table)) expect({ table, rows }).toEqual({ table, rows: [] });
    expect(await describeSchema(db)).toEqual(await describeSchema((await testStore()).db));
    expect(await migrate(db)).toEqual({ version: files.length, applied: [] });
  });

  it('of commit a7bb75c is taken over by processes that start together, with all rows and the schema of a new one', async () => {
    const db = await databaseOf('a7bb75c');
    const before = await rowsOf(db);
    const applied = await Promise.all([migrate(db), migrate(db)]);
    expect(applied.flatMap((migrated) => migrated.applied)).toEqual(['take-over.sql', ...SINCE]);
    const after = await rowsOf(db);
    for (const [table, rows] of before) {
      expect({ table, rows: after.get(table)!.length }).toEqual({
        table,
        rows: table === 'live_calls' ? 0 : rows.length,
      });
    }
    // New columns are the last ones.
    expect(after.get('data_exporters')![0]).toContain(before.get('data_exporters')![0]!.slice(0, -1));
    expect(await describeSchema(db)).toEqual(await describeSchema((await testStore()).db));
  });

  it('is taken over again after an interruption', async () => {
    const db = await databaseOf('a7bb75c');
    const before = [await describeSchema(db), await rowsOf(db)];
    const holder = await db.connect();
    await holder.query('BEGIN; LOCK TABLE sync_pinned_batches');
    const interrupted = migrate(db).catch((error: Error) => error.message);
    await waitFor('the take-over to wait for a lock', async () => {
      const { rows } = await db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return rows.length > 0;
    });
    expect(await interrupted).toContain('terminating connection');
    await holder.query('ROLLBACK');
    holder.release();
    expect([await describeSchema(db), await rowsOf(db)]).toEqual(before);
    await migrate(db);
    expect(await describeSchema(db)).toEqual(await describeSchema((await testStore()).db));
  });

  it('of before commit a7bb75c is refused', async () => {
    const db = await databaseOf('a7bb75c');
    await db.query(`DELETE FROM schema_migrations WHERE file = '0062_messages_side_by_side.sql'`);
    await expect(migrate(db)).rejects.toThrow('from before commit a7bb75c');
  });
});

describe('a database with refused rows of an earlier release', () => {
  it('has those of erased people settled, and no other for what its message says', async () => {
    const db = await databaseOf('a7bb75c');
    const insert = (line: number, message: string, raw: string | null, hash: Buffer | null) =>
      db.query(
        `INSERT INTO import_errors (entity_id, import_id, line, error_type, outcome, stage, message, raw, customer_hash)
       VALUES (1, 2, $1, 'DELIVERY_FAILED', 'failed', 'merge', $2, $3, $4)`,
        [line, message, raw, hash],
      );
    await insert(1, 'erased', null, Buffer.alloc(32));
    await insert(2, 'erased', '', null);
    await insert(3, 'erased', '{"id":1}', null);
    await insert(4, 'is no number', null, null);
    const pinned = [
      { kind: 'malformed', raw: '', message: 'erased' },
      { kind: 'record', record: { raw: '', message: 'erased' } },
    ];
    await db.query(
      `INSERT INTO sync_pinned_batches (entity_id, run_id, number, records_before, items) VALUES (1, 2, 1, 0, $1)`,
      [JSON.stringify(pinned)],
    );
    await migrate(db);
    const { rows } = await db.query<{ line: number }>(
      'SELECT line FROM import_errors WHERE is_erased AND import_id = 2 ORDER BY line',
    );
    expect(rows.map(({ line }) => line)).toEqual([1, 2]);
    const { rows: batches } = await db.query<{ items: string }>(
      'SELECT items FROM sync_pinned_batches ORDER BY length(items) DESC LIMIT 1',
    );
    expect(JSON.parse(batches[0]!.items)).toEqual([{ ...pinned[0], isErased: true }, pinned[1]]);
  });
});

describe('migrations', () => {
  it('are applied once, by processes that start together', async () => {
    const db = await emptyDatabase();
    const applied = (await Promise.all([migrate(db), migrate(db), migrate(db)])).map((migrated) => migrated.applied);
    expect(applied.flat()).toEqual(files);
    expect(await migrate(db)).toEqual({ version: files.length, applied: [] });
  });

  it('of a newer Millrace are left alone by an older one, which says what to do', async () => {
    const db = await emptyDatabase();
    await db.query(`CREATE TABLE schema_migrations (file text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
      INSERT INTO schema_migrations (file) VALUES ('9999_from_the_future.sql')`);
    await expect(migrate(db)).rejects.toThrow(/newer Millrace \(9999_from_the_future\.sql\): start that version/);
    const { rows } = await db.query(`SELECT to_regclass('systems_of_records') AS found`);
    expect(rows).toEqual([{ found: null }]);
  });

  it('and store/schema.ts have the same columns: npm run schema writes them', async () => {
    const written = await readFile(new URL('../../../store/schema.ts', import.meta.url), 'utf8');
    expect(written).toBe(await schemaModule((await testStore()).db));
  });
});
