/** Makes database and file store agree on tombstones at start-up, after either went back to a backup. */
import type { TombstoneBatch } from '../../domain/gdpr/tombstone-batch.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Tx, write } from '../core/database.ts';
import type { Files } from '../core/files.ts';
import type { Secrets } from '../core/secrets.ts';
import { eraseRestoredPeople } from './restored-people.ts';
import { lockBatches, putTombstoneBatch, readTombstoneBatchFile, TOMBSTONES_AREA } from './tombstone-batches.ts';

export type Reconciled = {
  /** Batches that only the file store had, as after a restore of the database. */
  restored: number;
  /** Batches that only the database had. */
  written: number;
  /** Files of unknown entities, and files that hold no batch. */
  unknown: number;
  unreadable: number;
  /** People who came back with the database, and are erased again. */
  people: number;
};

type Dependencies = { db: Database; files: Files; secrets: Secrets };

/** The advisory lock of reconciliation. Any number that no other program takes as an advisory lock of this database. */
const RECONCILE_LOCK = 5_717_023_443;
const KEYS_A_PAGE = 2_000;
const FILES_AT_ONCE = 16;

/**
 * Makes database and file store agree on tombstones: for each person the newest batch counts. Requests the deletion of
 * erased people who came back with the database. A later start completes what a killed process has left. Runs before
 * anything is served; costs a listing if nothing is to do.
 */
export async function reconcileTombstones({ db, files, secrets }: Dependencies): Promise<Reconciled> {
  const session = await db.connect();
  try {
    await session.query('SET transaction_timeout = 0');
    await session.query('SELECT pg_advisory_lock($1)', [RECONCILE_LOCK]);
    await listFiles(session, files);
    const { restored, unreadable } = await takeFromFiles({ db, files }, session);
    return {
      restored,
      unreadable,
      unknown: await countUnknown(session),
      written: await writeToFiles(session, files),
      people: await eraseRestoredPeople({ db, secrets }, session),
    };
  } finally {
    session.release(true); // ends the session: its lock, its settings and its tables go with it
  }
}

async function listFiles(session: Tx, files: Files): Promise<void> {
  await session.query('CREATE TEMP TABLE listed (key text COLLATE "C" PRIMARY KEY, entity text NOT NULL)');
  let page: string[] = [];
  const flush = async () => {
    await session.query(
      `INSERT INTO listed SELECT key, split_part(key, '/', 2) FROM unnest($1::text[]) AS key ON CONFLICT DO NOTHING`,
      [page],
    );
    page = [];
  };
  for await (const { key } of files.list(TOMBSTONES_AREA)) {
    page.push(key);
    if (page.length === KEYS_A_PAGE) await flush();
  }
  await flush();
  await session.query('ANALYZE listed');
}

async function countUnknown(session: Tx): Promise<number> {
  const { rows } = await session.query<{ unknown: number }>(
    'SELECT count(*) AS unknown FROM listed WHERE NOT EXISTS (SELECT FROM entities WHERE identifier = entity)',
  );
  return rows[0]!.unknown;
}

type Lacking = Row<'tombstone_batches', 'key'> & { entityId: number };

async function takeFromFiles(
  { db, files }: Omit<Dependencies, 'secrets'>,
  session: Tx,
): Promise<{ restored: number; unreadable: number }> {
  const lacking = readRows<Lacking>(
    await session.query(
      `SELECT e.id AS entity_id, l.key FROM listed l JOIN entities e ON e.identifier = l.entity
     WHERE NOT EXISTS (SELECT FROM tombstone_batches b WHERE b.entity_id = e.id AND b.key = l.key) ORDER BY e.id, l.key`,
    ),
  );
  let restored = 0;
  for (const [entityId, own] of Map.groupBy(lacking, ({ entityId: id }) => id)) {
    for (let from = 0; from < own.length; from += FILES_AT_ONCE) {
      const page = await Promise.all(
        own
          .slice(from, from + FILES_AT_ONCE)
          .map(async ({ key }) => ({ key, batch: await readTombstoneBatchFile(files, key) })),
      );
      const found = page.filter((file): file is BatchFile => file.batch !== null);
      if (found.length > 0) await write(db, (tx) => takeBatches(tx, entityId, found));
      restored += found.length;
    }
  }
  return { restored, unreadable: lacking.length - restored };
}

type BatchFile = { key: string; batch: TombstoneBatch };

/** Applies batches: for each person the newest known batch counts; a later page may have a newer one. */
async function takeBatches(tx: Tx, entityId: number, found: BatchFile[]): Promise<void> {
  await lockBatches(tx, entityId);
  for (const {
    key,
    batch: { kind, madeAt, hashes },
  } of found) {
    await tx.query(
      `INSERT INTO tombstone_batches (entity_id, key, kind, made_at, hashes, search_pending)
       VALUES ($1, $2, $3, $4, $5, $3 = 'raised') ON CONFLICT DO NOTHING`,
      [entityId, key, kind, madeAt, hashes],
    );
  }
  const named = found.flatMap(({ batch }) => batch.hashes);
  const { rows } = await tx.query<{ raised: number }>(
    `WITH latest AS (
       SELECT DISTINCT ON (hash) hash, b.kind, b.made_at FROM tombstone_batches b CROSS JOIN LATERAL unnest(b.hashes) AS hash
       WHERE b.entity_id = $1 AND hash = ANY ($2::bytea[]) ORDER BY hash, b.made_at DESC, b.key DESC
     ), readmitted AS (
       DELETE FROM tombstones t USING latest l WHERE t.entity_id = $1 AND t.customer_hash = l.hash AND l.kind = 'readmitted'
     ), raised AS (
       INSERT INTO tombstones (entity_id, customer_hash, raised_at) SELECT $1, hash, made_at FROM latest WHERE kind = 'raised'
       ON CONFLICT DO NOTHING RETURNING 1)
     SELECT count(*) AS raised FROM raised`,
    [entityId, named],
  );
  if (rows[0]!.raised > 0) return;
  // A batch of a process that was killed before its commit: its tombstones were raised again, so no person came back.
  await tx.query('UPDATE tombstone_batches SET search_pending = false WHERE entity_id = $1 AND key = ANY ($2)', [
    entityId,
    found.map(({ key }) => key),
  ]);
}

type Unwritten = Row<'tombstone_batches', 'key' | 'kind' | 'madeAt' | 'hashes'> & { entity: string };

async function writeToFiles(session: Tx, files: Files): Promise<number> {
  for (let written = 0, after = ''; ;) {
    const rows = readRows<Unwritten>(
      await session.query(
        `SELECT b.key, e.identifier AS entity, b.kind, b.made_at, b.hashes FROM tombstone_batches b JOIN entities e ON e.id = b.entity_id
       WHERE b.key > $1 AND NOT EXISTS (SELECT FROM listed l WHERE l.key = b.key)
       ORDER BY b.key LIMIT ${FILES_AT_ONCE}`,
        [after],
      ),
    );
    if (rows.length === 0) return written;
    await Promise.all(rows.map(({ key, madeAt, ...batch }) => putTombstoneBatch(files, key, { ...batch, madeAt })));
    written += rows.length;
    after = rows.at(-1)!.key;
  }
}
