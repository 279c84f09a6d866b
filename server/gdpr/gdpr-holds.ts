/** The routes of holds: a person on hold is not erased. */
import type { FastifyBaseLogger } from 'fastify';
import * as api from '../../api/gdpr/gdpr-holds.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import {
  deleteHold,
  type GdprHold,
  insertHold,
  listHolds,
  listHoldsOf,
  lockOpenDeletions,
  noteReleasedHold,
} from '../../store/gdpr/holds.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { personAsked } from './person-asked.ts';

const NOT_BOTH = 'a hold is of one of them';

const createHold = route(api.createGdprHold, async ({ body, keepReply, ...who }, { db, secrets }) => {
  const { entityId, userId } = who.caller;
  const person = personAsked(body, NOT_BOTH) ?? refuseField('user_id', 'is required, or device_id: the person on hold');
  const { kind = 'hold', reason } = body;
  return write(db, async (tx) => {
    const hold =
      (await insertHold(tx, entityId, { ...person, kind, reason, createdBy: userId })) ??
      refuse(409, 'conflict', `This person has a ${kind} already: GET ${api.listGdprHolds.path} lists it`);
    const open = await lockOpenDeletions(tx, entityId, [person], { states: ['pending'], ids: 'holdable' });
    await audit(tx, who, {
      action: 'create',
      subjectKind: 'gdpr_hold',
      subject: hold.identifier,
      details: { kind },
      customerHash: secrets.customerHash(entityId, person.customerType, person.customerId),
    });
    const answer = { ...showHold(hold), deletion_under_way: open.some(({ state }) => state === 'running') };
    return keepReply(tx, answer, { secretOf: hold.identifier });
  });
});

const listTheHolds = route(api.listGdprHolds, async ({ query, ...who }, { db, secrets, settings }) => {
  const { entityId } = who.caller;
  const person = personAsked(query, NOT_BOTH);
  const { total, holds } = await write(db, async (tx) => {
    const found = await listHolds(tx, entityId, person, rowsOf(query));
    const seen = person ? [person] : found.holds;
    const hashes = seen.map(({ customerType, customerId: id }) => secrets.customerHash(entityId, customerType, id));
    await auditReads(tx, who, hashes, { what: 'holds' });
    return found;
  });
  const filter = person ? `?${person.customerType}=${encodeURIComponent(person.customerId)}` : '';
  return showPage(settings, `${api.listGdprHolds.path}${filter}`, query, total, holds.map(showHold));
});

const releaseHold = route(api.releaseGdprHold, async ({ params: { hold_id }, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const { hold, waiting } = await write(deps.db, async (tx) => {
    const released = (await deleteHold(tx, entityId, hold_id)) ?? refuse(404, 'not_found', 'Hold not found');
    const { kind, customerType, customerId: id } = released;
    await audit(tx, who, {
      action: 'delete',
      subjectKind: 'gdpr_hold',
      subject: hold_id,
      details: { kind },
      customerHash: deps.secrets.customerHash(entityId, customerType, id),
    });
    const isFree = (await listHoldsOf(tx, entityId, [released])).length === 0;
    const waiting = isFree
      ? await lockOpenDeletions(tx, entityId, [released], { states: ['held'], ids: 'holdable' })
      : [];
    await noteReleasedHold(tx, entityId, waiting);
    return { hold: released, waiting };
  });
  await tellHoldsChanged(
    deps,
    log,
    waiting.map((request) => request.identifier),
  );
  return showHold(hold);
});

function showHold(hold: GdprHold): api.GdprHold {
  const { identifier, customerType, customerId, kind, reason, createdBy, createdAt } = hold;
  return {
    identifier,
    user_id: customerType === 'user_id' ? customerId : null,
    device_id: customerType === 'device_id' ? customerId : null,
    kind,
    reason,
    created_by: createdBy?.uid ?? null,
    created_at: createdAt.toISOString(),
  };
}

/** Signals these requests that their holds changed. The sweep repeats a signal that was lost. */
async function tellHoldsChanged(
  { flows }: RouteDependencies,
  log: FastifyBaseLogger,
  requests: string[],
): Promise<void> {
  if (requests.length === 0) return;
  await flows
    .tellHoldsChanged(requests)
    .catch((error: unknown) =>
      log.warn(
        { gdprRequests: requests.length, ...internalErrorOf(error) },
        'requests hear of a released hold from the sweep',
      ),
    );
}

export const gdprHoldRoutes: Route[] = [createHold, listTheHolds, releaseHold];
