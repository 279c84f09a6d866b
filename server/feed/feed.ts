import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { findSorById, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import { type FeedRequest, findFeedRequest } from '../../store/feed/feed-requests.ts';
import { identifier } from '../http/input.ts';
import { bare, type Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refuseKey } from '../http/sor-key.ts';
import { feedBody } from './feed-body.ts';

const TAG = 'Feed';

const feedAttributeValues = route({
  method: 'POST',
  path: '/api/attribute_values',
  summary: 'Feed attribute values as JSON',
  description: 'Accepted once answered, and merged soon after, in order. The answer also has `errorMessage` (null) and '
    + '`errorCode` (0); so have refusals, with their message and HTTP status.',
  tag: TAG,
  auth: 'sor_key',
  exactNumbers: true,
  errorCodes: true,
  body: feedBody,
  result: z.object({ requestId: z.string() }),
  async handle({ body: { sor: shown, api_key: apiKey, customer_attribute_values: values }, version, address, keepReply }, deps) {
    const sor = await deps.feedIntake.findSor({ identifier: shown, apiKey }) ?? refuseKey();
    const { entityId } = sor;
    const body = JSON.stringify(values);
    await deps.feedAdmission.take(entityId, body.length);
    const answer = await deps.feedIntake.accept({
      entityId,
      request: { sorId: sor.id, version, valuesIn: values.length, body },
      entry: {
        actorKind: 'sor_key', actorId: sor.id, address, action: 'feed', subjectKind: 'feed_request',
        details: { sor: sor.identifier, values: values.length },
      },
      answer: (tx, requestId) => keepReply(tx, bare({ success: true, result: { requestId }, errorMessage: null, errorCode: 0 })),
    });
    deps.feedWaker.wake(entityId);
    return answer as Reply;
  },
});

const FeedRequestRecord = z.object({
  request_id: z.string(),
  state: z.enum(['accepted', 'finished']),
  sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }).nullable(),
  version: z.int(),
  values: z.object({ in: z.int(), ok: z.int(), ignored: z.int(), failed: z.int() })
    .describe('Once it is finished, in = ok + ignored + failed'),
  received_at: z.iso.datetime(),
  done_at: z.iso.datetime().nullable(),
});

const viewFeedRequest = route({
  method: 'GET',
  path: '/api/attribute_values/feeds/:request_id',
  summary: 'Get the outcome of a feed request',
  tag: TAG,
  right: 'sor_manage',
  params: z.object({ request_id: identifier }),
  result: FeedRequestRecord,
  async handle({ params, caller: { entityId } }, { db }) {
    const found = await findFeedRequest(db, entityId, params.request_id) ?? refuse(404, 'not_found', 'Request not found');
    return showFeedRequest(found, await findSorById(db, entityId, found.sorId));
  },
});

function showFeedRequest(request: FeedRequest, sor: SystemOfRecord | null): z.input<typeof FeedRequestRecord> {
  return {
    request_id: request.identifier,
    state: request.doneAt ? 'finished' : 'accepted',
    sor: sor && { name: sor.name, identifier: sor.identifier, type: sor.type },
    version: request.version,
    values: { in: request.valuesIn, ok: request.valuesOk, ignored: request.valuesIgnored, failed: request.valuesFailed },
    received_at: request.receivedAt.toISOString(),
    done_at: request.doneAt?.toISOString() ?? null,
  };
}

export const feedRoutes: Route[] = [feedAttributeValues, viewFeedRequest];
