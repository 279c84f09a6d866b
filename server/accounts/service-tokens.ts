import { z } from 'zod';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  countServiceTokens, insertServiceToken, listServiceTokens, revokeServiceToken, type ServiceToken,
} from '../../store/accounts/service-tokens.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { bodyInteger, identifier, isoDatetime, name } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refuseGiving } from './user-rules.ts';

/** Tokens for machines. A user sees and revokes their own, an admin all of the entity. */
const SHARED = { tag: 'Service tokens', role: 'person' } as const;
const PATH = '/api/service_tokens';

const MAX_DAYS = 730;
const DAY_MS = 24 * 60 * 60 * 1_000;

const ServiceTokenRecord = z.object({
  identifier: z.string(),
  name: z.string(),
  rights: z.array(z.enum(RIGHTS)).describe('Those of them that its creator has now are what it may do'),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().nullable().describe('To the minute'),
  expires_at: z.iso.datetime(),
});

const listTheServiceTokens = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List service tokens that are not revoked',
  description: 'An admin sees all of the entity, others those that they made.',
  query: z.object(pageQuery),
  result: pageOf(ServiceTokenRecord),
  async handle({ query, caller }, { db, settings }) {
    const { entityId } = caller;
    const tokens = await listServiceTokens(db, entityId, creatorSeenBy(caller), rowsOf(query));
    const total = await countServiceTokens(db, entityId, creatorSeenBy(caller));
    return showPage(settings, PATH, query, total, tokens.map(showServiceToken));
  },
});

const createServiceToken = route({
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a service token',
  description: 'The answer shows `token` this once. It acts in this entity, with its rights as far as its creator has them.',
  body: z.object({
    name,
    rights: z.array(z.enum(RIGHTS)).min(1, 'must name at least one right'),
    expires_in_days: bodyInteger({ min: 1, max: MAX_DAYS }).optional(),
    expires_at: isoDatetime.optional().describe('Instead of expires_in_days; within two years'),
  }),
  result: ServiceTokenRecord.extend({ token: z.string() }),
  async handle({ body, keepReply, ...who }, { db }) {
    const { caller } = who;
    const expiresAt = expiryOf(body, Date.now());
    const rights = RIGHTS.filter((right) => body.rights.includes(right));
    refuseGiving(caller, [], rights);
    return write(db, async (tx) => {
      const asked = { name: body.name, rights, createdBy: caller.userId, expiresAt };
      const { serviceToken, token } = await insertServiceToken(tx, caller.entityId, asked);
      const details = { given: rights.join(' '), expires_at: expiresAt.toISOString() };
      await audit(tx, who, { action: 'create', subjectKind: 'service_token', subject: serviceToken.identifier, details });
      return keepReply(tx, { ...showServiceToken(serviceToken), token }, { secretOf: serviceToken.identifier });
    });
  },
});

const revokeAServiceToken = route({
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:token_identifier`,
  summary: 'Revoke a service token',
  params: z.object({ token_identifier: identifier }),
  async handle({ params: { token_identifier }, ...who }, { db }) {
    const { caller } = who;
    await write(db, async (tx) => {
      const isRevoked = await revokeServiceToken(tx, caller.entityId, token_identifier, creatorSeenBy(caller));
      if (!isRevoked) refuse(404, 'not_found', 'Service token not found');
      await audit(tx, who, { action: 'delete', subjectKind: 'service_token', subject: token_identifier });
    });
    return noResult();
  },
});

/** Whose tokens a caller sees; null: everybody's. */
function creatorSeenBy({ userId, admin, superadmin }: Caller): number | null {
  return admin || superadmin ? null : userId;
}

function expiryOf({ expires_in_days: days, expires_at: at }: { expires_in_days?: number; expires_at?: Date }, now: number): Date {
  if (days !== undefined) {
    return at ? refuseField('expires_at', 'cannot come with expires_in_days') : new Date(now + days * DAY_MS);
  }
  if (!at) return refuseField('expires_in_days', 'is required, or expires_at');
  if (at.getTime() <= now) return refuseField('expires_at', 'must lie in the future');
  if (at.getTime() > now + MAX_DAYS * DAY_MS) return refuseField('expires_at', `must be within ${MAX_DAYS} days`);
  return at;
}

function showServiceToken(token: ServiceToken): z.input<typeof ServiceTokenRecord> {
  return {
    identifier: token.identifier,
    name: token.name,
    rights: token.rights,
    created_by: token.createdBy,
    created_at: token.createdAt.toISOString(),
    last_used_at: token.usedAt?.toISOString() ?? null,
    expires_at: token.expiresAt.toISOString(),
  };
}

export const serviceTokenRoutes: Route[] = [listTheServiceTokens, createServiceToken, revokeAServiceToken];
