/** The routes of the JSON feed: send values, and see what became of a request. */
import * as api from '../../api/feed/feed.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { findSorById, listSorNames, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import { type FeedRequest, findFeedRequest, hasFeedWait, listFeedRequests } from '../../store/feed/feed-requests.ts';
import { cursorPage } from '../http/page.ts';
import { bare, type Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refuseKey, requireSor } from '../http/sor-key.ts';

const feedAttributeValues = route(
  api.feedAttributeValues,
  async (
    { body: { sor: shown, api_key: apiKey, customer_attribute_values: values }, version, address, keepReply },
    deps,
  ) => {
    const sor = (await deps.feedIntake.findSor({ identifier: shown, apiKey })) ?? refuseKey();
    const { entityId } = sor;
    const body = JSON.stringify(values);
    await deps.feedAdmission.take(entityId, body.length);
    const answer = await deps.feedIntake.accept({
      entityId,
      request: { sorId: sor.id, version, valuesIn: values.length, body },
      entry: {
        actorKind: 'sor_key',
        actorId: sor.id,
        address,
        action: 'feed',
        subjectKind: 'feed_request',
        details: { sor: sor.identifier, values: values.length },
      },
      answer: (tx, requestId) =>
        keepReply(tx, bare({ success: true, result: { requestId }, errorMessage: null, errorCode: 0 })),
    });
    deps.feedWaker.wake(entityId);
    return answer as Reply;
  },
);

const viewFeedRequest = route(api.viewFeedRequest, async ({ params, caller: { entityId } }, { db }) => {
  const found =
    (await findFeedRequest(db, entityId, params.request_id)) ?? refuse(404, 'not_found', 'Request not found');
  const isWaiting = found.doneAt === null && (await hasFeedWait(db, entityId));
  return showFeedRequest(found, await findSorById(db, entityId, found.sorId), isWaiting ? WAITING_FOR_SLOT : null);
});

const listRequests = route(api.listFeedRequests, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { sor_id: sorId, with_errors: hasErrors, per_page: limit, cursor } = query;
  const sor = sorId === undefined ? null : await requireSor(db, entityId, sorId);
  const found = await listFeedRequests(db, entityId, { sorId: sor?.id, hasErrors }, cursor?.id ?? null, limit + 1);
  const asked = { ...query, with_errors: hasErrors || undefined };
  const page = found.map((request) => ({ ...request, micros: 0 }));
  const { rows, next } = cursorPage(settings, api.listFeedRequests.path, asked, page);
  const sors = await listSorNames(db, entityId, [...new Set(rows.map((request) => request.sorId))]);
  const stage = (await hasFeedWait(db, entityId)) ? WAITING_FOR_SLOT : null;
  const show = (request: FeedRequest) =>
    showFeedRequest(request, sors.get(request.sorId) ?? null, request.doneAt === null ? stage : null);
  return { feed_requests: rows.map(show), next };
});

type ShownSor = Pick<SystemOfRecord, 'name' | 'identifier' | 'type'>;

function showFeedRequest(request: FeedRequest, sor: ShownSor | null, stage: string | null): api.FeedRequest {
  return {
    request_id: request.identifier,
    state: request.doneAt ? 'finished' : 'accepted',
    stage,
    sor: sor && { name: sor.name, identifier: sor.identifier, type: sor.type },
    version: request.version,
    values: {
      in: request.valuesIn,
      ok: request.valuesOk,
      ignored: request.valuesIgnored,
      failed: request.valuesFailed,
    },
    suspicious_ids: request.suspiciousIds,
    received_at: request.receivedAt.toISOString(),
    done_at: request.doneAt?.toISOString() ?? null,
  };
}

export const feedRoutes: Route[] = [feedAttributeValues, viewFeedRequest, listRequests];
