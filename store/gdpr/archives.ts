import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { noteFileDeletions } from '../core/file-deletions.ts';
import type { Secrets } from '../core/secrets.ts';
import { type GatheredId, knownByOf } from './identifiers.ts';
import type { KnownBy } from './personal-data-location.ts';
import { holdGdprRequest, touchRequest } from './progress.ts';
import { type GdprPerson, type GdprRequest, type PersonColumns, toGdprPerson } from './request-record.ts';
import { OF_ANY_APP } from './rows-of-people.ts';
import { findRaisedAt } from './tombstones.ts';

/** The files of a request begin with it. */
export function archivePrefix(request: Pick<GdprRequest, 'identifier'>): string {
  return `access/${request.identifier}/`;
}

/** A person whose archive is being written, and under which key. */
export type BegunArchive = { person: GdprPerson; key: string };

/**
 * Takes the next person of a request who is to be shown, with a key that nobody can guess: from then on whoever began
 * before can't record theirs, and what they wrote is noted for deletion. Null: all of them are. Throws `JobGone`.
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

/** Lets go of an archive of a request that is being written; its file is noted for deletion. `tx` holds the request. */
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

/**
 * False once somebody else has begun that archive, or the person was erased meanwhile. With the key null: whoever
 * writes it.
 */
export async function isArchiveWanted(db: Queryable, begun: ArchiveKey<string | null>): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT FROM gdpr_request_people WHERE ${BEGUN}`, begunKeys(begun));
  return rowCount === 1;
}

/**
 * The answer for a person: an archive, or a sentence instead. `shown`: how many records, by location; `others`: keyed
 * hashes of the other users whose records are among them.
 */
export type Told = { shown: Record<string, number> } & (
  | { archive: { bytes: number; sha256: Buffer; others: Buffer[] }; message: null }
  | { archive: null; message: string }
);

/**
 * Marks the person as treated. Writes nothing if the archive is no longer wanted, or if one of the others was erased
 * meanwhile: then it must be written again.
 */
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

/**
 * What one person of a request is known by. A device that another person of the request uses, too, is none of theirs:
 * what nobody did by name on it may be the other's. An id that came to another person's, since it is one of theirs as
 * well, leads to all of these.
 */
export async function listIdentifiersOf(
  db: Queryable,
  { entityId, jobId }: JobKey,
  { userId, deviceId }: GdprPerson,
): Promise<KnownBy[]> {
  const { rows } = await db.query<GatheredId>(
    `WITH theirs AS MATERIALIZED (
       SELECT i.* FROM gdpr_identifiers i WHERE i.entity_id = $1 AND i.request_id = $2 AND i.ordinal = (
         SELECT ordinal FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND kind = $3 AND value = $4)),
     shared AS MATERIALIZED (
       SELECT DISTINCT t.value FROM theirs t JOIN device_users u ON u.entity_id = $1 AND u.device_id = t.value
         AND u.${OF_ANY_APP}
       WHERE t.kind = 'device_id' AND t.origin = 'device'
         AND NOT EXISTS (SELECT FROM theirs k WHERE k.kind = 'user_id' AND k.value = u.user_id))
     SELECT kind, value, origin FROM theirs t
     WHERE CASE kind WHEN 'device_id' THEN value NOT IN (SELECT value FROM shared)
       WHEN 'push_token' THEN NOT EXISTS (
         SELECT FROM shared s JOIN devices d ON d.entity_id = $1 AND d.device_id = s.value AND d.push_token = t.value
           AND d.${OF_ANY_APP})
       ELSE true END
     ORDER BY kind DESC, value`,
    [entityId, jobId, userId === null ? 'device_id' : 'user_id', userId ?? deviceId],
  );
  return rows.map(knownByOf);
}

/** The apps of the entity by our numbers. */
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

/** What a receipt tells of a request for access: what was shown, and in which archives. */
export type ShownToPeople = {
  places: { place: string; shown: number }[];
  archives: { sha256: string; bytes: number }[];
};

export async function findShown(tx: Queryable, { entityId, jobId }: JobKey): Promise<ShownToPeople> {
  const people = readRows<Row<'gdpr_request_people', never, { archiveSha256: Buffer; archiveBytes: number }>>(
    await tx.query(
      `SELECT archive_sha256, archive_bytes FROM gdpr_request_people
     WHERE entity_id = $1 AND request_id = $2 AND archive_sha256 IS NOT NULL AND subject IS NOT NULL ORDER BY ordinal`,
      [entityId, jobId],
    ),
  );
  const { rows: places } = await tx.query<{ place: string; shown: number }>(
    `SELECT place, sum(records::bigint)::bigint AS shown FROM gdpr_request_people p, jsonb_each_text(p.shown) AS of_place (place, records)
     WHERE p.entity_id = $1 AND p.request_id = $2 GROUP BY place ORDER BY place`,
    [entityId, jobId],
  );
  return {
    places,
    archives: people.map(({ archiveSha256: sha256, archiveBytes: bytes }) => ({
      sha256: sha256.toString('hex'),
      bytes,
    })),
  };
}

/** What the people of a request are known by, once all of them are treated. */
export async function deleteIdentifiers(tx: Queryable, { entityId, jobId }: JobKey): Promise<void> {
  await tx.query('DELETE FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2', [entityId, jobId]);
}

/** What a link is made of: the request, whose archive of it, and where that lies. */
type ArchiveOf = { request: Pick<GdprRequest, 'identifier'>; person: Pick<GdprPerson, 'ordinal' | 'archive'> };

/**
 * Where a person's archive can be downloaded without a login, for as long as their request exists: an address that
 * nobody can guess, under the server's look-up key, and that names nobody. Null while there is none.
 */
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

/** Whether an address is one that `archiveUrl` gave for this person's archive as it is now. */
export function isArchiveSignature(secrets: Secrets, of: ArchiveOf, shown: string): boolean {
  const signature = signatureOf(secrets, of);
  const claimed = Buffer.from(shown, 'base64url');
  return signature !== null && claimed.length === signature.length && timingSafeEqual(claimed, signature);
}

function signatureOf(secrets: Secrets, { request, person: { ordinal, archive } }: ArchiveOf): Buffer | null {
  return archive && secrets.lookup(`archive/${request.identifier}/${ordinal}/${archive.key}`);
}
