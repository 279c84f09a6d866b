/** Archives of access requests: begun, recorded, linked, and what their receipt says. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { noteFileDeletions } from '../core/file-deletions.ts';
import type { Secrets } from '../core/secrets.ts';
import { holdGdprRequest, touchRequest } from './progress.ts';
import { type GdprPerson, type GdprRequest, type PersonColumns, toGdprPerson } from './request-record.ts';
import { findRaisedAt } from './tombstones.ts';

export function archivePrefix(request: Pick<GdprRequest, 'identifier'>): string {
  return `access/${request.identifier}/`;
}

export type BegunArchive = { person: GdprPerson; key: string };

/**
 * Begins the archive of a request's next person, under a key that cannot be guessed; an earlier attempt loses its own.
 * Returns null if all people are treated. Throws `JobGone`.
 */
export async function beginArchive(tx: Tx, claim: JobKey): Promise<BegunArchive | null> {
  const request = await holdGdprRequest(tx, claim);
  const random = randomBytes(12).toString('hex');
  return readRow(
    await tx.query(
      `WITH next AS (
       SELECT ordinal, archive_key FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 AND state <> 'treated'
       ORDER BY ordinal LIMIT 1 FOR UPDATE),
     noted AS (
       INSERT INTO file_deletions (entity_id, file_key) SELECT $1, archive_key FROM next WHERE archive_key IS NOT NULL
       ON CONFLICT DO NOTHING)
     UPDATE gdpr_request_people p SET state = 'building', archive_key = $3 || next.ordinal || '-' || $4 || '.zip'
     FROM next WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = next.ordinal
     RETURNING p.*`,
      [request.entityId, request.id, archivePrefix(request), random],
    ),
    (person: PersonColumns) => ({ person: toGdprPerson(person), key: person.archiveKey! }),
  );
}

/** Gives up an archive that is being written, and notes its file for deletion. `tx` holds the request. */
export async function cancelBegunArchive(tx: Tx, { entityId, jobId }: JobKey): Promise<void> {
  await tx.query(
    `WITH begun AS (
       SELECT ordinal, archive_key FROM gdpr_request_people
       WHERE entity_id = $1 AND request_id = $2 AND state = 'building' FOR UPDATE),
     noted AS (
       INSERT INTO file_deletions (entity_id, file_key) SELECT $1, archive_key FROM begun WHERE archive_key IS NOT NULL
       ON CONFLICT DO NOTHING)
     UPDATE gdpr_request_people p SET state = 'pending', archive_key = NULL
     FROM begun WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = begun.ordinal`,
    [entityId, jobId],
  );
}

type ArchiveKey<Key = string> = JobKey & { ordinal: number; key: Key };

const BEGUN = `entity_id = $1 AND request_id = $2 AND ordinal = $3 AND archive_key = coalesce($4, archive_key)
  AND state = 'building' AND EXISTS (
  SELECT FROM gdpr_requests r WHERE r.entity_id = $1 AND r.id = $2 AND r.generation = $5 AND r.state = 'running')`;

function begunKeys({ entityId, jobId, ordinal, key, generation }: ArchiveKey<string | null>): unknown[] {
  return [entityId, jobId, ordinal, key, generation];
}

/** Returns false once another attempt began it, or its person was erased. Null key: any attempt. */
export async function isArchiveWanted(db: Queryable, begun: ArchiveKey<string | null>): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT FROM gdpr_request_people WHERE ${BEGUN}`, begunKeys(begun));
  return rowCount === 1;
}

/** The answer for a person. `shown`: number of records by location; `others`: keyed hashes of users in them. */
export type Told = { shown: Record<string, number> } & (
  | { archive: { bytes: number; sha256: Buffer; others: Buffer[] }; message: null }
  | { archive: null; message: string }
);

/** Records the archive and marks its person as treated. `outdated`: one of the others was erased meanwhile. */
export async function recordArchive(
  tx: Tx,
  begun: ArchiveKey,
  { shown, archive, message }: Told,
): Promise<'recorded' | 'unwanted' | 'outdated'> {
  await holdGdprRequest(tx, begun);
  if (archive && (await findRaisedAt(tx, begun.entityId, archive.others)) !== null) return 'outdated';
  const { rowCount } = await tx.query(
    `UPDATE gdpr_request_people SET state = 'treated', treated_at = now(), round = 1, shown = $6, message = $7,
       archive_key = CASE WHEN $7::text IS NULL THEN archive_key END, archive_bytes = $8, archive_sha256 = $9, archive_others = $10
     WHERE ${BEGUN}`,
    [
      ...begunKeys(begun),
      JSON.stringify(shown),
      message,
      archive?.bytes ?? null,
      archive?.sha256 ?? null,
      archive?.others ?? null,
    ],
  );
  if (rowCount !== 1) return 'unwanted';
  if (archive === null) await noteFileDeletions(tx, begun.entityId, [begun.key]);
  await touchRequest(tx, begun);
  return 'recorded';
}

export async function listAppNames(
  db: Queryable,
  entityId: number,
): Promise<Map<number, { identifier: string; name: string }>> {
  const { rows } = await db.query<Row<'apps', 'id' | 'identifier' | 'name'>>(
    'SELECT id, identifier, name FROM apps WHERE entity_id = $1',
    [entityId],
  );
  return new Map(rows.map(({ id, identifier, name }) => [id, { identifier, name }]));
}

export async function findShown(tx: Queryable, { entityId, jobId }: JobKey) {
  const { rows: archives } = await tx.query<{ sha256: string; bytes: number }>(
    `SELECT encode(archive_sha256, 'hex') AS sha256, archive_bytes AS bytes FROM gdpr_request_people
     WHERE entity_id = $1 AND request_id = $2 AND archive_sha256 IS NOT NULL AND subject IS NOT NULL ORDER BY ordinal`,
    [entityId, jobId],
  );
  const { rows: places } = await tx.query<{ place: string; shown: number }>(
    `SELECT place, sum(records::bigint)::bigint AS shown FROM gdpr_request_people p, jsonb_each_text(p.shown) AS of_place (place, records)
     WHERE p.entity_id = $1 AND p.request_id = $2 GROUP BY place ORDER BY place`,
    [entityId, jobId],
  );
  return { places, archives };
}

/** Call it once all people of the request are treated. */
export async function deleteIdentifiers(tx: Queryable, { entityId, jobId }: JobKey): Promise<void> {
  await tx.query('DELETE FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2', [entityId, jobId]);
}

type ArchiveOf = { request: Pick<GdprRequest, 'identifier'>; person: Pick<GdprPerson, 'ordinal' | 'archive'> };

/** Returns the signed address of a person's archive, which needs no login and holds no id; null if there is none. */
export function archiveUrl(
  publicUrl: string,
  secrets: Secrets,
  request: ArchiveOf['request'],
  person: ArchiveOf['person'],
): string | null {
  const signature = signatureOf(secrets, { request, person });
  return (
    signature &&
    `${publicUrl}/api/gdpr/downloads/${request.identifier}/${person.ordinal}/${signature.toString('base64url')}`
  );
}

export function isArchiveSignature(secrets: Secrets, of: ArchiveOf, shown: string): boolean {
  const signature = signatureOf(secrets, of);
  const claimed = Buffer.from(shown, 'base64url');
  return signature !== null && claimed.length === signature.length && timingSafeEqual(claimed, signature);
}

function signatureOf(secrets: Secrets, { request, person: { ordinal, archive } }: ArchiveOf): Buffer | null {
  return archive && secrets.lookup(`archive/${request.identifier}/${ordinal}/${archive.key}`);
}
