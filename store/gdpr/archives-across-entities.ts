import { readRow } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { type GdprPerson, type GdprRequest, type PersonColumns, toGdprPerson } from './request-record.ts';

/** Archives are found here without an entity: a link has none, nor has a file. Both have the request's identifier. */
const OF_REQUEST = `FROM gdpr_requests r JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id
  WHERE r.identifier = $1`;

export type FoundArchive = { entityId: number; request: Pick<GdprRequest, 'identifier'>; person: GdprPerson };

/**
 * The person of an archive that may be downloaded; null for an unknown request, one whose time is over, and an inactive
 * entity.
 */
export async function findArchive(db: Queryable, identifier: string, ordinal: number): Promise<FoundArchive | null> {
  return readRow(
    await db.query(
      `SELECT p.* ${OF_REQUEST} AND p.ordinal = $2 AND p.archive_bytes IS NOT NULL AND (r.expires_at IS NULL OR r.expires_at > now())
       AND EXISTS (SELECT FROM entities e WHERE e.id = r.entity_id AND e.active)`,
      [identifier, ordinal],
    ),
    ({ entityId, ...person }: PersonColumns & { entityId: number }) => ({
      entityId,
      request: { identifier },
      person: toGdprPerson(person),
    }),
  );
}

/** Whether a file of the area `access/` is one that somebody's row names. */
export async function isArchiveNamed(db: Queryable, key: string): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT ${OF_REQUEST} AND p.archive_key = $2`, [key.split('/')[1], key]);
  return rowCount === 1;
}
