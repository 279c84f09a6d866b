/** A push message, its target and its outcome: the same for each provider. */

import type { PushContent } from '../campaigns/campaign-params.ts';

export const PUSH_PLATFORMS = ['ios', 'android', 'web'] as const;
export type PushPlatform = (typeof PUSH_PLATFORMS)[number];

/** Its content, with what the provider needs to know to deliver it. */
export type PushMessage = PushContent & {
  /** A UUID, the same whenever this attempt is made again, so that a device that gets it twice shows it once. */
  id: string;
  /** How long the provider tries; 0: once. */
  ttlSeconds: number;
  /** A device shows only the last message with this key; null: the message's id. At most 64 bytes. */
  collapseKey: string | null;
  priority: 'high' | 'normal';
};

/** As the browser gives it (`PushSubscription`), keys in base64url. */
export type WebPushSubscription = { endpoint: string; p256dh: string; auth: string };

export type PushTarget =
  | { platform: PushPlatform; token: string; subscription?: undefined }
  | { platform: 'web'; subscription: WebPushSubscription; token?: undefined };

/** What became of one attempt. Texts hold neither the device's token nor a secret. */
export type PushOutcome =
  | { kind: 'sent'; providerId: string | null }
  /** The device can't be reached under this token any more; `since`: from then on, where the provider says it. */
  | { kind: 'gone'; since: Date | null }
  | { kind: 'too_big'; bytes: number | null; maxBytes: number }
  /** Not sent, and to be tried again after that time: for this device, or for all that go through the provider. */
  | { kind: 'throttled'; retryAfterMs: number; scope: 'device' | 'provider' }
  /** The same attempt would fail again: the provider's own code and words. */
  | { kind: 'refused'; code: string; reason: string }
  /** It never reached the provider, and may be tried again. */
  | { kind: 'not_sent'; reason: string }
  /** It may have been sent or not. It must not be repeated. */
  | { kind: 'unknown'; reason: string };

/** Of a message's JSON to APNs (Apple: Generating a remote notification). */
export const APNS_MAX_BYTES = 4_096;
/** Of names and values of `notification` and `data` (Firebase: About FCM messages). */
export const FCM_MAX_BYTES = 4_096;
/** Of the encrypted body: a push service need not take more (RFC 8030, 7.2). */
export const WEB_PUSH_MAX_BYTES = 4_096;
/** Added by aes128gcm in one record: header with key (86), delimiter (1), tag (16) (RFC 8188, 2; RFC 8291, 4). */
export const WEB_PUSH_ENCRYPTION_BYTES = 103;

/** FCM keeps a message for four weeks at most. */
const FCM_MAX_TTL_SECONDS = 2_419_200;

/** The members by which an app finds what Millrace says, beside `parameters`. */
function ownMembers({ id, deepLink, attachmentUrl }: PushMessage): Record<string, string> {
  return {
    millrace_id: id,
    ...(deepLink === null ? {} : { deep_linking_url: deepLink }),
    ...(attachmentUrl === null ? {} : { push_attachment: attachmentUrl }),
  };
}

/** For platforms whose messages have no such member of their own. */
function categoryMember({ category }: PushMessage): Record<string, string> {
  return category === null ? {} : { push_category: category };
}

/**
 * The campaign's sound file is iOS's alone (reference: Campaign body): elsewhere a push has the system's sound, or
 * none.
 */
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
    // So that the app's extension can fetch the attachment before the message is shown.
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

/** Whether FCM refuses a message with this key in its data (FCM HTTP v1, Message.data). */
export function isReservedByFcm(key: string): boolean {
  return /^(?:from$|message_type$|google|gcm)/.test(key);
}

/** A `Message` of FCM's HTTP v1 API. */
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
      // Without a key of the campaign's none: FCM keeps four different ones for a device.
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
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
}

/** What the page's service worker gets. */
export function webPushPayload(message: PushMessage): string {
  return JSON.stringify({
    ...alertOf(message),
    ...ownMembers(message),
    ...categoryMember(message),
    ...soundMember(message),
    parameters: message.parameters,
  });
}

/** No text may hold these: they let a reader send to the device, or recognise it. */
export function secretsOf({ token, subscription }: PushTarget): string[] {
  return token === undefined ? Object.values(subscription) : [token];
}
