/** The audit log: writes entries, and reads them by page, by filter and as a stream. */
import type { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { ListCursor } from '../../domain/core/list-cursor.ts';
import { readRows, type Row } from '../core/camel-row.ts';

export type AuditEntry = {
  /** The entity whose log has the entry, if it is not that of the call. */
  inLogOf?: number;
  actorKind: (typeof ACTOR_KINDS)[number];
  actorId?: number | null;
  address?: string | null;
  action: (typeof AUDIT_ACTIONS)[number];
  subjectKind: (typeof SUBJECT_KINDS)[number];
  /** An identifier of ours, never a customer's. */
  subject?: string | null;
  customerHash?: Buffer | null;
  /** Names and counts, never a customer's values. */
  details?: Record<string, string | number | boolean | null>;
};

/** Appends one entry. Call it in the transaction that makes the change. */
export function insertAuditEntry(db: Queryable, entityId: number, entry: AuditEntry): Promise<void> {
  return insertAuditEntries(db, entityId, [entry]);
}

export async function insertAuditEntries(db: Queryable, entityId: number, entries: AuditEntry[]): Promise<void> {
  const column = <T>(read: (entry: AuditEntry) => T) => entries.map(read);
  await db.query(
    `INSERT INTO audit_log (entity_id, actor_kind, actor_id, address, action, subject_kind, subject, customer_hash, details)
     SELECT * FROM unnest($1::integer[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::jsonb[])`,
    [
      column(({ inLogOf }) => inLogOf ?? entityId),
      column(({ actorKind }) => actorKind),
      column(({ actorId }) => actorId ?? null),
      column(({ address }) => address ?? null),
      column(({ action }) => action),
      column(({ subjectKind }) => subjectKind),
      column(({ subject }) => subject ?? null),
      column(({ customerHash }) => customerHash ?? null),
      column(({ details }) => JSON.stringify(details ?? {})),
    ],
  );
}

/** First key of the advisory lock on new entries about viewers who follow something; the second is the entity's id. */
const FOLLOWED_LOCK = 1_750_028;

type FollowedEntry = Pick<AuditEntry, 'actorKind' | 'actorId' | 'address' | 'subjectKind' | 'subject'> & {
  /** Members that another entry has too if it covers the look. */
  details: { what: 'live_calls' } | { what: 'test'; request: string };
};

/**
 * Appends the entry of a viewer who asks for something again and again, unless one of the last hour covers the look:
 * one of the same viewer at the same address. It says from when until when it counts.
 */
export async function insertFollowedEntry(tx: Tx, entityId: number, entry: FollowedEntry): Promise<void> {
  const last = () => findFollowedEntry(tx, entityId, entry);
  if ((await last()).isCovered) return;
  // Only one of several processes finds none: the others wait for its transaction.
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [FOLLOWED_LOCK, entityId]);
  const { isCovered, from, until } = await last();
  if (isCovered) return;
  const details = { ...entry.details, from: from.toISOString(), until: until.toISOString() };
  await insertAuditEntry(tx, entityId, { action: 'read', ...entry, details });
}

/** Uses the index audit_log_of_live_calls; for others audit_log_by_time. */
async function findFollowedEntry(
  tx: Tx,
  entityId: number,
  { actorKind, actorId, address, subject, details }: FollowedEntry,
): Promise<{ isCovered: boolean; from: Date; until: Date }> {
  const { rows } = await tx.query<{ is_covered: boolean; from: Date; until: Date }>(
    `SELECT now() AS from, now() + interval '1 hour' AS until, EXISTS (
       SELECT FROM audit_log
       WHERE entity_id = $1 AND subject = $2 AND actor_kind = $3 AND actor_id IS NOT DISTINCT FROM $4
         AND address IS NOT DISTINCT FROM $5 AND details ->> 'what' = '${details.what}' AND details @> $6::jsonb
         AND happened_at > now() - interval '1 hour') AS is_covered`,
    [entityId, subject ?? null, actorKind, actorId ?? null, address ?? null, details],
  );
  const { is_covered: isCovered, from, until } = rows[0]!;
  return { isCovered, from, until };
}

export type StoredAuditEntry = Row<
  'audit_log',
  'id' | 'happenedAt' | 'actorKind' | 'actorId' | 'address' | 'subject' | 'customerHash',
  { action: AuditEntry['action']; subjectKind: AuditEntry['subjectKind']; details: NonNullable<AuditEntry['details']> }
> & {
  /** The time in microseconds since the epoch; with the id, the entry's position in the log. */
  micros: number;
  /** uid of a user, identifier of a service token or a SoR; null if it is deleted. */
  actor: string | null;
  /** E-mail address of a member of the entity, or name of a service token or a SoR. */
  actorName: string | null;
};

/** Finds who changed an object last, if that was within a day. Uses the index audit_log_by_time. */
export async function findLastChange(
  db: Queryable,
  entityId: number,
  subjectKind: AuditEntry['subjectKind'],
  subject: string,
): Promise<Pick<StoredAuditEntry, 'happenedAt' | 'actor' | 'actorName'> | undefined> {
  const found = await db.query(
    `SELECT a.happened_at, ${ACTOR} FROM audit_log a ${ACTORS}
     WHERE a.entity_id = $1 AND a.happened_at > now() - interval '1 day' AND a.action = 'update' AND a.subject_kind = $2
       AND a.subject = $3
     ORDER BY a.happened_at DESC, a.id DESC LIMIT 1`,
    [entityId, subjectKind, subject],
  );
  return readRows<StoredAuditEntry>(found)[0];
}

export type AuditFilter = {
  from?: Date | undefined;
  till?: Date | undefined;
  action?: string | undefined;
  subjectKind?: string | undefined;
  subject?: string | undefined;
  actorKind?: string | undefined;
  actor?: string | undefined;
  customerHash?: Buffer | undefined;
};

const PAGE_ROWS = 1_000;

/** Lists entries, newest first, behind `after`. Uses the indexes audit_log_by_time and _by_customer. */
export async function listAuditEntries(
  db: Queryable,
  entityId: number,
  filter: AuditFilter,
  after: ListCursor | null,
  limit: number,
): Promise<StoredAuditEntry[]> {
  return readRows<StoredAuditEntry>(
    await db.query(
      `SELECT a.*, (extract(epoch FROM a.happened_at) * 1000000)::bigint AS micros, ${ACTOR}
     FROM audit_log a ${ACTORS}
     WHERE a.entity_id = $1
       AND ($2::timestamptz IS NULL OR a.happened_at >= $2) AND ($3::timestamptz IS NULL OR a.happened_at < $3)
       AND ($4::text IS NULL OR a.action = $4) AND ($5::text IS NULL OR a.subject_kind = $5)
       AND ($6::text IS NULL OR a.subject = $6) AND ($7::text IS NULL OR a.actor_kind = $7)
       AND ($8::text IS NULL OR $8 IN (u.uid, t.identifier, s.identifier, a.actor_id::text))
       AND ($9::bytea IS NULL OR a.customer_hash = $9)
       AND ($10::bigint IS NULL OR (a.happened_at, a.id) < ('epoch'::timestamptz + $10 * interval '1 microsecond', $11::bigint))
     ORDER BY a.happened_at DESC, a.id DESC LIMIT $12`,
      [
        entityId,
        filter.from ?? null,
        filter.till ?? null,
        filter.action ?? null,
        filter.subjectKind ?? null,
        filter.subject ?? null,
        filter.actorKind ?? null,
        filter.actor ?? null,
        filter.customerHash ?? null,
        after?.micros ?? null,
        after?.id ?? null,
        limit,
      ],
    ),
  );
}

const ACTOR = `coalesce(u.uid, t.identifier, s.identifier) AS actor,
  coalesce(CASE WHEN m.user_id IS NOT NULL THEN u.email END, t.name, s.name) AS actor_name`;

/** Names of actors. A user who belongs only to other entities is shown by uid alone. */
const ACTORS = `
  LEFT JOIN users u ON a.actor_kind = 'user' AND u.id = a.actor_id
  LEFT JOIN memberships m ON m.user_id = u.id AND m.entity_id = a.entity_id
  LEFT JOIN service_tokens t ON a.actor_kind = 'service_token' AND t.entity_id = a.entity_id AND t.id = a.actor_id
  LEFT JOIN systems_of_records s ON a.actor_kind = 'sor_key' AND s.entity_id = a.entity_id AND s.id = a.actor_id`;

/** Yields all matching entries, newest first, a page at a time; entries written meanwhile are left out. */
export async function* streamAuditEntries(
  db: Queryable,
  entityId: number,
  filter: AuditFilter,
): AsyncGenerator<StoredAuditEntry> {
  for (let after: ListCursor | null = null; ;) {
    const page = await listAuditEntries(db, entityId, filter, after, PAGE_ROWS);
    yield* page;
    if (page.length < PAGE_ROWS) return;
    after = page.at(-1)!;
  }
}
