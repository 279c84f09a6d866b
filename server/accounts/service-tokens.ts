/** The routes of service tokens: list, create, revoke. */
import * as api from '../../api/accounts/service-tokens.ts';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  insertServiceToken,
  listServiceTokens,
  revokeServiceToken,
  type ServiceToken,
} from '../../store/accounts/service-tokens.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refuseGiving } from './users.ts';

const listTheServiceTokens = route(api.listServiceTokens, async ({ query, caller }, { db, settings }) => {
  const { entityId } = caller;
  const { items, total } = await listServiceTokens(db, entityId, creatorSeenBy(caller), rowsOf(query));
  return showPage(settings, api.listServiceTokens.path, query, total, items.map(showServiceToken));
});

const createServiceToken = route(api.createServiceToken, async ({ body, keepReply, ...who }, { db }) => {
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
});

const revokeAServiceToken = route(api.revokeServiceToken, async ({ params: { token_identifier }, ...who }, { db }) => {
  const { caller } = who;
  await write(db, async (tx) => {
    const isRevoked = await revokeServiceToken(tx, caller.entityId, token_identifier, creatorSeenBy(caller));
    if (!isRevoked) refuse(404, 'not_found', 'Service token not found');
    await audit(tx, who, { action: 'delete', subjectKind: 'service_token', subject: token_identifier });
  });
  return noResult();
});

/** Returns the creator whose tokens a caller sees; null for all. */
function creatorSeenBy({ userId, admin, superadmin }: Caller): number | null {
  return admin || superadmin ? null : userId;
}

function expiryOf(
  { expires_in_days: days, expires_at: at }: { expires_in_days?: number; expires_at?: Date },
  now: number,
): Date {
  if (days !== undefined) {
    return at ? refuseField('expires_at', 'cannot come with expires_in_days') : new Date(now + days * DAY_MS);
  }
  if (!at) return refuseField('expires_in_days', 'is required, or expires_at');
  if (at.getTime() <= now) return refuseField('expires_at', 'must lie in the future');
  if (at.getTime() > now + api.MAX_TOKEN_DAYS * DAY_MS)
    return refuseField('expires_at', `must be within ${api.MAX_TOKEN_DAYS} days`);
  return at;
}

function showServiceToken(token: ServiceToken): api.ServiceToken {
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
