import { SignJWT } from 'jose';
import { shorten } from '../../domain/core/text-limits.ts';
import type { PushOutcome } from '../../domain/sends/push.ts';
import { systemLookup } from '../core/address-guard.ts';
import { FETCH_LIMITS, guardedRequest, type HttpAnswer } from '../core/guarded-request.ts';
import { retryAfterMs } from '../push/back-off.ts';
import { PUSH_LIMITS, type PushContext } from '../push/contract.ts';
import { failedBefore } from '../push/http2-client.ts';
import { privateKeyOf, type ServiceAccount } from './service-account.ts';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const ASSERTION_SECONDS = 3_600;
/** A token is renewed so long before its end. */
const SPARE_MS = 300_000;
/** A key that Google refuses is not shown again for so long, whatever waits for it. */
const REFUSED_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const CODE = /^[a-z_]{1,64}$/;
const MAX_WORDS = 500;

export type TokenResult = { token: string } | { failed: PushOutcome };

/**
 * The access token of a service account (RFC 7523), renewed before it ends. Signed with jose rather than fetched by
 * google-auth-library: `token_uri` is set by a user, and that library's requests can't be led through the guard of
 * addresses.
 */
export class AccessToken {
  readonly #account: ServiceAccount;
  readonly #context: Pick<PushContext, 'allow' | 'lookup' | 'now' | 'limits'>;
  #current: { token: string; until: number } | undefined;
  #refused: { failed: PushOutcome; until: number } | undefined;
  #underWay: Promise<TokenResult> | undefined;

  constructor(account: ServiceAccount, context: Pick<PushContext, 'allow' | 'lookup' | 'now' | 'limits'>) {
    this.#account = account;
    this.#context = context;
  }

  async find(): Promise<TokenResult> {
    if (this.#current && this.#current.until > this.#context.now()) return this.#current;
    if (this.#refused && this.#refused.until > this.#context.now()) return this.#refused;
    return (this.#underWay ??= this.#fetch().finally(() => {
      this.#underWay = undefined;
    }));
  }

  /** Google takes it no more. */
  drop(token: string): void {
    if (this.#current?.token === token) this.#current = undefined;
  }

  async #fetch(): Promise<TokenResult> {
    const { allow, lookup = systemLookup, now, limits } = this.#context;
    // From the request to the end of its answer, however its bytes come.
    const signal = AbortSignal.timeout({ ...PUSH_LIMITS, ...limits }.answerMs);
    const url = new URL(this.#account.token_uri);
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await this.#assertion(),
    });
    const began = now();
    try {
      const answer = await guardedRequest(
        url,
        {
          method: 'POST',
          path: `${url.pathname}${url.search}`,
          body: body.toString(),
          signal,
          headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'Millrace' },
        },
        { allow, lookup, limits: FETCH_LIMITS },
      );
      return this.#read(answer, await textOf(answer), began);
    } catch (error) {
      if (signal.aborted) return { failed: { kind: 'not_sent', reason: `${url.host} gave no access token in time` } };
      return { failed: failedBefore(url, error) };
    }
  }

  async #assertion(): Promise<string> {
    const { client_email: email, private_key_id: kid, token_uri: audience } = this.#account;
    const seconds = Math.floor(this.#context.now() / 1_000);
    return new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
      .setIssuer(email)
      .setAudience(audience)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + ASSERTION_SECONDS)
      .sign(privateKeyOf(this.#account));
  }

  #read({ status, headers }: HttpAnswer, text: string, began: number): TokenResult {
    const { host } = new URL(this.#account.token_uri);
    const { access_token: token, expires_in: seconds, error, error_description: words } = parsed(text);
    if (status === 200 && typeof token === 'string' && typeof seconds === 'number') {
      this.#current = { token, until: began + Math.max(0, seconds * 1_000 - SPARE_MS) };
      return { token };
    }
    if (status === 429 || status >= 500) {
      return {
        failed: { kind: 'throttled', retryAfterMs: retryAfterMs(headers['retry-after'], 10_000), scope: 'provider' },
      };
    }
    const code = typeof error === 'string' && CODE.test(error) ? error : `HTTP_${status}`;
    const reason = `${host} gives no access token: ${typeof words === 'string' ? shorten(words, MAX_WORDS) : code}`;
    this.#refused = { failed: { kind: 'refused', code, reason }, until: began + REFUSED_MS };
    return this.#refused;
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

async function textOf({ body }: HttpAnswer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
