/** The push providers of an app, one for each platform: routes and settings. */

import * as api from '../../api/sends/push-providers.ts';
import { secretMembers } from '../../connectors/core/contract.ts';
import { findPushProvider as findKnownProvider, pushProviders } from '../../connectors/push/catalog.ts';
import type { AnyPushProvider } from '../../connectors/push/contract.ts';
import { newVapidKeys, webPush } from '../../connectors/web-push/web-push.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import type { PushPlatform } from '../../domain/sends/push.ts';
import { lockApp } from '../../store/apps/apps.ts';
import { type Tx, write } from '../../store/core/database.ts';
import {
  findPushProvider,
  type OpenedPushProvider,
  openStoredProvider,
  SANDBOX,
  type StoredPushProvider,
  type StoredVapidKeys,
  upsertPushProvider,
  vapidMembers,
  wholePushSettings,
} from '../../store/sends/push-providers.ts';
import type { SettingValues, SplitSettings } from '../../store/syncs/connections.ts';
import { requireApp } from '../apps/find-app.ts';
import { audit } from '../http/audit.ts';
import { noResult } from '../http/reply.ts';
import { requireRightOfField } from '../http/right-of-type.ts';
import { type Route, route } from '../http/route.ts';
import { changedMembers, isLeftOut, readSettings, refuseSecretsElsewhere } from '../syncs/connection-settings.ts';

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
      // Tokens and texts are sent to this address.
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

/** Locks the app, so that changes of its providers wait for each other. */
async function holdApp(tx: Tx, entityId: number, identifier: string): Promise<number> {
  const app = (await lockApp(tx, entityId, identifier)) ?? refuse(404, 'not_found', 'App not found');
  return app.id;
}

export const pushProviderRoutes: Route[] = [viewProvider, setProvider, deleteProvider];

function providerFor(platform: PushPlatform, name: string): AnyPushProvider {
  const fitting = pushProviders
    .filter(({ platforms }) => platforms.includes(platform))
    .map((provider) => provider.name);
  const found = findKnownProvider(name);
  if (!found) return refuseField('provider', sayUnknown(name, fitting));
  if (!fitting.includes(name))
    refuseField('provider', `must be one of ${fitting.join(', ')}: ${name} sends nothing to ${platform}`);
  return found;
}

/** Returns the settings and the names of changed members. Secrets that are left out stay. */
function readPushSettings(
  provider: AnyPushProvider,
  given: SettingValues,
  before: OpenedPushProvider,
): OpenedPushProvider & { changed: string[] } {
  const isSame = before.provider === provider.name;
  const kept: SplitSettings = isSame ? before : { settings: {}, secretSettings: {} };
  if (provider.name === webPush.name) return readWebPush(provider, given, before);
  const split = readSettings(provider, given, kept.secretSettings);
  const changed = changedMembers(kept, split);
  refuseSecretsElsewhere(provider, given, kept, changed);
  return { provider: provider.name, ...split, vapidKeys: null, changed: isSame ? changed : ['provider', ...changed] };
}

/** Draws the VAPID keys at first use, or takes a pair to which browsers have subscribed elsewhere. */
function readWebPush(
  provider: AnyPushProvider,
  given: SettingValues,
  before: OpenedPushProvider,
): OpenedPushProvider & { changed: string[] } {
  const { vapid_public_key: publicKey, vapid_private_key: privateKey } = given;
  const isOwn = isLeftOut(privateKey) && (publicKey === undefined || publicKey === before.vapidKeys?.publicKey);
  const keys = isOwn ? vapidMembers(before.vapidKeys ?? madeKeys()) : {};
  const {
    settings: { vapid_public_key: shown, ...settings },
    secretSettings,
  } = readSettings(provider, { ...given, ...keys });
  const vapidKeys = { publicKey: shown as string, privateKey: secretSettings['vapid_private_key'] as string };
  const [old, now] = [wholePushSettings(before), { ...settings, ...vapidMembers(vapidKeys) }].map((values) => ({
    settings: values,
    secretSettings: {},
  }));
  const changed = changedMembers(before.provider === provider.name ? old! : { settings: {}, secretSettings: {} }, now!);
  return { provider: provider.name, settings, secretSettings: {}, vapidKeys, changed };
}

function madeKeys(): StoredVapidKeys {
  const { vapid_public_key: publicKey, vapid_private_key: privateKey } = newVapidKeys();
  return { publicKey, privateKey };
}

function showPushProvider(platform: PushPlatform, stored: StoredPushProvider | null): api.PushProvider {
  if (stored === null) return { platform, provider: SANDBOX, settings: {}, updated_at: null };
  const { provider, settings, secretNames, vapidPublicKey, updatedAt } = stored;
  const isWebPush = provider === webPush.name;
  const set = new Set([...secretNames, ...(isWebPush && vapidPublicKey !== null ? ['vapid_private_key'] : [])]);
  const known = findKnownProvider(provider);
  const markers = [...new Set([...(known ? secretMembers(known.settings) : []), ...set])].map((member) => [
    member,
    { set: set.has(member) },
  ]);
  return {
    platform,
    provider,
    updated_at: updatedAt.toISOString(),
    settings: {
      ...settings,
      ...(isWebPush ? { vapid_public_key: vapidPublicKey } : {}),
      ...(Object.fromEntries(markers) as SettingValues),
    },
  };
}
