import { z } from 'zod';
import { readSubject } from '../../domain/call-subject.ts';
import { fieldsOf, isFault, isObject } from '../../domain/call-fields.ts';
import { refuse, refuseField } from '../../domain/refusal.ts';
import { write } from '../../store/database.ts';
import {
  findOrInsertPrivacyRequest, listPrivacyRequests, lockAskingDevice, type PrivacyRequest, type PrivacyRequestType,
} from '../../store/privacy-requests.ts';
import { audit } from '../audit.ts';
import { requireApp } from '../find-app.ts';
import { identifier } from '../input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../page.ts';
import { type Route, route } from '../route.ts';
import { requireTarget } from '../tracking-target.ts';

const TYPES = ['access', 'delete'] as const;

const AskedBody = z.custom<unknown>(() => true).meta({
  type: 'object',
  description: '`type`: access or delete; the device as `deviceId`, `context.device.id` or `anonymousId`; `userId` to check who is asking; '
    + '`writeKey` where it is not the user of Basic authentication',
});

const ask = route({
  tag: 'Tracking', auth: 'app_key', method: 'POST', idempotencyKey: 'ignored',
  path: '/v1/privacy',
  summary: 'Ask from a device for the data of its user, or for its deletion',
  description: 'It is recorded, for the user last seen on the device; people of the entity see it. '
    + 'The same again within a day is one request.',
  body: AskedBody,
  result: z.object({ identifier: z.string(), type: z.enum(TYPES), state: z.literal('recorded'), received_at: z.iso.datetime() }),
  async handle({ body, ...circumstances }, needs) {
    const { entityId, apps } = await requireTarget(needs, circumstances, body);
    const { type, deviceId, userId } = readAsked(body);
    return write(needs.db, async (tx) => {
      const device = await lockAskingDevice(tx, entityId, apps.map(({ appId }) => appId), deviceId)
        ?? refuse(404, 'not_found', 'Device not found: nothing is known of it');
      if (userId !== null && userId !== device.lastUserId) return refuseField('userId', 'is not who was last seen on this device');
      const recorded = await findOrInsertPrivacyRequest(tx, entityId, device, type);
      return { identifier: recorded.identifier, type, state: 'recorded' as const, received_at: recorded.receivedAt.toISOString() };
    });
  },
});

function readAsked(body: unknown): { type: PrivacyRequestType; deviceId: string; userId: string | null } {
  const fields = isObject(body) ? body : {};
  const type = TYPES.find((known) => known === fields.type) ?? refuseField('type', 'must be access or delete');
  const device = fields.deviceId === undefined ? fieldsOf(fieldsOf(fields.context)?.device) ?? {} : { id: fields.deviceId };
  const subject = readSubject('track', fields, device);
  if (isFault(subject)) return refuse(400, subject.code, subject.message);
  if (subject.deviceId === null) return refuseField('deviceId', 'is required: what the SDK has as context.device.id, or anonymousId');
  return { type, deviceId: subject.deviceId, userId: subject.userId };
}

const PrivacyRequestRecord = z.object({
  identifier: z.string(), type: z.enum(TYPES), state: z.literal('recorded'), device_id: z.string(), user_id: z.string().nullable(),
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
      return { app: wanted, found: await listPrivacyRequests(tx, entityId, wanted.id, rowsOf(query)) };
    });
    return showPage(settings, `/api/apps/${app.identifier}/privacy_requests`, query, total, requests.map(show));
  },
});

function show({ identifier: own, type, deviceId, userId, receivedAt }: PrivacyRequest): z.input<typeof PrivacyRequestRecord> {
  return { identifier: own, type, state: 'recorded', device_id: deviceId, user_id: userId, received_at: receivedAt.toISOString() };
}

export const trackingPrivacyRoutes: Route[] = [ask, list];
