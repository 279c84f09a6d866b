/**
 * Access tokens of OAuth 2.0 (RFC 6749), kept in memory alone: one by settings and process, with one request for it at
 * a time. Renewed before they end, and once after an answer that calls one expired.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import type { ConnectorContext } from './contract.ts';
import type { GuardedAnswer } from './guarded-fetch.ts';
import { errorJson } from './json-requests.ts';
import { KeptValues } from './kept-values.ts';
import { refusalOfAnswer, sourceRefusal } from './source-refusal.ts';

/** How long before its end a token is renewed; one that is short-lived, after half of its time. */
const SPARE_MS = 300_000;
/** How long credentials that were refused are not tried again. */
const REFUSED_MS = 30_000;

/** Returns until when a token is used that came at `began` and ends `seconds` later. */
export const usedUntil = (began: number, seconds: number) =>
  began + Math.max(0, seconds * 1_000 - Math.min(SPARE_MS, seconds * 500));

type Ask<Context> = (context: Context) => Promise<{ token: string; until: number }>;

/** A token that is asked for when it is needed. `isFinal`: the same request would fail again. Times are ms. */
export class KeptToken<Context> {
  readonly #ask: Ask<Context>;
  readonly #isFinal: (error: unknown) => boolean;
  readonly #now: () => number;
  #current: { token: string; until: number } | undefined;
  #refused: { error: unknown; until: number } | undefined;
  #underWay: Promise<string> | undefined;

  constructor(ask: Ask<Context>, isFinal: (error: unknown) => boolean, now: () => number = Date.now) {
    this.#ask = ask;
    this.#isFinal = isFinal;
    this.#now = now;
  }

  /** Returns the token; all that ask meanwhile share the request of the first, and its error. */
  async find(context: Context): Promise<string> {
    if (this.#current && this.#current.until > this.#now()) return this.#current.token;
    if (this.#refused && this.#refused.until > this.#now()) throw this.#refused.error;
    return (this.#underWay ??= this.#renew(context).finally(() => {
      this.#underWay = undefined;
    }));
  }

  /** Drops a token that is no longer taken. */
  drop(token: string): void {
    if (this.#current?.token === token) this.#current = undefined;
  }

  async #renew(context: Context): Promise<string> {
    try {
      this.#current = await this.#ask(context);
      return this.#current.token;
    } catch (error) {
      if (this.#isFinal(error)) this.#refused = { error, until: this.#now() + REFUSED_MS };
      throw error;
    }
  }
}

type TokenContext = Pick<ConnectorContext, 'fetch' | 'signal'>;

/**
 * A request for a token: the form, and words on what to check if it is refused. `check` refuses a token that is granted
 * for something else.
 */
export type Grant = {
  url: string;
  form: Record<string, string>;
  advice: string;
  check?: (granted: Granted) => void;
};

const Granted = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().optional(),
  refresh_token: z.string().optional(),
  instance_url: z.string().optional(),
});
export type Granted = z.output<typeof Granted>;
const Refused = z.object({ error: z.string().regex(/^[\w.-]{1,64}$/) });

/** How long a token without `expires_in` is used, unless an answer calls it expired before. */
const UNKNOWN_SECONDS = 3_600;

/** Asks for a token. Refuses with the endpoint's error code; its description is never quoted. */
export async function requestToken(
  { url, form, advice, check }: Grant,
  { fetch, signal }: TokenContext,
): Promise<Granted> {
  const { host } = new URL(url);
  const answer = await fetch.request(url, {
    method: 'POST',
    body: `${new URLSearchParams(form)}`,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
    signal,
    advice,
    answers: [400, 401, 403],
  });
  const json = await errorJson(answer);
  if (answer.status <= 299) {
    const granted = Granted.safeParse(json);
    if (granted.success) {
      check?.(granted.data);
      return granted.data;
    }
    throw sourceRefusal('source_refused', `${host} answered without an access token: check the address`);
  }
  const refused = Refused.safeParse(json);
  const code = refused.success ? refused.data.error : `HTTP ${answer.status}`;
  throw sourceRefusal('source_refused', `${host} gives no access token (${code}): ${advice}`);
}

/**
 * Refuses an app whose refresh token was replaced by the request for a token: Millrace stores no renewed credentials.
 * `instead`: the kind of credential to use.
 */
export function refuseRotation(given: string, { refresh_token: got }: Granted, host: string, instead: string): void {
  if (got === undefined || got === given) return;
  throw sourceRefusal(
    'source_refused',
    `${host} gives a new refresh_token with each access token, which ends the one in the settings: use ${instead}`,
  );
}

/** Maximum number of kept tokens; each is kept for this long after its last use. */
const MAX_KEPT = 1_000;
const KEPT_MS = 3_600_000;

const kept = new KeptValues<KeptToken<TokenContext>>(MAX_KEPT, KEPT_MS);

/** Returns the token of these credentials, shared by all requests of this process. `of`: connector and credentials. */
function tokenOf(of: readonly string[], grant: () => Promise<Grant>): KeptToken<TokenContext> {
  const name = createHash('sha256').update(JSON.stringify(of)).digest('base64');
  return kept.of(name, () => new KeptToken<TokenContext>(askOnce(grant), isFinal));
}

const isFinal = (error: unknown) => error instanceof Refusal && error.status === 'source_refused';

function askOnce(grant: () => Promise<Grant>): Ask<TokenContext> {
  return async (context) => {
    const began = Date.now();
    try {
      const { access_token: token, expires_in: seconds = UNKNOWN_SECONDS } = await requestToken(await grant(), context);
      return { token, until: usedUntil(began, seconds) };
    } catch (error) {
      throw context.signal.aborted ? new AskerEnded() : error;
    }
  };
}

/** The caller that asked for a token has ended; others that wait for the same one have not. */
class AskerEnded extends Error {}

/** Returns the token; asks anew if another caller had asked for it and ended. Throws the reason of its own end. */
async function findToken(own: KeptToken<TokenContext>, context: TokenContext): Promise<string> {
  for (;;) {
    try {
      return await own.find(context);
    } catch (error) {
      if (!(error instanceof AskerEnded)) throw error;
      context.signal.throwIfAborted();
    }
  }
}

/** A token that never changes, or credentials and the request for a token that they make. */
export type TokenSource = { token: string } | { credentials: readonly string[]; grant(): Promise<Grant> };

/** An API's way to say that a token has expired, in an answer of the statuses that requests take, and advice then. */
export type Expiry = { isExpired(answer: GuardedAnswer): Promise<boolean>; advice: string };

/**
 * Sends a request with the token of `connector`'s credentials, and returns its answer. If that calls the token expired,
 * sends it once more with a new one; refuses if that is called expired, too. A token that never changes is sent once.
 */
export async function sendWithToken(
  connector: string,
  source: TokenSource,
  { isExpired, advice }: Expiry,
  context: TokenContext,
  send: (token: string) => Promise<GuardedAnswer>,
): Promise<GuardedAnswer> {
  const expired = (answer: GuardedAnswer) =>
    refusalOfAnswer(new URL(answer.url).host, answer.status, undefined, advice);
  if ('token' in source) {
    const answer = await send(source.token);
    if (await isExpired(answer)) throw expired(answer);
    return answer;
  }
  const own = tokenOf([connector, ...source.credentials], () => source.grant());
  const token = await findToken(own, context);
  const answer = await send(token);
  if (!(await isExpired(answer))) return answer;
  own.drop(token);
  const again = await send(await findToken(own, context));
  if (!(await isExpired(again))) return again;
  throw expired(again);
}
