import { refuse } from '../../domain/core/refusal.ts';
import { findWalletBytes, lockWallet, type WalletRef } from '../../store/apps/wallet-settings.ts';
import type { Queryable } from '../../store/core/database.ts';
import { requireApp } from './find-app.ts';

/** Lists come as a whole: so large may one be. */
const MAX_MIB = 20;

/** The data wallet of an app of the caller's entity, or the 404 of an unknown app. */
export async function ownWallet(db: Queryable, entityId: number, appIdentifier: string): Promise<WalletRef> {
  const { id: appId } = await requireApp(db, entityId, appIdentifier);
  return { entityId, appId };
}

/** As `ownWallet`, for whoever changes it: nobody else does until the transaction ends. */
export async function holdWallet(tx: Queryable, entityId: number, appIdentifier: string): Promise<WalletRef> {
  const wallet = await ownWallet(tx, entityId, appIdentifier);
  return (await lockWallet(tx, entityId, wallet.appId)) ? wallet : refuse(404, 'not_found', 'App not found');
}

/** After a change, in its transaction: a wallet whose lists would be too large to be answered. */
export async function refuseTooLarge(tx: Queryable, { entityId, appId }: WalletRef): Promise<void> {
  if ((await findWalletBytes(tx, entityId, appId)) <= MAX_MIB * 1024 ** 2) return;
  refuse(
    400,
    'bad_request',
    `The data wallet would be too large: with the titles of what its elements belong to, its texts have ` +
      `at most ${MAX_MIB} MiB. Shorten some, or delete what is not used`,
  );
}
