/** Settings of a data wallet: its languages, its lock, and its size. */

import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export type WalletRef = { entityId: number; appId: number };

/** Approximate maximum size of a technical name with a display name. */
const NAMES_BYTES = 500;

/** Locks an app's data wallet, and the app; false if the app is deleted. */
export async function lockWallet(tx: Queryable, entityId: number, appId: number): Promise<boolean> {
  const { rowCount } = await tx.query('SELECT FROM apps WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE', [
    entityId,
    appId,
  ]);
  return rowCount === 1;
}

/** Lists the wallet's languages as ISO 639-1 codes in the given order; English by default. */
export async function listWalletLanguages(db: Queryable, entityId: number, appId: number): Promise<string[]> {
  const { rows } = await db.query<Row<'wallet_settings', 'languages'>>(
    'SELECT languages FROM wallet_settings WHERE entity_id = $1 AND app_id = $2',
    [entityId, appId],
  );
  return rows[0]?.languages ?? ['en'];
}

export async function upsertWalletLanguages(
  tx: Queryable,
  entityId: number,
  appId: number,
  languages: string[],
): Promise<void> {
  await tx.query(
    `INSERT INTO wallet_settings (entity_id, app_id, languages) VALUES ($1, $2, $3)
     ON CONFLICT (entity_id, app_id) DO UPDATE SET languages = excluded.languages, updated_at = now()`,
    [entityId, appId, languages],
  );
}

/**
 * Returns the approximate size of the wallet's longest list: each element shows its category's title, and those of its
 * purposes.
 */
export async function findWalletBytes(tx: Queryable, entityId: number, appId: number): Promise<number> {
  const { rows } = await tx.query<{ bytes: number }>(
    `SELECT (SELECT coalesce(sum(octet_length(t.body::text) + (octet_length(t.title::text) + $3) * (1
         + (SELECT count(*) FROM wallet_purpose_elements n WHERE n.entity_id = t.entity_id AND n.purpose_id = t.id)
         + (SELECT count(*) FROM wallet_elements e WHERE e.entity_id = t.entity_id AND e.category_id = t.id))), 0)
       FROM wallet_texts t WHERE t.entity_id = $1 AND t.app_id = $2)
     + (SELECT count(*) * $3 FROM wallet_recipients r LEFT JOIN wallet_elements e ON e.entity_id = r.entity_id AND e.recipient_id = r.id
        WHERE r.entity_id = $1 AND r.app_id = $2) AS bytes`,
    [entityId, appId, NAMES_BYTES],
  );
  return Number(rows[0]!.bytes);
}
