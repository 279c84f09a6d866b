/** The routes of apps' API keys. */

import * as api from '../../api/apps/api-keys.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  type AppApiKey,
  findAppApiKey,
  insertAppApiKey,
  type KeyTaken,
  listAppApiKeys,
  updateAppApiKey,
} from '../../store/apps/app-api-keys.ts';
import { findApp } from '../../store/apps/apps.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { requireApp } from './find-app.ts';

const listKeys = route(api.listApiKeys, async ({ params: { app_identifier }, ...who }, { db, secrets }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const app = await requireApp(tx, entityId, app_identifier);
    const keys = await listAppApiKeys(tx, secrets, entityId, app.id);
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'app',
      subject: app_identifier,
      details: { api_keys: keys.length },
    });
    return { api_keys: keys.map(showKey) };
  });
});

const viewKey = route(
  api.viewApiKey,
  async ({ params: { app_identifier, key_identifier }, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const key = await knownKey(tx, secrets, entityId, app.id, key_identifier);
      await audit(tx, who, { action: 'read', subjectKind: 'api_key', subject: key_identifier });
      return showKey(key);
    });
  },
);

const createKey = route(
  api.createApiKey,
  async ({ params: { app_identifier }, body, keepReply, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      // The reference's own combination: HTTP 400 with not_found.
      const app = (await findApp(tx, entityId, app_identifier)) ?? refuse(400, 'not_found', 'App not found');
      const made = await insertAppApiKey(tx, secrets, entityId, {
        appId: app.id,
        apiKey: body.api_key,
        revoked: body.revoked,
      });
      if ('taken' in made) return refuseTaken(made.taken);
      const details = { app: app_identifier, revoked: body.revoked };
      await audit(tx, who, { action: 'create', subjectKind: 'api_key', subject: made.identifier, details });
      const shown = showKey(await knownKey(tx, secrets, entityId, app.id, made.identifier));
      return keepReply(tx, shown, { secretOf: made.identifier });
    });
  },
);

const changeKey = route(
  api.updateApiKey,
  async ({ params: { app_identifier, key_identifier }, body, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(
      db,
      async (tx) => {
        const app = await requireApp(tx, entityId, app_identifier);
        const before = await knownKey(tx, secrets, entityId, app.id, key_identifier, { isLocked: true });
        const after = { apiKey: body.api_key ?? before.apiKey, revoked: body.revoked ?? before.revoked };
        const taken = await updateAppApiKey(tx, secrets, entityId, app.id, before, after);
        if (taken) refuseTaken(taken);
        const details = { app: app_identifier, api_key: after.apiKey !== before.apiKey, revoked: after.revoked };
        await audit(tx, who, { action: 'update', subjectKind: 'api_key', subject: key_identifier, details });
        return showKey(await knownKey(tx, secrets, entityId, app.id, key_identifier));
      },
      { collide: true },
    );
  },
);

async function knownKey(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
  given: string,
  options?: { isLocked: boolean },
): Promise<AppApiKey> {
  return (
    (await findAppApiKey(db, secrets, entityId, appId, given, options)) ?? refuse(404, 'not_found', 'API key not found')
  );
}

function refuseTaken(taken: KeyTaken): never {
  return refuseField('api_key', taken === 'elsewhere' ? 'is taken: choose another' : 'is a key of this app already');
}

function showKey({ identifier: id, apiKey: value, revoked, updatedAt, createdAt }: AppApiKey): api.ApiKey {
  return { identifier: id, api_key: value, revoked, updated_at: toEpoch(updatedAt), created_at: toEpoch(createdAt) };
}

function toEpoch(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}

export const apiKeyRoutes: Route[] = [listKeys, viewKey, createKey, changeKey];
