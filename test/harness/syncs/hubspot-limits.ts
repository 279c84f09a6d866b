/** HubSpot's tokens and limits: Service Key and OAuth, requests in ten seconds, a second and a day. */
import { randomBytes } from 'node:crypto';
import type { Answered } from './hubspot-batches.ts';
import { HubSpotRefusal } from './hubspot-records.ts';

export type HubSpotLimitSettings = {
  /** Longer URLs (path and query) are answered 414. */
  urlBytes?: number;
  /** Without search, by real time. */
  perTenSeconds?: number;
  /** Limit of a Service Key's calls in a day of the server's clock; OAuth has none. */
  perDay?: number;
  /** By real time. */
  searchPerSecond?: number;
  /** After this number of calls an access token of OAuth has expired. */
  tokenCalls?: number;
};

type Token = { isOAuth: boolean; callsLeft: number; until: number; taken: number[] };

const TEN_SECONDS = 10_000;
const TOKEN_SECONDS = 1_800;

export class HubSpotLimits {
  readonly key = `pat-eu1-${randomBytes(18).toString('hex')}`;
  readonly oauth = {
    clientId: randomBytes(12).toString('hex'),
    clientSecret: randomBytes(12).toString('hex'),
    refreshToken: randomBytes(18).toString('hex'),
  };
  readonly urlBytes: number;
  readonly timeZone: string;
  readonly #limits: HubSpotLimitSettings;
  readonly #rotates: boolean;
  readonly #now: () => number;
  readonly #tokens = new Map<string, Token>();
  readonly #day: Intl.DateTimeFormat;
  readonly #searches: number[] = [];
  #today = '';
  #spent = 0;

  constructor(settings: {
    now: () => number;
    limits?: HubSpotLimitSettings;
    timeZone?: string;
    rotatesRefreshToken?: boolean;
  }) {
    const { now, limits = {}, timeZone = 'Europe/Berlin', rotatesRefreshToken = false } = settings;
    this.#now = now;
    this.#limits = limits;
    this.#rotates = rotatesRefreshToken;
    this.urlBytes = limits.urlBytes ?? 8_000;
    this.timeZone = timeZone;
    this.#day = new Intl.DateTimeFormat('en-CA', { timeZone });
    this.#tokens.set(this.key, { isOAuth: false, callsLeft: Infinity, until: Infinity, taken: [] });
  }

  /** Answers a request for an access token. */
  grantToken(form: URLSearchParams): Answered {
    const { clientId, clientSecret, refreshToken } = this.oauth;
    const refuse = (status: string, error: string) =>
      ({ status: 400, json: { status, error, error_description: 'refused', message: 'refused' } }) as const;
    if (form.get('grant_type') !== 'refresh_token') return refuse('BAD_GRANT_TYPE', 'unsupported_grant_type');
    if (form.get('client_id') !== clientId) return refuse('BAD_CLIENT_ID', 'invalid_client');
    if (form.get('client_secret') !== clientSecret) return refuse('BAD_CLIENT_SECRET', 'invalid_client');
    if (form.get('refresh_token') !== refreshToken) return refuse('BAD_REFRESH_TOKEN', 'invalid_grant');
    if (this.#rotates) this.oauth.refreshToken = randomBytes(18).toString('hex');
    // Longer than 300 characters, as HubSpot asks clients to allow for.
    const token = randomBytes(160).toString('hex');
    const { tokenCalls = Infinity } = this.#limits;
    this.#tokens.set(token, {
      isOAuth: true,
      callsLeft: tokenCalls,
      until: this.#now() + TOKEN_SECONDS * 1_000,
      taken: [],
    });
    return {
      status: 200,
      json: {
        token_type: 'bearer',
        access_token: token,
        refresh_token: this.oauth.refreshToken,
        expires_in: TOKEN_SECONDS,
        hub_id: 7,
      },
    };
  }

  /** Returns the token of an Authorization header; refuses one that is unknown or has expired. */
  authenticate(authorization: string | undefined): Token {
    const token = this.#tokens.get(/^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '');
    if (!token)
      throw new HubSpotRefusal(401, 'INVALID_AUTHENTICATION', 'Authentication credentials not found or not valid.');
    if (token.callsLeft <= 0 || token.until <= this.#now())
      throw new HubSpotRefusal(401, 'EXPIRED_AUTHENTICATION', 'The OAuth token used to make this call has expired.');
    token.callsLeft -= 1;
    return token;
  }

  /** Counts a call, and returns the headers that say what is left; refuses it past a limit. */
  admit(token: Token, isSearch: boolean): Record<string, string> {
    const { perDay = 1_000_000, searchPerSecond = 5, perTenSeconds = token.isOAuth ? 110 : 190 } = this.#limits;
    const at = Date.now();
    this.#countDay();
    dropUntil(token.taken, at - TEN_SECONDS);
    dropUntil(this.#searches, at - 1_000);
    const headers = () => ({
      'x-hubspot-ratelimit-max': String(perTenSeconds),
      'x-hubspot-ratelimit-remaining': String(Math.max(0, perTenSeconds - token.taken.length)),
      'x-hubspot-ratelimit-interval-milliseconds': String(TEN_SECONDS),
      ...(token.isOAuth
        ? {}
        : {
            'x-hubspot-ratelimit-daily': String(perDay),
            'x-hubspot-ratelimit-daily-remaining': String(Math.max(0, perDay - this.#spent)),
          }),
    });
    const shown = () => (isSearch ? {} : headers());
    if (!token.isOAuth && this.#spent >= perDay) throw tooMany('DAILY', 'daily', shown());
    if (isSearch && this.#searches.length >= searchPerSecond) throw tooMany('SECONDLY', 'secondly', {});
    if (!isSearch && token.taken.length >= perTenSeconds)
      throw tooMany('TEN_SECONDLY_ROLLING', 'ten_secondly_rolling', headers());
    if (!token.isOAuth) this.#spent += 1;
    (isSearch ? this.#searches : token.taken).push(at);
    return shown();
  }

  /** Returns how much of the day's limit is used, and when it ends. */
  usage() {
    this.#countDay();
    const { perDay: usageLimit = 1_000_000 } = this.#limits;
    const now = this.#now();
    return {
      name: 'Private Apps',
      usageLimit,
      currentUsage: this.#spent,
      collectedAt: new Date(now).toISOString(),
      fetchStatus: 'SUCCESS',
      resetsAt: new Date(this.#dayEnd(now)).toISOString(),
    };
  }

  #countDay(): void {
    const day = this.#day.format(this.#now());
    if (day === this.#today) return;
    this.#today = day;
    this.#spent = 0;
  }

  /** Returns the next midnight of the account. Offsets from UTC are quarters of an hour. */
  #dayEnd(now: number): number {
    const quarter = 900_000;
    const day = this.#day.format(now);
    let time = Math.floor(now / quarter + 1) * quarter;
    while (this.#day.format(time) === day) time += quarter;
    return time;
  }
}

function dropUntil(times: number[], until: number): void {
  while (times.length > 0 && times[0]! <= until) times.shift();
}

function tooMany(policyName: string, limit: string, headers: Record<string, string>): HubSpotRefusal {
  const message = `You have reached your ${limit} limit.`;
  return new HubSpotRefusal(429, 'RATE_LIMITS', message, { errorType: 'RATE_LIMIT', policyName }, headers);
}
