import * as api from '../../api/sends/push-providers.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { lockApp } from '../../store/apps/apps.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findPushProvider, openStoredProvider, SANDBOX, upsertPushProvider } from '../../store/sends/push-providers.ts';
import { requireApp } from '../apps/find-app.ts';
import { audit } from '../http/audit.ts';
import { noResult } from '../http/reply.ts';
import { requireRightOfField } from '../http/right-of-type.ts';
import { type Route, route } from '../http/route.ts';
import { providerFor, readPushSettings, showPushProvider } from './push-settings.ts';

const viewProvider = route(
  api.viewPushProvider,
  async ({ params: { app_identifier, platform }, caller: { entityId } }, { db }) => {
    const app = await requireApp(db, entityId, app_identifier);
    return showPushProvider(platform, await findPushProvider(db, entityId, app.id, platform));
  },
);

const setProvider = route(
  api.updatePushProvider,
  async ({ params: { app_identifier, platform }, body, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    const provider = providerFor(platform, body.provider);
    return write(db, async (tx) => {
      const appId = await holdApp(tx, entityId, app_identifier);
      const before = await findPushProvider(tx, entityId, appId, platform);
      const stored = openStoredProvider(secrets, entityId, appId, before);
      const { changed, ...after } = readPushSettings(provider, body.settings, stored);
      // Tokens and texts go there.
      if (changed.includes('endpoint')) requireRightOfField(api.updatePushProvider, who.caller, api.ENDPOINT);
      await upsertPushProvider(tx, secrets, entityId, appId, platform, after);
      const details = {
        platform,
        provider: provider.name,
        ...(changed.length > 0 ? { settings: changed.join(' ') } : {}),
      };
      await audit(tx, who, { action: 'update', subjectKind: 'push_provider', subject: app_identifier, details });
      return showPushProvider(platform, await findPushProvider(tx, entityId, appId, platform));
    });
  },
);

const deleteProvider = route(
  api.deletePushProvider,
  async ({ params: { app_identifier, platform }, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    await write(db, async (tx) => {
      const appId = await holdApp(tx, entityId, app_identifier);
      const nothing = { provider: SANDBOX, settings: {}, secretSettings: {}, vapidKeys: null };
      await upsertPushProvider(tx, secrets, entityId, appId, platform, nothing);
      await audit(tx, who, {
        action: 'delete',
        subjectKind: 'push_provider',
        subject: app_identifier,
        details: { platform },
      });
    });
    return noResult();
  },
);

/** Held: of two who change its providers at once, one goes first. */
async function holdApp(tx: Tx, entityId: number, identifier: string): Promise<number> {
  const app = (await lockApp(tx, entityId, identifier)) ?? refuse(404, 'not_found', 'App not found');
  return app.id;
}

export const pushProviderRoutes: Route[] = [viewProvider, setProvider, deleteProvider];
