/** The routes of user token keys. */

import * as api from '../../api/apps/user-token-keys.ts';
import { MAX_TOKEN_KEYS } from '../../domain/apps/app.ts';
import { refuse } from '../../domain/core/refusal.ts';
import {
  type AppTokenKey,
  deleteAppTokenKey,
  insertAppTokenKey,
  listAppTokenKeys,
} from '../../store/apps/app-token-keys.ts';
import { lockApp } from '../../store/apps/apps.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { requireApp } from './find-app.ts';

const listKeys = route(api.listUserTokenKeys, async ({ params: { app_identifier }, ...who }, { db, secrets }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const app = await requireApp(tx, entityId, app_identifier);
    const keys = await listAppTokenKeys(tx, secrets, entityId, app.id);
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'app',
      subject: app_identifier,
      details: { user_token_keys: keys.length },
    });
    return { user_token_keys: keys.map(showKey) };
  });
});

const createKey = route(
  api.createUserTokenKey,
  async ({ params: { app_identifier }, keepReply, ...who }, { db, secrets }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      // Locks the app: of two concurrent requests for the second key, one is refused.
      const app = (await lockApp(tx, entityId, app_identifier)) ?? refuse(404, 'not_found', 'App not found');
      const key =
        (await insertAppTokenKey(tx, secrets, entityId, app.id)) ??
        refuse(
          409,
          'conflict',
          `The app has ${MAX_TOKEN_KEYS} keys for user tokens, which is the most: delete one that is not in use`,
        );
      await audit(tx, who, {
        action: 'create',
        subjectKind: 'user_token_key',
        subject: key.identifier,
        details: { app: app_identifier },
      });
      return keepReply(tx, showKey(key), { secretOf: key.identifier });
    });
  },
);

const deleteKey = route(
  api.deleteUserTokenKey,
  async ({ params: { app_identifier, key_identifier }, ...who }, { db }) => {
    const { entityId } = who.caller;
    await write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const isDeleted = await deleteAppTokenKey(tx, entityId, app.id, key_identifier);
      if (!isDeleted) refuse(404, 'not_found', 'User token key not found');
      await audit(tx, who, {
        action: 'delete',
        subjectKind: 'user_token_key',
        subject: key_identifier,
        details: { app: app_identifier },
      });
    });
    return noResult();
  },
);

function showKey({ identifier: own, secret, createdAt }: AppTokenKey): api.UserTokenKey {
  return { identifier: own, secret, created_at: createdAt.toISOString() };
}

export const userTokenKeyRoutes: Route[] = [listKeys, createKey, deleteKey];
