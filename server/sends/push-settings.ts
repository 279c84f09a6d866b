import type * as api from '../../api/sends/push-providers.ts';
import { secretMembers } from '../../connectors/core/contract.ts';
import { findPushProvider, pushProviders } from '../../connectors/push/catalog.ts';
import type { AnyPushProvider } from '../../connectors/push/contract.ts';
import { newVapidKeys } from '../../connectors/web-push/vapid-keys.ts';
import { webPush } from '../../connectors/web-push/web-push.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/core/say-unknown.ts';
import type { PushPlatform } from '../../domain/sends/push.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import {
  openPushSecrets, openVapidKeys, type StoredPushProvider, type StoredVapidKeys,
} from '../../store/sends/push-providers.ts';
import type { SettingValues, SplitSettings } from '../../store/syncs/connections.ts';
import { changedMembers, isLeftOut, readSettings, refuseSecretsElsewhere } from '../syncs/connection-settings.ts';

export const SANDBOX = 'sandbox';

/** The provider of a name that a caller gives for a platform. */
export function providerFor(platform: PushPlatform, name: string): AnyPushProvider {
  const fitting = pushProviders.filter(({ platforms }) => platforms.includes(platform)).map((provider) => provider.name);
  const found = findPushProvider(name);
  if (!found) return refuseField('provider', sayUnknown(name, fitting));
  if (!fitting.includes(name)) refuseField('provider', `must be one of ${fitting.join(', ')}: ${name} sends nothing to ${platform}`);
  return found;
}

/** What is stored for a platform, opened. */
export type OpenedSettings = SplitSettings & { provider: string; vapidKeys: StoredVapidKeys | null };

export function openStored(secrets: Secrets, entityId: number, appId: number, stored: StoredPushProvider | null): OpenedSettings {
  if (stored === null) return { provider: SANDBOX, settings: {}, secretSettings: {}, vapidKeys: null };
  const { provider, settings } = stored;
  return {
    provider, settings, secretSettings: openPushSecrets(secrets, entityId, appId, stored),
    vapidKeys: openVapidKeys(secrets, entityId, appId, stored),
  };
}

/** All members, as the provider's own schema takes them. */
export function wholeSettings({ provider, settings, secretSettings, vapidKeys }: OpenedSettings): SettingValues {
  return { ...settings, ...secretSettings, ...provider === webPush.name && vapidKeys ? vapidMembers(vapidKeys) : {} };
}

/** Settings as a caller gives them, and the names of the members that change. Secrets that are left out stay. */
export function readPushSettings(
  provider: AnyPushProvider, given: SettingValues, before: OpenedSettings,
): OpenedSettings & { changed: string[] } {
  const isSame = before.provider === provider.name;
  const kept: SplitSettings = isSame ? before : { settings: {}, secretSettings: {} };
  if (provider.name === webPush.name) return readWebPush(provider, given, before);
  const split = readSettings(provider, given, kept.secretSettings);
  const changed = changedMembers(kept, split);
  refuseSecretsElsewhere(provider, given, kept, changed);
  return { provider: provider.name, ...split, vapidKeys: null, changed: isSame ? changed : ['provider', ...changed] };
}

/** Millrace makes the pair at first use, keeps it from then on, and takes one that browsers have subscribed to elsewhere. */
function readWebPush(provider: AnyPushProvider, given: SettingValues, before: OpenedSettings): OpenedSettings & { changed: string[] } {
  const { vapid_public_key: publicKey, vapid_private_key: privateKey } = given;
  const isOwn = isLeftOut(privateKey) && (publicKey === undefined || publicKey === before.vapidKeys?.publicKey);
  const keys = isOwn ? vapidMembers(before.vapidKeys ?? madeKeys()) : {};
  const { settings: { vapid_public_key: shown, ...settings }, secretSettings } = readSettings(provider, { ...given, ...keys });
  const vapidKeys = { publicKey: shown as string, privateKey: secretSettings['vapid_private_key'] as string };
  const [old, now] = [wholeSettings(before), { ...settings, ...vapidMembers(vapidKeys) }]
    .map((values) => ({ settings: values, secretSettings: {} }));
  const changed = changedMembers(before.provider === provider.name ? old! : { settings: {}, secretSettings: {} }, now!);
  return { provider: provider.name, settings, secretSettings: {}, vapidKeys, changed };
}

function vapidMembers({ publicKey, privateKey }: StoredVapidKeys): SettingValues {
  return { vapid_public_key: publicKey, vapid_private_key: privateKey };
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
  const set = new Set([...secretNames, ...isWebPush && vapidPublicKey !== null ? ['vapid_private_key'] : []]);
  const known = findPushProvider(provider);
  const markers = [...new Set([...known ? secretMembers(known.settings) : [], ...set])].map((member) => [member, { set: set.has(member) }]);
  return {
    platform, provider, updated_at: updatedAt.toISOString(),
    settings: { ...settings, ...isWebPush ? { vapid_public_key: vapidPublicKey } : {}, ...Object.fromEntries(markers) as SettingValues },
  };
}
