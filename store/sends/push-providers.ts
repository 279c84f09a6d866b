import type { PushPlatform } from '../../domain/sends/push.ts';
import { readRow } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';

type Values = { [member: string]: unknown };

/** What an app's pushes to a platform go through, its secrets sealed. */
export type StoredPushProvider = {
  platform: PushPlatform;
  provider: string;
  settings: Values;
  /** The secret members that are set. */
  secretNames: string[];
  /** Opened by `openPushSecrets` alone. */
  sealedSecrets: string | null;
  vapidPublicKey: string | null;
  /** Opened by `openVapidKeys` alone. */
  sealedVapidKey: string | null;
  updatedAt: Date;
};

/** As browsers and the library have them: base64url. */
export type StoredVapidKeys = { publicKey: string; privateKey: string };

const COLUMNS = `platform, provider, settings, secret_names, sealed_secrets, vapid_public_key, vapid_private_key AS sealed_vapid_key,
  updated_at`;

/** Null: the sandbox, and no VAPID keys. */
export async function findPushProvider(
  db: Queryable, entityId: number, appId: number, platform: PushPlatform,
): Promise<StoredPushProvider | null> {
  return readRow<StoredPushProvider>(await db.query(
    `SELECT ${COLUMNS} FROM push_providers WHERE entity_id = $1 AND app_id = $2 AND platform = $3`, [entityId, appId, platform]));
}

type NewPushProvider = { provider: string; settings: Values; secretSettings: Values; vapidKeys: StoredVapidKeys | null };

/** Sets it for an app that is held. Without VAPID keys those before stay. */
export async function upsertPushProvider(
  tx: Queryable, secrets: Secrets, entityId: number, appId: number, platform: PushPlatform,
  { provider, settings, secretSettings, vapidKeys }: NewPushProvider,
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
      entityId, appId, platform, provider, JSON.stringify(settings), names,
      names.length === 0 ? null : secrets.seal(JSON.stringify(secretSettings), cell('sealed_secrets')),
      vapidKeys?.publicKey ?? null, vapidKeys ? secrets.seal(vapidKeys.privateKey, cell('vapid_private_key')) : null,
    ]);
}

/** The secret members by their names. */
export function openPushSecrets(
  secrets: Secrets, entityId: number, appId: number, { platform, sealedSecrets }: StoredPushProvider,
): Values {
  if (sealedSecrets === null) return {};
  return JSON.parse(secrets.open(sealedSecrets, cellOf(entityId, appId, platform, 'sealed_secrets'))) as Values;
}

export function openVapidKeys(
  secrets: Secrets, entityId: number, appId: number, { platform, vapidPublicKey, sealedVapidKey }: StoredPushProvider,
): StoredVapidKeys | null {
  if (vapidPublicKey === null || sealedVapidKey === null) return null;
  return { publicKey: vapidPublicKey, privateKey: secrets.open(sealedVapidKey, cellOf(entityId, appId, platform, 'vapid_private_key')) };
}

function cellOf(entityId: number, appId: number, platform: PushPlatform, column: string) {
  return { table: 'push_providers', column, entityId, row: `${appId}/${platform}` };
}
