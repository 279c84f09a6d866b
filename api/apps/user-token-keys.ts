/** Keys that sign user tokens (docs/user-tokens.md). A key is enough to request any user's data. */

import { z } from 'zod';
import { MAX_TOKEN_KEYS } from '../../domain/apps/app.ts';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'User token keys', right: 'gdpr_data_manage' } as const;
const PATH = '/api/apps/:app_identifier/user_token_keys';
const params = z.object({ app_identifier: identifier });

export const UserTokenKey = z
  .object({
    identifier: z.string().describe('Optional kid of a token'),
    secret: z.string().describe('Key for HS256: use the text as it is, without decoding it'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'UserTokenKey' });
export type UserTokenKey = z.output<typeof UserTokenKey>;

export const listUserTokenKeys = operation({
  id: 'listUserTokenKeys',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the user token keys of an app',
  audits: 'read app',
  params,
  result: z.object({ user_token_keys: z.array(UserTokenKey) }),
});

export const createUserTokenKey = operation({
  id: 'createUserTokenKey',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a user token key for an app',
  description: `The app's server signs user tokens with it. An app has at most ${MAX_TOKEN_KEYS} keys: one in use, and one to change to.`,
  audits: 'create user_token_key',
  params,
  result: UserTokenKey,
});

export const deleteUserTokenKey = operation({
  id: 'deleteUserTokenKey',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:key_identifier`,
  summary: 'Delete a user token key',
  description: 'The server then refuses tokens that are signed with it.',
  audits: 'delete user_token_key',
  params: params.extend({ key_identifier: identifier }),
});
