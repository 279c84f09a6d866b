import { z } from 'zod';
import {
  APNS_MAX_BYTES,
  apnsHeaders,
  apnsPayload,
  type PushMessage,
  type PushOutcome,
  type PushTarget,
} from '../../domain/sends/push.ts';
import { harmless, secret } from '../core/contract.ts';
import { refineBy } from '../core/refine-by.ts';
import { BackOff } from '../push/back-off.ts';
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
import { apnsOutcome, reasonOf, sayReason } from './apns-outcome.ts';
import { checkCertificate } from './check-certificate.ts';
import { providerToken, readTokenKey, renewedToken, type TokenKey } from './provider-token.ts';

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
/** Of 32 bytes at least; Apple says that the length may change. */
const DEVICE_TOKEN = /^(?:[\da-f]{2}){8,128}$/i;
/** A token of no device. */
const NO_DEVICE = '0'.repeat(64);

/**
 * The Apple Push Notification service over HTTP/2, on a client of ours: @parse/node-apn takes neither the guard of
 * addresses nor a connection from outside, repeats requests by itself after a failed connection, and tells only that
 * one failed, not whether it went out.
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
  readonly #backOff: BackOff;
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
    this.#backOff = new BackOff(context.now);
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
    const held = this.#backOff.outcome();
    if (held) return held;
    const body = apnsPayload(message);
    const bytes = Buffer.byteLength(body);
    if (bytes > APNS_MAX_BYTES) return { kind: 'too_big', bytes, maxBytes: APNS_MAX_BYTES };
    const result = await this.#post(
      token,
      { 'apns-id': message.id, ...apnsHeaders(message, this.#context.now()) },
      body,
    );
    return this.#backOff.heed(result.kind === 'answer' ? apnsOutcome(result) : result);
  }

  routeOf(): PushRoute {
    return this.#route;
  }

  /** Sends to a token of no device: what Apple has against it says whether it takes the rest. */
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

  /**
   * With a new provider token where Apple calls the one at hand too old: a request that it refuses has not been acted
   * on.
   */
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
