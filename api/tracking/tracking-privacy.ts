/** Privacy requests from devices (docs/privacy.md). */

import { z } from 'zod';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { GDPR_STATES, GDPR_TYPES } from '../gdpr/gdpr.ts';

export const DevicePrivacyRequest = z
  .custom<unknown>(() => true)
  .meta({
    type: 'object',
    description:
      '`type`: access or delete. The device: `deviceId`, `context.device.id` or `anonymousId`. Optional: `userToken`, which ' +
      "vouches for the user; `userId`, which must be the token's user; `writeKey`, if it is not the user of Basic authentication",
  })
  .meta({ id: 'DevicePrivacyRequest' });
export type DevicePrivacyRequest = z.output<typeof DevicePrivacyRequest>;

export const COVERS = ['device', 'user'] as const;

export const AcceptedPrivacyRequest = z
  .object({
    identifier: z.string(),
    type: z.enum(GDPR_TYPES),
    state: z.enum(GDPR_STATES),
    received_at: z.iso.datetime(),
    covers: z
      .enum(COVERS)
      .describe('user: all data of the user that userToken names; device: the data that the device itself sent'),
    notice: z.string().optional().describe('Says that a userId without a userToken did not count'),
  })
  .meta({ id: 'AcceptedPrivacyRequest' });
export type AcceptedPrivacyRequest = z.output<typeof AcceptedPrivacyRequest>;

export const requestPrivacyFromDevice = operation({
  id: 'requestPrivacyFromDevice',
  tag: 'Tracking',
  auth: 'app_key',
  method: 'POST',
  idempotencyKey: 'ignored',
  path: '/v1/privacy',
  summary: 'Request access or deletion from a device',
  description:
    "Covers the data that the device itself sent, or, with a `userToken` that the app's server signs, all data of its user. A " +
    "deletion waits for approval, unless the app's gdpr_approval is false; an access begins at once. The same request again, within a " +
    'day or while the first is open, returns the first.',
  audits: 'create gdpr_request',
  body: DevicePrivacyRequest,
  result: AcceptedPrivacyRequest,
});

export const PrivacyRequest = z
  .object({
    identifier: z.string(),
    type: z.enum(GDPR_TYPES),
    state: z.enum(GDPR_STATES),
    device_id: z.string().nullable().describe('Null once the person is erased'),
    user_id: z
      .string()
      .nullable()
      .describe(
        'The user that a user token vouches for; null: the request covers the data that the device itself sent',
      ),
    received_at: z.iso.datetime(),
  })
  .meta({ id: 'PrivacyRequest' });
export type PrivacyRequest = z.output<typeof PrivacyRequest>;

export const listPrivacyRequests = operation({
  id: 'listPrivacyRequests',
  tag: 'SDK data',
  right: 'gdpr_data_manage',
  method: 'GET',
  path: '/api/apps/:app_identifier/privacy_requests',
  summary: 'List the privacy requests from devices of an app, newest first',
  audits: 'read app',
  params: z.object({ app_identifier: identifier }),
  query: z.object(pageQuery),
  result: pageOf(PrivacyRequest),
});
