import type * as api from '../../api/sends/push-providers.ts';
import { secretMembers } from '../../connectors/core/contract.ts';
import { findPushProvider, pushProviders } from '../../connectors/push/catalog.ts';
import type { AnyPushProvider } from '../../connectors/push/contract.ts';
import { newVapidKeys } from '../../connectors/web-push/vapid-keys.ts';
import { webPush } from '../../connectors/web-push/web-push.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import type { PushPlatform } from '../../domain/sends/push.ts';
import {
  type OpenedPushProvider,
  SANDBOX,
  type StoredPushProvider,
  type StoredVapidKeys,
  vapidMembers,
  wholePushSettings,
} from '../../store/sends/push-providers.ts';
import type { SettingValues, SplitSettings } from '../../store/syncs/connections.ts';
import { changedMembers, isLeftOut, readSettings, refuseSecretsElsewhere } from '../syncs/connection-settings.ts';

/** The provider of a name that a caller gives for a platform. */
export function providerFor(platform: PushPlatform, name: string): AnyPushProvider {
  const fitting = pushProviders
    .filter(({ platforms }) => platforms.includes(platform))
    .map((provider) => provider.name);
  const found = findPushProvider(name);
  if (!found) return refuseField('provider', sayUnknown(name, fitting));
  if (!fitting.includes(name))
    refuseField('provider', `must be one of ${fitting.join(', ')}: ${name} sends nothing to ${platform}`);
  return found;
}

/** Settings as a caller gives them, and the names of the members that change. Secrets that are left out stay. */
export function readPushSettings(
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

/**
 * Millrace makes the pair at first use, keeps it from then on, and takes one that browsers have subscribed to
 * elsewhere.
 */
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

/** In the place of each secret, whether it is set. */
export function showPushProvider(platform: PushPlatform, stored: StoredPushProvider | null): api.PushProvider {
  if (stored === null) return { platform, provider: SANDBOX, settings: {}, updated_at: null };
  const { provider, settings, secretNames, vapidPublicKey, updatedAt } = stored;
  const isWebPush = provider === webPush.name;
  const set = new Set([...secretNames, ...(isWebPush && vapidPublicKey !== null ? ['vapid_private_key'] : [])]);
  const known = findPushProvider(provider);
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
