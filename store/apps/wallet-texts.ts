/** Texts in a data wallet: legal texts, data categories, purposes. */

import type { Texts } from '../../domain/apps/wallet-defaults.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { type IdentifierKind, newIdentifier } from '../core/identifiers.ts';

export type WalletTextKind = 'legal_text' | 'data_category' | 'purpose';

/** `body`: the text of a legal text, or a description. */
export type WalletText = Row<'wallet_texts', 'id' | 'identifier' | 'technicalName', { title: Texts; body: Texts }>;
type NewWalletText = Pick<WalletText, 'technicalName' | 'title' | 'body'>;

const COLUMNS = 'id, identifier, technical_name, title, body';
const PREFIXES: Record<WalletTextKind, IdentifierKind> = { legal_text: 'lgt', data_category: 'cat', purpose: 'pur' };

/** Lists an app's texts in order of creation; with `address` the one with that identifier or technical name. */
export async function listWalletTexts(
  db: Queryable,
  entityId: number,
  appId: number,
  kind: WalletTextKind,
  address: string | null = null,
): Promise<WalletText[]> {
  return readRows<WalletText>(
    await db.query(
      `SELECT ${COLUMNS} FROM wallet_texts WHERE entity_id = $1 AND app_id = $2 AND kind = $3
     AND ($4::text IS NULL OR identifier = $4 OR technical_name = $4) ORDER BY id`,
      [entityId, appId, kind, address],
    ),
  );
}

/** Inserts a text; null if the app has one of that kind with that technical name. */
export async function insertWalletText(
  tx: Queryable,
  entityId: number,
  appId: number,
  kind: WalletTextKind,
  text: NewWalletText,
): Promise<WalletText | null> {
  return readRow<WalletText>(
    await tx.query(
      `INSERT INTO wallet_texts (entity_id, app_id, kind, identifier, technical_name, title, body) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (entity_id, app_id, kind, technical_name) DO NOTHING RETURNING ${COLUMNS}`,
      [entityId, appId, kind, newIdentifier(PREFIXES[kind]), text.technicalName, text.title, text.body],
    ),
  );
}

/**
 * Changes the given members; false if the app has another one of that kind with that technical name. Needs
 * `lockWallet`.
 */
export async function updateWalletText(
  tx: Queryable,
  entityId: number,
  id: number,
  { technicalName, title, body }: Partial<NewWalletText>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE wallet_texts t SET technical_name = coalesce($3, technical_name), title = coalesce($4, title), body = coalesce($5, body),
       updated_at = now()
     WHERE entity_id = $1 AND id = $2 AND NOT EXISTS (
       SELECT FROM wallet_texts o
       WHERE o.entity_id = $1 AND o.app_id = t.app_id AND o.kind = t.kind AND o.technical_name = $3 AND o.id <> $2)`,
    [entityId, id, technicalName ?? null, title ?? null, body ?? null],
  );
  return rowCount === 1;
}

/** Deletes a text; a purpose with its elements. A category must be unused. */
export async function deleteWalletText(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('DELETE FROM wallet_texts WHERE entity_id = $1 AND id = $2', [entityId, id]);
}
