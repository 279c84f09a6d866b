/** The provider `sandbox`, which reaches nothing outside. */

import { z } from 'zod';
import {
  APNS_MAX_BYTES,
  apnsPayload,
  FCM_MAX_BYTES,
  fcmBytes,
  fcmMessage,
  type PushMessage,
  type PushOutcome,
  type PushTarget,
  WEB_PUSH_ENCRYPTION_BYTES,
  WEB_PUSH_MAX_BYTES,
  webPushPayload,
} from '../../domain/sends/push.ts';
import { type PushContext, pushProvider } from '../push/contract.ts';

/** Outcomes by the beginning of a token, or of the last part of an endpoint. */
const OUTCOMES: Record<string, (message: PushMessage) => PushOutcome> = {
  'sandbox-gone': () => ({ kind: 'gone', since: null }),
  'sandbox-too-big': () => ({ kind: 'too_big', bytes: null, maxBytes: FCM_MAX_BYTES }),
  'sandbox-throttled': () => ({ kind: 'throttled', retryAfterMs: 60_000, scope: 'device' }),
  'sandbox-refused': () => ({ kind: 'refused', code: 'SANDBOX_REFUSED', reason: 'The sandbox refuses this token' }),
  'sandbox-not-sent': () => ({ kind: 'not_sent', reason: 'The sandbox plays a provider that cannot be reached' }),
  'sandbox-unknown': () => ({
    kind: 'unknown',
    reason: 'The sandbox plays a connection that broke off before the answer',
  }),
};

/** The default provider. The attempt that it settles shows what would have been sent. */
export const sandbox = pushProvider({
  name: 'sandbox',
  title: 'Sandbox: sends nothing, and records what it would send',
  platforms: ['ios', 'android', 'web'],
  settings: z.object({}),
  open: (_settings, { now }: PushContext) => {
    const settle = (target: PushTarget, message: PushMessage): PushOutcome => {
      const { bytes, maxBytes } = sizeOf(target, message, now());
      return bytes > maxBytes ? { kind: 'too_big', bytes, maxBytes } : outcomeOf(target, message);
    };
    return {
      settle,
      send: async (target, message) => settle(target, message),
      check: async () => [
        {
          severity: 'warning',
          field: 'provider',
          message: 'is the sandbox, which sends nothing: choose another to reach devices',
        },
      ],
      close: async () => undefined,
    };
  },
});

function outcomeOf({ token, subscription }: PushTarget, message: PushMessage): PushOutcome {
  const name = token ?? subscription.endpoint.slice(subscription.endpoint.lastIndexOf('/') + 1);
  if (name.startsWith('sandbox-')) {
    const found = Object.keys(OUTCOMES).find((beginning) => name.startsWith(beginning));
    if (found !== undefined) return OUTCOMES[found]!(message);
  }
  return { kind: 'sent', providerId: `sandbox/${message.id}` };
}

/** Returns the size of the message for the platform's usual provider, and its limit. */
function sizeOf(target: PushTarget, message: PushMessage, now: number): { bytes: number; maxBytes: number } {
  if (target.platform === 'android')
    return { bytes: fcmBytes(fcmMessage(message, 'android', target.token, now)), maxBytes: FCM_MAX_BYTES };
  if (target.platform === 'ios') return { bytes: Buffer.byteLength(apnsPayload(message)), maxBytes: APNS_MAX_BYTES };
  return {
    bytes: Buffer.byteLength(webPushPayload(message)) + WEB_PUSH_ENCRYPTION_BYTES,
    maxBytes: WEB_PUSH_MAX_BYTES,
  };
}
