/** Records that a sync knows by its destination's keys: what each last write was, and which ones vanished. */
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, read, type Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { updateRunRemoval } from './sync-run-progress.ts';
import type { SyncRun } from './sync-run-record.ts';

export type KnownRecord = {
  /** In hexadecimal; null: the last write failed. */
  checksum: string | null;
  runId: number;
  /** True: the source has deleted it, and its removal is still to come. */
  isDeleted: boolean;
};

/** `checksum`: in hexadecimal; null: not written. `sourceKey`: the source's own, if it reports deletions. */
export type HandledRecord = {
  key: string;
  customerId: string | null;
  checksum: string | null;
  sourceKey?: string | null;
};

export type SeenRecord = Pick<HandledRecord, 'key' | 'sourceKey'>;

/** SQL for a source's key as it is stored: an index holds half of its hash, however long it is. */
const storedSourceKey = (key: string) => `substr(sha256(convert_to(${key}, 'UTF8')), 1, 16)`;

/** Lists known records by their keys. Looks up each: the planner would read all records of a first or large run. */
export async function findKnownRecords(
  db: Database,
  entityId: number,
  syncId: number,
  keys: readonly string[],
): Promise<Map<string, KnownRecord>> {
  if (keys.length === 0) return new Map();
  const { rows } = await read(db, async (tx) => {
    await tx.query(LOOK_UP_BY_KEY);
    return tx.query<{ key: string; checksum: string | null; run_id: number; is_deleted: boolean }>(
      `SELECT r.key, encode(r.checksum, 'hex') AS checksum, r.run_id, r.is_deleted
       FROM (SELECT $1::integer AS entity_id, $2::integer AS sync_id, unnest($3::text[]) COLLATE "C" AS key ORDER BY key OFFSET 0) asked
       JOIN sync_records r ON r.entity_id = asked.entity_id AND r.sync_id = asked.sync_id AND r.key = asked.key`,
      [entityId, syncId, keys],
    );
  });
  return new Map(
    rows.map(({ key, checksum, run_id: runId, is_deleted: isDeleted }) => [key, { checksum, runId, isDeleted }]),
  );
}

/** Returns the keys of known records by their sources' keys: several, if a record has had several. */
export async function findKeysBySource(
  db: Database,
  entityId: number,
  syncId: number,
  sourceKeys: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await read(db, async (tx) => {
    await tx.query(LOOK_UP_BY_KEY);
    return tx.query<{ source_key: string; keys: string[] }>(
      `SELECT asked.source_key, array_agg(r.key ORDER BY r.key) AS keys
       FROM (SELECT $1::integer AS entity_id, $2::integer AS sync_id, unnest($3::text[]) AS source_key OFFSET 0) asked
       JOIN sync_records r ON r.entity_id = asked.entity_id AND r.sync_id = asked.sync_id
         AND r.source_key = ${storedSourceKey('asked.source_key')}
       GROUP BY asked.source_key`,
      [entityId, syncId, [...new Set(sourceKeys)]],
    );
  });
  return new Map(rows.map((row) => [row.source_key, row.keys]));
}

type NotedBy = { syncId: number; runId: number; isSeen: boolean };

type Others = {
  /** Keys with a row; null: unknown. */
  known?: { has(key: string): boolean } | null;
  /** Records that stay as they were; `sourceKey` null: as it was, too. */
  seen?: readonly SeenRecord[];
  /** Keys of records that the source has deleted since. */
  deleted?: readonly string[];
  /** Keys with which records of several source keys came. */
  shared?: readonly string[];
};

/**
 * Records outcomes of records, each key once. New ones use a plain INSERT in the order of the index, at half the cost.
 */
export async function upsertRecords(
  tx: Tx,
  entityId: number,
  by: NotedBy,
  records: readonly HandledRecord[],
  { known = null, seen = [], deleted = [], shared = [] }: Others = {},
): Promise<void> {
  const isNew = ({ key, checksum }: HandledRecord) => known !== null && checksum !== null && !known.has(key);
  await insertRecords(tx, entityId, by, records.filter(isNew) as NewRecord[]);
  await replaceRecords(
    tx,
    entityId,
    by,
    records.filter((record) => !isNew(record)),
  );
  if (by.isSeen) await updateRecordsSeen(tx, entityId, by, seen);
  if (deleted.length > 0) await updateRecords(tx, entityId, by, 'is_deleted', deleted);
  if (shared.length > 0) await updateRecords(tx, entityId, by, 'has_other_sources', shared);
}

type NewRecord = HandledRecord & { checksum: string };

/** Checksums are all of one length, and go as one value: as an array each would be parsed by itself. */
async function insertRecords(
  tx: Tx,
  entityId: number,
  { syncId, runId, isSeen }: NotedBy,
  records: readonly NewRecord[],
): Promise<void> {
  if (records.length === 0) return;
  await tx.query(
    `INSERT INTO sync_records (entity_id, sync_id, run_id, seen_by, key, checksum, customer_id, source_key)
     SELECT $1, $2, $3, $4, key, substr($6::bytea, (($7::integer) * (ordinal - 1) + 1)::integer, $7),
       customer_id, ${storedSourceKey('source_key')}
     FROM unnest($5::text[], $8::text[], $9::text[]) WITH ORDINALITY AS written (key, customer_id, source_key, ordinal)
     ORDER BY key COLLATE "C"`,
    [
      entityId,
      syncId,
      runId,
      isSeen ? runId : null,
      records.map(({ key }) => key),
      Buffer.from(records.map(({ checksum }) => checksum).join(''), 'hex'),
      records[0]!.checksum.length / 2,
      unlessAllNull(records.map(({ customerId }) => customerId)),
      unlessAllNull(records.map(({ sourceKey = null }) => sourceKey)),
    ],
  );
}

/** Returns null for a list of nulls, which is cheaper to send; unnest pads it with nulls. */
const unlessAllNull = <T>(values: (T | null)[]) => (values.some((value) => value !== null) ? values : null);

async function replaceRecords(
  tx: Tx,
  entityId: number,
  { syncId, runId, isSeen }: NotedBy,
  records: readonly HandledRecord[],
): Promise<void> {
  if (records.length === 0) return;
  await tx.query(
    `INSERT INTO sync_records (entity_id, sync_id, run_id, seen_by, key, customer_id, checksum, source_key)
     SELECT $1, $2, $3, $4, key, customer_id, decode(checksum, 'hex'), ${storedSourceKey('source_key')}
     FROM unnest($5::text[], $6::text[], $7::text[], $8::text[]) AS handled (key, customer_id, checksum, source_key)
     ORDER BY key COLLATE "C"
     ON CONFLICT (entity_id, sync_id, key) DO UPDATE
       SET run_id = excluded.run_id, seen_by = excluded.seen_by, customer_id = excluded.customer_id,
         checksum = excluded.checksum, source_key = coalesce(excluded.source_key, sync_records.source_key), is_deleted = false,
         has_other_sources = sync_records.has_other_sources OR coalesce(excluded.source_key <> sync_records.source_key, false)`,
    [
      entityId,
      syncId,
      runId,
      isSeen ? runId : null,
      records.map(({ key }) => key),
      records.map(({ customerId }) => customerId),
      records.map(({ checksum }) => checksum),
      records.map(({ sourceKey = null }) => sourceKey),
    ],
  );
}

/**
 * Records which records are about to be sent, each key once: whatever becomes of the run, they may arrive, so erasures
 * find copies. Their checksums count from now on: `forgetChecksums` takes back those of records that were not taken.
 * `known`: the records known before. Records of a re-drive count for the run that failed, and get their checksums only
 * once they are written.
 */
export async function upsertSending(
  tx: Tx,
  { entityId, syncId, id, rootId }: Pick<SyncRun, 'entityId' | 'syncId' | 'id' | 'rootId'>,
  records: ReadonlyMap<string, HandledRecord>,
  { known, isSeen }: { known: ReadonlyMap<string, KnownRecord>; isSeen: boolean },
): Promise<void> {
  if (records.size === 0) return;
  if (rootId === null) {
    return upsertRecords(tx, entityId, { syncId, runId: id, isSeen }, [...records.values()], { known });
  }
  await tx.query(
    `INSERT INTO sync_records (entity_id, sync_id, run_id, key, customer_id)
     SELECT $1, $2, $3, key, customer_id FROM unnest($4::text[], $5::text[]) AS sent (key, customer_id) ORDER BY key COLLATE "C"
     ON CONFLICT (entity_id, sync_id, key) DO UPDATE
       SET checksum = NULL, customer_id = excluded.customer_id, run_id = greatest(sync_records.run_id, excluded.run_id),
         is_deleted = false`,
    [entityId, syncId, rootId, [...records.keys()], [...records.values()].map(({ customerId }) => customerId)],
  );
}

/** Forgets what was last written of these records: their next versions are written whatever they are. */
export async function forgetChecksums(
  tx: Queryable,
  entityId: number,
  syncId: number,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  await tx.query(
    'UPDATE sync_records SET checksum = NULL WHERE entity_id = $1 AND sync_id = $2 AND key = ANY ($3::text[])',
    [entityId, syncId, keys],
  );
}

/** Records that a run has seen these, unchanged. */
async function updateRecordsSeen(
  tx: Tx,
  entityId: number,
  { syncId, runId }: { syncId: number; runId: number },
  records: readonly SeenRecord[],
): Promise<void> {
  if (records.length === 0) return;
  await tx.query(LOOK_UP_BY_KEY);
  await tx.query(
    `UPDATE sync_records r SET seen_by = $3, is_deleted = false, source_key = coalesce(seen.source_key, r.source_key),
       has_other_sources = r.has_other_sources OR coalesce(seen.source_key <> r.source_key, false)
     FROM (SELECT $1::integer AS entity_id, $2::integer AS sync_id, key COLLATE "C" AS key, ${storedSourceKey('source_key')} AS source_key
       FROM unnest($4::text[], $5::text[]) AS given (key, source_key) OFFSET 0) seen
     WHERE r.entity_id = seen.entity_id AND r.sync_id = seen.sync_id AND r.key = seen.key
       AND (r.seen_by IS DISTINCT FROM $3 OR r.is_deleted OR seen.source_key <> r.source_key)`,
    [entityId, syncId, runId, records.map(({ key }) => key), records.map(({ sourceKey = null }) => sourceKey)],
  );
}

/** Sets a flag. `is_deleted`: the source has deleted these, so that the end of the run removes them. */
async function updateRecords(
  tx: Tx,
  entityId: number,
  { syncId }: { syncId: number },
  flag: 'is_deleted' | 'has_other_sources',
  keys: readonly string[],
): Promise<void> {
  await tx.query(LOOK_UP_BY_KEY);
  await tx.query(
    `UPDATE sync_records r SET ${flag} = true
     FROM (SELECT $1::integer AS entity_id, $2::integer AS sync_id, unnest($3::text[]) COLLATE "C" AS key OFFSET 0) flagged
     WHERE r.entity_id = flagged.entity_id AND r.sync_id = flagged.sync_id AND r.key = flagged.key AND NOT r.${flag}`,
    [entityId, syncId, keys],
  );
}

/** A reading whose run removes what the source no longer has. */
export type Reading = {
  syncId: number;
  runId: number;
  mode: 'full' | 'incremental';
  /** True: unidentified records failed. Leaves out those that may be among them, with a source key that is unknown. */
  isCertain: boolean;
};

/** SQL for records to be removed: the source has deleted them, or a full reading has not seen them. $3: its run. */
function vanished({ mode, isCertain }: Reading): string {
  if (mode === 'incremental') return 'is_deleted';
  const notSeen = 'seen_by IS DISTINCT FROM $3';
  return `(is_deleted OR ${isCertain ? `${notSeen} AND source_key IS NOT NULL AND NOT has_other_sources` : notSeen})`;
}
const runOf = ({ mode, runId }: Reading): number[] => (mode === 'full' ? [runId] : []);

/** Returns the numbers of a sync's records and of those to be removed; both are 0 if none is. */
export async function countRecords(
  db: Queryable,
  entityId: number,
  reading: Reading,
): Promise<{ known: number; vanished: number }> {
  const { rows } = await db.query<{ known: number; vanished: number }>(
    `WITH found AS (SELECT count(*) AS vanished FROM sync_records
       WHERE entity_id = $1 AND sync_id = $2 AND ${vanished(reading)})
     SELECT vanished, CASE WHEN vanished = 0 THEN 0 ELSE (
       SELECT count(*) FROM sync_records WHERE entity_id = $1 AND sync_id = $2) END AS known FROM found`,
    [entityId, reading.syncId, ...runOf(reading)],
  );
  return rows[0]!;
}

/** Lists the next records to be removed, after `after` in the order of their keys. */
export async function listVanished(
  db: Queryable,
  entityId: number,
  reading: Reading,
  after: string,
  limit: number,
): Promise<{ key: string; customerId: string | null }[]> {
  const values = [entityId, reading.syncId, ...runOf(reading)];
  return readRows<Row<'sync_records', 'key' | 'customerId'>>(
    await db.query(
      `SELECT key, customer_id FROM sync_records WHERE entity_id = $1 AND sync_id = $2 AND ${vanished(reading)}
         AND key > $${values.length + 1} COLLATE "C" ORDER BY key LIMIT $${values.length + 2}`,
      [...values, after, limit],
    ),
  );
}

/** Deletes records that are gone from the destination, too, and counts them in the run that removed them. */
export async function deleteRecords(tx: Tx, run: SyncRun, keys: readonly string[]): Promise<void> {
  const { entityId, syncId } = run;
  await tx.query('DELETE FROM sync_records WHERE entity_id = $1 AND sync_id = $2 AND key = ANY ($3)', [
    entityId,
    syncId,
    keys,
  ]);
  await updateRunRemoval(tx, run, keys.length, null);
}

export async function hasRecords(db: Queryable, entityId: number, syncId: number): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM sync_records WHERE entity_id = $1 AND sync_id = $2 LIMIT 1', [
    entityId,
    syncId,
  ]);
  return rows.length > 0;
}
