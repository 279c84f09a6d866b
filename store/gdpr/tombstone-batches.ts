/** Raises and removes tombstones, in batches that the file store has as well. */
import { randomBytes } from 'node:crypto';
import { type TombstoneBatchKind, writeTombstoneBatch } from '../../domain/gdpr/tombstone-batch.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { findEntityIdentifier } from '../accounts/entities.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { asBytes, type Files } from '../core/files.ts';
import { findRaisedAt, insertTombstone, type Person } from './tombstones.ts';

type Dependencies = { db: Database; files: Files };
type Note = (tx: Tx, hashes: Buffer[]) => Promise<void>;

/** The first key of the advisory lock for dating an entity's batches; the second is the entity's id. */
const BATCHES_LOCK = 1_380_215_901;
const HASHES_A_BATCH = 10_000;
const TRIES = 20;

/**
 * Raises tombstones, in the file store before the database: neither a merge nor a backup brings these people back.
 * Passes new tombstones to `note`. Returns since when all of them stand.
 */
export async function raiseTombstones(
  { db, files }: Dependencies,
  entityId: number,
  hashes: Buffer[],
  note: Note = async () => {},
): Promise<Date> {
  // Waits for readmissions: a tombstone that is about to be removed counts as missing.
  const missing = await write(db, async (tx) => {
    await lockBatches(tx, entityId);
    return listMissingTombstones(tx, entityId, hashes);
  });
  for (let from = 0; from < missing.length; from += HASHES_A_BATCH) {
    await raiseBatch({ db, files }, entityId, missing.slice(from, from + HASHES_A_BATCH), note);
  }
  return (await findRaisedAt(db, entityId, hashes)) ?? new Date();
}

/**
 * Removes tombstones, and passes the removed ones to `note` in the same transaction, which may still refuse. `choose`
 * says which may be removed. The file store follows: a process killed in between keeps a person out; a repeat mends it.
 */
export async function readmit(
  { db, files }: Dependencies,
  entityId: number,
  hashes: Buffer[],
  note: Note,
  choose = async (_tx: Tx): Promise<Buffer[]> => hashes,
): Promise<number> {
  const readmitted = await write(db, async (tx) => {
    await lockBatches(tx, entityId);
    const rows = readRows<Row<'tombstones', 'customerHash'>>(
      await tx.query(
        'DELETE FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[]) RETURNING customer_hash',
        [entityId, await choose(tx)],
      ),
    );
    const stood = rows.map((row) => row.customerHash);
    if (stood.length > 0) await insertBatch(tx, entityId, await draftBatch(tx, entityId, 'readmitted', stood));
    await note(tx, stood);
    return stood.length;
  });
  await putReadmissions({ db, files }, entityId, hashes);
  return readmitted;
}

type Batch = { key: string; entity: string; kind: TombstoneBatchKind; madeAt: Date; hashes: Buffer[] };

/** Writes the file without a lock, and dates it anew if another batch of the entity came first. */
async function raiseBatch({ db, files }: Dependencies, entityId: number, hashes: Buffer[], note: Note): Promise<void> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const batch = await draftBatch(db, entityId, 'raised', hashes);
    await files.put(batch.key, asBytes(writeTombstoneBatch(batch)));
    if (await write(db, (tx) => commitRaised(tx, entityId, batch, note))) return;
    await files.delete(batch.key);
  }
  throw new Error('tombstones of this entity are raised by too many at once');
}

async function commitRaised(tx: Tx, entityId: number, batch: Batch, note: Note): Promise<boolean> {
  await lockBatches(tx, entityId);
  const { rowCount } = await tx.query(
    'SELECT FROM tombstone_batches WHERE entity_id = $1 AND made_at >= $2 AND key <> $3 LIMIT 1',
    [entityId, batch.madeAt, batch.key],
  );
  if (rowCount! > 0) return false;
  await insertBatch(tx, entityId, batch);
  await note(tx, await insertTombstone(tx, entityId, ...batch.hashes));
  return true;
}

/** Returns a batch dated after all batches of the entity, by the database's clock. */
async function draftBatch(db: Queryable, entityId: number, kind: TombstoneBatchKind, hashes: Buffer[]): Promise<Batch> {
  const entity = await findEntityIdentifier(db, entityId);
  const { rows } = await db.query<{ made_at: Date }>(
    `SELECT greatest(date_trunc('milliseconds', clock_timestamp()), max(made_at) + interval '1 ms') AS made_at
     FROM tombstone_batches WHERE entity_id = $1`,
    [entityId],
  );
  const madeAt = rows[0]!.made_at;
  return { key: tombstoneBatchKey(entity, madeAt), entity, kind, madeAt, hashes };
}

async function insertBatch(tx: Tx, entityId: number, { key, kind, madeAt, hashes }: Batch): Promise<void> {
  // A starting process may have found the file already.
  await tx.query(
    `INSERT INTO tombstone_batches (entity_id, key, kind, made_at, hashes) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (entity_id, key) DO NOTHING`,
    [entityId, key, kind, madeAt, hashes],
  );
}

/** Lets one transaction at a time date batches of the entity and change its tombstones. */
export async function lockBatches(tx: Tx, entityId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [BATCHES_LOCK, entityId]);
}

export async function listMissingTombstones(db: Queryable, entityId: number, hashes: Buffer[]): Promise<Buffer[]> {
  const { rows } = await db.query<{ hash: Buffer }>(
    `SELECT DISTINCT hash FROM unnest($2::bytea[]) AS hash
     WHERE NOT EXISTS (SELECT FROM tombstones WHERE entity_id = $1 AND customer_hash = hash)`,
    [entityId, hashes],
  );
  return rows.map(({ hash }) => hash);
}

/** Writes readmissions of these people that the file store lacks: normally the one just committed. */
async function putReadmissions({ db, files }: Dependencies, entityId: number, hashes: Buffer[]): Promise<void> {
  const entity = await findEntityIdentifier(db, entityId);
  const rows = readRows<Row<'tombstone_batches', 'key' | 'madeAt' | 'hashes'>>(
    await db.query(
      `SELECT key, made_at, hashes FROM tombstone_batches
     WHERE entity_id = $1 AND kind = 'readmitted' AND hashes && $2::bytea[] ORDER BY made_at`,
      [entityId, hashes],
    ),
  );
  for (const { key, madeAt, hashes: named } of rows) {
    if ((await files.size(key)) !== null) continue;
    await files.put(key, asBytes(writeTombstoneBatch({ entity, kind: 'readmitted', madeAt, hashes: named })));
  }
}

/** The area of the file store with an object for each row of tombstone_batches. */
export const TOMBSTONES_AREA = 'tombstones/';

/** Returns a key such as `tombstones/<entity>/20261122T035829123Z-9f86d081.json`: an entity's keys sort by time. */
function tombstoneBatchKey(entity: string, madeAt: Date): string {
  const time = madeAt.toISOString().replaceAll(/[-:.]/g, '');
  return `${TOMBSTONES_AREA}${entity}/${time}-${randomBytes(4).toString('hex')}.json`;
}

type Of = Pick<JobKey, 'entityId' | 'jobId'>;

export type Hashed = Person & { hash: Buffer };

const GIVEN = `unnest($3::text[], $4::text[], $5::text[]) AS given (kind, value, hash)`;

function given(people: readonly Hashed[]): unknown[] {
  return [
    people.map(({ customerType }) => customerType),
    people.map(({ customerId }) => customerId),
    people.map(({ hash }) => hash.toString('hex')),
  ];
}

/** Records that this request, and no other, raised the tombstones of these ids. */
export async function updateRaised(
  tx: Tx,
  { entityId, jobId }: Of,
  people: readonly Hashed[],
  raised: readonly Buffer[],
): Promise<void> {
  const hashes = new Set(raised.map((hash) => hash.toString('hex')));
  const theirs = people.filter(({ hash }) => hashes.has(hash.toString('hex')));
  if (theirs.length === 0) return;
  await tx.query(
    `UPDATE gdpr_identifiers i SET raised = true FROM ${GIVEN}
     WHERE i.entity_id = $1 AND i.request_id = $2 AND i.kind = given.kind AND i.value = given.value`,
    [entityId, jobId, ...given(theirs)],
  );
}

/** Lists the ids of some people whose tombstones this request raised, also if another has erased them since. */
export async function listRaised(
  db: Queryable,
  { entityId, jobId }: Of,
  ordinals: readonly number[],
): Promise<Person[]> {
  const { rows } = await db.query<Row<'gdpr_identifiers', 'value', { kind: Person['customerType'] }>>(
    `SELECT kind, value FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND raised AND ordinal = ANY ($3)`,
    [entityId, jobId, ordinals],
  );
  return rows.map(({ kind, value }) => ({ customerType: kind, customerId: value }));
}

/** Lists hashes that no other request needs: none erases the person, or has since. `tx` has locked the batches. */
export async function listNotErased(tx: Tx, { entityId, jobId }: Of, people: readonly Hashed[]): Promise<Buffer[]> {
  // Uses the index gdpr_receipts_by_subject, and the identifiers of the few requests under way.
  const { rows } = await tx.query<{ hash: Buffer }>(
    `SELECT t.customer_hash AS hash FROM ${GIVEN} JOIN tombstones t ON t.entity_id = $1 AND t.customer_hash = decode(given.hash, 'hex')
     WHERE NOT EXISTS (
         SELECT FROM gdpr_receipts e WHERE e.entity_id = $1 AND e.subjects @> ARRAY[t.customer_hash] AND e.request_type = 'delete'
           AND e.issued_at >= t.raised_at)
       AND NOT EXISTS (
         SELECT FROM gdpr_identifiers i JOIN gdpr_request_people p
           ON p.entity_id = $1 AND p.request_id = i.request_id AND p.ordinal = i.ordinal AND p.state = 'pending' AND p.round IS NOT NULL
         WHERE i.entity_id = $1 AND i.request_id <> $2 AND i.kind = given.kind AND i.value = given.value)`,
    [entityId, jobId, ...given(people)],
  );
  return rows.map(({ hash }) => hash);
}
