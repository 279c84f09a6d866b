import type { Queryable } from './database.ts';

/** Whose data wallet it is. */
export type WalletRef = { entityId: number; appId: number };

/** One change at a time to an app's data wallet, and the app stays meanwhile. False once the app is gone. */
export async function lockWallet(tx: Queryable, entityId: number, appId: number): Promise<boolean> {
  const { rowCount } = await tx.query('SELECT FROM apps WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE', [entityId, appId]);
  return rowCount === 1;
}

/** ISO 639-1 codes, as they were given; English until somebody gave any. */
export async function listWalletLanguages(db: Queryable, entityId: number, appId: number): Promise<string[]> {
  const { rows } = await db.query<{ languages: string[] }>(
    'SELECT languages FROM wallet_settings WHERE entity_id = $1 AND app_id = $2', [entityId, appId]);
  return rows[0]?.languages ?? ['en'];
}

export async function upsertWalletLanguages(tx: Queryable, entityId: number, appId: number, languages: string[]): Promise<void> {
  await tx.query(
    `INSERT INTO wallet_settings (entity_id, app_id, languages) VALUES ($1, $2, $3)
     ON CONFLICT (entity_id, app_id) DO UPDATE SET languages = excluded.languages, updated_at = now()`,
    [entityId, appId, languages]);
}
