/** Calls of HubSpot's API: their tokens, their pace, the account's quota, and HubSpot's errors in our words. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { DAY_MS, HOUR_MS } from '../../domain/time/durations.ts';
import { refuseRotation, requestToken, sendWithToken, type TokenSource } from '../core/access-token.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { answerAs, errorJson, jsonWithToken, unredirected } from '../core/json-requests.ts';
import { KeptValues } from '../core/kept-values.ts';
import { CallWindow, keepToShare, Pace, type Quota, quotaWait } from '../core/pace.ts';
import { refusalOfAnswer, sourceRefusal } from '../core/source-refusal.ts';
import type { HubspotSettings } from './hubspot-settings.ts';

/** HubSpot supports a version for 18 months (developers.hubspot.com, "Introducing date-based API versioning"). */
export const VERSION = '2026-09';

const INSTEAD = 'a Service Key, as access_token';

/** A call; `takes`: statuses beyond 2xx whose answers are returned. `path` begins with /. */
export type Call = {
  path: string;
  query?: Record<string, string>;
  /** Sent by POST, as JSON. */
  body?: unknown;
  isSearch?: boolean;
  /** Maximum size of the answer's JSON in bytes; default 4 MiB. */
  mostBytes?: number;
  takes?: readonly number[];
  onSending?: (() => void) | undefined;
  /** Ends the call; by default the context's. */
  signal?: AbortSignal;
};

/** Scopes; a call needs one of them. Answers have them under one of these names (hubspot-api-nodejs, issue 268). */
const names = z.array(z.string().regex(/^[\w.-]{1,128}$/)).optional();
const Scopes = z
  .object({ missingScopes: names, requiredGranularScopes: names, requiredScopes: names })
  .optional()
  .catch(undefined);
/** Members of an error; each may be missing. Its texts may quote values, so only codes and names are read. */
const ErrorBody = z.object({
  category: z
    .string()
    .regex(/^[A-Z_]{1,64}$/)
    .optional(),
  policyName: z.string().optional(),
  context: Scopes,
  errors: z
    .array(z.object({ context: Scopes }))
    .optional()
    .catch(undefined),
});
type ErrorBody = z.output<typeof ErrorBody>;

/** Calls may arrive closer together than they begin, so a window is a little longer than HubSpot's. */
const LONGER = 1.05;

const REFUSED = [400, 401, 403, 404, 409, 414, 429, 477, 530];

/** An account's limits and pace, shared by all calls of this process with the same credentials. */
class Account {
  readonly pace = new Pace();
  readonly searches: CallWindow;
  /** The least that an account has; the first answer says how much this one has. */
  #most = 100;
  readonly #calls = new CallWindow({ calls: this.#most, windowMs: 10_000 * LONGER });
  #quota: Quota | undefined;

  constructor(searchesPerSecond: number) {
    this.searches = new CallWindow({ calls: searchesPerSecond, windowMs: 1_000 * LONGER });
  }

  /** Waits until a call may begin. Refuses by a wait if the account's share of the day is used up. */
  async turn({ isSearch }: Call, host: string, sharePercent: number, signal: AbortSignal): Promise<void> {
    if (this.#quota && this.#quota.resetsAtMs <= Date.now()) this.#quota = undefined;
    if (this.#quota) keepToShare(host, this.#quota, sharePercent);
    await (isSearch ? this.searches : this.#calls).turn(signal);
  }

  /** Takes the window's limit from an answer; returns the day's, where the answer has it. */
  note(headers: Record<string, string | undefined>): Omit<Quota, 'resetsAtMs'> | null {
    const [most, windowMs, limit, remaining] = ['max', 'interval-milliseconds', 'daily', 'daily-remaining'].map(
      (name) => Number(headers[`x-hubspot-ratelimit-${name}`] ?? Number.NaN),
    ) as [number, number, number, number];
    if (most > 0 && most !== this.#most && windowMs > 0) {
      this.#most = most;
      this.#calls.setLimit({ calls: most, windowMs: windowMs * LONGER });
    }
    return limit > 0 && remaining >= 0 ? { used: limit - remaining, limit } : null;
  }

  /** Notes that this much of the day's calls is used, until a time. */
  setQuota(quota: Quota): void {
    this.#quota = quota;
  }

  /** Returns when the day of a quota that was noted ends. */
  get resetsAtMs(): number | undefined {
    return this.#quota?.resetsAtMs;
  }
}

const MAX_KEPT = 1_000;
const accounts = new KeptValues<Account>(MAX_KEPT, HOUR_MS);

/** HubSpot's API as one reading, writing or check uses it. */
export class Hubspot {
  readonly host: string;
  readonly #settings: HubspotSettings;
  readonly #context: ConnectorContext;
  readonly #source: TokenSource;
  readonly #accountName: string;
  #clockMs = Date.now();

  constructor(settings: HubspotSettings, context: ConnectorContext) {
    this.#settings = settings;
    this.#context = context;
    this.host = new URL(settings.address).host;
    this.#source = sourceOf(settings);
    const { access_token: token, client_id: id, refresh_token: refresh } = settings;
    const named = JSON.stringify([settings.address, token, id, refresh, settings.searches_per_second]);
    this.#accountName = createHash('sha256').update(named).digest('base64');
  }

  /** The account as all calls of this process share it, kept from the last of these on. */
  get #account(): Account {
    return accounts.of(this.#accountName, () => new Account(this.#settings.searches_per_second));
  }

  get settings(): HubspotSettings {
    return this.#settings;
  }

  /** The server's clock at its last answer, in ms; ours if that is behind it. */
  get clockMs(): number {
    return this.#clockMs;
  }

  /** Calls, and returns the JSON of a 2xx answer. */
  async read<T>(schema: z.ZodType<T>, call: Call): Promise<T> {
    return answerAs(schema, await this.send(call), call.mostBytes);
  }

  /** Calls, and returns an answer of 2xx or of a status in `takes`. Waits for its turn, and shortly if HubSpot asks. */
  async send(call: Call): Promise<GuardedAnswer> {
    const signal = call.signal ?? this.#context.signal;
    return this.#account.pace.send(() => this.#sendOnce(call, signal), signal);
  }

  async #sendOnce(call: Call, signal: AbortSignal): Promise<GuardedAnswer> {
    const { path, query, body, takes = [], onSending } = call;
    const { address, daily_share: share } = this.#settings;
    const { fetch } = this.#context;
    const url = new URL(path, address);
    url.search = `${new URLSearchParams(query)}`;
    const advice = 'check the address and access_token';
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await sendWithToken('hubspot', this.#source, EXPIRY, this.#context, async (token) => {
      await this.#account.turn(call, this.host, share, signal);
      return fetch.request(url.href, {
        method,
        ...jsonWithToken(token, body),
        signal,
        advice,
        onSending,
        answers: [...REFUSED, ...takes],
      });
    });
    this.#clockMs = Math.min(Date.parse(answer.headers['date'] ?? '') || Infinity, Date.now());
    await this.#keepQuota(answer);
    if (answer.status <= 299) return unredirected(answer, { url: url.href, method });
    if (takes.includes(answer.status)) return answer;
    throw await this.#refusal(answer);
  }

  /** Remembers a day's share that this answer shows as used up: the next call waits. */
  async #keepQuota({ headers }: GuardedAnswer): Promise<void> {
    const day = this.#account.note(headers);
    if (day === null) return;
    const known = this.#account.resetsAtMs;
    // Other connections with the same credentials may have larger shares: once noted, what is used is kept up.
    if (known === undefined && day.used * 100 <= day.limit * this.#settings.daily_share) return;
    this.#account.setQuota({ ...day, resetsAtMs: known ?? (await this.#dayEnds()) });
  }

  /** Returns when the day of the account's quota ends, in ms; in an hour if HubSpot does not say. */
  async #dayEnds(): Promise<number> {
    const unknown = Date.now() + HOUR_MS;
    if (!('token' in this.#source)) return unknown;
    try {
      const { results } = await answerAs(
        Usage,
        await this.#context.fetch.request(
          new URL(`/account-info/${VERSION}/api-usage/daily/private-apps`, this.#settings.address).href,
          { headers: { Authorization: `Bearer ${this.#source.token}` }, signal: this.#context.signal },
        ),
      );
      const ends = results.map(({ resetsAt }) => Date.parse(resetsAt ?? '')).filter((time) => time > Date.now());
      return ends.length === 0 ? unknown : Math.min(...ends, Date.now() + DAY_MS);
    } catch (error) {
      if (error instanceof Refusal) return unknown;
      throw error;
    }
  }

  async #refusal(answer: GuardedAnswer): Promise<Refusal> {
    const { status, headers } = answer;
    const { host } = this;
    const found = errorOf(await errorJson(answer));
    const scopes = missingScopes(found);
    if (scopes.length > 0) {
      const those = scopes.length === 1 ? `the scope ${scopes[0]!}` : `one of the scopes ${scopes.join(', ')}`;
      const message = `${host} asks for ${those}: add it to the Service Key or the app`;
      return sourceRefusal('source_refused', message, { source_status: status, missing_scopes: scopes });
    }
    if (status === 429) {
      if (found.policyName === 'DAILY') {
        const until = await this.#dayEnds();
        return quotaWait(`${host} takes no more calls today: the account's daily limit is reached`, until);
      }
      const seconds = found.policyName === 'TEN_SECONDLY_ROLLING' ? '10' : '1';
      return refusalOfAnswer(host, status, headers['retry-after'] ?? seconds);
    }
    if (status === 477) return refusalOfAnswer(host, 503, headers['retry-after'] ?? '60');
    if (status === 530) {
      const message = `${host} answered 530: access_token has the form of no token`;
      return sourceRefusal('source_refused', message, { source_status: status });
    }
    return refusalOfAnswer(host, status, headers['retry-after'], adviceOf(status, found));
  }
}

const Usage = z.object({ results: z.array(z.object({ resetsAt: z.string().nullish() })) });

function adviceOf(status: number, { category }: ErrorBody): string {
  const said = category === undefined ? '' : ` (${category})`;
  if (status === 401) return `it does not take the credentials${said}: check access_token`;
  if (status === 403) return `the credentials lack a right${said}: check the scopes of the Service Key or the app`;
  if (status === 404) return `it knows no such object${said}: check the stream, and the address`;
  return `it refused the request${said}`;
}

/** Returns the members of an error body that we read; none if it is of another form. */
function errorOf(json: unknown): ErrorBody {
  const read = ErrorBody.safeParse(json);
  return read.success ? read.data : {};
}

/** Returns the names of the scopes that an error asks for. */
function missingScopes({ context, errors = [] }: ErrorBody): string[] {
  const all = [context, ...errors.map((error) => error.context)];
  return [
    ...new Set(
      all.flatMap((each) => each?.missingScopes ?? each?.requiredGranularScopes ?? each?.requiredScopes ?? []),
    ),
  ];
}

/** Returns the scopes that a refusal asks for; none if it is another one. */
export function scopesIn(error: unknown): string[] {
  const scopes = error instanceof Refusal ? error.extra['missing_scopes'] : undefined;
  return Array.isArray(scopes) ? (scopes as string[]) : [];
}

const EXPIRY = {
  isExpired: async (answer: GuardedAnswer) =>
    answer.status === 401 && errorOf(await errorJson(answer)).category === 'EXPIRED_AUTHENTICATION',
  advice: 'it calls the token expired: check access_token, or client_id, client_secret and refresh_token',
};

function sourceOf(settings: HubspotSettings): TokenSource {
  const { address, access_token: token, client_id: id = '', client_secret: clientSecret = '' } = settings;
  if (token !== undefined) return { token };
  const { refresh_token: refresh = '' } = settings;
  const grant = {
    url: new URL(`/oauth/${VERSION}/token`, address).href,
    form: { grant_type: 'refresh_token', client_id: id, client_secret: clientSecret, refresh_token: refresh },
    advice: 'check client_id, client_secret and refresh_token',
  };
  return { credentials: [address, id, clientSecret, refresh], grant: async () => grant };
}

/** Refuses an OAuth app whose refresh token changes with each use. */
export async function checkRotation(settings: HubspotSettings, context: ConnectorContext): Promise<void> {
  const { refresh_token: refresh } = settings;
  const source = sourceOf(settings);
  if (refresh === undefined || !('grant' in source)) return;
  const { host } = new URL(settings.address);
  refuseRotation(refresh, await requestToken(await source.grant(), context), host, INSTEAD);
}
