/** Salesforce's tokens and limits: client credentials and JWT bearer, calls that a token lasts, calls in 24 hours. */
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { jwtVerify } from 'jose';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { SalesforceRefusal } from './salesforce-records.ts';

export type ExpiredCode = 'INVALID_SESSION_ID' | 'INVALID_JWT_FORMAT' | 'INVALID_AUTH_HEADER';

/** Settings that a test may change at any time. */
export type SalesforceLimitSettings = {
  /** Longer URLs (path and query) are answered with `urlStatus`. */
  urlBytes: number;
  urlStatus: 414 | 431;
  /** Calls in any 24 hours of the server's clock. */
  perDay: number;
  /** Calls of others in these 24 hours. */
  usedElsewhere: number;
  /** After this number of calls an access token has expired. */
  tokenCalls: number;
  /** The error code of an expired token. */
  expiredCode: ExpiredCode;
};

const DEFAULTS: SalesforceLimitSettings = {
  urlBytes: 16_384,
  urlStatus: 414,
  perDay: 100_000,
  usedElsewhere: 0,
  tokenCalls: Infinity,
  expiredCode: 'INVALID_SESSION_ID',
};

/** An External Client App, and the user that it may act as. */
export type ClientApp = {
  clientId: string;
  clientSecret: string;
  username: string;
  audience: string;
  /** PKCS 8, PEM. Its public key is the certificate that the app knows. */
  readonly privateKey: string;
};

type TokenAnswer = { status: number; json: unknown };

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export class SalesforceLimits {
  readonly settings: SalesforceLimitSettings;
  readonly app: ClientApp;
  readonly #now: () => number;
  readonly #tokens = new Map<string, { callsLeft: number }>();
  readonly #calls: number[] = [];

  constructor(now: () => number, settings: Partial<SalesforceLimitSettings>) {
    this.#now = now;
    this.settings = { ...DEFAULTS, ...settings };
    let privateKey: string | undefined;
    this.app = {
      clientId: `3MVG9${randomBytes(30).toString('hex')}`,
      clientSecret: randomBytes(32).toString('hex').toUpperCase(),
      username: 'integration@example.com',
      audience: 'https://login.salesforce.com',
      get privateKey() {
        privateKey ??= generateKeyPairSync('rsa', { modulusLength: 2_048 })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString();
        return privateKey;
      },
    };
  }

  /** Answers a request for an access token. */
  async grantToken(form: URLSearchParams, instanceUrl: string): Promise<TokenAnswer> {
    const refuse = (error: string, description: string) => ({
      status: 400,
      json: { error, error_description: description },
    });
    switch (form.get('grant_type')) {
      case 'client_credentials':
        if (form.get('client_id') !== this.app.clientId)
          return refuse('invalid_client_id', 'client identifier invalid');
        if (form.get('client_secret') !== this.app.clientSecret)
          return refuse('invalid_client', 'invalid client credentials');
        break;
      case JWT_BEARER: {
        const refused = await this.#refusedAssertion(form.get('assertion') ?? '');
        if (refused) return refuse(refused.error, refused.description);
        break;
      }
      default:
        return refuse('unsupported_grant_type', 'grant type not supported');
    }
    const token = `00D5f0000000001!${randomBytes(48).toString('base64url')}`;
    this.#tokens.set(token, { callsLeft: this.settings.tokenCalls });
    const json = {
      access_token: token,
      signature: randomBytes(32).toString('base64'),
      scope: 'api',
      instance_url: instanceUrl,
      id: `${instanceUrl}/id/00D5f0000000001EAA/0055f0000000001AAA`,
      token_type: 'Bearer',
      issued_at: String(this.#now()),
    };
    return { status: 200, json };
  }

  async #refusedAssertion(assertion: string): Promise<{ error: string; description: string } | null> {
    const { clientId, username, audience, privateKey } = this.app;
    const payload = await jwtVerify(assertion, createPublicKey(privateKey), { algorithms: ['RS256'] }).then(
      (verified) => verified.payload,
      () => null,
    );
    const refuse = (description: string) => ({ error: 'invalid_grant', description });
    if (payload?.exp === undefined) return refuse('invalid assertion');
    if (payload.iss !== clientId) return { error: 'invalid_client_id', description: 'client identifier invalid' };
    if (payload.aud !== audience) return refuse('audience is invalid');
    return payload.sub === username ? null : refuse("user hasn't approved this consumer");
  }

  /** Expires all tokens. */
  expire(): void {
    for (const token of this.#tokens.values()) token.callsLeft = 0;
  }

  /** Refuses a token that is unknown or has expired. */
  authenticate(authorization: string | undefined): void {
    const token = this.#tokens.get(/^(?:Bearer|OAuth) (.+)$/.exec(authorization ?? '')?.[1] ?? '');
    if (!token) throw new SalesforceRefusal(401, 'INVALID_SESSION_ID', 'Session expired or invalid');
    if (token.callsLeft <= 0) throw new SalesforceRefusal(401, this.settings.expiredCode, 'Session expired or invalid');
    token.callsLeft -= 1;
  }

  /** Counts a call; refuses it past the limit. */
  admit(): void {
    if (this.#used() >= this.settings.perDay)
      throw new SalesforceRefusal(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.');
    this.#calls.push(this.#now());
  }

  headers(): Record<string, string> {
    const date = new Date(this.#now()).toUTCString();
    return { date, 'sforce-limit-info': `api-usage=${this.#used()}/${this.settings.perDay}` };
  }

  /** Returns what `/limits` says. */
  shown() {
    const { perDay: Max } = this.settings;
    return {
      DailyApiRequests: { Max, Remaining: Math.max(0, Max - this.#used()) },
      DailyBulkV2QueryJobs: { Max: 10_000, Remaining: 10_000 },
      DailyBulkV2QueryFileStorageMB: { Max: 976_562, Remaining: 976_562 },
      DataStorageMB: { Max: 1_024, Remaining: 1_000 },
    };
  }

  #used(): number {
    const since = this.#now() - DAY_MS;
    let passed = 0;
    while (passed < this.#calls.length && this.#calls[passed]! <= since) passed += 1;
    this.#calls.splice(0, passed);
    return this.#calls.length + this.settings.usedElsewhere;
  }
}
