// Owners of runs: syncs and exporters. The statements that both kinds share.
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export type OwnerKind<Owner> = {
  table: string;
  /** Makes an owner of the columns of its row, with its creator. */
  toOwner(columns: never): Owner;
  /** How others wait for an owner that is locked. */
  held: 'UPDATE' | 'NO KEY UPDATE';
  isScheduled: string;
};

export type Owners<Owner> = ReturnType<typeof ownersOf<Owner>>;

/** Returns the statements of one kind of owners. None finds a deleted one. */
export function ownersOf<Owner>(kind: OwnerKind<Owner>) {
  const { table, toOwner, held, isScheduled } = kind;
  const find = async (db: Queryable, where: string, values: unknown[]): Promise<Owner[]> =>
    readRows(
      await db.query(
        `SELECT o.*, u.uid AS creator_uid FROM ${table} o LEFT JOIN users u ON u.id = o.created_by
         WHERE o.entity_id = $1 AND o.deleted_at IS NULL ${where}`,
        values,
      ),
      toOwner,
    );
  const findOne = async (db: Queryable, where: string, values: unknown[]) => (await find(db, where, values))[0] ?? null;
  const [byIdentifier, byId, forHolder] = ['AND o.identifier = $2', 'AND o.id = $2', `FOR ${held} OF o`];

  return {
    kind,

    list: (db: Queryable, entityId: number, { offset, limit }: { offset?: number; limit?: number } = {}) =>
      find(db, 'ORDER BY o.id OFFSET $2 LIMIT $3', [entityId, offset ?? 0, limit ?? null]),
    find: (db: Queryable, entityId: number, identifier: string) => findOne(db, byIdentifier, [entityId, identifier]),
    findById: (db: Queryable, entityId: number, id: number) => findOne(db, byId, [entityId, id]),

    lock: (tx: Queryable, entityId: number, identifier: string) =>
      findOne(tx, `${byIdentifier} ${forHolder}`, [entityId, identifier]),
    lockById: (tx: Queryable, entityId: number, id: number) => findOne(tx, `${byId} ${forHolder}`, [entityId, id]),

    async count(db: Queryable, entityId: number): Promise<number> {
      const { rows } = await db.query<{ count: number }>(
        `SELECT count(*) FROM ${table} WHERE entity_id = $1 AND deleted_at IS NULL`,
        [entityId],
      );
      return rows[0]!.count;
    },

    /** Pauses an owner, so that its schedule starts no run; null resumes it, with no failure counted. */
    async updatePaused(tx: Queryable, entityId: number, id: number, reason: string | null): Promise<void> {
      await tx.query(
        `UPDATE ${table} SET paused_at = CASE WHEN $3::text IS NOT NULL THEN now() END, paused_reason = $3,
           scheduled_until = NULL, failures = CASE WHEN $3::text IS NULL THEN 0 ELSE failures END
         WHERE entity_id = $1 AND id = $2`,
        [entityId, id, reason],
      );
    },

    async updateFailures(tx: Queryable, entityId: number, id: number, failures: number): Promise<void> {
      await tx.query(`UPDATE ${table} SET failures = $3 WHERE entity_id = $1 AND id = $2`, [entityId, id, failures]);
    },

    async updateScheduledUntil(
      db: Queryable,
      { entityId, id, revision }: { entityId: number; id: number; revision: number },
      until: Date,
    ): Promise<void> {
      await db.query(
        `UPDATE ${table} o SET scheduled_until = $4
         WHERE entity_id = $1 AND id = $2 AND revision = $3 AND paused_at IS NULL AND deleted_at IS NULL AND ${isScheduled}`,
        [entityId, id, revision, until],
      );
    },
  };
}
