/** Lists of people to delete for the buckets of exporters, and the keys under which the lists name people. */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { FileRecipient } from '../../domain/gdpr/archive-page.ts';
import type { ListedHmacs } from '../../domain/gdpr/deletion-list.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import type { Secrets } from '../core/secrets.ts';
import { isCustomer } from './people-keys.ts';
import type { KnownBy } from './personal-data-location.ts';
import type { Person } from './tombstones.ts';

export type DeletionRound = { entityId: number; requestIdentifier: string; round: number };

export type ExportDeletion = Row<
  'export_deletions',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'exporterId'
  | 'requestIdentifier'
  | 'round'
  | 'part'
  | 'erasedAt'
  | 'state'
  | 'key'
  | 'sha256'
  | 'tries'
  | 'notifiedAt'
  | 'createdAt',
  {
    /** Null once the list is in the bucket, or can never be put there. */
    hmacs: ListedHmacs | null;
    fault: string | null;
  }
> & {
  ids: number;
};

function toDeletion({ people: ids, ...list }: Omit<ExportDeletion, 'ids'> & { people: number }): ExportDeletion {
  return { ...list, ids };
}

const DELETED_EXPORTER = 'The exporter was deleted, and its access with it: what it exported still lies in its bucket';

const IDS_OF_A_LIST = 10_000;

/** Inserts a list of these people for each exporter that ever wrote files (`listForExporters`). Safe to repeat. */
export async function insertDeletionLists(
  tx: Queryable,
  { secrets }: { secrets: Secrets },
  round: DeletionRound & { erasedAt: Date },
  people: readonly KnownBy[],
): Promise<void> {
  const named = people.filter(isCustomer);
  if (named.length === 0 || (await hasLists(tx, round))) return;
  const { rows: exporters } = await tx.query<Row<'data_exporters', 'id'>>(`SELECT x.id ${EXPORTERS_WITH_FILES}`, [
    round.entityId,
  ]);
  for (const { id } of exporters) {
    const key = await findDeletionKey(tx, secrets, { entityId: round.entityId, id });
    if (key === null) await insertList(tx, round, { exporterId: id, part: 1, ids: named.length, hmacs: null });
    for (let from = 0, part = 1; key !== null && from < named.length; from += IDS_OF_A_LIST, part += 1) {
      const of = named.slice(from, from + IDS_OF_A_LIST);
      await insertList(tx, round, { exporterId: id, part, ids: of.length, hmacs: hmacsOf(key, of) });
    }
  }
}

/** Uses the index export_runs_of_exporter for each exporter; an entity has few. */
const EXPORTERS_WITH_FILES = `FROM data_exporters x WHERE x.entity_id = $1 AND (x.initial_run_at IS NOT NULL OR EXISTS (
  SELECT FROM export_runs r WHERE r.entity_id = $1 AND r.exporter_id = x.id AND r.attempt > 0)) ORDER BY x.id`;

export async function listFileRecipients(db: Queryable, entityId: number): Promise<FileRecipient[]> {
  const rows = readRows<Row<'data_exporters', 'name' | 'lastRunAt'> & { types: string[] }>(
    await db.query(`SELECT x.name, x.exported_data AS types, x.last_run_at ${EXPORTERS_WITH_FILES}`, [entityId]),
  );
  return rows.map(({ lastRunAt: last, ...exporter }) => ({ ...exporter, last_run_at: last && last.toISOString() }));
}

async function hasLists(tx: Queryable, { entityId, requestIdentifier, round }: DeletionRound): Promise<boolean> {
  const { rowCount } = await tx.query(
    'SELECT FROM export_deletions WHERE entity_id = $1 AND request_identifier = $2 AND round = $3 LIMIT 1',
    [entityId, requestIdentifier, round],
  );
  return rowCount! > 0;
}

type NewList = Pick<ExportDeletion, 'exporterId' | 'part' | 'ids' | 'hmacs'>;

async function insertList(
  tx: Queryable,
  { entityId, requestIdentifier, round, erasedAt }: DeletionRound & { erasedAt: Date },
  list: NewList,
): Promise<void> {
  const isDeleted = list.hmacs === null;
  await tx.query(
    `INSERT INTO export_deletions
       (entity_id, identifier, exporter_id, request_identifier, round, part, erased_at, people, hmacs, state, fault)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     ON CONFLICT (entity_id, exporter_id, request_identifier, round, part) DO NOTHING`,
    [
      entityId,
      newIdentifier('del'),
      list.exporterId,
      requestIdentifier,
      round,
      list.part,
      erasedAt,
      list.ids,
      list.hmacs && JSON.stringify(list.hmacs),
      isDeleted ? 'not_notified' : 'pending',
      isDeleted ? DELETED_EXPORTER : null,
    ],
  );
}

/** Returns the hashes in their own order, which does not show the order of people. */
function hmacsOf(key: string, people: readonly Person[]): ListedHmacs {
  const secretKey = createSecretKey(key, 'hex');
  const of = (kind: Person['customerType']) =>
    people
      .filter(({ customerType }) => customerType === kind)
      .map(({ customerId }) => createHmac('sha256', secretKey).update(customerId).digest('hex'))
      .toSorted((a, b) => (a < b ? -1 : 1));
  return { user_id: of('user_id'), device_id: of('device_id') };
}

export async function listDueLists(
  db: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
): Promise<ExportDeletion[]> {
  return readRows(
    await db.query(
      `SELECT * FROM export_deletions WHERE entity_id = $1 AND request_identifier = $2 AND round = $3 AND state = 'pending'
       AND coalesce(waits_until <= now(), true) ORDER BY id`,
      [entityId, requestIdentifier, round],
    ),
    toDeletion,
  );
}

/** Returns in how many milliseconds the next list of the round is due; null: none is pending. */
export async function findNextListMs(
  db: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
): Promise<number | null> {
  const {
    rows: [next],
  } = await db.query<{ ms: number | null }>(
    `SELECT min(greatest(0, ceil(1000 * extract(epoch FROM coalesce(waits_until, now()) - clock_timestamp()))))::float8 AS ms
     FROM export_deletions WHERE entity_id = $1 AND request_identifier = $2 AND round = $3 AND state = 'pending'`,
    [entityId, requestIdentifier, round],
  );
  return next!.ms;
}

/** Lists the exporters whose buckets keep a round waiting, each with why its first pending list was not taken. */
export async function listExportersThatWait(
  db: Queryable,
  { entityId, requestIdentifier, round }: DeletionRound,
): Promise<{ exporter: string; fault: string }[]> {
  const { rows } = await db.query<Row<'export_deletions', never, { fault: string }> & { exporter: string }>(
    `SELECT DISTINCT ON (x.id) x.identifier AS exporter, d.fault
     FROM export_deletions d JOIN data_exporters x ON x.entity_id = d.entity_id AND x.id = d.exporter_id
     WHERE d.entity_id = $1 AND d.request_identifier = $2 AND d.round = $3 AND d.state = 'pending' AND d.fault IS NOT NULL
     ORDER BY x.id, d.id`,
    [entityId, requestIdentifier, round],
  );
  return rows;
}

/** Lists the oldest lists that an exporter's bucket did not take, of any request, and that can still be put. */
export async function listLeftLists(
  db: Queryable,
  entityId: number,
  exporterId: number,
  limit: number,
): Promise<ExportDeletion[]> {
  return readRows(
    await db.query(
      `SELECT * FROM export_deletions WHERE entity_id = $1 AND exporter_id = $2 AND state <> 'notified' AND hmacs IS NOT NULL
     ORDER BY id LIMIT $3`,
      [entityId, exporterId, limit],
    ),
    toDeletion,
  );
}

export async function listDeletions(
  db: Queryable,
  entityId: number,
  exporterId: number,
  { offset, limit }: PageRange,
): Promise<Page<ExportDeletion>> {
  const ofExporter = 'FROM export_deletions WHERE entity_id = $1 AND exporter_id = $2';
  const items = readRows(
    await db.query(`SELECT * ${ofExporter} ORDER BY id DESC OFFSET $3 LIMIT $4`, [entityId, exporterId, offset, limit]),
    toDeletion,
  );
  return { items, total: await countRows(db, ofExporter, [entityId, exporterId]) };
}

type ListKey = Pick<ExportDeletion, 'entityId' | 'id'>;

/** Counts a try of these lists that begins, so that one whose process is killed counts as well. */
export async function raiseTries(
  db: Queryable,
  entityId: number,
  ids: readonly number[],
  waitMs: number,
): Promise<void> {
  await db.query(
    `UPDATE export_deletions SET tries = tries + 1, waits_until = now() + $3 * interval '1 millisecond'
     WHERE entity_id = $1 AND id = ANY ($2)`,
    [entityId, ids, waitMs],
  );
}

/** Records that the list is in the bucket (`tellExporters`), and deletes its hashes. */
export async function updateNotified(
  db: Queryable,
  { entityId, id }: ListKey,
  { key, sha256 }: { key: string; sha256: Buffer },
): Promise<void> {
  await db.query(
    `UPDATE export_deletions SET state = 'notified', notified_at = coalesce(notified_at, now()), key = $3, sha256 = $4, hmacs = NULL,
       fault = NULL, waits_until = NULL WHERE entity_id = $1 AND id = $2`,
    [entityId, id, key, sha256],
  );
}

/**
 * Records why the bucket did not take the list. `againInMs` null: the exporter's next run puts it. `error` null: it can
 * never be put, since its exporter was deleted.
 */
export async function updateListError(
  db: Queryable,
  { entityId, id }: ListKey,
  error: { fault: string; againInMs: number | null } | null,
): Promise<void> {
  await db.query(
    `UPDATE export_deletions SET fault = $3, waits_until = now() + $4 * interval '1 millisecond',
       state = CASE WHEN $4::float8 IS NULL THEN 'not_notified' ELSE state END, hmacs = CASE WHEN $5 THEN hmacs END
     WHERE entity_id = $1 AND id = $2 AND state <> 'notified'`,
    [entityId, id, error?.fault ?? DELETED_EXPORTER, error?.againInMs ?? null, error !== null],
  );
}

const KEY_BYTES = 32;

type KeyRow = Row<'data_exporters', 'identifier' | 'deletionKey'> & { isDeleted: boolean };
type Exporter = { entityId: number; id: number };

/**
 * Returns the key, in hexadecimal, under which lists name people in an exporter's bucket, and draws it at first. Null:
 * the exporter is deleted. A caller who shows the key writes an audit entry.
 */
export async function findDeletionKey(tx: Queryable, secrets: Secrets, exporter: Exporter): Promise<string | null> {
  const row = await findRow(tx, exporter);
  if (!row || row.isDeleted) return null;
  const sealed = row.deletionKey ?? (await drawKey(tx, secrets, exporter, row.identifier));
  return secrets.open(sealed, cellOf(exporter, row.identifier));
}

/** Stores a key unless another process was first. Returns the stored one. */
async function drawKey(tx: Queryable, secrets: Secrets, exporter: Exporter, identifier: string): Promise<string> {
  const drawn = secrets.seal(randomBytes(KEY_BYTES).toString('hex'), cellOf(exporter, identifier));
  const row = readRow<Row<'data_exporters', never, { deletionKey: string }>>(
    await tx.query(
      `UPDATE data_exporters SET deletion_key = coalesce(deletion_key, $3) WHERE entity_id = $1 AND id = $2 RETURNING deletion_key`,
      [exporter.entityId, exporter.id, drawn],
    ),
  );
  return row!.deletionKey;
}

async function findRow(tx: Queryable, { entityId, id }: Exporter): Promise<KeyRow | undefined> {
  const rows = readRows<KeyRow>(
    await tx.query(
      `SELECT identifier, deletion_key, deleted_at IS NOT NULL AS is_deleted FROM data_exporters WHERE entity_id = $1 AND id = $2`,
      [entityId, id],
    ),
  );
  return rows[0];
}

function cellOf({ entityId }: Exporter, identifier: string) {
  return { table: 'data_exporters', column: 'deletion_key', entityId, row: identifier };
}
