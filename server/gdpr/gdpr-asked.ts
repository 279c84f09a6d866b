import type * as api from '../../api/gdpr/gdpr.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findRequesterEmail } from '../../store/gdpr/mails.ts';
import type { GdprRequest, GdprRequestType } from '../../store/gdpr/request-record.ts';
import { insertGdprRequest } from '../../store/gdpr/requests.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import type { Circumstances, KeepReply } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';

type Asked = Circumstances & { body: api.NewGdprRequest; caller: Caller; keepReply: KeepReply };

/** Where the status of either type of request is. */
const STATUS = { access: '/api/gdpr_request/export', delete: '/api/gdpr_request/delete' };

/** Writes a request down, with an audit entry for each person, and has it begun. The answer names nobody. */
export async function takeRequest(type: GdprRequestType, { body, keepReply, ...who }: Asked, deps: RouteDependencies) {
  const { made, answer } = await write(deps.db, async (tx) => {
    const request = await insertAsked(tx, type, body, who.caller);
    const hashes = body.users.map((userId) => deps.secrets.customerHash(request.entityId, 'user_id', userId));
    const entry = {
      action: 'create',
      subjectKind: 'gdpr_request',
      subject: request.identifier,
      details: { type },
    } as const;
    await auditEach(
      tx,
      who,
      hashes.map((customerHash) => ({ ...entry, customerHash })),
    );
    const callbackUrl = `${deps.settings.publicUrl}${STATUS[type]}?request_id=${request.identifier}`;
    return { made: request, answer: await keepReply(tx, { callback_url: callbackUrl }) };
  });
  await startSoon(deps, who.log, made.type, jobRefOf(made));
  return answer;
}

async function insertAsked(
  tx: Tx,
  type: GdprRequestType,
  { users, skip_email: skipEmail }: Asked['body'],
  { entityId, userId, serviceTokenId }: Caller,
): Promise<GdprRequest> {
  const requester =
    serviceTokenId === null
      ? ({ kind: 'user', id: userId } as const)
      : ({ kind: 'service_token', id: serviceTokenId } as const);
  const email = skipEmail ? null : await findRequesterEmail(tx, { entityId, requester });
  return insertGdprRequest(tx, entityId, {
    type,
    requester,
    skipEmail,
    source: 'api',
    appId: null,
    emails: email === null ? [] : [email],
    state: 'accepted',
    people: users.map((each) => ({ userId: each, deviceId: null })),
  });
}
