import { APP_DEFAULTS } from '../../../server/apps/apps.ts';
import { insertAppApiKey } from '../../../store/apps/app-api-keys.ts';
import { insertAppGroup, updateAppsOfGroup } from '../../../store/apps/app-groups.ts';
import { insertAppTokenKey } from '../../../store/apps/app-token-keys.ts';
import { insertApp } from '../../../store/apps/apps.ts';
import type { Tx } from '../../../store/core/database.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { signUserToken } from '../../harness/apps/user-tokens.ts';
import { rememberSecret } from '../../harness/core/people.ts';

/** An app with all that stands beside it. */
export type SampleApps = {
  appId: string;
  parentId: string;
  appSorId: string;
  groupId: string;
  keyId: string;
  apiKey: string;
  tokenKeyId: string;
  /** On which somebody was seen, and what vouches for them. */
  deviceId: string;
  userToken: string;
};

export async function insertSampleApps(tx: Tx, secrets: Secrets, entityId: number): Promise<SampleApps> {
  const insert = (name: string) =>
    insertApp(
      tx,
      secrets,
      entityId,
      {
        ...APP_DEFAULTS,
        name,
        packageName: `com.example.${name.toLowerCase()}`,
        appType: 'Web App',
      },
      false,
    );
  const { id, identifier: appId } = await insert('Sampled');
  const { identifier: parentId } = await insert('Above');
  const { rows } = await tx.query<{ identifier: string }>(
    'SELECT identifier FROM systems_of_records WHERE entity_id = $1 AND app_id = $2',
    [entityId, id],
  );
  const group = (await insertAppGroup(tx, entityId, 'Sampled'))!;
  await updateAppsOfGroup(tx, entityId, group.id, [id]);
  const apiKey = `Key-of-${appId}-1`;
  rememberSecret(apiKey);
  const key = await insertAppApiKey(tx, secrets, entityId, { appId: id, apiKey, revoked: false });
  if ('taken' in key) throw new Error('the key of a sample is taken');
  const { identifier: tokenKeyId, secret } = (await insertAppTokenKey(tx, secrets, entityId, id))!;
  rememberSecret(secret);
  const deviceId = `device-of-${appId}`;
  await tx.query(
    `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, first_seen_at, last_seen_at) VALUES ($1, $2, $3, $4, now(), now())`,
    [entityId, id, deviceId, `user-of-${appId}`],
  );
  const userToken = await signUserToken(
    { secret },
    { sub: `user-of-${appId}`, exp: Math.floor(Date.now() / 1_000) + 3_600 },
  );
  return {
    deviceId,
    userToken,
    appId,
    parentId,
    appSorId: rows[0]!.identifier,
    groupId: group.identifier,
    keyId: key.identifier,
    apiKey,
    tokenKeyId,
  };
}

/** All that an app takes. */
export function wholeApp({ parentId, groupId }: SampleApps) {
  const icon = { thumb: 'https://example.com/t.png', medium: null, large: null };
  return {
    name: 'Another',
    package_name: 'com.example.another',
    app_type: 'Web App',
    store_id: '1',
    sku: 'A',
    qa: true,
    parent_identifier: parentId,
    domains: ['www.example.com'],
    default_tz: 'Europe/Paris',
    app_groups: [groupId],
    localizations: [{ language: 'en', original_name: 'Another', name: 'Another', description: null }],
    icon,
    cv_icon: icon,
    primary_category: 'Shopping',
    secondary_category: 'Lifestyle',
    statuses: [{ cdate: 1, state: 'live', version_number: '1' }],
    fcm_key: 'key',
    crm_syncable: true,
    inbox_days_to_live: 30,
    rate_limit: { message_limit: 1, period: 60 },
    gdpr_emails: ['privacy@example.com'],
    session_timeout: 60,
    gdpr_approval: false,
    verified_users: true,
    quiet_hours: { start: '22:00', end: '07:00' },
    send_rate: 50,
  };
}
