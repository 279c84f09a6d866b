import { refuse } from '../../domain/core/refusal.ts';
import { lockWallet, type WalletRef } from '../../store/apps/wallet-settings.ts';
import type { Queryable } from '../../store/core/database.ts';
import { requireApp } from './find-app.ts';

/** Returns the data wallet of an app of the caller's entity, or refuses with the 404 of an unknown app. */
export async function ownWallet(db: Queryable, entityId: number, appIdentifier: string): Promise<WalletRef> {
  const { id: appId } = await requireApp(db, entityId, appIdentifier);
  return { entityId, appId };
}

/** Does the same as `ownWallet`, and locks the wallet. */
export async function holdWallet(tx: Queryable, entityId: number, appIdentifier: string): Promise<WalletRef> {
  const wallet = await ownWallet(tx, entityId, appIdentifier);
  return (await lockWallet(tx, entityId, wallet.appId)) ? wallet : refuse(404, 'not_found', 'App not found');
}
