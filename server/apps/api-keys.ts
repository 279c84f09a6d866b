import { z } from 'zod';
import { apiKeyFault } from '../../domain/apps/api-key.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  type AppApiKey, findAppApiKey, insertAppApiKey, type KeyTaken, listAppApiKeys, lockAppApiKey, updateAppApiKey,
} from '../../store/apps/app-api-keys.ts';
import { findApp } from '../../store/apps/apps.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { audit } from '../http/audit.ts';
import { bodyFlag, identifier } from '../http/input.ts';
import { type Route, route } from '../http/route.ts';
import { requireApp } from './find-app.ts';

/** The keys by which an app's SDK sends. They are secrets: who has seen them is written down. */
const SHARED = { tag: 'API keys', right: 'api_keys_manage' } as const;
const PATH = '/api/apps/:app_identifier/api_keys';
const ONE = `${PATH}/:key_identifier`;

const appParams = z.object({ app_identifier: identifier });
const params = appParams.extend({ key_identifier: identifier });
const epoch = z.int().describe('Seconds since the epoch');
const KeyRecord = z.object({ identifier: z.string(), api_key: z.string(), revoked: z.boolean(), updated_at: epoch, created_at: epoch });

const apiKey = z.string()
  .check((ctx) => {
    const fault = apiKeyFault(ctx.value);
    if (fault !== undefined) ctx.issues.push({ code: 'custom', message: fault, input: ctx.value });
  })
  .describe('At least 8 characters with a digit, a lowercase and an uppercase letter');

const listKeys = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the keys of an app',
  params: appParams,
  result: z.object({ api_keys: z.array(KeyRecord) }),
  async handle({ params: { app_identifier }, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const keys = await listAppApiKeys(tx, secrets, entityId, app.id);
      await audit(tx, who, { action: 'read', subjectKind: 'app', subject: app_identifier, details: { api_keys: keys.length } });
      return { api_keys: keys.map(showKey) };
    });
  },
});

const viewKey = route({
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View a key of an app',
  params,
  result: KeyRecord,
  async handle({ params: { app_identifier, key_identifier }, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const key = await knownKey(tx, secrets, entityId, app.id, key_identifier);
      await audit(tx, who, { action: 'read', subjectKind: 'api_key', subject: key_identifier });
      return showKey(key);
    });
  },
});

const createKey = route({
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Add a key to an app',
  description: 'Several apps of the entity may have the same: each has to be given it.',
  params: appParams,
  body: z.object({ api_key: apiKey.optional().describe('By default a random one'), revoked: bodyFlag.default(false) }),
  result: KeyRecord,
  async handle({ params: { app_identifier }, body, keepReply, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      // The reference's own pair: HTTP 400 with not_found.
      const app = await findApp(tx, entityId, app_identifier) ?? refuse(400, 'not_found', 'App not found');
      const made = await insertAppApiKey(tx, secrets, entityId, { appId: app.id, apiKey: body.api_key, revoked: body.revoked });
      if ('taken' in made) return refuseTaken(made.taken);
      const details = { app: app_identifier, revoked: body.revoked };
      await audit(tx, who, { action: 'create', subjectKind: 'api_key', subject: made.identifier, details });
      const shown = showKey(await knownKey(tx, secrets, entityId, app.id, made.identifier));
      return keepReply(tx, shown, { secretOf: made.identifier });
    });
  },
});

const changeKey = route({
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change a key of an app, revoke or restore it',
  description: 'What is sent by a revoked key, or by a value that it had before, is refused.',
  params,
  body: z.object({ api_key: apiKey.optional(), revoked: bodyFlag.optional() }),
  result: KeyRecord,
  async handle({ params: { app_identifier, key_identifier }, body, ...who }, { db, secrets }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const before = await knownKey(tx, secrets, entityId, app.id, key_identifier, lockAppApiKey);
      const after = { apiKey: body.api_key ?? before.apiKey, revoked: body.revoked ?? before.revoked };
      const taken = await updateAppApiKey(tx, secrets, entityId, app.id, before, after);
      if (taken) refuseTaken(taken);
      const details = { app: app_identifier, api_key: after.apiKey !== before.apiKey, revoked: after.revoked };
      await audit(tx, who, { action: 'update', subjectKind: 'api_key', subject: key_identifier, details });
      return showKey(await knownKey(tx, secrets, entityId, app.id, key_identifier));
    }, { collide: true });
  },
});

async function knownKey(
  db: Queryable, secrets: Secrets, entityId: number, appId: number, given: string, find = findAppApiKey,
): Promise<AppApiKey> {
  return await find(db, secrets, entityId, appId, given) ?? refuse(404, 'not_found', 'API key not found');
}

function refuseTaken(taken: KeyTaken): never {
  return refuseField('api_key', taken === 'elsewhere' ? 'is taken: choose another' : 'is a key of this app already');
}

function showKey({ identifier: id, apiKey: value, revoked, updatedAt, createdAt }: AppApiKey): z.input<typeof KeyRecord> {
  return { identifier: id, api_key: value, revoked, updated_at: toEpoch(updatedAt), created_at: toEpoch(createdAt) };
}

function toEpoch(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}

export const apiKeyRoutes: Route[] = [listKeys, viewKey, createKey, changeKey];
