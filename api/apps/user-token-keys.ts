import { z } from 'zod';
import { MAX_TOKEN_KEYS } from '../../domain/apps/app.ts';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

/** Keys by which an app's server vouches for its users (docs/user-tokens.md). One is enough to ask for any user's data. */
const SHARED = { tag: 'User token keys', right: 'gdpr_data_manage' } as const;
const PATH = '/api/apps/:app_identifier/user_token_keys';
const params = z.object({ app_identifier: identifier });

export const UserTokenKey = z.object({
  identifier: z.string().describe('May stand in a token as its kid'),
  secret: z.string().describe('The key of HS256 as it stands: not to be decoded'),
  created_at: z.iso.datetime(),
}).meta({ id: 'UserTokenKey' });
export type UserTokenKey = z.output<typeof UserTokenKey>;

export const listUserTokenKeys = operation({
  id: 'listUserTokenKeys',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the keys by which an app\'s server signs user tokens',
  audits: 'read app',
  params,
  result: z.object({ user_token_keys: z.array(UserTokenKey) }),
});

export const createUserTokenKey = operation({
  id: 'createUserTokenKey',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a key by which an app\'s server signs user tokens',
  description: `An app has at most ${MAX_TOKEN_KEYS}: one in use, and one to change over to.`,
  audits: 'create user_token_key',
  params,
  result: UserTokenKey,
});

export const deleteUserTokenKey = operation({
  id: 'deleteUserTokenKey',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:key_identifier`,
  summary: 'Delete a user token key: tokens signed by it are refused from then on',
  audits: 'delete user_token_key',
  params: params.extend({ key_identifier: identifier }),
});
