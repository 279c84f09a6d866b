/** Reads the calls of a request into those that go to the store and those that are refused. */

import { hash } from 'node:crypto';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import {
  type Fields,
  fieldsOf,
  isAbsent,
  isCallError,
  isNoDevice,
  textOrNumber,
} from '../../domain/tracking/call-fields.ts';
import type { CallType, RefusedCall } from '../../domain/tracking/call.ts';
import { readCall, type CallBatch } from '../../domain/tracking/read-call.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import type { AppCall } from '../../store/tracking/app-call.ts';
import type { RefusedAppCall } from '../../store/tracking/refused-calls.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import { appOfCall } from './write-keys.ts';

/** The calls of a request, and those that are refused. */
export type CallRequest = { calls: AppCall[]; refused: RefusedAppCall[] };

/** How far a device's clock may be ahead. */
const AHEAD_MS = DAY_MS;
/** Maximum length of a refused call as it is kept. */
const RAW_LENGTH = 4_000;

const sha256 = (text: string) => hash('sha256', text, 'hex');

/** Facts that a path sets: the type of a single call; that calls are imported. */
export type OfPath = { type?: CallType; isImport?: boolean };

export function readCalls(
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

/** Subtracts months as Postgres does: a missing day becomes the last day of its month. */
function monthsBefore(instantMs: number, months: number): number {
  const date = new Date(instantMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() - months);
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, days));
}

/** Adds the call as it came, its ids, and its app if the key has only one. */
function keep(refused: RefusedCall, given: unknown, beneath: Fields, { apps }: TrackingTarget): RefusedAppCall {
  const [raw, people] = [rawOf(given, beneath, RAW_LENGTH), peopleIn(given, beneath)];
  return { ...refused, appId: apps.length === 1 ? apps[0].appId : null, raw, people };
}

/**
 * Returns a call as JSON, cut to `maxChars`. The ids come first, so that an erasure finds a cut call, too; a device id
 * of its batch's context is added.
 */
export function rawOf(given: unknown, beneath: Fields, maxChars: number): string {
  if (!isObject(given)) return shorten(JSON.stringify(given), maxChars);
  const { userId, anonymousId, previousId, context, ...others } = given;
  const raw = {
    userId,
    anonymousId,
    previousId,
    context: deviceFirst(context, beneath),
    ...others,
    writeKey: undefined,
  };
  return shorten(JSON.stringify(raw), maxChars);
}

function deviceFirst(context: unknown, beneath: Fields): unknown {
  const id = deviceIdIn(context) ?? deviceIdIn(beneath);
  const { device: given, ...others } = fieldsOf(context) ?? { device: context };
  const device = fieldsOf(given);
  return isAbsent(id) || device === undefined ? context : { device: { id, ...device }, ...others };
}

/** Returns the ids of a call that may be malformed, each with its type (as `readSubject`). */
export function peopleIn(given: unknown, beneath: Fields): Person[] {
  if (!isObject(given)) return [];
  const { userId, anonymousId, previousId, context } = given;
  const deviceId = [deviceIdIn(context), deviceIdIn(beneath), anonymousId].find((id) => !isNoDevice(id));
  const ids = [
    ['user_id', userId],
    ['user_id', previousId],
    ['device_id', deviceId],
  ] as const;
  return ids.flatMap(([customerType, given]): Person[] => {
    const customerId = textOrNumber(given);
    return customerId === undefined || customerId === '' ? [] : [{ customerType, customerId }];
  });
}

function deviceIdIn(context: unknown): unknown {
  return fieldsOf(fieldsOf(context)?.device)?.id;
}
