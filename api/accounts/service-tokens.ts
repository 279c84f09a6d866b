import { z } from 'zod';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { bodyInteger, identifier, isoDatetime, name } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** Tokens for machines. A user sees and revokes their own, an admin all of the entity. */
const SHARED = { tag: 'Service tokens', role: 'person' } as const;
const PATH = '/api/service_tokens';

export const MAX_TOKEN_DAYS = 730;

export const ServiceToken = z.object({
  identifier: z.string(),
  name: z.string(),
  rights: z.array(z.enum(RIGHTS)).describe('Those of them that its creator has now are what it may do'),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().nullable().describe('To the minute'),
  expires_at: z.iso.datetime(),
}).meta({ id: 'ServiceToken' });
export type ServiceToken = z.output<typeof ServiceToken>;

export const listServiceTokens = operation({
  id: 'listServiceTokens',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List service tokens that are not revoked',
  description: 'An admin sees all of the entity, others those that they made.',
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
  description: 'The answer shows `token` this once. It acts in this entity, with its rights as far as its creator has them.',
  audits: 'create service_token',
  body: z.object({
    name,
    rights: z.array(z.enum(RIGHTS)).min(1, 'must name at least one right'),
    expires_in_days: bodyInteger({ min: 1, max: MAX_TOKEN_DAYS }).optional(),
    expires_at: isoDatetime.optional().describe('Instead of expires_in_days; within two years'),
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
