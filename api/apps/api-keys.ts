import { z } from 'zod';
import { apiKeyError } from '../../domain/apps/api-key.ts';
import { bodyFlag, identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

/** The keys by which an app's SDK sends. They are secrets: who has seen them is written down. */
const SHARED = { tag: 'API keys', right: 'api_keys_manage' } as const;
const PATH = '/api/apps/:app_identifier/api_keys';
const ONE = `${PATH}/:key_identifier`;
const appParams = z.object({ app_identifier: identifier });
const params = appParams.extend({ key_identifier: identifier });
const epoch = z.int().describe('Seconds since the epoch');
export const ApiKey = z.object({
  identifier: z.string(), api_key: z.string(), revoked: z.boolean(), updated_at: epoch, created_at: epoch,
}).meta({ id: 'ApiKey' });
export type ApiKey = z.output<typeof ApiKey>;

const apiKey = z.string()
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
  description: 'Several apps of the entity may have the same: each has to be given it.',
  audits: 'create api_key',
  params: appParams,
  body: z.object({ api_key: apiKey.optional().describe('By default a random one'), revoked: bodyFlag.default(false) }),
  result: ApiKey,
});

export const updateApiKey = operation({
  id: 'updateApiKey',
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change a key of an app, revoke or restore it',
  description: 'What is sent by a revoked key, or by a value that it had before, is refused.',
  audits: 'update api_key',
  params,
  body: z.object({ api_key: apiKey.optional(), revoked: bodyFlag.optional() }),
  result: ApiKey,
});
