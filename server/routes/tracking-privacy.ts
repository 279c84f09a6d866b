import { z } from 'zod';
import { readSubject } from '../../domain/call-subject.ts';
import { fieldsOf, isFault, isObject } from '../../domain/call-fields.ts';
import { refuse, refuseField } from '../../domain/refusal.ts';
import { insertAuditEntry } from '../../store/audit-log.ts';
import { type Tx, write } from '../../store/database.ts';
import {
  type AskingDevice, type DeviceRequest, findEarlierRequest, listDeviceRequests, lockAskingDevice,
} from '../../store/gdpr/device-requests.ts';
import type { GdprRequestType } from '../../store/gdpr/request-record.ts';
import { insertGdprRequest } from '../../store/gdpr/requests.ts';
import { audit } from '../audit.ts';
import { requireApp } from '../find-app.ts';
import { STATES, TYPES } from '../gdpr-body.ts';
import { startGdprSoon } from '../gdpr-flows.ts';
import { identifier } from '../input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../page.ts';
import type { RouteNeeds } from '../needs.ts';
import { type Route, route } from '../route.ts';
import { requireTarget } from '../tracking-target.ts';

const AskedBody = z.custom<unknown>(() => true).meta({
  type: 'object',
  description: '`type`: access or delete; the device as `deviceId`, `context.device.id` or `anonymousId`; `userId` to check who is asking; '
    + '`writeKey` where it is not the user of Basic authentication',
});

const ask = route({
  tag: 'Tracking', auth: 'app_key', method: 'POST', idempotencyKey: 'ignored',
  path: '/v1/privacy',
  summary: 'Ask from a device for the data of its user, or for its deletion',
  description: 'It is for the user last seen on the device. A deletion waits for approval, unless the app is set to do without; all '
    + 'else begins at once. The same again within a day, or while it is open, is one request.',
  body: AskedBody,
  result: z.object({ identifier: z.string(), type: z.enum(TYPES), state: z.enum(STATES), received_at: z.iso.datetime() }),
  async handle({ body, log, ...circumstances }, needs) {
    const { entityId, apps } = await requireTarget(needs, circumstances, body);
    const { type, deviceId, userId } = readAsked(body);
    const { request, isNew } = await write(needs.db, async (tx) => {
      const device = await lockAskingDevice(tx, entityId, apps.map(({ appId }) => appId), deviceId)
        ?? refuse(404, 'not_found', 'Device not found: nothing is known of it');
      if (userId !== null && userId !== device.lastUserId) return refuseField('userId', 'is not who was last seen on this device');
      const earlier = await findEarlierRequest(tx, entityId, device, type);
      if (earlier) return { request: earlier, isNew: false };
      return { request: await insertAsked(tx, needs, { entityId, device, type, address: circumstances.address }), isNew: true };
    });
    if (isNew && request.state === 'accepted') await startGdprSoon(needs, log, request);
    return { identifier: request.identifier, type, state: request.state, received_at: request.receivedAt.toISOString() };
  },
});

type Asked = { entityId: number; device: AskingDevice; type: GdprRequestType; address: string };

async function insertAsked(tx: Tx, { secrets }: RouteNeeds, { entityId, device, type, address }: Asked) {
  const { appId, deviceId, lastUserId, gdprEmails, gdprApproval } = device;
  const state = type === 'delete' && gdprApproval ? 'waiting' : 'accepted';
  const request = await insertGdprRequest(tx, entityId, {
    type, source: 'sdk', appId, requester: { kind: 'device', id: null }, skipEmail: false, emails: gdprEmails, state,
    people: [{ userId: lastUserId, deviceId }],
  });
  const customerHash = lastUserId === null
    ? secrets.customerHash(entityId, 'device_id', deviceId) : secrets.customerHash(entityId, 'user_id', lastUserId);
  await insertAuditEntry(tx, entityId, {
    actorKind: 'system', address, action: 'create', subjectKind: 'gdpr_request', subject: request.identifier, customerHash,
    details: { type, source: 'sdk' },
  });
  return request;
}

function readAsked(body: unknown): { type: GdprRequestType; deviceId: string; userId: string | null } {
  const fields = isObject(body) ? body : {};
  const type = TYPES.find((known) => known === fields.type) ?? refuseField('type', 'must be access or delete');
  const device = fields.deviceId === undefined ? fieldsOf(fieldsOf(fields.context)?.device) ?? {} : { id: fields.deviceId };
  const subject = readSubject('track', fields, device);
  if (isFault(subject) && subject.code !== 'nobody') return refuse(400, subject.code, subject.message);
  if (isFault(subject) || subject.deviceId === null) {
    return refuseField('deviceId', 'is required: what the SDK has as context.device.id, or anonymousId');
  }
  return { type, deviceId: subject.deviceId, userId: subject.userId };
}

const PrivacyRequestRecord = z.object({
  identifier: z.string(), type: z.enum(TYPES), state: z.enum(STATES),
  device_id: z.string().nullable().describe('Null once the person was erased'), user_id: z.string().nullable(),
  received_at: z.iso.datetime(),
});

const list = route({
  tag: 'SDK data', right: 'gdpr_data_manage', method: 'GET',
  path: '/api/apps/:app_identifier/privacy_requests',
  summary: 'List what was asked for from devices of an app, newest first',
  params: z.object({ app_identifier: identifier }),
  query: z.object(pageQuery),
  result: pageOf(PrivacyRequestRecord),
  async handle({ params, query, ...who }, { db, settings }) {
    const { entityId } = who.caller;
    const { app, found: { total, requests } } = await write(db, async (tx) => {
      const wanted = await requireApp(tx, entityId, params.app_identifier);
      await audit(tx, who, { action: 'read', subjectKind: 'app', subject: wanted.identifier, details: { what: 'privacy_requests' } });
      return { app: wanted, found: await listDeviceRequests(tx, entityId, wanted.id, rowsOf(query)) };
    });
    return showPage(settings, `/api/apps/${app.identifier}/privacy_requests`, query, total, requests.map(show));
  },
});

function show({ identifier: own, type, state, deviceId, userId, receivedAt }: DeviceRequest): z.input<typeof PrivacyRequestRecord> {
  return { identifier: own, type, state, device_id: deviceId, user_id: userId, received_at: receivedAt.toISOString() };
}

export const trackingPrivacyRoutes: Route[] = [ask, list];
