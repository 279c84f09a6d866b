import { z } from 'zod';
import { languageLabel } from '../../domain/apps/language.ts';
import { listWalletLanguages, upsertWalletLanguages } from '../../store/apps/wallet-settings.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { identifier, text } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { holdWallet, ownWallet, WALLET, WALLET_PATH } from './own-wallet.ts';
import { languageFault, withoutRepeats } from './wallet-body.ts';

/** More than there are codes. */
const MAX_LANGUAGES = 200;
const PATH = `${WALLET_PATH}/settings`;
const params = z.object({ app_identifier: identifier });

const language = text().check((ctx) => {
  const message = languageFault(ctx.value);
  if (message !== null) ctx.issues.push({ code: 'custom', message, input: ctx.value });
}).describe('A code of ISO 639-1');

const LanguagesBody = z.object({
  languages: withoutRepeats(z.object({ identifier: language }), {
    min: 1, max: MAX_LANGUAGES, path: ['identifier'], nameOf: (each) => each.identifier,
  }).describe('All languages that the wallet then has'),
});

const Settings = z.object({ languages: z.array(z.object({ identifier: z.string(), label: z.string() })) });

const viewSettings = route({
  ...WALLET,
  method: 'GET',
  path: PATH,
  summary: 'View the languages of a data wallet',
  params,
  result: Settings,
  async handle({ params: { app_identifier }, caller }, { db }) {
    const { entityId, appId } = await ownWallet(db, caller.entityId, app_identifier);
    return show(await listWalletLanguages(db, entityId, appId));
  },
});

const changeSettings = (['PUT', 'PATCH'] as const).map((method) => route({
  ...WALLET,
  method,
  path: PATH,
  summary: 'Set the languages of a data wallet',
  description: 'Texts in a language that is left out stay.',
  params,
  body: LanguagesBody,
  result: Settings,
  async handle({ params: { app_identifier }, body, ...who }, { db }) {
    const languages = body.languages.map((each) => each.identifier);
    return write(db, async (tx) => {
      const { entityId, appId } = await holdWallet(tx, who.caller.entityId, app_identifier);
      await upsertWalletLanguages(tx, entityId, appId, languages);
      const details = { languages: languages.join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'data_wallet', subject: app_identifier, details });
      return show(await listWalletLanguages(tx, entityId, appId));
    });
  },
}));

function show(languages: string[]): z.input<typeof Settings> {
  return { languages: languages.map((code) => ({ identifier: code, label: languageLabel(code) })) };
}

export const walletSettingsRoutes: Route[] = [viewSettings, ...changeSettings];
