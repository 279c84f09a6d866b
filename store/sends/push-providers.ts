/** The push providers of apps, with sealed secrets, and which of them refuse pushes. */

import type { PushPlatform } from '../../domain/sends/push.ts';
import { readRow, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';

type Values = { [member: string]: unknown };

export type StoredPushProvider = Row<
  'push_providers',
  'platform' | 'provider' | 'secretNames' | 'sealedSecrets' | 'vapidPublicKey' | 'updatedAt',
  { settings: Values }
> & {
  /** Opened by `openStoredProvider` only. */
  sealedVapidKey: string | null;
};

/** VAPID keys in base64url, as browsers and the library have them. */
export type StoredVapidKeys = { publicKey: string; privateKey: string };

const COLUMNS = `platform, provider, settings, secret_names, sealed_secrets, vapid_public_key, vapid_private_key AS sealed_vapid_key,
  updated_at`;

/** Null: the sandbox, without VAPID keys. */
export async function findPushProvider(
  db: Queryable,
  entityId: number,
  appId: number,
  platform: PushPlatform,
): Promise<StoredPushProvider | null> {
  return readRow<StoredPushProvider>(
    await db.query(`SELECT ${COLUMNS} FROM push_providers WHERE entity_id = $1 AND app_id = $2 AND platform = $3`, [
      entityId,
      appId,
      platform,
    ]),
  );
}

/** Sets the provider of an app, which the caller has locked. Without VAPID keys the old ones stay. */
export async function upsertPushProvider(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
  platform: PushPlatform,
  { provider, settings, secretSettings, vapidKeys }: OpenedPushProvider,
): Promise<void> {
  const names = Object.keys(secretSettings);
  const cell = (column: string) => cellOf(entityId, appId, platform, column);
  await tx.query(
    `INSERT INTO push_providers
       (entity_id, app_id, platform, provider, settings, secret_names, sealed_secrets, vapid_public_key, vapid_private_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (entity_id, app_id, platform) DO UPDATE SET
       provider = excluded.provider, settings = excluded.settings, secret_names = excluded.secret_names,
       sealed_secrets = excluded.sealed_secrets, updated_at = now(),
       vapid_public_key = coalesce(excluded.vapid_public_key, push_providers.vapid_public_key),
       vapid_private_key = coalesce(excluded.vapid_private_key, push_providers.vapid_private_key)`,
    [
      entityId,
      appId,
      platform,
      provider,
      JSON.stringify(settings),
      names,
      names.length === 0 ? null : secrets.seal(JSON.stringify(secretSettings), cell('sealed_secrets')),
      vapidKeys?.publicKey ?? null,
      vapidKeys ? secrets.seal(vapidKeys.privateKey, cell('vapid_private_key')) : null,
    ],
  );
}

export const SANDBOX = 'sandbox';

export type OpenedPushProvider = {
  provider: string;
  settings: Values;
  secretSettings: Values;
  vapidKeys: StoredVapidKeys | null;
};

export function openStoredProvider(
  secrets: Secrets,
  entityId: number,
  appId: number,
  stored: StoredPushProvider | null,
): OpenedPushProvider {
  if (stored === null) return { provider: SANDBOX, settings: {}, secretSettings: {}, vapidKeys: null };
  const { platform, provider, settings, sealedSecrets, vapidPublicKey, sealedVapidKey } = stored;
  const open = (sealed: string, column: string) => secrets.open(sealed, cellOf(entityId, appId, platform, column));
  return {
    provider,
    settings,
    secretSettings: sealedSecrets === null ? {} : (JSON.parse(open(sealedSecrets, 'sealed_secrets')) as Values),
    vapidKeys:
      vapidPublicKey === null || sealedVapidKey === null
        ? null
        : { publicKey: vapidPublicKey, privateKey: open(sealedVapidKey, 'vapid_private_key') },
  };
}

export function wholePushSettings({ provider, settings, secretSettings, vapidKeys }: OpenedPushProvider): Values {
  return { ...settings, ...secretSettings, ...(provider === 'web_push' && vapidKeys ? vapidMembers(vapidKeys) : {}) };
}

export function vapidMembers({ publicKey, privateKey }: StoredVapidKeys): Values {
  return { vapid_public_key: publicKey, vapid_private_key: privateKey };
}

function cellOf(entityId: number, appId: number, platform: PushPlatform, column: string) {
  return { table: 'push_providers', column, entityId, row: `${appId}/${platform}` };
}

/** `code` of a refusal, null if a push was sent. */
type ProviderAnswer = { appId: number; provider: string; code: string | null };

/**
 * Stores which apps' providers refuse pushes now, and removes those that sent one. A push service that the operator
 * does not allow belongs to a device, and says nothing about the provider.
 */
export async function updateProviderRefusals(
  tx: Queryable,
  entityId: number,
  answers: readonly ProviderAnswer[],
): Promise<void> {
  const ofProviders = answers.filter(({ code }) => code !== 'PUSH_SERVICE');
  for (const [appId, own] of Map.groupBy(ofProviders, (answer) => answer.appId)) {
    const { provider, code } = own.find((answer) => answer.code === null) ?? own[0]!;
    await tx.query(
      code === null
        ? 'DELETE FROM provider_refusals WHERE entity_id = $1 AND app_id = $2'
        : `INSERT INTO provider_refusals (entity_id, app_id, provider, code) VALUES ($1, $2, $3, $4)
         ON CONFLICT (entity_id, app_id) DO UPDATE SET provider = excluded.provider, code = excluded.code`,
      code === null ? [entityId, appId] : [entityId, appId, provider, code],
    );
  }
}
