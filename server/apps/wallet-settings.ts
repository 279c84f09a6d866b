import * as api from '../../api/apps/data-wallet.ts';
import { languageLabel } from '../../domain/apps/language.ts';
import { listWalletLanguages, upsertWalletLanguages } from '../../store/apps/wallet-settings.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { holdWallet, ownWallet } from './own-wallet.ts';

const viewLanguages = route(api.viewWalletLanguages, async ({ params: { app_identifier }, caller }, { db }) => {
  const { entityId, appId } = await ownWallet(db, caller.entityId, app_identifier);
  return show(await listWalletLanguages(db, entityId, appId));
});

const changeLanguages = [api.updateWalletLanguages, api.patchWalletLanguages].map((operation) =>
  route(operation, async ({ params: { app_identifier }, body, ...who }, { db }) => {
    const languages = body.languages.map((each) => each.identifier);
    return write(db, async (tx) => {
      const { entityId, appId } = await holdWallet(tx, who.caller.entityId, app_identifier);
      await upsertWalletLanguages(tx, entityId, appId, languages);
      const details = { languages: languages.join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'data_wallet', subject: app_identifier, details });
      return show(await listWalletLanguages(tx, entityId, appId));
    });
  }),
);

function show(languages: string[]): api.WalletLanguages {
  return { languages: languages.map((code) => ({ identifier: code, label: languageLabel(code) })) };
}

export const walletSettingsRoutes: Route[] = [viewLanguages, ...changeLanguages];
