/** The keys with which an app's SDK sends data. The audit log records who viewed them. */

import { z } from 'zod';
import { apiKeyError } from '../../domain/apps/api-key.ts';
import { bodyFlag, identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const SHARED = { tag: 'API keys', right: 'api_keys_manage' } as const;
const PATH = '/api/apps/:app_identifier/api_keys';
const ONE = `${PATH}/:key_identifier`;
const appParams = z.object({ app_identifier: identifier });
const params = appParams.extend({ key_identifier: identifier });
const epoch = z.int().describe('Seconds since the epoch');
export const ApiKey = z
  .object({
    identifier: z.string(),
    api_key: z.string(),
    revoked: z.boolean(),
    updated_at: epoch,
    created_at: epoch,
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.output<typeof ApiKey>;

const apiKey = z
  .string()
  .check((ctx) => {
    const error = apiKeyError(ctx.value);
    if (error !== undefined) ctx.issues.push({ code: 'custom', message: error, input: ctx.value });
  })
  .describe('At least 8 characters with a digit, a lowercase and an uppercase letter');

export const listApiKeys = operation({
  id: 'listApiKeys',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the keys of an app',
  audits: 'read app',
  params: appParams,
  result: z.object({ api_keys: z.array(ApiKey) }),
});

export const viewApiKey = operation({
  id: 'viewApiKey',
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View a key of an app',
  audits: 'read api_key',
  params,
  result: ApiKey,
});

export const createApiKey = operation({
  id: 'createApiKey',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Add a key to an app',
  description: 'To use the same key in several apps of the entity, add it to each of them.',
  audits: 'create api_key',
  params: appParams,
  body: z.object({
    api_key: apiKey
      .optional()
      .describe('At least 8 characters with a digit, a lowercase and an uppercase letter; by default random'),
    revoked: bodyFlag.default(false),
  }),
  result: ApiKey,
});

export const updateApiKey = operation({
  id: 'updateApiKey',
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change, revoke or restore a key of an app',
  description: 'The server refuses calls with a revoked key, or with an earlier value of a key.',
  audits: 'update api_key',
  params,
  body: z.object({ api_key: apiKey.optional(), revoked: bodyFlag.optional() }),
  result: ApiKey,
});
