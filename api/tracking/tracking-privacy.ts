import { z } from 'zod';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { GDPR_STATES, GDPR_TYPES } from '../gdpr/gdpr.ts';

export const DevicePrivacyRequest = z.custom<unknown>(() => true).meta({
  type: 'object',
  description: '`type`: access or delete; the device as `deviceId`, `context.device.id` or `anonymousId`; `userToken`, which vouches for '
    + 'its user; `userId` to check that the token names the same user; `writeKey` where it is not the user of Basic authentication',
}).meta({ id: 'DevicePrivacyRequest' });
export type DevicePrivacyRequest = z.output<typeof DevicePrivacyRequest>;

export const COVERS = ['device', 'user'] as const;

export const AcceptedPrivacyRequest = z.object({
  identifier: z.string(), type: z.enum(GDPR_TYPES), state: z.enum(GDPR_STATES), received_at: z.iso.datetime(),
  covers: z.enum(COVERS).describe('user: all data of the user that the userToken names; device: what the device itself sent'),
  notice: z.string().optional().describe('What of the body did not count'),
}).meta({ id: 'AcceptedPrivacyRequest' });
export type AcceptedPrivacyRequest = z.output<typeof AcceptedPrivacyRequest>;

export const requestPrivacyFromDevice = operation({
  id: 'requestPrivacyFromDevice',
  tag: 'Tracking', auth: 'app_key', method: 'POST', idempotencyKey: 'ignored',
  path: '/v1/privacy',
  summary: 'Request access or deletion from a device, for its own data or its user\'s',
  description: 'It covers what the device itself sent; with a `userToken`, which the app\'s server signs, the user that the token names. A '
    + 'deletion waits for approval, unless the app is set to do without; all else begins at once. The same again within a day, or while it '
    + 'is open, is one request.',
  audits: 'create gdpr_request',
  body: DevicePrivacyRequest,
  result: AcceptedPrivacyRequest,
});

export const PrivacyRequest = z.object({
  identifier: z.string(), type: z.enum(GDPR_TYPES), state: z.enum(GDPR_STATES),
  device_id: z.string().nullable().describe('Null once the person was erased'),
  user_id: z.string().nullable().describe('The user for which a user token vouched; null: it covers what the device itself sent'),
  received_at: z.iso.datetime(),
}).meta({ id: 'PrivacyRequest' });
export type PrivacyRequest = z.output<typeof PrivacyRequest>;

export const listPrivacyRequests = operation({
  id: 'listPrivacyRequests',
  tag: 'SDK data', right: 'gdpr_data_manage', method: 'GET',
  path: '/api/apps/:app_identifier/privacy_requests',
  summary: 'List the requests from devices of an app, newest first',
  audits: 'read app',
  params: z.object({ app_identifier: identifier }),
  query: z.object(pageQuery),
  result: pageOf(PrivacyRequest),
});
