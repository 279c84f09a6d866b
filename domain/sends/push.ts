/** A push message, its target and its outcome: the same for each provider. */

import type { AppType } from '../apps/app.ts';
import type { PushContent } from '../campaigns/campaign-params.ts';
import { utf8Bytes } from '../text/utf8-bytes.ts';

export const PUSH_PLATFORMS = ['ios', 'android', 'web'] as const;
export type PushPlatform = (typeof PUSH_PLATFORMS)[number];

export const PLATFORM_OF: Record<AppType, PushPlatform> = {
  'iOS App': 'ios',
  'Android App': 'android',
  'Web App': 'web',
};

export type PushMessage = PushContent & {
  /** A UUID, the same in each try, so that a device that gets the push twice shows it once. */
  id: string;
  /** How long the provider tries to deliver it; 0: once. */
  ttlSeconds: number;
  /** A device shows only the last message with this key, of at most 64 bytes; null: the message's id. */
  collapseKey: string | null;
  priority: 'high' | 'normal';
};

/** A browser's `PushSubscription`; keys are base64url. */
export type WebPushSubscription = { endpoint: string; p256dh: string; auth: string };

export type PushTarget =
  | { platform: PushPlatform; token: string; subscription?: undefined }
  | { platform: 'web'; subscription: WebPushSubscription; token?: undefined };

/** The outcome at the provider. Its texts hold no token and no secret. */
export type PushOutcome =
  | { kind: 'sent'; providerId: string | null }
  /** The token is no longer valid; `since`: from when, if the provider says. */
  | { kind: 'gone'; since: Date | null }
  | { kind: 'too_big'; bytes: number | null; maxBytes: number }
  /** Not sent; to be sent again after this time: for this device, or for all of the provider's pushes. */
  | { kind: 'throttled'; retryAfterMs: number; scope: 'device' | 'provider' }
  /** Another try would fail, too: the provider's code and words. */
  | { kind: 'refused'; code: string; reason: string }
  /** The push never reached the provider, and may be sent again. */
  | { kind: 'not_sent'; reason: string }
  /** The push may have been sent. It must not be sent again. */
  | { kind: 'unknown'; reason: string };

/** Maximum size of a message's JSON to APNs (Apple: Generating a remote notification). */
export const APNS_MAX_BYTES = 4_096;
/** Maximum size of names and values in `notification` and `data` (Firebase: About FCM messages). */
export const FCM_MAX_BYTES = 4_096;
/** Maximum size of the encrypted body that every push service takes (RFC 8030, 7.2). */
export const WEB_PUSH_MAX_BYTES = 4_096;
/** Bytes that aes128gcm adds in one record: header with key, delimiter, tag (RFC 8188, 2; RFC 8291, 4). */
export const WEB_PUSH_ENCRYPTION_BYTES = 103;

/** FCM keeps a message for four weeks at most. */
const FCM_MAX_TTL_SECONDS = 2_419_200;

function ownMembers({ id, deepLink, attachmentUrl }: PushMessage): Record<string, string> {
  return {
    millrace_id: id,
    ...(deepLink === null ? {} : { deep_linking_url: deepLink }),
    ...(attachmentUrl === null ? {} : { push_attachment: attachmentUrl }),
  };
}

function categoryMember({ category }: PushMessage): Record<string, string> {
  return category === null ? {} : { push_category: category };
}

/** Returns the system's sound, or none: only iOS has the campaign's sound file (reference: Campaign body). */
function soundMember({ sound }: Pick<PushMessage, 'sound'>): { sound?: string } {
  return sound === null ? {} : { sound: 'default' };
}

function alertOf({ title, subtitle, body }: PushMessage): Record<string, string> {
  return { ...(title === null ? {} : { title }), ...(subtitle === null ? {} : { subtitle }), body };
}

function apsOf(message: PushMessage): Record<string, unknown> {
  const { sound, category, attachmentUrl } = message;
  return {
    alert: alertOf(message),
    ...(sound === null ? {} : { sound }),
    ...(category === null ? {} : { category }),
    // Lets the app's extension fetch the attachment before the message is shown.
    ...(attachmentUrl === null ? {} : { 'mutable-content': 1 }),
  };
}

export function apnsPayload(message: PushMessage): string {
  return JSON.stringify({ ...message.parameters, ...ownMembers(message), aps: apsOf(message) });
}

type ApnsHeaders = { 'apns-expiration': string; 'apns-priority': string; 'apns-collapse-id': string };

export function apnsHeaders({ id, collapseKey, ttlSeconds, priority }: PushMessage, now: number): ApnsHeaders {
  return {
    'apns-expiration': ttlSeconds === 0 ? '0' : String(Math.floor(now / 1_000) + ttlSeconds),
    'apns-priority': priority === 'high' ? '10' : '5',
    'apns-collapse-id': collapseKey ?? id,
  };
}

type FcmMessage = {
  token: string;
  notification: Record<string, string>;
  data: Record<string, string>;
  android?: unknown;
  apns?: unknown;
  webpush?: unknown;
};

/** Returns whether FCM refuses this key in a message's data (FCM HTTP v1, Message.data). */
export function isReservedByFcm(key: string): boolean {
  return /^(?:from$|message_type$|google|gcm)/.test(key);
}

/** Returns a `Message` of FCM's HTTP v1 API. */
export function fcmMessage(message: PushMessage, platform: PushPlatform, token: string, now: number): FcmMessage {
  const { title, subtitle, body, attachmentUrl, parameters } = message;
  return {
    token,
    notification: {
      ...(title === null ? {} : { title }),
      body,
      ...(attachmentUrl === null ? {} : { image: attachmentUrl }),
    },
    data: {
      ...Object.fromEntries(Object.entries(parameters).filter(([key]) => !isReservedByFcm(key))),
      ...ownMembers(message),
      ...categoryMember(message),
      ...(subtitle === null ? {} : { push_subtitle: subtitle }),
    },
    ...FCM_PLATFORM[platform](message, now),
  };
}

const FCM_PLATFORM: Record<PushPlatform, (message: PushMessage, now: number) => object> = {
  android: ({ id, collapseKey, ttlSeconds, priority, ...message }) => ({
    android: {
      priority: priority === 'high' ? 'HIGH' : 'NORMAL',
      ttl: `${Math.min(ttlSeconds, FCM_MAX_TTL_SECONDS)}s`,
      // Set only with a key of the campaign's: FCM keeps four different keys for a device.
      ...(collapseKey === null ? {} : { collapse_key: collapseKey }),
      notification: { tag: collapseKey ?? id, ...soundMember(message) },
    },
  }),
  ios: (message, now) => ({ apns: { headers: apnsHeaders(message, now), payload: { aps: apsOf(message) } } }),
  web: ({ deepLink, ttlSeconds, priority }) => ({
    webpush: {
      headers: { TTL: String(Math.min(ttlSeconds, FCM_MAX_TTL_SECONDS)), Urgency: priority },
      ...(deepLink?.startsWith('https://') === true ? { fcm_options: { link: deepLink } } : {}),
    },
  }),
};

export function fcmBytes({ notification, data }: FcmMessage): number {
  return [...Object.entries(notification), ...Object.entries(data)].reduce(
    (sum, [name, value]) => sum + utf8Bytes(name) + utf8Bytes(value),
    0,
  );
}

export function webPushPayload(message: PushMessage): string {
  return JSON.stringify({
    ...alertOf(message),
    ...ownMembers(message),
    ...categoryMember(message),
    ...soundMember(message),
    parameters: message.parameters,
  });
}

/** Returns the texts that no message may hold: they let a reader send to the device, or recognise it. */
export function secretsOf({ token, subscription }: PushTarget): string[] {
  return token === undefined ? Object.values(subscription) : [token];
}
