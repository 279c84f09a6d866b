import type { HoldKind } from '../../domain/gdpr/gdpr-codes.ts';
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { KnownBy } from './personal-data-location.ts';
import { namedIn, namesOf } from './personal-data/named-in.ts';
import type { Person } from './tombstones.ts';

/** While it stands, nobody who is known by this id is deleted. */
export type GdprHold = Person & {
  identifier: string;
  kind: HoldKind;
  reason: string;
  /** Null once the account of whoever put it there is gone. */
  createdBy: { uid: string } | null;
  createdAt: Date;
};

const HOLDS = `SELECT h.identifier, h.customer_type, h.customer_id, h.kind, h.reason, h.created_at,
    CASE WHEN u.uid IS NOT NULL THEN jsonb_build_object('uid', u.uid) END AS created_by
  FROM gdpr_holds h LEFT JOIN users u ON u.id = h.created_by`;

export type NewHold = Person & { kind: HoldKind; reason: string; createdBy: number };

/** Null: one of the kind stands for them already. */
export async function insertHold(
  tx: Tx,
  entityId: number,
  { customerType, customerId, kind, reason, createdBy }: NewHold,
): Promise<GdprHold | null> {
  const identifier = newIdentifier('hld');
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_holds (entity_id, identifier, customer_type, customer_id, kind, reason, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (entity_id, customer_id, customer_type, kind) DO NOTHING`,
    [entityId, identifier, customerType, customerId, kind, reason, createdBy],
  );
  return rowCount === 1 ? findHold(tx, entityId, identifier) : null;
}

async function findHold(db: Queryable, entityId: number, identifier: string): Promise<GdprHold | null> {
  return readRow<GdprHold>(
    await db.query(`${HOLDS} WHERE h.entity_id = $1 AND h.identifier = $2`, [entityId, identifier]),
  );
}

/** What was taken away; null: there is none of that name. */
export async function deleteHold(tx: Tx, entityId: number, identifier: string): Promise<GdprHold | null> {
  const hold = await findHold(tx, entityId, identifier);
  const { rowCount } = await tx.query('DELETE FROM gdpr_holds WHERE entity_id = $1 AND identifier = $2', [
    entityId,
    identifier,
  ]);
  return rowCount === 1 ? hold : null;
}

/** Oldest first; of one person alone, where there is one. */
export async function listHolds(
  db: Queryable,
  entityId: number,
  person: Person | null,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; holds: GdprHold[] }> {
  const wanted = [entityId, person?.customerType ?? null, person?.customerId ?? null];
  const where = 'WHERE h.entity_id = $1 AND ($2::text IS NULL OR (h.customer_type = $2 AND h.customer_id = $3))';
  const {
    rows: [counted],
  } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM gdpr_holds h ${where}`, wanted);
  const holds = readRows<GdprHold>(
    await db.query(`${HOLDS} ${where} ORDER BY h.id OFFSET $4 LIMIT $5`, [...wanted, offset, limit]),
  );
  return { total: counted!.total, holds };
}

/** Those that stand for any of these people, oldest first. */
export async function listHoldsOf(
  db: Queryable,
  entityId: number,
  people: readonly { customerType: string; customerId: string }[],
): Promise<Omit<GdprHold, 'identifier' | 'createdBy'>[]> {
  // By the key of person and kind.
  return readRows(
    await db.query(
      `SELECT h.customer_type, h.customer_id, h.kind, h.reason, h.created_at FROM gdpr_holds h
     WHERE h.entity_id = $1 AND (h.customer_type, h.customer_id) IN (SELECT * FROM unnest($2::text[], $3::text[])) ORDER BY h.id`,
      [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId)],
    ),
  );
}

/** How many holds a receipt lists. */
const MAX_LISTED = 200;

/**
 * Returns what a deletion of these people leaves in holds on others, for its request and receipt: those whose reason
 * names one.
 */
export async function listHoldsNaming(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM gdpr_holds WHERE entity_id = $1 AND ${namedIn('reason')} ORDER BY id LIMIT ${MAX_LISTED}`,
    namesOf(entityId, people),
  );
  return rows.map(({ identifier: object }) => ({ place: 'gdpr_holds', object, on: 'reason', key: null, values: 1 }));
}
