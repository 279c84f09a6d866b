import { randomBytes } from 'node:crypto';
import type { AppType } from '../../../domain/apps/app.ts';
import { APP_DEFAULTS } from '../../../server/apps/apps.ts';
import { insertAppApiKey } from '../../../store/apps/app-api-keys.ts';
import { type App, findApp, insertApp } from '../../../store/apps/apps.ts';
import { write } from '../../../store/core/database.ts';
import type { TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import type { World } from '../../harness/core/world.ts';

export type KeyedSampleApp = { app: App; apiKey: string; keyId: string };

type Options = { packageName?: string; appType?: AppType; apiKey?: string };

const random = () => randomBytes(8).toString('hex');

/** An app that sends under a key, by default one of its own. */
export async function insertKeyedApp(
  { db, secrets }: TestStore,
  { entity }: World,
  { packageName = `com.example.${random()}`, appType = 'iOS App', apiKey = `Key-1-${random()}` }: Options = {},
): Promise<KeyedSampleApp> {
  rememberSecret(apiKey);
  return write(db, async (tx) => {
    const { id, identifier } = await insertApp(
      tx,
      secrets,
      entity.id,
      { ...APP_DEFAULTS, name: packageName, packageName, appType },
      false,
    );
    const key = await insertAppApiKey(tx, secrets, entity.id, { appId: id, apiKey, revoked: false });
    if ('taken' in key) throw new Error('the key of a sample is taken');
    return { app: (await findApp(tx, entity.id, identifier))!, apiKey, keyId: key.identifier };
  });
}

/** As SDKs of servers and mobiles show a key. */
export function basic(apiKey: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${apiKey}:`).toString('base64')}`, 'content-type': 'application/json' };
}

/** The names of an app's events, by their messageIds' order of arrival. */
export async function eventNames({ db }: TestStore, { app }: KeyedSampleApp): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>('SELECT name FROM events WHERE app_id = $1 ORDER BY name', [
    app.id,
  ]);
  return rows.map(({ name }) => name);
}
