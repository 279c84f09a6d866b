/** The routes of Segment's tracking API: batches, single calls, settings of SDKs. Reads the calls of a request. */

import { hash } from 'node:crypto';
import * as api from '../../api/tracking/tracking.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { readBatch, type CallBatch, readCall } from '../../domain/tracking/read-call.ts';
import type { RefusedCall, CallType, CallContext } from '../../domain/tracking/call.ts';
import type { AppCall } from '../../store/tracking/app-call.ts';
import type { TrackingTarget, KeyedApp } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { bare, type Reply } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { bytesOfBody } from './serve-tracking.ts';
import type { RequestOutcome, CallRequest } from './write-calls.ts';
import { requireTarget } from './write-keys.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { type Fields, isCallError, type CallError, invalid } from '../../domain/tracking/call-fields.ts';
import type { RefusedAppCall } from '../../store/tracking/call-reports.ts';
import { peopleIn, rawOf } from './live-calls.ts';

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

/** `notes`: calls that the server took otherwise than they say. */
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

/** How far a device's clock may be ahead. */
const AHEAD_MS = DAY_MS;
const RAW_LENGTH = 4_000;

const sha256 = (text: string) => hash('sha256', text, 'hex');

type OfPath = { type?: CallType; isImport?: boolean };

function readCalls(
  { calls: given, sentAt, context }: Pick<CallBatch, 'calls' | 'sentAt' | 'context'>,
  target: TrackingTarget,
  receivedAt: number,
  ofPath: OfPath = {},
): CallRequest {
  const by = {
    receivedAt,
    sentAt,
    sha256,
    batchContext: context,
    oldest: monthsBefore(receivedAt, target.retentionMonths),
    newest: receivedAt + AHEAD_MS,
    ...ofPath,
  };
  const request: CallRequest = { calls: [], refused: [] };
  for (const [index, each] of given.entries()) {
    const read = readCall(each, index, by);
    if ('refused' in read) {
      request.refused.push(keep(read.refused, each, context, target));
      continue;
    }
    const app = appOfCall(target.apps, read.call.context);
    if (isCallError(app))
      request.refused.push(keep({ index, messageId: read.call.messageId, ...app }, each, context, target));
    else {
      const { appId, sorId, sessionTimeout } = app;
      request.calls.push(Object.assign(read.call, { appId, sorId, sessionTimeout, globalSorId: target.globalSorId }));
    }
  }
  return request;
}

/** Subtracts months as Postgres does: a missing day becomes the last of its month. */
function monthsBefore(instantMs: number, months: number): number {
  const date = new Date(instantMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months);
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, days));
}

function keep(refused: RefusedCall, given: unknown, beneath: Fields, { apps }: TrackingTarget): RefusedAppCall {
  const [raw, people] = [rawOf(given, beneath, RAW_LENGTH), peopleIn(given, beneath)];
  return { ...refused, appId: apps.length === 1 ? apps[0].appId : null, raw, people };
}

/** Returns a call's app: the only one, the one with its package name, or the only one of its platform. */
function appOfCall(
  [first, ...others]: TrackingTarget['apps'],
  { appNamespace, platform }: CallContext,
): KeyedApp | CallError {
  if (others.length === 0) return first;
  const apps = [first, ...others];
  const named = apps.find(({ packageName }) => packageName === appNamespace);
  if (named) return named;
  const [only, another] = apps.filter(({ appType }) => appType === platform);
  if (only && !another) return only;
  const { message } = invalid(
    'context.app.namespace',
    `must be the package name of one of the ${apps.length} apps that share this key`,
  );
  return { code: 'unknown_app', message };
}

export const trackingRoutes: Route[] = [...batchRoutes, ...singleRoutes, readSettings];
