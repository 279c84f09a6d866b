/** Web Push: VAPID keys, the provider, its connections to push services, and their outcomes. */
import { createECDH, createHash } from 'node:crypto';
import { Pool } from 'undici';
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
import { shorten } from '../../domain/text/text-limits.ts';
import { HOUR_MS } from '../../domain/time/durations.ts';
import { guardedConnector, systemLookup } from '../core/address-guard.ts';
import { harmless, secret } from '../core/contract.ts';
import { redacted } from '../core/redacted.ts';
import {
  type OpenPushProvider,
  type PushContext,
  pushProvider,
  type PushRoute,
  PUSH_LIMITS,
  type PushLimits,
} from '../push/contract.ts';
import { Http2Client, type PushClient, failedBefore, tookNone } from '../push/http2-client.ts';
import type { Post, PostResult } from '../push/http2-session.ts';
import { retryAfterMs } from '../push/provider-pause.ts';
import { KNOWN_PUSH_SERVICES, type PushServices } from './push-services.ts';

const PUBLIC_BYTES = 65;
const PRIVATE_BYTES = 32;

/** Returns the errors of VAPID keys, by member. */
function vapidKeysError({
  vapid_public_key: publicKey,
  vapid_private_key: privateKey,
}: VapidKeys): [keyof VapidKeys, string] | undefined {
  const [shown, own] = [publicKey, privateKey].map((key) => Buffer.from(key, 'base64url'));
  if (shown!.length !== PUBLIC_BYTES || shown![0] !== 4) {
    return ['vapid_public_key', `must be an uncompressed point of P-256, ${PUBLIC_BYTES} bytes in base64url`];
  }
  if (own!.length !== PRIVATE_BYTES) return ['vapid_private_key', `must be ${PRIVATE_BYTES} bytes in base64url`];
  return publicOf(own!)?.equals(shown!) === true
    ? undefined
    : ['vapid_private_key', 'must be the key that vapid_public_key belongs to'];
}

function publicOf(privateKey: Buffer): Buffer | null {
  try {
    const curve = createECDH('prime256v1');
    curve.setPrivateKey(privateKey);
    return curve.getPublicKey();
  } catch {
    return null;
  }
}

const MAX_WORDS = 200;

/**
 * Returns the outcome of an answer, by RFC 8030 (5 and 7), RFC 8292 (4.2), and known answers of browsers' services. A
 * requested pause concerns its device only.
 */
function webPushOutcome({ status, headers, body }: Extract<PostResult, { kind: 'answer' }>, host: string): PushOutcome {
  const wait = (otherwise: number) => retryAfterMs(headers['retry-after'], otherwise);
  switch (status) {
    case 200:
    case 201:
    case 202:
      return { kind: 'sent', providerId: null };
    case 404:
    case 410:
      return { kind: 'gone', since: null };
    case 413:
      return { kind: 'too_big', bytes: null, maxBytes: WEB_PUSH_MAX_BYTES };
    case 429:
      return { kind: 'throttled', retryAfterMs: wait(60_000), scope: 'device' };
    case 500:
    case 503:
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'device' };
  }
  if (status > 500) return { kind: 'unknown', reason: `${host} answered ${status}` };
  return { kind: 'refused', code: `HTTP_${status}`, reason: `${host} answered ${status}${wordsOf(body)}` };
}

/**
 * Returns the text of an answer: plain text, or JSON with `message`, `reason` or `error`. An invented service may
 * answer anything.
 */
function wordsOf(body: string): string {
  const [, member] = /"(?:message|reason|error)"\s*:\s*"([^"\\]{1,200})"/.exec(body) ?? [];
  const words = shorten((member ?? body).replaceAll(/[\p{C}<>]+/gu, ' ').trim(), MAX_WORDS);
  return words === '' ? '' : `: ${words}`;
}

/** Maximum number of idle connections, since devices choose the services. */
const MAX_IDLE = 32;

type Origin = { client: PushClient; isHttp1: boolean; underWay: number };

/** Connections to push services: HTTP/2 if they speak it, else HTTP/1.1. */
class Origins {
  readonly #context: PushContext;
  /** In order of use, the last one at the end. */
  readonly #origins = new Map<string, Origin>();

  constructor(context: PushContext) {
    this.#context = context;
  }

  async post(url: URL, post: Post): Promise<PostResult> {
    const origin = this.#use(url);
    origin.underWay += 1;
    try {
      const result = await origin.client.post(post);
      if (result.kind !== 'not_sent' || result.isNoHttp2 !== true) return result;
      if (!origin.isHttp1) Object.assign(origin, { client: http1Client(url, this.#context), isHttp1: true });
      return await origin.client.post(post);
    } finally {
      origin.underWay -= 1;
      this.#closeIdle();
    }
  }

  /** Returns how many requests an origin's open connections take at once. */
  streams(origin: string): number {
    return this.#origins.get(origin)?.client.streams() ?? 0;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map(({ client }) => client.close()));
  }

  #use(url: URL): Origin {
    const found = this.#origins.get(url.origin) ?? {
      client: new Http2Client(new URL(url.origin), this.#context),
      isHttp1: false,
      underWay: 0,
    };
    this.#origins.delete(url.origin);
    this.#origins.set(url.origin, found);
    return found;
  }

  #closeIdle(): void {
    if (this.#origins.size <= MAX_IDLE) return;
    for (const [name, { client, underWay }] of this.#origins) {
      if (underWay > 0) continue;
      this.#origins.delete(name);
      void client.close();
      if (this.#origins.size <= MAX_IDLE) return;
    }
  }
}

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

/** A signature is valid for at most a day (RFC 8292, 2), and is made once for half a day's messages. */
const SIGNED_SECONDS = 12 * 3_600;
const RENEW_BEFORE_MS = HOUR_MS;
const MAX_SIGNED = 1_000;

/**
 * Sends Web Push (RFC 8030), encrypted (RFC 8291) and signed (RFC 8292) by the library web-push, through the address
 * guard.
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
    // Google's service before FCM, without VAPID, which has ended.
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

  /** Without a subscription no service can be asked, and the settings are parsed already. */
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

/** Encrypts a payload; null if the subscription's keys are invalid. */
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
 * Returns the topic, at most 32 characters of base64url: messages of one topic replace each other while the browser is
 * away (RFC 8030, 5.4).
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

const MAX_ANSWER_CHARS = 64 * 1024;
/** Number of connections; each has one request at a time, so that none waits behind a broken one. */
const CONNECTIONS = 16;

/** Client for push services without HTTP/2. */
function http1Client(
  origin: URL,
  { allow, lookup = systemLookup, limits: given }: Pick<PushContext, 'allow' | 'lookup' | 'limits'>,
): PushClient {
  const limits = { ...PUSH_LIMITS, ...given };
  const pool = new Pool(origin.origin, {
    connect: guardedConnector(origin, allow, lookup, limits.connectMs),
    connections: CONNECTIONS,
    pipelining: 1,
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.answerMs,
    keepAliveTimeout: limits.idleMs,
    keepAliveMaxTimeout: limits.idleMs,
  });
  return {
    post: (post) => postOver(pool, origin, post, limits),
    streams: () => CONNECTIONS,
    close: () => pool.close(),
  };
}

function postOver(pool: Pool, origin: URL, { path, headers, body }: Post, limits: PushLimits): Promise<PostResult> {
  return new Promise((resolve, reject) => {
    let isStarted = false;
    let timedOut = false;
    let timer: NodeJS.Timeout | undefined;
    let answer: { status: number; headers: Record<string, string | string[] | undefined> } | undefined;
    let text = '';
    let waitedTooLong = false;
    const waiting = setTimeout(() => {
      waitedTooLong = true;
      resolve(tookNone(origin));
    }, limits.waitMs);
    pool.dispatch(
      { method: 'POST', path, headers, body },
      {
        // The connection is open, and the request is about to be written: from here on it may have arrived.
        onRequestStart(controller) {
          if (waitedTooLong) return controller.abort(new Error('the request waited too long'));
          clearTimeout(waiting);
          isStarted = true;
          // The pool's timeouts restart with each byte; this one bounds the whole answer.
          timer = setTimeout(() => {
            timedOut = true;
            controller.abort(new Error('the answer took too long'));
          }, limits.answerMs);
        },
        onResponseStart(_controller, status, got) {
          answer = { status, headers: got };
        },
        onResponseData(controller, chunk) {
          text += chunk.toString('utf8');
          if (text.length > MAX_ANSWER_CHARS) controller.abort(new Error('the answer is too long'));
        },
        onResponseEnd() {
          clearTimeout(timer);
          resolve({ kind: 'answer', ...answer!, body: text });
        },
        onResponseError(_controller, error) {
          clearTimeout(waiting);
          clearTimeout(timer);
          if (answer) return resolve({ kind: 'answer', ...answer, body: text });
          if (timedOut)
            return resolve({ kind: 'unknown', reason: `${origin.host} took the request and did not answer in time` });
          if (isStarted)
            return resolve({ kind: 'unknown', reason: `${origin.host} broke off the connection before it answered` });
          try {
            resolve(failedBefore(origin, error));
          } catch (own) {
            reject(own as Error);
          }
        },
      },
    );
  });
}

/** Keys in base64url, the form that browsers take. */
type VapidKeys = { vapid_public_key: string; vapid_private_key: string };

export function newVapidKeys(): VapidKeys {
  const { publicKey, privateKey } = library.generateVAPIDKeys();
  return { vapid_public_key: publicKey, vapid_private_key: privateKey };
}
