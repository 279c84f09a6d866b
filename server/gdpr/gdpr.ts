import { z } from 'zod';
import { write } from '../../store/core/database.ts';
import { listLatestRequests } from '../../store/gdpr/latest.ts';
import { audit, auditReads } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { takeRequest } from './gdpr-asked.ts';
import { AskedBody, LatestQuery, StatusQuery, TYPES, wrongRequestId, wrongTypes, wrongUsers } from './gdpr-body.ts';
import { AccessStatus, DeletionStatus, knownGdprRequest, PolledRequest, showAccess, showDeletion, showPolled } from './gdpr-record.ts';

/** Requests of people for their data, or for its deletion (reference: GDPR). */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;

const asking = {
  ...SHARED, method: 'POST', malformed: wrongUsers, body: AskedBody, result: z.object({ callback_url: z.string() }),
} as const;

const askForAccess = route({
  ...asking,
  path: '/api/gdpr/access_user_data',
  summary: 'Request access to all data of users',
  description: 'At the callback_url there is an archive for each of them, for a week after the last is done.',
  handle: (asked, deps) => takeRequest('access', asked, deps),
});

const askForDeletion = route({
  ...asking,
  path: '/api/gdpr/delete_user_data',
  summary: 'Request the deletion of all data of users',
  description: 'The callback_url tells when a second look has found nothing of them.',
  handle: (asked, deps) => takeRequest('delete', asked, deps),
});

const polling = { ...SHARED, method: 'GET', malformedQuery: wrongRequestId, query: StatusQuery } as const;

const viewAccess = route({
  ...polling,
  path: '/api/gdpr_request/export',
  summary: 'Get the status of an access request',
  result: AccessStatus,
  async handle({ query: { request_id }, ...who }, deps) {
    return write(deps.db, async (tx) => {
      const asked = await knownGdprRequest(tx, who.caller.entityId, request_id, 'access');
      await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
      return showAccess(tx, deps, asked);
    });
  },
});

const viewDeletion = route({
  ...polling,
  path: '/api/gdpr_request/delete',
  summary: 'Get the status of a deletion request',
  result: DeletionStatus,
  async handle({ query: { request_id }, ...who }, { db }) {
    return write(db, async (tx) => {
      const asked = await knownGdprRequest(tx, who.caller.entityId, request_id, 'delete');
      await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
      return showDeletion(tx, asked);
    });
  },
});

const WEEK_MS = 7 * 24 * 3_600_000;
/** Whoever has more asks for some of their users. */
const MAX_POLLED = 10_000;

const pollLatest = route({
  ...SHARED,
  method: 'GET',
  path: '/api/gdpr/latest_requests',
  summary: 'List the people of recently changed requests',
  description: `Those that changed last first, at most ${MAX_POLLED}.`,
  malformedQuery: wrongTypes,
  query: LatestQuery,
  result: z.array(PolledRequest),
  async handle({ query: { users = null, request_types: types = TYPES, modified_since: asked }, ...who }, deps) {
    const { entityId } = who.caller;
    const weekAgo = new Date(Date.now() - WEEK_MS);
    const since = asked && asked > weekAgo ? asked : weekAgo;
    return write(deps.db, async (tx) => {
      const polled = await listLatestRequests(tx, entityId, { users: users && [...new Set(users)], types, since, limit: MAX_POLLED });
      const details = { gdpr_requests: polled.length };
      if (!users) await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', details });
      else await auditReads(tx, who, users.map((user) => deps.secrets.customerHash(entityId, 'user_id', user)), details);
      return polled.map((each) => showPolled(deps, each));
    });
  },
});

export const gdprRoutes: Route[] = [askForAccess, viewAccess, askForDeletion, viewDeletion, pollLatest];
