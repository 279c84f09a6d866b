import * as api from '../../api/gdpr/gdpr.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { countBeforeApproval } from '../../store/gdpr/count-before-approval.ts';
import {
  countGdprRequests,
  findGdprRequest,
  listGdprRequests,
  listLatestRequests,
  updateDecision,
} from '../../store/gdpr/requests.ts';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import { deleteInternalErrorsOfJob } from '../../store/jobs/internal-errors.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { takeRequest } from './gdpr-asked.ts';
import { knownGdprRequest, listItems, showAccess, showDeletion, showPolled, viewRequest } from './gdpr-record.ts';

const askForAccess = route(api.requestAccess, (asked, deps) => takeRequest('access', asked, deps));

const askForDeletion = route(api.requestDeletion, (asked, deps) => takeRequest('delete', asked, deps));

const viewAccess = route(api.viewAccessRequest, async ({ query: { request_id }, ...who }, deps) => {
  return write(deps.db, async (tx) => {
    const asked = await knownGdprRequest(tx, who.caller.entityId, request_id, 'access');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
    return showAccess(tx, deps, asked);
  });
});

const viewDeletion = route(api.viewDeletionRequest, async ({ query: { request_id }, ...who }, deps) => {
  const { asked, shown } = await write(deps.db, async (tx) => {
    const found = await knownGdprRequest(tx, who.caller.entityId, request_id, 'delete');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: found.identifier });
    return { asked: found, shown: await showDeletion(tx, found) };
  });
  return { ...shown, would_erase: await countBeforeApproval(deps, asked) };
});

const WEEK_MS = 7 * DAY_MS;

const pollLatest = route(
  api.listLatestGdprRequests,
  async ({ query: { users = null, request_types: types = api.GDPR_TYPES, modified_since: asked }, ...who }, deps) => {
    const { entityId } = who.caller;
    const weekAgo = new Date(Date.now() - WEEK_MS);
    const since = asked && asked > weekAgo ? asked : weekAgo;
    return write(deps.db, async (tx) => {
      const polled = await listLatestRequests(tx, entityId, {
        users: users && [...new Set(users)],
        types,
        since,
        limit: api.MAX_POLLED,
      });
      const details = { gdpr_requests: polled.length };
      if (!users) await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', details });
      else
        await auditReads(
          tx,
          who,
          users.map((user) => deps.secrets.customerHash(entityId, 'user_id', user)),
          details,
        );
      return polled.map((each) => showPolled(deps, each));
    });
  },
);

const listRequests = route(api.listGdprRequests, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { type, state, source, ...page } = query;
  const filter = { type: type ?? null, state: state ?? null, source: source ?? null };
  const total = await countGdprRequests(db, entityId, filter);
  const items = await listItems(db, entityId, await listGdprRequests(db, entityId, filter, rowsOf(page)));
  const filtered = Object.entries(filter).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
  return showPage(
    settings,
    [api.listGdprRequests.path, filtered.join('&')].filter(Boolean).join('?'),
    page,
    total,
    items,
  );
});

const viewTheRequest = route(api.viewGdprRequest, async ({ params: { request_id }, ...who }, deps) => {
  const { asked, shown } = await write(deps.db, async (tx) => {
    const found =
      (await findGdprRequest(tx, who.caller.entityId, request_id)) ??
      refuse(404, 'not_found', 'Request not found, or its week is over');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: found.identifier });
    return { asked: found, shown: await viewRequest(tx, deps, found) };
  });
  return asked.type === 'delete' ? { ...shown, would_erase: await countBeforeApproval(deps, asked) } : shown;
});

const DECISIONS = { approve: 'accepted', decline: 'declined' } as const;
type Decision = keyof typeof DECISIONS;

const approve = route(api.approveGdprRequest, async ({ params, log, keepReply, ...who }, deps) => {
  const { request, answer } = await write(deps.db, (tx) => decide(tx, who, params.request_id, 'approve', keepReply));
  await startSoon(deps, log, request.type, jobRefOf(request));
  return answer;
});

const decline = route(api.declineGdprRequest, async ({ params, keepReply, ...who }, { db }) => {
  return (await write(db, (tx) => decide(tx, who, params.request_id, 'decline', keepReply))).answer;
});

async function decide(
  tx: Tx,
  { caller, address }: Pick<Circumstances, 'address'> & { caller: Caller },
  requestId: string,
  decision: Decision,
  keepReply: KeepReply,
) {
  const { entityId, userId } = caller;
  const request =
    (await updateDecision(tx, entityId, requestId, { state: DECISIONS[decision], decidedBy: userId })) ??
    refuseUndecidable(await findGdprRequest(tx, entityId, requestId), decision);
  await deleteInternalErrorsOfJob(tx, entityId, request.type, requestId);
  await audit(tx, { caller, address }, { action: decision, subjectKind: 'gdpr_request', subject: requestId });
  const [item] = await listItems(tx, entityId, [request]);
  return { request, answer: await keepReply(tx, item!) };
}

function refuseUndecidable(request: GdprRequest | null, decision: Decision): never {
  if (!request) return refuse(404, 'not_found', 'Request not found');
  return refuse(
    409,
    'conflict',
    `Request ${request.identifier} is ${request.state}: only one that is waiting can be ${decision}d`,
  );
}

export const gdprRoutes: Route[] = [
  askForAccess,
  viewAccess,
  askForDeletion,
  viewDeletion,
  pollLatest,
  listRequests,
  viewTheRequest,
  approve,
  decline,
];
