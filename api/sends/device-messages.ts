/** Requests of devices with their app's key: in-app messages, and the user of the device. */

import { z } from 'zod';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const OF_DEVICE = { tag: 'Tracking', auth: 'app_key' } as const;

const text = z.string().nullable();

export const InappMessage = z
  .object({
    millrace_id: z
      .string()
      .describe('To be sent back in `properties` of the events In-App Message Shown and In-App Message Clicked'),
    campaign_id: z.string(),
    kind: z.enum(['native', 'url']),
    title: text,
    content: text,
    button: text,
    content_url: text,
    content_title: text,
    auto_display: z.boolean(),
    deep_linking_url: text,
    parameters: z.record(z.string(), z.string()),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'InappMessage' });

export const listInappMessages = operation({
  ...OF_DEVICE,
  id: 'listInappMessages',
  method: 'GET',
  path: '/v1/inapp',
  summary: 'List the in-app messages that wait for a device',
  description:
    'Messages for the user who is logged in on the device, until they are shown: the oldest 100, but at most about ' +
    '1 MiB; the others follow once these are shown. If the app requires verified users, the header `X-User-Token` must vouch for ' +
    'that user.',
  query: z.object({
    deviceId: identifier.optional().describe("The SDK's context.device.id or anonymousId"),
  }),
  result: z.object({ messages: z.array(InappMessage) }),
});

export const VouchedUser = z
  .custom<unknown>(() => true)
  .meta({
    type: 'object',
    description:
      '`deviceId`, `context.device.id` or `anonymousId`: the device. `userToken`: the signed token that vouches for its user. ' +
      '`pushToken` or `context.device.token`: the push token that the device has; required if a call has sent one since the last ' +
      'user token of this user. `writeKey`, if it is not the user of Basic authentication',
  })
  .meta({ id: 'VouchedUser' });

export const verifyDeviceUser = operation({
  ...OF_DEVICE,
  id: 'verifyDeviceUser',
  method: 'POST',
  idempotencyKey: 'ignored',
  path: '/v1/verify',
  summary: 'Vouch for the user of a device with a signed user token',
  description:
    'If the app requires verified users, only a device that did this gets messages for the user. A ' +
    'call with another push token ends it.',
  body: VouchedUser,
  result: z.object({ device_id: z.string(), user_id: z.string() }),
});
