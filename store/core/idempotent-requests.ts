/** Requests with an idempotency key, and their replies. */
import type { Queryable } from './database.ts';

/** How long a key belongs to its request, and repeats get its reply. */
export const KEY_KEPT_FOR = "interval '24 hours'";

/** Longer than a handler, whose write transactions end within 30 s. */
const LEASE = "interval '60 seconds'";

/** `keyHash` covers caller, method, path and key; `holder` is a UUID of this request. */
export type KeyHolder = { keyHash: Buffer; holder: string };

/** `body`: null if it holds secrets; `identifier` then names the created object. */
export type KeptReply = { status: number; body: string | null; identifier: string | null };

export type EarlierRequest = { fingerprint: Buffer; reply: KeptReply | null };

/**
 * Takes the key for a request, or returns the earlier request that has it; of two at once one gets it. A request whose
 * process died looks running within its lease; then a repeat takes the key. The reply commits with the effect, so
 * nothing is done twice, and a holder that wakes up late cannot commit (`updateReply`).
 */
export async function insertRequest(
  db: Queryable,
  entityId: number,
  { keyHash, holder, fingerprint }: KeyHolder & { fingerprint: Buffer },
): Promise<EarlierRequest | null> {
  for (;;) {
    const { rowCount } = await db.query(
      `INSERT INTO idempotent_requests (entity_id, key_hash, fingerprint, holder, leased_until)
       VALUES ($1, $2, $3, $4, now() + ${LEASE}) ON CONFLICT (entity_id, key_hash) DO NOTHING`,
      [entityId, keyHash, fingerprint, holder],
    );
    if (rowCount === 1) return null;
    const earlier = await findRequest(db, entityId, keyHash);
    if (earlier && !earlier.isOver) return { fingerprint: earlier.fingerprint, reply: earlier.reply };
    await deleteIfOver(db, entityId, keyHash);
  }
}

/** Keeps the reply in the transaction of the effect, which must not commit if it returns false. */
export async function updateReply(
  tx: Queryable,
  entityId: number,
  { keyHash, holder }: KeyHolder,
  { status, body, identifier }: KeptReply,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE idempotent_requests SET http_status = $4, reply = $5, identifier = $6
     WHERE entity_id = $1 AND key_hash = $2 AND holder = $3`,
    [entityId, keyHash, holder, status, body, identifier],
  );
  return rowCount === 1;
}

export async function deleteUnanswered(db: Queryable, entityId: number, { keyHash, holder }: KeyHolder): Promise<void> {
  await db.query(
    'DELETE FROM idempotent_requests WHERE entity_id = $1 AND key_hash = $2 AND holder = $3 AND http_status IS NULL',
    [entityId, keyHash, holder],
  );
}

const OVER = `(received_at < now() - ${KEY_KEPT_FOR} OR http_status IS NULL AND leased_until < now())`;

type Row = {
  fingerprint: Buffer;
  http_status: number | null;
  reply: string | null;
  identifier: string | null;
  is_over: boolean;
};

async function findRequest(
  db: Queryable,
  entityId: number,
  keyHash: Buffer,
): Promise<(EarlierRequest & { isOver: boolean }) | null> {
  const {
    rows: [row],
  } = await db.query<Row>(
    `SELECT fingerprint, http_status, reply, identifier, ${OVER} AS is_over FROM idempotent_requests
     WHERE entity_id = $1 AND key_hash = $2`,
    [entityId, keyHash],
  );
  if (!row) return null;
  const { http_status: status, reply: body, identifier } = row;
  const reply = status === null ? null : { status, body, identifier };
  return { fingerprint: row.fingerprint, reply, isOver: row.is_over };
}

/** Deletes a key that is over, after waiting for a holder that is just committing. */
async function deleteIfOver(db: Queryable, entityId: number, keyHash: Buffer): Promise<void> {
  await db.query(`DELETE FROM idempotent_requests WHERE entity_id = $1 AND key_hash = $2 AND ${OVER}`, [
    entityId,
    keyHash,
  ]);
}
