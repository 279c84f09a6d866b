/** The routes of Segment's tracking API: batches, single calls, and the settings of SDKs. */

import * as api from '../../api/tracking/tracking.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { readBatch, type CallBatch } from '../../domain/tracking/read-call.ts';
import type { RefusedCall } from '../../domain/tracking/call.ts';
import type { AppCall } from '../../store/tracking/app-call.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { bare, type Reply } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { type OfPath, readCalls } from './read-calls.ts';
import { bytesOfBody } from './serve-tracking.ts';
import type { RequestOutcome } from './write-calls.ts';
import { requireTarget } from './write-keys.ts';

const batchRoutes = [api.sendBatch, ...api.otherBatches, api.sendImportedBatch].map((operation) =>
  route(operation, async ({ body, ...circumstances }, deps) => {
    const target = await requireTarget(deps, circumstances, body);
    const ofPath = { isImport: operation === api.sendImportedBatch };
    const read = readBatch(body);
    if ('refused' in read) return refuse(400, read.refused.code, read.refused.message);
    return answer(
      await deps.trackingAdmission.within(target.entityId, bytesOfBody(body), () =>
        writeRequest(deps, circumstances, target, read.batch, ofPath),
      ),
    );
  }),
);

const singleRoutes = api.singleCalls.flatMap(({ type, operations }) =>
  operations.map((operation) =>
    route(operation, async ({ body, ...circumstances }, deps) => {
      const target = await requireTarget(deps, circumstances, body);
      const taken = await deps.trackingAdmission.within(target.entityId, bytesOfBody(body), () =>
        writeRequest(deps, circumstances, target, batchOfOne(body), { type }),
      );
      const [refused] = taken.refused;
      if (refused) return refuse(400, refused.code, refused.message, { message_id: refused.messageId });
      return answer(taken);
    }),
  ),
);

/** The call's own `sentAt` is read with the call. */
function batchOfOne(body: unknown): Pick<CallBatch, 'calls' | 'sentAt' | 'context'> {
  return { calls: [body], sentAt: null, context: {} };
}

async function writeRequest(
  { feedAdmission, feedWaker, writeCalls, liveCalls, metrics }: RouteDependencies,
  { log }: Circumstances,
  target: TrackingTarget,
  batch: Pick<CallBatch, 'calls' | 'sentAt' | 'context'>,
  ofPath: OfPath,
): Promise<Answered> {
  const { entityId } = target;
  const request = readCalls(batch, target, Date.now(), ofPath);
  const shown = liveCalls.select(target, batch.calls, batch.context);
  batch.calls.length = 0; // until the answer they would outlive V8's young generation
  const traits = request.calls.flatMap((call) => call.traits);
  if (traits.length > 0) await feedAdmission.take(entityId, JSON.stringify(traits).length);
  const taken = await writeCalls(entityId, request);
  liveCalls.add(target, shown, request, taken);
  if (traits.length > 0) feedWaker.wake(entityId);
  metrics.countCalls('accepted', taken.accepted);
  metrics.countCalls('duplicate', taken.duplicates);
  metrics.countCalls('refused', taken.refused.length);
  if (taken.refused.length > 0) log.info({ entityId, refused: countCodes(taken.refused) }, 'calls were refused');
  const others = new Set([...taken.repeated, ...taken.refused.map(({ index }) => index)]);
  return { ...taken, notes: request.calls.filter(({ index, note }) => note !== null && !others.has(index)) };
}

/** `notes`: the calls that the server took otherwise than they say. */
type Answered = RequestOutcome & { notes: AppCall[] };

function countCodes(refused: RefusedCall[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of refused) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

function answer({ accepted, duplicates, refused, notes }: Answered): Reply {
  return bare({
    success: true,
    accepted,
    duplicates,
    refused: refused.map(({ index, messageId, code, message }) => ({ index, message_id: messageId, code, message })),
    ...(notes.length > 0 && {
      notes: notes.map(({ index, messageId, note }) => ({ index, message_id: messageId, message: note! })),
    }),
  } satisfies api.IngestedCalls);
}

const readSettings = route(
  api.viewSdkSettings,
  async ({ params: { write_key: writeKey }, address }, { writeKeys, settings }) => {
    if ((await writeKeys.find(writeKey, address)) === null) return refuse(404, 'not_found', 'Unknown write key');
    const [, protocol, host] = /^(https?):\/\/(.*)$/.exec(settings.publicUrl)!;
    // Otherwise SDKs report figures about themselves to another path of the host.
    const destination = { apiKey: writeKey, apiHost: `${host!}/v1`, protocol: protocol! };
    return bare({ integrations: { 'Segment.io': destination }, metrics: { sampleRate: 0 } });
  },
);

export const trackingRoutes: Route[] = [...batchRoutes, ...singleRoutes, readSettings];
