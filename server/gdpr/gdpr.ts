import * as api from '../../api/gdpr/gdpr.ts';
import { write } from '../../store/core/database.ts';
import { listLatestRequests } from '../../store/gdpr/latest.ts';
import { audit, auditReads } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { takeRequest } from './gdpr-asked.ts';
import { knownGdprRequest, showAccess, showDeletion, showPolled } from './gdpr-record.ts';

const askForAccess = route(api.requestAccess, (asked, deps) => takeRequest('access', asked, deps));

const askForDeletion = route(api.requestDeletion, (asked, deps) => takeRequest('delete', asked, deps));

const viewAccess = route(api.viewAccessRequest, async ({ query: { request_id }, ...who }, deps) => {
  return write(deps.db, async (tx) => {
    const asked = await knownGdprRequest(tx, who.caller.entityId, request_id, 'access');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
    return showAccess(tx, deps, asked);
  });
});

const viewDeletion = route(api.viewDeletionRequest, async ({ query: { request_id }, ...who }, { db }) => {
  return write(db, async (tx) => {
    const asked = await knownGdprRequest(tx, who.caller.entityId, request_id, 'delete');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
    return showDeletion(tx, asked);
  });
});

const WEEK_MS = 7 * 24 * 3_600_000;

const pollLatest = route(api.listLatestGdprRequests, async (
  { query: { users = null, request_types: types = api.GDPR_TYPES, modified_since: asked }, ...who }, deps,
) => {
  const { entityId } = who.caller;
  const weekAgo = new Date(Date.now() - WEEK_MS);
  const since = asked && asked > weekAgo ? asked : weekAgo;
  return write(deps.db, async (tx) => {
    const polled = await listLatestRequests(tx, entityId, { users: users && [...new Set(users)], types, since, limit: api.MAX_POLLED });
    const details = { gdpr_requests: polled.length };
    if (!users) await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', details });
    else await auditReads(tx, who, users.map((user) => deps.secrets.customerHash(entityId, 'user_id', user)), details);
    return polled.map((each) => showPolled(deps, each));
  });
});

export const gdprRoutes: Route[] = [askForAccess, viewAccess, askForDeletion, viewDeletion, pollLatest];
