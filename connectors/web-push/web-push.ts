import { createHash } from 'node:crypto';
import library from 'web-push';
import { z } from 'zod';
import {
  type PushMessage,
  type PushOutcome,
  type PushTarget,
  secretsOf,
  WEB_PUSH_ENCRYPTION_BYTES,
  WEB_PUSH_MAX_BYTES,
  webPushPayload,
  type WebPushSubscription,
} from '../../domain/sends/push.ts';
import { harmless, secret } from '../core/contract.ts';
import { redacted } from '../core/redacted.ts';
import { type OpenPushProvider, type PushContext, pushProvider, type PushRoute } from '../push/contract.ts';
import { HOUR_MS } from '../../domain/core/durations.ts';
import { Origins } from './origins.ts';
import { KNOWN_PUSH_SERVICES, type PushServices } from './push-services.ts';
import { vapidKeysError } from './vapid-keys.ts';
import { webPushOutcome } from './web-push-outcome.ts';

const text = (name: string) => z.string({ error: `${name} must be a text` });

const WebPushSettings = z
  .object({
    subject: harmless(
      text('subject').refine(
        isContact,
        'subject must be a mailto: or https:// address at which push services reach you',
      ),
    ).describe('Where push services reach you, such as mailto:push@example.com'),
    vapid_public_key: text('vapid_public_key').describe(
      'The page subscribes with it (applicationServerKey); Millrace makes one',
    ),
    vapid_private_key: secret(text('vapid_private_key')).describe('The private key that belongs to it'),
  })
  .superRefine((settings, ctx) => {
    const [member, message] = vapidKeysError(settings) ?? [];
    if (member !== undefined) ctx.addIssue({ code: 'custom', path: [member], message: `${member} ${message}` });
  });
type WebPushSettings = z.output<typeof WebPushSettings>;

/** A signature counts for a day at most (RFC 8292, 2), and is made once for the messages of half a day. */
const SIGNED_SECONDS = 12 * 3_600;
const RENEW_BEFORE_MS = HOUR_MS;
const MAX_SIGNED = 1_000;

/**
 * Web Push (RFC 8030), encrypted (RFC 8291) and signed (RFC 8292) by the library web-push, and sent through the guard
 * of addresses.
 */
export const webPush = pushProvider({
  name: 'web_push',
  title: 'Web Push',
  platforms: ['web'],
  settings: WebPushSettings,
  open: (settings, context) => new OpenWebPush(settings, context),
});

class OpenWebPush implements OpenPushProvider {
  readonly #settings: WebPushSettings;
  readonly #now: () => number;
  readonly #origins: Origins;
  readonly #services: PushServices;
  readonly #signed = new Map<string, { authorization: string; until: number }>();

  constructor(settings: WebPushSettings, context: PushContext) {
    this.#settings = settings;
    this.#now = context.now;
    this.#origins = new Origins(context);
    this.#services = context.pushServices ?? KNOWN_PUSH_SERVICES;
  }

  async send(target: PushTarget, message: PushMessage): Promise<PushOutcome> {
    const { subscription } = target;
    if (!subscription)
      return badSubscription('Web Push takes subscriptions of browsers: for a token the provider is fcm');
    const url = URL.parse(subscription.endpoint);
    if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
      return badSubscription('The endpoint of the subscription is no https:// address');
    }
    // Google's service before FCM, which knows no VAPID and has ended.
    if (url.host === 'android.googleapis.com') return { kind: 'gone', since: null };
    if (!this.#services.allows(url.hostname, Number(url.port) || 443)) {
      return {
        kind: 'refused',
        code: 'PUSH_SERVICE',
        reason: `${url.host} is not the push service of a known browser: an operator can allow it by MILLRACE_PUSH_SERVICES`,
      };
    }
    const payload = webPushPayload(message);
    const bytes = Buffer.byteLength(payload) + WEB_PUSH_ENCRYPTION_BYTES;
    if (bytes > WEB_PUSH_MAX_BYTES) return { kind: 'too_big', bytes, maxBytes: WEB_PUSH_MAX_BYTES };
    const sealed = encrypted(subscription, payload, message);
    if (sealed === null) return badSubscription('The keys of the subscription are no keys for Web Push');
    const headers = { ...sealed.headers, authorization: this.#authorization(url.origin), 'user-agent': 'Millrace' };
    const result = await this.#origins.post(url, { path: `${url.pathname}${url.search}`, headers, body: sealed.body });
    const outcome = result.kind === 'answer' ? webPushOutcome(result, url.host) : result;
    if (!('reason' in outcome)) return outcome;
    return { ...outcome, reason: redacted(outcome.reason, [...secretsOf(target), url.pathname, url.search]) };
  }

  routeOf({ subscription }: PushTarget): PushRoute {
    const origin = URL.parse(subscription?.endpoint ?? '')?.origin ?? '';
    return { key: origin, streams: () => this.#origins.streams(origin) };
  }

  /** Without a subscription no service can be asked, and the settings have been read. */
  check: OpenPushProvider['check'] = async () => [];

  close(): Promise<void> {
    return this.#origins.close();
  }

  #authorization(origin: string): string {
    const known = this.#signed.get(origin);
    if (known && known.until > this.#now()) return known.authorization;
    const { subject, vapid_public_key: publicKey, vapid_private_key: privateKey } = this.#settings;
    const expiry = Math.floor(this.#now() / 1_000) + SIGNED_SECONDS;
    const { Authorization: authorization } = library.getVapidHeaders(
      origin,
      subject,
      publicKey,
      privateKey,
      'aes128gcm',
      expiry,
    );
    if (this.#signed.size >= MAX_SIGNED) this.#signed.clear();
    this.#signed.set(origin, { authorization, until: expiry * 1_000 - RENEW_BEFORE_MS });
    return authorization;
  }
}

/** Null: the keys are none. */
function encrypted(
  { endpoint, p256dh, auth }: WebPushSubscription,
  payload: string,
  message: PushMessage,
): { headers: Record<string, string>; body: Buffer } | null {
  try {
    const { headers, body } = library.generateRequestDetails({ endpoint, keys: { p256dh, auth } }, payload, {
      vapidDetails: null as never, // signed once for many
      TTL: message.ttlSeconds,
      urgency: message.priority,
      topic: topicOf(message),
    });
    return {
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])),
      body,
    };
  } catch {
    return null;
  }
}

/**
 * At most 32 characters of base64url: messages of one topic replace each other while the browser is away (RFC 8030,
 * 5.4).
 */
function topicOf({ id, collapseKey }: PushMessage): string {
  if (collapseKey === null) return id.replaceAll('-', '');
  return createHash('sha256').update(collapseKey).digest('base64url').slice(0, 32);
}

function badSubscription(reason: string): PushOutcome {
  return { kind: 'refused', code: 'BAD_SUBSCRIPTION', reason };
}

function isContact(value: string): boolean {
  return value.length <= 1_024 && (/^mailto:[^\s@]+@[^\s@]+$/.test(value) || URL.parse(value)?.protocol === 'https:');
}
