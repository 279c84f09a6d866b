/** Privacy requests that devices make by an app's key, and their list for staff. */

import { GDPR_TYPES } from '../../api/gdpr/gdpr.ts';
import * as api from '../../api/tracking/tracking-privacy.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { fieldsOf, isCallError, readSubject } from '../../domain/tracking/call-fields.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { listAppTokenKeys } from '../../store/apps/app-token-keys.ts';
import { type Tx, write } from '../../store/core/database.ts';
import {
  type AskedByDevice,
  type AskingDevice,
  countOpenOfDevices,
  type DeviceRequest,
  findEarlierRequest,
  listDeviceRequests,
  lockAskingDevice,
  lockDeviceRequests,
  type Rate,
  secondsUntilFewer,
  secondsUntilWithin,
} from '../../store/gdpr/device-requests.ts';
import type { GdprRequestType } from '../../store/gdpr/request-record.ts';
import { insertGdprRequest } from '../../store/gdpr/requests.ts';
import { requireApp } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { requireTarget } from './write-keys.ts';
import { verifyUserToken } from './user-token.ts';

const ask = route(api.requestPrivacyFromDevice, async ({ body, log, ...circumstances }, deps) => {
  const { entityId, apps } = await requireTarget(deps, circumstances, body);
  const given = readAsked(body);
  const { userId, request, isNew } = await write(deps.db, (tx) =>
    takeAsked(tx, deps, { entityId, appIds: apps.map(({ appId }) => appId), given, address: circumstances.address }),
  );
  if (isNew && request.state === 'accepted') await startSoon(deps, log, request.type, jobRefOf(request));
  return {
    identifier: request.identifier,
    type: given.type,
    state: request.state,
    received_at: request.receivedAt.toISOString(),
    covers: coverage(userId),
    ...(given.userId !== null && userId === null ? { notice: UNVOUCHED } : {}),
  };
});

type Asked = { entityId: number; appIds: number[]; given: Given; address: string };

/** Inserts the request, unless the same one was made before. */
async function takeAsked(tx: Tx, deps: RouteDependencies, { entityId, appIds, given, address }: Asked) {
  const device =
    (await lockAskingDevice(tx, entityId, appIds, given.deviceId)) ??
    refuse(404, 'not_found', 'Device not found: nothing is known of it');
  const userId = await vouchedUser(tx, deps, { entityId, device, given });
  const asked = { device, userId, type: given.type };
  const earlier = await findEarlierRequest(tx, entityId, asked);
  if (earlier) return { userId, request: earlier, isNew: false };
  await refuseTooMany(tx, entityId, asked);
  return { userId, request: await insertAsked(tx, deps, { entityId, asked, address }), isNew: true };
}

function coverage(userId: string | null): (typeof api.COVERS)[number] {
  return userId === null ? 'device' : 'user';
}

const UNVOUCHED =
  'userId counts only with a userToken that vouches for it: this request covers what the device itself sent';

type Given = { type: GdprRequestType; deviceId: string; userId: string | null; userToken: unknown };

/** Returns the token's user, or null: a device's own word is no reason to show or erase a user's data. */
async function vouchedUser(
  tx: Tx,
  { secrets }: RouteDependencies,
  { entityId, device, given }: { entityId: number; device: AskingDevice; given: Given },
): Promise<string | null> {
  if (given.userToken === undefined || given.userToken === null) return null;
  const userId = await verifyUserToken(await listAppTokenKeys(tx, secrets, entityId, device.appId), given.userToken);
  if (given.userId !== null && given.userId !== userId)
    return refuseField('userId', 'is not whom the userToken names as sub');
  return userId;
}

/** Maximum number of requests of a type within a day, for a device and for a person. */
const MAX_A_DAY = 3;
/** Limits without a user token, since an app's key can invent devices: a release's burst, and one worker's share. */
const RATES_OF_DEVICES: Rate[] = [
  { most: 20, seconds: 60 },
  { most: 120, seconds: 3_600 },
];
const MAX_OPEN_OF_DEVICES = 1_000;
const RETRY_SECONDS = 3_600;

async function refuseTooMany(tx: Tx, entityId: number, asked: AskedByDevice): Promise<void> {
  await lockDeviceRequests(tx, entityId);
  const seconds = await secondsUntilFewer(tx, entityId, asked, MAX_A_DAY);
  if (seconds > 0) {
    refuseUntil(
      seconds,
      `There were ${MAX_A_DAY} requests of this type within a day, the most of a device and of a person`,
    );
  }
  // Invented devices must not block a person that the app's server vouches for.
  if (asked.userId !== null) return;
  const { appId } = asked.device;
  const untilWithin = await secondsUntilWithin(tx, entityId, appId, RATES_OF_DEVICES);
  if (untilWithin > 0) {
    const rates = RATES_OF_DEVICES.map(({ most, seconds: within }) => `${most} requests within ${within} seconds`).join(
      ' and ',
    );
    refuseUntil(untilWithin, `Devices of this app may make ${rates} without a user token`);
  }
  if ((await countOpenOfDevices(tx, entityId, appId)) < MAX_OPEN_OF_DEVICES) return;
  const message = `${MAX_OPEN_OF_DEVICES} requests from devices of this app are open, which is the most: try again later`;
  refuse(429, 'too_many_requests', message, { retry_after: RETRY_SECONDS });
}

function refuseUntil(seconds: number, why: string): never {
  return refuse(429, 'too_many_requests', `${why}: try again in ${seconds} seconds`, { retry_after: seconds });
}

type NewRequest = { entityId: number; asked: AskedByDevice; address: string };

async function insertAsked(
  tx: Tx,
  { secrets }: RouteDependencies,
  { entityId, asked: { device, userId, type }, address }: NewRequest,
) {
  const { appId, deviceId, gdprApproval } = device;
  const state = type === 'delete' && gdprApproval ? 'waiting' : 'accepted';
  const request = await insertGdprRequest(tx, entityId, {
    type,
    source: 'sdk',
    appId,
    requester: { kind: 'device', id: null },
    skipEmail: false,
    emails: [],
    state,
    people: [{ userId, deviceId }],
  });
  const customerHash =
    userId === null
      ? secrets.customerHash(entityId, 'device_id', deviceId)
      : secrets.customerHash(entityId, 'user_id', userId);
  await insertAuditEntry(tx, entityId, {
    actorKind: 'system',
    address,
    action: 'create',
    subjectKind: 'gdpr_request',
    subject: request.identifier,
    customerHash,
    details: { type, source: 'sdk', covers: coverage(userId) },
  });
  return request;
}

function readAsked(body: unknown): Given {
  const fields = isObject(body) ? body : {};
  const type = GDPR_TYPES.find((known) => known === fields.type) ?? refuseField('type', 'must be access or delete');
  const device =
    fields.deviceId === undefined ? (fieldsOf(fieldsOf(fields.context)?.device) ?? {}) : { id: fields.deviceId };
  const subject = readSubject('track', fields, device);
  if (isCallError(subject) && subject.code !== 'nobody') return refuse(400, subject.code, subject.message);
  if (isCallError(subject) || subject.deviceId === null) {
    return refuseField('deviceId', 'is required: what the SDK has as context.device.id, or anonymousId');
  }
  return { type, deviceId: subject.deviceId, userId: subject.userId, userToken: fields.userToken };
}

const list = route(api.listPrivacyRequests, async ({ params, query, ...who }, { db, settings }) => {
  const { entityId } = who.caller;
  const {
    app,
    found: { total, requests },
  } = await write(db, async (tx) => {
    const wanted = await requireApp(tx, entityId, params.app_identifier);
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'app',
      subject: wanted.identifier,
      details: { what: 'privacy_requests' },
    });
    return { app: wanted, found: await listDeviceRequests(tx, entityId, wanted.id, rowsOf(query)) };
  });
  return showPage(settings, `/api/apps/${app.identifier}/privacy_requests`, query, total, requests.map(show));
});

function show({ identifier: own, type, state, deviceId, userId, receivedAt }: DeviceRequest): api.PrivacyRequest {
  return { identifier: own, type, state, device_id: deviceId, user_id: userId, received_at: receivedAt.toISOString() };
}

export const trackingPrivacyRoutes: Route[] = [ask, list];
