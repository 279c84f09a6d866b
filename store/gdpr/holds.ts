import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { HoldKind } from '../../domain/gdpr/gdpr-codes.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
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

type HoldRow = {
  identifier: string; customer_type: CustomerType; customer_id: string; kind: HoldKind; reason: string; creator_uid: string | null;
  created_at: Date;
};

const HOLDS = `SELECT h.identifier, h.customer_type, h.customer_id, h.kind, h.reason, u.uid AS creator_uid, h.created_at
  FROM gdpr_holds h LEFT JOIN users u ON u.id = h.created_by`;

export type NewHold = Person & { kind: HoldKind; reason: string; createdBy: number };

/** Null: one of the kind stands for them already. */
export async function insertHold(
  tx: Tx, entityId: number, { customerType, customerId, kind, reason, createdBy }: NewHold,
): Promise<GdprHold | null> {
  const identifier = newIdentifier('hld');
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_holds (entity_id, identifier, customer_type, customer_id, kind, reason, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (entity_id, customer_id, customer_type, kind) DO NOTHING`,
    [entityId, identifier, customerType, customerId, kind, reason, createdBy]);
  return rowCount === 1 ? findHold(tx, entityId, identifier) : null;
}

async function findHold(db: Queryable, entityId: number, identifier: string): Promise<GdprHold | null> {
  const { rows } = await db.query<HoldRow>(`${HOLDS} WHERE h.entity_id = $1 AND h.identifier = $2`, [entityId, identifier]);
  return rows[0] ? toHold(rows[0]) : null;
}

/** What was taken away; null: there is none of that name. */
export async function deleteHold(tx: Tx, entityId: number, identifier: string): Promise<GdprHold | null> {
  const hold = await findHold(tx, entityId, identifier);
  const { rowCount } = await tx.query('DELETE FROM gdpr_holds WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]);
  return rowCount === 1 ? hold : null;
}

/** Oldest first; of one person alone, where there is one. */
export async function listHolds(
  db: Queryable, entityId: number, person: Person | null, { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; holds: GdprHold[] }> {
  const wanted = [entityId, person?.customerType ?? null, person?.customerId ?? null];
  const where = 'WHERE h.entity_id = $1 AND ($2::text IS NULL OR (h.customer_type = $2 AND h.customer_id = $3))';
  const { rows: [counted] } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM gdpr_holds h ${where}`, wanted);
  const { rows } = await db.query<HoldRow>(`${HOLDS} ${where} ORDER BY h.id OFFSET $4 LIMIT $5`, [...wanted, offset, limit]);
  return { total: counted!.total, holds: rows.map(toHold) };
}

/** Those that stand for any of these people, oldest first. */
export async function listHoldsOf(
  db: Queryable, entityId: number, people: readonly { customerType: string; customerId: string }[],
): Promise<(Person & { kind: HoldKind; reason: string; createdAt: Date })[]> {
  // By the key of person and kind.
  const { rows } = await db.query<HoldRow>(
    `SELECT h.customer_type, h.customer_id, h.kind, h.reason, h.created_at FROM gdpr_holds h
     WHERE h.entity_id = $1 AND (h.customer_type, h.customer_id) IN (SELECT * FROM unnest($2::text[], $3::text[])) ORDER BY h.id`,
    [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId)]);
  return rows.map((row) => ({
    customerType: row.customer_type, customerId: row.customer_id, kind: row.kind, reason: row.reason, createdAt: row.created_at,
  }));
}

function toHold(row: HoldRow): GdprHold {
  return {
    identifier: row.identifier, customerType: row.customer_type, customerId: row.customer_id, kind: row.kind, reason: row.reason,
    createdBy: row.creator_uid === null ? null : { uid: row.creator_uid }, createdAt: row.created_at,
  };
}
