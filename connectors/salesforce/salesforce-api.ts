/** Calls of Salesforce's API: their tokens, the org's quota, and Salesforce's errors in our words. */
import { createHash, createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { HOUR_MS } from '../../domain/time/durations.ts';
import { type Grant, type Granted, sendWithToken, type TokenSource } from '../core/access-token.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { GuardedAnswer } from '../core/guarded-fetch.ts';
import { answerAs, errorJson, jsonWithToken, unredirected } from '../core/json-requests.ts';
import { KeptValues } from '../core/kept-values.ts';
import { keepToShare, type Quota, quotaWait } from '../core/pace.ts';
import { refusalOfAnswer, sourceRefusal } from '../core/source-refusal.ts';
import { codesOf, faultsOf, LATER } from './salesforce-faults.ts';
import type { SalesforceSettings } from './salesforce-settings.ts';

/** A call; `takes`: statuses beyond 2xx whose answers are returned. `path` begins with /, behind the version. */
export type Call = {
  path: string;
  query?: Record<string, string>;
  method?: Dispatcher.HttpMethod;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** An answer that is read as a stream, of any length. */
  isStream?: boolean;
  /** Maximum size of the answer's JSON in bytes; default 4 MiB. */
  mostBytes?: number;
  takes?: readonly number[];
  /** Sent past the share of the org's calls as well: it frees what the org holds for this reading. */
  isPastShare?: boolean;
  onSending?: (() => void) | undefined;
  /** Ends the call; by default the context's. */
  signal?: AbortSignal;
};

const REFUSED = [400, 401, 403, 404, 405, 409, 414, 429, 431, 500, 503];

/** Codes of a token that is no longer taken; tokens that are JWTs have their own (airbyte, issue 71024). */
const EXPIRED = ['INVALID_SESSION_ID', 'INVALID_JWT_FORMAT', 'INVALID_AUTH_HEADER'];

/** Seconds until the org may take calls again that it calls too many at once. */
const CONCURRENCY_SECONDS = 30;

/** The quotas of orgs, shared by all calls of this process with the same credentials. */
type Org = { quota: Quota | null };
const MAX_KEPT = 1_000;
const orgs = new KeptValues<Org>(MAX_KEPT, HOUR_MS);

/** Salesforce's API as one reading, writing or check uses it. */
export class Salesforce {
  readonly host: string;
  readonly settings: SalesforceSettings;
  readonly #context: ConnectorContext;
  readonly #source: TokenSource;
  readonly #orgName: string;
  #clockMs = Date.now();

  constructor(settings: SalesforceSettings, context: ConnectorContext) {
    this.settings = settings;
    this.#context = context;
    this.host = new URL(settings.address).host;
    this.#source = sourceOf(settings);
    const { address, client_id: id, username = '' } = settings;
    this.#orgName = createHash('sha256')
      .update(JSON.stringify([address, id, username]))
      .digest('base64');
  }

  /** The server's clock at its last answer, in ms; ours if that is behind it. */
  get clockMs(): number {
    return this.#clockMs;
  }

  /** Calls, and returns the JSON of a 2xx answer. */
  async read<T>(schema: z.ZodType<T>, call: Call): Promise<T> {
    return answerAs(schema, await this.send(call), call.mostBytes);
  }

  /**
   * Calls, and returns an answer of 2xx or of a status in `takes`. Refuses others; the refusal's `source_codes` are
   * Salesforce's error codes.
   */
  async send(call: Call): Promise<GuardedAnswer> {
    const { path, query, body, method = body === undefined ? 'GET' : 'POST', headers, takes = [] } = call;
    const { address, api_version: version } = this.settings;
    const signal = call.signal ?? this.#context.signal;
    const url = new URL(path.startsWith('/services/') ? path : `/services/data/v${version}${path}`, address);
    if (query) url.search = `${new URLSearchParams(query)}`;
    const answer = await sendWithToken('salesforce', this.#source, EXPIRY, this.#context, async (token) => {
      if (call.isPastShare !== true) this.#keepToShare();
      const sent = jsonWithToken(token, body);
      return this.#context.fetch.request(url.href, {
        ...sent,
        method,
        headers: { ...sent.headers, ...headers },
        signal,
        isStream: call.isStream,
        advice: 'check the address, and the credentials',
        onSending: call.onSending,
        answers: [...REFUSED, ...takes],
      });
    });
    this.#clockMs = Math.min(Date.parse(answer.headers['date'] ?? '') || Infinity, Date.now());
    this.#noteUsage(answer.headers['sforce-limit-info']);
    if (answer.status <= 299) return unredirected(answer, { url: url.href, method });
    if (takes.includes(answer.status)) return answer;
    throw await this.#refusal(answer);
  }

  #org(): Org {
    return orgs.of(this.#orgName, () => ({ quota: null }));
  }

  #keepToShare(): void {
    const { quota } = this.#org();
    if (quota && quota.resetsAtMs > Date.now()) keepToShare(this.host, quota, this.settings.daily_share);
  }

  /** Notes how many of its calls the org has used. They are counted over 24 hours, so some come back in an hour. */
  #noteUsage(info: string | undefined): void {
    const [, used, limit] = /\bapi-usage=(\d{1,12})\/(\d{1,12})\b/.exec(info ?? '') ?? [];
    if (used === undefined) return;
    this.#org().quota = { used: Number(used), limit: Number(limit), resetsAtMs: Date.now() + HOUR_MS };
  }

  async #refusal(answer: GuardedAnswer): Promise<Refusal> {
    const { status, headers } = answer;
    const { host } = this;
    const faults = faultsOf(await errorJson(answer));
    const codes = codesOf(faults);
    const extra = { source_status: status, source_codes: codes };
    if (codes.includes('REQUEST_LIMIT_EXCEEDED')) {
      if (faults.some(({ message = '' }) => /concurrent/i.test(message))) {
        const message = `${host} has too many calls at once: it may go better in ${CONCURRENCY_SECONDS} s`;
        return sourceRefusal('source_unavailable', message, { ...extra, retry_after: CONCURRENCY_SECONDS });
      }
      return quotaWait(`${host} takes no more calls: the org's limit of 24 hours is reached`, Date.now() + HOUR_MS);
    }
    const isLater = codes.some((code) => LATER.has(code));
    if (isLater || status >= 500 || status === 429) {
      const { message, extra: more } = refusalOfAnswer(
        host,
        status >= 500 || status === 429 ? status : 503,
        headers['retry-after'],
      );
      return sourceRefusal('source_unavailable', message, { ...more, ...extra });
    }
    const said = codes.length === 0 ? '' : ` (${codes.join(', ')})`;
    return sourceRefusal('source_refused', `${host} answered ${status}${said}: ${adviceOf(status, codes)}`, extra);
  }
}

function adviceOf(status: number, codes: readonly string[]): string {
  if (codes.includes('API_DISABLED_FOR_ORG')) return 'the org, or the profile of the user, has no access to the API';
  if (codes.includes('INVALID_TYPE') || status === 404)
    return 'it knows no such object, or its user may not see it: check the stream, the address and api_version';
  if (codes.includes('INVALID_FIELD')) return 'it knows no such field, or field-level security hides it from the user';
  if (status === 401) return 'it does not take the credentials: check client_id and its secret or private_key';
  if (status === 403) return 'the user of the credentials lacks a right: check its profile and permission sets';
  return 'it refused the request';
}

/** Returns the path of an address that an answer names; refuses one of another origin, which would get the token. */
export function pathOf({ host, settings: { address } }: Salesforce, next: string): string {
  const url = URL.parse(next, address);
  if (url?.origin === new URL(address).origin && url.pathname.startsWith('/services/data/'))
    return `${url.pathname}${url.search}`;
  throw sourceRefusal('source_refused', `${host} names a next page elsewhere: check the address`);
}

/** Returns Salesforce's error codes that a refusal carries. */
export function codesIn(error: unknown): string[] {
  const codes = error instanceof Refusal ? error.extra['source_codes'] : undefined;
  return Array.isArray(codes) ? (codes as string[]) : [];
}

const EXPIRY = {
  isExpired: async (answer: GuardedAnswer) =>
    answer.status >= 400 &&
    answer.status <= 403 &&
    codesOf(faultsOf(await errorJson(answer))).some((code) => EXPIRED.includes(code)),
  advice: 'it does not take a new token either: check the rights of the External Client App and its user',
};

const ASSERTION_SECONDS = 180;

function sourceOf(settings: SalesforceSettings): TokenSource {
  const { address, client_id: id, client_secret: clientSecret = '', username = '', private_key: key = '' } = settings;
  const flow: Omit<Grant, 'form'> = {
    url: new URL('/services/oauth2/token', address).href,
    advice:
      key === ''
        ? 'check the address, client_id and client_secret, and that the app has a user to run as'
        : 'check the address, client_id, username, private_key and audience, and that the app admits the user',
    check: (granted) => checkInstance(settings, granted),
  };
  const grant = async (): Promise<Grant> => ({
    ...flow,
    form:
      key === ''
        ? { grant_type: 'client_credentials', client_id: id, client_secret: clientSecret }
        : { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: await assertionOf(settings) },
  });
  return { credentials: [address, id, clientSecret, username, key, settings.audience], grant };
}

/** Signs for the JWT bearer flow (Salesforce's help, "OAuth 2.0 JWT Bearer Flow for Server-to-Server Integration"). */
async function assertionOf({
  client_id: id,
  username,
  private_key: key,
  audience,
}: SalesforceSettings): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: 'RS256' })
    .setIssuer(id)
    .setSubject(username!)
    .setAudience(audience)
    .setExpirationTime(Math.floor(Date.now() / 1_000) + ASSERTION_SECONDS)
    .sign(createPrivateKey(key!));
}

/** Refuses a token of another address than the one that was checked and set: the org may be another one. */
function checkInstance({ address }: SalesforceSettings, { instance_url: instance }: Granted): void {
  const { origin } = new URL(address);
  const given = URL.parse(instance ?? address);
  if (given?.origin === origin) return;
  const where = given?.origin ?? 'another address';
  throw sourceRefusal(
    'source_refused',
    `address: the token that ${new URL(address).host} gives is for ${where}: set that`,
  );
}

/** Refuses an api_version that the org lacks. */
export async function checkVersion(salesforce: Salesforce): Promise<void> {
  const { api_version: asked } = salesforce.settings;
  const found = await salesforce.read(Versions, { path: '/services/data' });
  const versions = found.map(({ version }) => version);
  if (versions.includes(asked)) return;
  const newest = versions.at(-1) ?? 'none';
  throw sourceRefusal('source_refused', `api_version: ${salesforce.host} has no ${asked}; its newest is ${newest}`);
}

const Versions = z.array(z.object({ version: z.string().regex(/^\d{1,3}\.\d$/) }));
