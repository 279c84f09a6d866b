import { z } from 'zod';
import {
  FCM_MAX_BYTES,
  fcmBytes,
  fcmMessage,
  type PushMessage,
  type PushOutcome,
  type PushTarget,
  secretsOf,
} from '../../domain/sends/push.ts';
import { harmless, secret } from '../core/contract.ts';
import { redacted } from '../core/redacted.ts';
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
import { AccessToken } from './access-token.ts';
import { fcmOutcome, readFailure } from './fcm-outcome.ts';
import { serviceAccount } from './service-account.ts';

const FcmSettings = z.object({
  service_account: secret(serviceAccount).describe(
    'The key file of a service account with the role Firebase Cloud Messaging API Admin',
  ),
  project_id: harmless(
    z
      .string({ error: 'project_id must be a text' })
      .regex(/^[a-z\d][a-z\d.:-]{1,99}$/, 'project_id must be the id of a Firebase project, such as shop-1234'),
  )
    .optional()
    .describe('The Firebase project; by default that of the service account'),
  endpoint: endpointSetting,
});
type FcmSettings = z.output<typeof FcmSettings>;

const GOOGLE = 'https://fcm.googleapis.com';

/**
 * Firebase Cloud Messaging, HTTP v1 (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send).
 */
export const fcm = pushProvider({
  name: 'fcm',
  title: 'Firebase Cloud Messaging',
  platforms: ['android', 'ios', 'web'],
  settings: FcmSettings,
  open: (settings, context) => new OpenFcm(settings, context),
});

class OpenFcm implements OpenPushProvider {
  readonly #client: Http2Client;
  readonly #accessToken: AccessToken;
  readonly #path: string;
  readonly #project: string;
  readonly #context: PushContext;
  readonly #backOff: BackOff;
  readonly #secrets: string[];
  readonly #route: PushRoute = { key: 'fcm', streams: () => this.#client.streams() };

  constructor(settings: FcmSettings, context: PushContext) {
    const { service_account: account, project_id: project = account.project_id, endpoint = GOOGLE } = settings;
    this.#client = new Http2Client(new URL(endpoint), context);
    this.#accessToken = new AccessToken(account, context);
    this.#project = project;
    this.#path = `/v1/projects/${encodeURIComponent(project)}/messages:send`;
    this.#context = context;
    this.#backOff = new BackOff(context.now);
    this.#secrets = [account.private_key];
  }

  async send(target: PushTarget, message: PushMessage): Promise<PushOutcome> {
    if (target.token === undefined) {
      return {
        kind: 'refused',
        code: 'SUBSCRIPTION',
        reason: 'FCM takes tokens: for subscriptions of browsers the provider is web_push',
      };
    }
    const built = fcmMessage(message, target.platform, target.token, this.#context.now());
    const bytes = fcmBytes(built);
    if (bytes > FCM_MAX_BYTES) return { kind: 'too_big', bytes, maxBytes: FCM_MAX_BYTES };
    const result = await this.#post(JSON.stringify({ message: built }));
    if ('outcome' in result) return this.#redact(result.outcome, target);
    return this.#redact(this.#backOff.heed(result.kind === 'answer' ? fcmOutcome(result) : result), target);
  }

  routeOf(): PushRoute {
    return this.#route;
  }

  /** Asks FCM to validate a message to a topic: it needs the same permission, and goes to no device. */
  async check(): Promise<PushFinding[]> {
    const message = { topic: 'millrace-check', data: { millrace: 'check' } };
    const result = await this.#post(JSON.stringify({ validate_only: true, message }));
    if ('outcome' in result) return [sayTokenFailure(this.#redact(result.outcome))];
    if (result.kind !== 'answer') return [{ severity: 'error', field: 'endpoint', message: result.reason }];
    if (result.status === 200) return [];
    const { code, message: words } = readFailure(result);
    const said = redacted(`Google says ${code}: ${words}`, this.#secrets);
    if (code === 'NOT_FOUND')
      return [{ severity: 'error', field: 'project_id', message: `names no project that FCM knows (${said})` }];
    if (result.status === 401 || result.status === 403) {
      return [
        {
          severity: 'error',
          field: 'service_account',
          message:
            `may not send in project ${this.#project}: give the service account the role ` +
            `Firebase Cloud Messaging API Admin, and enable the Firebase Cloud Messaging API (${said})`,
        },
      ];
    }
    return [{ severity: 'error', field: 'provider', message: said }];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /**
   * With a new access token where Google takes the one at hand no more: a request that it refuses has not been acted
   * on.
   */
  async #post(body: string): Promise<PostResult | { outcome: PushOutcome }> {
    for (let isLast = false; ; isLast = true) {
      const held = this.#backOff.outcome();
      if (held) return { outcome: held };
      const found = await this.#accessToken.find();
      if ('failed' in found) return { outcome: this.#backOff.heed(found.failed) };
      const headers = {
        authorization: `Bearer ${found.token}`,
        'content-type': 'application/json',
        'user-agent': 'Millrace',
      };
      const result = await this.#client.post({ path: this.#path, headers, body });
      if (isLast || result.kind !== 'answer' || result.status !== 401 || readFailure(result).code !== 'UNAUTHENTICATED')
        return result;
      this.#accessToken.drop(found.token);
    }
  }

  #redact(outcome: PushOutcome, target?: PushTarget): PushOutcome {
    if (!('reason' in outcome)) return outcome;
    return { ...outcome, reason: redacted(outcome.reason, [...this.#secrets, ...(target ? secretsOf(target) : [])]) };
  }
}

function sayTokenFailure(outcome: PushOutcome): PushFinding {
  switch (outcome.kind) {
    case 'refused':
      return {
        severity: 'error',
        field: 'service_account',
        message:
          `is not taken by Google (${outcome.code}): ${outcome.reason}. Make a new key ` +
          'for the service account, and send its file',
      };
    case 'not_sent':
      return { severity: 'error', field: 'service_account', message: `gets no access token: ${outcome.reason}` };
    default:
      return {
        severity: 'warning',
        field: 'provider',
        message: 'asks to be left alone for now: check again in a minute',
      };
  }
}
