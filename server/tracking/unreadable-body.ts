import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import * as api from '../../api/tracking/tracking.ts';
import type { Refusal } from '../../domain/core/refusal.ts';
import { storable, withoutCutWord } from '../../domain/core/text-limits.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import type { RefusedWith } from '../../store/tracking/refusals.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { writeKeysIn } from '../http/verify-body.ts';
import { targetOfKey } from './tracking-target.ts';

/**
 * Keeps bodies of calls that are no JSON, each as one refused call with its beginning, so that an app's developer sees
 * them.
 */

const KEPT_BYTES = 2 * 1024;
const OPERATIONS: ReadonlySet<string> = new Set(
  [
    api.sendBatch,
    api.sendImportedBatch,
    ...api.otherBatches,
    ...api.singleCalls.flatMap(({ operations }) => operations),
  ].map(({ id }) => id),
);

const KEY = /"writeKey"\s*:\s*"[^"]*"?/g;
const ID = /"(?<name>userId|previousId|anonymousId|id)"\s*:\s*"(?<id>[^"\\]{1,256})"/g;

/** Notes down a body that `refusal` refuses; nothing where it is no call's, or its key leads nowhere. */
export async function keepUnreadableBody(
  request: FastifyRequest,
  bytes: Buffer,
  { status, message }: Refusal,
  deps: RouteDependencies,
): Promise<void> {
  const { route } = request.routeOptions.config;
  if (route === undefined || !OPERATIONS.has(route.id)) return;
  const [writeKey = ''] = writeKeysIn(bytes);
  const target = request.trackingTarget ?? (await targetOfKey(deps, writeKey, request.ip).catch(() => null));
  if (target === null) return;
  const { entityId, apps } = target;
  const text = beginningOf(bytes);
  const refused: RefusedWith = {
    index: 0,
    messageId: null,
    code: status === 'too_large' ? 'too_large' : 'invalid',
    message,
    raw: text,
    people: peopleIn(text),
    appId: apps.length === 1 ? apps[0].appId : null,
  };
  const taken = await deps.trackingAdmission.within(entityId, bytes.length, () =>
    deps.trackingIntake(entityId, { calls: [], refused: [refused] }),
  );
  deps.liveCalls.note(target, deps.liveCalls.shown(target, [text], {}), { calls: [], refused: [refused] }, taken);
  deps.metrics.countCalls('refused', 1);
}

/**
 * Its first 2 KiB as text, without a write key and without a word that the cut went through: an erasure searches for
 * whole ids.
 */
function beginningOf(bytes: Buffer): string {
  const first = bytes.subarray(0, KEPT_BYTES);
  // Another encoding of one byte a character: read as UTF-8, ids in it would not be found.
  const text = first.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  if (text.includes('\0')) return '';
  return storable(bytes.length > KEPT_BYTES ? withoutCutWord(text) : text).replaceAll(KEY, '"writeKey":"…"');
}

/** The ids that stand in it as members of calls do. */
function peopleIn(text: string): Person[] {
  return [...text.matchAll(ID)].map(({ groups }): Person => {
    const { name, id } = groups as { name: string; id: string };
    return { customerType: name === 'userId' || name === 'previousId' ? 'user_id' : 'device_id', customerId: id };
  });
}
