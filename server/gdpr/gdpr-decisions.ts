import * as api from '../../api/gdpr/gdpr.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { updateDecision } from '../../store/gdpr/decisions.ts';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import { findGdprRequest } from '../../store/gdpr/requests.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { listItems } from './gdpr-record.ts';

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
  tx: Tx, { caller, address }: Pick<Circumstances, 'address'> & { caller: Caller }, requestId: string, decision: Decision,
  keepReply: KeepReply,
) {
  const { entityId, userId } = caller;
  const request = await updateDecision(tx, entityId, requestId, { state: DECISIONS[decision], decidedBy: userId })
    ?? refuseUndecidable(await findGdprRequest(tx, entityId, requestId), decision);
  await audit(tx, { caller, address }, { action: decision, subjectKind: 'gdpr_request', subject: requestId });
  const [item] = await listItems(tx, entityId, [request]);
  return { request, answer: await keepReply(tx, item!) };
}

function refuseUndecidable(request: GdprRequest | null, decision: Decision): never {
  if (!request) return refuse(404, 'not_found', 'Request not found');
  return refuse(409, 'conflict', `Request ${request.identifier} is ${request.state}: only one that is waiting can be ${decision}d`);
}

export const gdprDecisionRoutes: Route[] = [approve, decline];
