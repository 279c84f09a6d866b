/** Tokens for machines. Users see and revoke their own tokens, admins all tokens of the entity. */
import { z } from 'zod';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { bodyInteger, boundedArray, identifier, isoDatetime, name } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

const SHARED = { tag: 'Service tokens', role: 'person' } as const;
const PATH = '/api/service_tokens';

export const MAX_TOKEN_DAYS = 730;

export const ServiceToken = z
  .object({
    identifier: z.string(),
    name: z.string(),
    rights: z
      .array(z.enum(RIGHTS))
      .describe('The token has those of these rights that its creator has at the time of a call'),
    created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().nullable().describe('Exact to the minute; null if never used'),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'ServiceToken' });
export type ServiceToken = z.output<typeof ServiceToken>;

export const listServiceTokens = operation({
  id: 'listServiceTokens',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List service tokens that are not revoked',
  description: 'Admins see all tokens of the entity, other users those that they created.',
  query: z.object(pageQuery),
  result: pageOf(ServiceToken),
});

export const CreatedServiceToken = ServiceToken.extend({ token: z.string() }).meta({ id: 'CreatedServiceToken' });
export type CreatedServiceToken = z.output<typeof CreatedServiceToken>;

export const createServiceToken = operation({
  id: 'createServiceToken',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a service token',
  description: 'Only this response shows `token`. The token acts in the entity of the call.',
  audits: 'create service_token',
  body: z.object({
    name,
    rights: boundedArray(z.enum(RIGHTS), {
      min: 1,
      tooFew: 'must name at least one right',
      max: RIGHTS.length,
    }).describe('Only rights that you have'),
    expires_in_days: bodyInteger({ min: 1, max: MAX_TOKEN_DAYS }).optional().describe('Required, or expires_at'),
    expires_at: isoDatetime.optional().describe(`Instead of expires_in_days: at most ${MAX_TOKEN_DAYS} days from now`),
  }),
  result: CreatedServiceToken,
});

export const revokeServiceToken = operation({
  id: 'revokeServiceToken',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:token_identifier`,
  summary: 'Revoke a service token',
  audits: 'delete service_token',
  params: z.object({ token_identifier: identifier }),
});
