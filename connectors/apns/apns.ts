/** Apple Push Notification service: tokens, certificates, outcomes and the provider. */

import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { DAY_MS } from '../../domain/time/durations.ts';
import {
  APNS_MAX_BYTES,
  apnsHeaders,
  apnsPayload,
  type PushMessage,
  type PushOutcome,
  type PushTarget,
} from '../../domain/sends/push.ts';
import { harmless, secret, refineBy } from '../core/contract.ts';
import { ProviderPause, retryAfterMs } from '../push/provider-pause.ts';
import {
  type OpenPushProvider,
  type PushContext,
  type PushFinding,
  pushProvider,
  type PushRoute,
} from '../push/contract.ts';
import { endpointSetting } from '../push/endpoint-setting.ts';
import { Http2Client } from '../push/http2-client.ts';
import type { PostResult } from '../push/http2-session.ts';

type TokenKey = { key: string; key_id: string; team_id: string };

/**
 * Age at which a token is renewed. Apple refuses a token after an hour, and a new one within 20 minutes of the last
 * (Apple: Establishing a token-based connection).
 */
const RENEW_AFTER_MS = 40 * 60_000;
const RENEW_AT_EARLIEST_MS = 20 * 60_000;
const MAX_KEYS = 1_000;

type Signed = { token: Promise<string>; at: number };

/** Shared by the whole process: Apple counts a key's renewals across all its connections. */
const signed = new Map<string, Signed>();

/** Reads a private key on the curve P-256, the only kind that Apple gives out; null for others. */
function readTokenKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null;
  } catch {
    return null;
  }
}

/** Returns the JWT of a key at `now`. */
function providerToken(key: TokenKey, now: number): Promise<string> {
  const known = signed.get(nameOf(key));
  return known && now - known.at < RENEW_AFTER_MS && now >= known.at ? known.token : sign(key, now);
}

/** Returns a new token if Apple calls `expired` too old; null if Apple would not take a newer one yet. */
async function renewedToken(key: TokenKey, expired: string, now: number): Promise<string | null> {
  const known = signed.get(nameOf(key));
  if (!known || now - known.at >= RENEW_AT_EARLIEST_MS) return sign(key, now);
  const current = await known.token;
  return current === expired ? null : current;
}

function sign(key: TokenKey, now: number): Promise<string> {
  const name = nameOf(key);
  const token = jwtOf(key, now);
  signed.delete(name);
  signed.set(name, { token, at: now });
  const [oldest] = signed.keys();
  if (signed.size > MAX_KEYS) signed.delete(oldest!);
  return token;
}

function jwtOf({ key, key_id: kid, team_id: team }: TokenKey, now: number): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid })
    .setIssuer(team)
    .setIssuedAt(Math.floor(now / 1_000))
    .sign(readTokenKey(key)!);
}

function nameOf({ key, key_id: id, team_id: team }: TokenKey): string {
  return createHash('sha256')
    .update(JSON.stringify([team, id, key]))
    .digest('base64');
}

type ApnsEnvironment = 'production' | 'sandbox';

/** Extensions by which Apple marks a certificate's purpose, DER-encoded: 1.2.840.113635.100.6.3.1 and .2. */
const EXTENSIONS: Record<ApnsEnvironment, Buffer> = {
  sandbox: Buffer.from('060a2a864886f76364060301', 'hex'),
  production: Buffer.from('060a2a864886f76364060302', 'hex'),
};
const SOON_MS = 30 * DAY_MS;

/** Returns the errors of a push certificate that show without Apple. */
function checkCertificate(
  pem: string,
  { topic, environment, now }: { topic: string; environment: ApnsEnvironment; now: number },
): PushFinding[] {
  const certificate = new X509Certificate(pem);
  const [from, until] = [certificate.validFromDate, certificate.validToDate];
  const field = 'push_certificates';
  if (until.getTime() <= now) {
    const message = `hold a current certificate that expired on ${until.toISOString()}: add a new one, and revoke it`;
    return [{ severity: 'error', field, message }];
  }
  const findings: PushFinding[] = [];
  if (from.getTime() > now) {
    findings.push({
      severity: 'error',
      field,
      message: `hold a current certificate that is not valid before ${from.toISOString()}`,
    });
  }
  if (until.getTime() < now + SOON_MS) {
    const message = `hold a current certificate that expires on ${until.toISOString()}: renew it before`;
    findings.push({ severity: 'warning', field, message });
  }
  const uid = certificate.subject
    .split('\n')
    .find((name) => name.startsWith('UID='))
    ?.slice('UID='.length);
  if (uid !== undefined && topic !== uid && !topic.startsWith(`${uid}.`)) {
    findings.push({
      severity: 'error',
      field: 'topic',
      message: `is ${topic}, and the current push certificate is for ${uid}`,
    });
  }
  const isFor = (which: ApnsEnvironment) => certificate.raw.includes(EXTENSIONS[which]);
  const other = environment === 'production' ? 'sandbox' : 'production';
  if (isFor(other) && !isFor(environment)) {
    const message = `is ${environment}, and the current push certificate is for ${other} alone`;
    findings.push({ severity: 'error', field: 'environment', message });
  }
  return findings;
}

type ApnsAnswer = Extract<PostResult, { kind: 'answer' }>;

/** `timestamp`: since when the token is no longer valid, in milliseconds. */
const ErrorBody = z.object({
  reason: z.string().regex(/^[A-Za-z]{1,64}$/),
  timestamp: z.number().optional().catch(undefined),
});

/** Apple's words for each reason (Apple: Handling notification responses from APNs), unless Millrace's are better. */
const WORDS: Record<string, string> = {
  BadCertificate: 'Apple does not take the push certificate',
  BadCertificateEnvironment: 'The push certificate is for the other environment',
  BadDeviceToken: 'The device token is invalid, or of the other environment',
  BadTopic: 'The topic is invalid',
  DeviceTokenNotForTopic: 'The device token is of another app than the topic names',
  ExpiredProviderToken: 'The provider token is too old: check the clock of this server',
  Forbidden: 'Apple does not allow the action',
  InvalidProviderToken: 'Apple does not take the key: key, key_id and team_id do not belong together',
  MissingProviderToken: 'Neither a push certificate nor a key was shown',
  TopicDisallowed: 'The certificate or key may not send for this topic',
};

function reasonOf({ status, body }: ApnsAnswer): { reason: string; timestamp?: number | undefined } {
  try {
    return ErrorBody.parse(JSON.parse(body));
  } catch {
    return { reason: `HTTP_${status}` };
  }
}

function sayReason(reason: string): string {
  return WORDS[reason] ?? `Apple answers ${reason}`;
}

function apnsOutcome(answer: ApnsAnswer): PushOutcome {
  const { status, headers } = answer;
  if (status === 200) return { kind: 'sent', providerId: [headers['apns-id']].flat()[0] ?? null };
  const { reason, timestamp } = reasonOf(answer);
  const wait = (otherwise: number) => retryAfterMs(headers['retry-after'], otherwise);
  switch (status) {
    case 410:
      return { kind: 'gone', since: timestamp === undefined ? null : new Date(timestamp) };
    case 413:
      return { kind: 'too_big', bytes: null, maxBytes: APNS_MAX_BYTES };
    case 429:
      // A provider token that was renewed too often counts again after 20 minutes; too many requests concern one
      // device.
      return reason === 'TooManyProviderTokenUpdates'
        ? { kind: 'throttled', retryAfterMs: wait(20 * 60_000), scope: 'provider' }
        : { kind: 'throttled', retryAfterMs: wait(60_000), scope: 'device' };
    case 500:
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'device' };
    case 503:
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'provider' };
  }
  if (status > 500) return { kind: 'unknown', reason: `APNs answered ${status}` };
  // Also for BadDeviceToken: the wrong environment looks the same, and must not opt out every device.
  return { kind: 'refused', code: reason, reason: sayReason(reason) };
}

const appleId = (name: string) =>
  harmless(
    z
      .string({ error: `${name} must be a text` })
      .regex(/^[A-Z\d]{10}$/, `${name} must be 10 capital letters and digits, as Apple shows it`),
  ).optional();

const ApnsSettings = z
  .object({
    key: secret(z.string({ error: 'key must be a text' }).superRefine(refineBy('key', keyError)))
      .optional()
      .describe("A key for APNs (.p8), as text; without one, the app's current push certificate is used"),
    key_id: appleId('key_id').describe('The id of the key'),
    team_id: appleId('team_id').describe('The id of the team that the key belongs to'),
    topic: harmless(
      z
        .string({ error: 'topic must be a text' })
        .regex(/^[\w.-]{1,255}$/, 'topic must be a bundle id, such as com.example.shop'),
    )
      .optional()
      .describe("The bundle id; by default the app's package name"),
    environment: harmless(z.enum(['production', 'sandbox'], { error: 'environment must be production or sandbox' }))
      .default('production')
      .describe('sandbox: for builds from Xcode'),
    endpoint: endpointSetting,
  })
  .superRefine(({ key, key_id: keyId, team_id: teamId }, ctx) => {
    if (key === undefined) return;
    const message = 'is needed with key';
    if (keyId === undefined) ctx.addIssue({ code: 'custom', path: ['key_id'], message: `key_id ${message}` });
    if (teamId === undefined) ctx.addIssue({ code: 'custom', path: ['team_id'], message: `team_id ${message}` });
  });
type ApnsSettings = z.output<typeof ApnsSettings>;

const APPLE = { production: 'https://api.push.apple.com', sandbox: 'https://api.sandbox.push.apple.com' };
/** At least 32 bytes; Apple says that the length may change. */
const DEVICE_TOKEN = /^(?:[\da-f]{2}){8,128}$/i;
/** The token of no device. */
const NO_DEVICE = '0'.repeat(64);

/**
 * Uses Millrace's own HTTP/2 client: @parse/node-apn takes neither the guard of addresses nor an outside connection,
 * repeats requests by itself, and reports only that a connection failed, not whether the push was sent.
 */
export const apns = pushProvider({
  name: 'apns',
  title: 'Apple Push Notification service',
  platforms: ['ios'],
  settings: ApnsSettings,
  open: (settings, context) => new OpenApns(settings, context),
});

class OpenApns implements OpenPushProvider {
  readonly #settings: ApnsSettings;
  readonly #context: PushContext;
  readonly #client: Http2Client;
  readonly #topic: string;
  readonly #pause: ProviderPause;
  readonly #key: TokenKey | null;
  readonly #route: PushRoute = { key: 'apns', streams: () => this.#client.streams() };

  constructor(settings: ApnsSettings, context: PushContext) {
    const { certificate, packageName } = context.app;
    const {
      key,
      key_id = '',
      team_id = '',
      environment,
      endpoint = APPLE[environment],
      topic = packageName,
    } = settings;
    this.#settings = settings;
    this.#context = context;
    this.#topic = topic;
    this.#key = key === undefined ? null : { key, key_id, team_id };
    this.#pause = new ProviderPause(context.now);
    const shown = this.#key || !certificate ? undefined : { cert: certificate.x509Pem, key: certificate.pkeyPem };
    this.#client = new Http2Client(new URL(endpoint), context, shown);
  }

  async send({ token = '' }: PushTarget, message: PushMessage): Promise<PushOutcome> {
    if (!DEVICE_TOKEN.test(token)) {
      return {
        kind: 'refused',
        code: 'BadDeviceToken',
        reason: 'The device token is not what APNs gives out: hexadecimal digits',
      };
    }
    if (this.#hasNoCredentials)
      return { kind: 'refused', code: 'MissingProviderToken', reason: sayReason('MissingProviderToken') };
    const held = this.#pause.outcome();
    if (held) return held;
    const body = apnsPayload(message);
    const bytes = Buffer.byteLength(body);
    if (bytes > APNS_MAX_BYTES) return { kind: 'too_big', bytes, maxBytes: APNS_MAX_BYTES };
    const result = await this.#post(
      token,
      { 'apns-id': message.id, ...apnsHeaders(message, this.#context.now()) },
      body,
    );
    return this.#pause.heed(result.kind === 'answer' ? apnsOutcome(result) : result);
  }

  routeOf(): PushRoute {
    return this.#route;
  }

  /** Sends to the token of no device: Apple's refusal shows whether it accepts the rest. */
  async check(): Promise<PushFinding[]> {
    const { certificate } = this.#context.app;
    const { environment } = this.#settings;
    if (this.#hasNoCredentials) {
      return [
        {
          severity: 'error',
          field: 'push_certificates',
          message:
            'hold none that is not revoked, and no key is set: add a certificate, or ' + 'set key, key_id and team_id',
        },
      ];
    }
    const found = this.#key
      ? []
      : checkCertificate(certificate!.x509Pem, { topic: this.#topic, environment, now: this.#context.now() });
    if (found.some(({ severity }) => severity === 'error')) return found;
    const result = await this.#post(
      NO_DEVICE,
      { 'apns-expiration': '0', 'apns-priority': '5' },
      '{"aps":{"alert":"Millrace"}}',
    );
    return [...found, ...this.#findingsOf(result)];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  get #hasNoCredentials(): boolean {
    return !this.#key && !this.#context.app.certificate;
  }

  /** Sends again with a new provider token: Apple has not acted on a request that it refused as too old. */
  async #post(token: string, own: Record<string, string>, body: string): Promise<PostResult> {
    const headers = {
      'apns-topic': this.#topic,
      'apns-push-type': 'alert',
      'content-type': 'application/json',
      ...own,
    };
    const path = `/3/device/${token.toLowerCase()}`;
    if (!this.#key) return this.#client.post({ path, headers, body });
    const shown = await providerToken(this.#key, this.#context.now());
    const result = await this.#client.post({ path, headers: { ...headers, authorization: `bearer ${shown}` }, body });
    if (result.kind !== 'answer' || result.status !== 403 || reasonOf(result).reason !== 'ExpiredProviderToken')
      return result;
    const renewed = await renewedToken(this.#key, shown, this.#context.now());
    return renewed === null
      ? result
      : this.#client.post({ path, headers: { ...headers, authorization: `bearer ${renewed}` }, body });
  }

  #findingsOf(result: PostResult): PushFinding[] {
    const credentials = this.#key ? 'key' : 'push_certificates';
    if (result.kind !== 'answer') {
      return [
        { severity: 'error', field: result.reason.includes('TLS') ? credentials : 'endpoint', message: result.reason },
      ];
    }
    const { reason } = reasonOf(result);
    const message = sayReason(reason);
    switch (reason) {
      case 'BadDeviceToken':
      case 'DeviceTokenNotForTopic':
      case 'Unregistered':
        return [];
      case 'BadCertificate':
      case 'InvalidProviderToken':
      case 'ExpiredProviderToken':
      case 'Forbidden':
      case 'MissingProviderToken':
        return [{ severity: 'error', field: credentials, message }];
      case 'BadCertificateEnvironment':
      case 'BadEnvironmentKeyIdInToken':
        return [{ severity: 'error', field: 'environment', message }];
      case 'BadTopic':
      case 'TopicDisallowed':
      case 'MissingTopic':
        return [{ severity: 'error', field: 'topic', message: `${message} (${this.#topic})` }];
    }
    if (result.status === 200) return [];
    return [
      { severity: result.status === 429 || result.status >= 500 ? 'warning' : 'error', field: 'provider', message },
    ];
  }
}

function keyError(pem: string): string | undefined {
  return readTokenKey(pem) === null
    ? 'must be the private key of a .p8 file from Apple, from -----BEGIN PRIVATE KEY----- on'
    : undefined;
}
