/** Links between ids, for staff: listed with their reasons, previewed, and decided on. */
import type { AliasDecision, LeftReason } from '../../domain/gdpr/gdpr-codes.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { GdprIdentifier } from './identifiers.ts';
import { insertGdprRequest } from './requests.ts';

/**
 * An id that is linked to a person, and why. `leftAlone` null: it belongs to them. `said`: the device and app that
 * first claimed an alias. `via` null: the id that led there was erased.
 */
export type Link = Row<'gdpr_identifiers', 'ordinal' | 'kind' | 'via'> & {
  id: string;
  origin: GdprIdentifier['origin'] | null;
  leftAlone: LeftReason | null;
  /** The earlier id, if an alias links them. */
  previousId: string | null;
  said: Said | null;
};

export type Said = { appIdentifier: string | null; deviceId: string | null; at: Date };

const LINKS = `
  SELECT ordinal, kind, value, origin, via, NULL AS reason FROM gdpr_identifiers
  WHERE entity_id = $1 AND request_id = $2 AND (origin <> 'asked' OR kind = 'whole_device')
  UNION ALL SELECT ordinal, kind, value, NULL, via, reason FROM gdpr_left_identifiers WHERE entity_id = $1 AND request_id = $2`;

export async function listLinks(
  db: Queryable,
  entityId: number,
  requestId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; links: Link[] }> {
  const {
    rows: [counted],
  } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM (${LINKS}) AS l`, [entityId, requestId]);
  // Finds the alias by its key, in either direction.
  const links = readRows(
    await db.query(
      `SELECT l.*, said.previous_id, said.app, said.device_id, said.first_seen_at
     FROM (SELECT * FROM (${LINKS}) AS l ORDER BY ordinal, reason NULLS FIRST, kind DESC, value COLLATE "C" OFFSET $3 LIMIT $4) AS l
       LEFT JOIN LATERAL (
         SELECT u.previous_id, a.identifier AS app, u.device_id, u.first_seen_at
         FROM user_aliases u LEFT JOIN apps a ON a.entity_id = $1 AND a.id = u.app_id
         WHERE u.entity_id = $1 AND l.kind = 'user_id' AND (u.previous_id, u.user_id) IN ((l.value, l.via), (l.via, l.value))
         ORDER BY u.first_seen_at LIMIT 1) AS said ON true
     ORDER BY ordinal, reason NULLS FIRST, kind DESC, value COLLATE "C"`,
      [entityId, requestId, offset, limit],
    ),
    toLink,
  );
  return { total: counted!.total, links };
}

type LinkColumns = Pick<Link, 'ordinal' | 'kind' | 'origin' | 'via' | 'previousId'> &
  Row<'gdpr_identifiers', 'value'> &
  Row<'user_aliases', 'deviceId'> & { reason: LeftReason | null; app: string | null; firstSeenAt: Date | null };

function toLink({
  value: id,
  reason: leftAlone,
  app: appIdentifier,
  deviceId,
  firstSeenAt: at,
  ...link
}: LinkColumns): Link {
  return { ...link, id, leftAlone, said: at === null ? null : { appIdentifier, deviceId, at } };
}

/** Inserts an access request of one user that never begins. */
export async function insertPreview(tx: Tx, entityId: number, userId: string): Promise<number> {
  const { id } = await insertGdprRequest(tx, entityId, {
    type: 'access',
    source: 'api',
    appId: null,
    requester: { kind: 'system', id: null },
    skipEmail: true,
    emails: [],
    state: 'waiting',
    people: [{ userId, deviceId: null }],
  });
  return id;
}

/** An SDK's claim that `previousId` came before `userId`. `witnessed`: it counts without a decision of staff. */
export type Alias = Row<'user_aliases', 'previousId' | 'userId' | 'witnessed' | 'decision' | 'decidedAt'> & {
  said: Said;
};

const ALIAS = `u.previous_id, u.user_id, (SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = u.app_id) AS app,
  u.device_id, u.first_seen_at, u.witnessed, u.decision, u.decided_at`;

export async function listAliasesOf(
  db: Queryable,
  entityId: number,
  id: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; aliases: Alias[] }> {
  const OF_ID = `SELECT * FROM user_aliases WHERE entity_id = $1 AND previous_id = $2
    UNION ALL SELECT * FROM user_aliases WHERE entity_id = $1 AND user_id = $2`;
  const {
    rows: [counted],
  } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM (${OF_ID}) AS u`, [entityId, id]);
  const aliases = readRows(
    await db.query(
      `SELECT ${ALIAS} FROM (${OF_ID}) AS u ORDER BY u.first_seen_at, u.previous_id, u.user_id OFFSET $3 LIMIT $4`,
      [entityId, id, offset, limit],
    ),
    toAlias,
  );
  return { total: counted!.total, aliases };
}

/** Stores a decision; null revokes it. Returns null if there is no such alias. */
export async function updateAlias(
  tx: Tx,
  entityId: number,
  { previousId, userId }: Pick<Alias, 'previousId' | 'userId'>,
  decision: AliasDecision | null,
  decidedBy: number | null,
): Promise<Alias | null> {
  return readRow(
    await tx.query(
      `UPDATE user_aliases u SET decision = $4, decided_by = CASE WHEN $4::text IS NOT NULL THEN $5::integer END,
       decided_at = CASE WHEN $4::text IS NOT NULL THEN now() END
     WHERE entity_id = $1 AND previous_id = $2 AND user_id = $3 RETURNING ${ALIAS}`,
      [entityId, previousId, userId, decision, decidedBy],
    ),
    toAlias,
  );
}

type AliasColumns = Omit<Alias, 'said'> & Row<'user_aliases', 'deviceId' | 'firstSeenAt'> & { app: string | null };

function toAlias({ app: appIdentifier, deviceId, firstSeenAt: at, ...alias }: AliasColumns): Alias {
  return { ...alias, said: { appIdentifier, deviceId, at } };
}
