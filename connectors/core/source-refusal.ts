import { STATUS_CODES } from 'node:http';
import { errors } from 'undici';
import { Refusal, type RefusalExtra } from '../../domain/core/refusal.ts';

/**
 * The HTTP status with which a route passes the failure on: 4xx where something must change first, 5xx where a retry
 * may do.
 */
const HTTP = {
  /** The guard's no: nothing but another address, or the operator's allowance, changes it. */
  address_refused: 403,
  /** The source's no: the same request gets it again. */
  source_refused: 400,
  /** May go better later; `retry_after` in seconds where the source named a time. */
  source_unavailable: 503,
  transfer_broken: 502,
  source_changed: 409,
  too_large: 413,
};

type SourceError = keyof typeof HTTP;

/**
 * What an outside source, or the guard before it, has against a request. Messages name the host, and quote nothing
 * else.
 */
export function sourceRefusal(status: SourceError, message: string, extra?: RefusalExtra): Refusal {
  return new Refusal(HTTP[status], status, message, extra);
}

const ADVICE: Record<number, string> = {
  401: 'check request_headers, or whether the signature of the URL has expired',
  403: 'check request_headers, or whether the signature of the URL has expired',
  404: 'nothing is at this address; check it',
  410: 'what was at this address is gone for good',
};

/** Statuses of 4xx that are no final answer (RFC 9110, 15.5.9; RFC 8470; RFC 6585, 4). */
const LATER = new Set([408, 425, 429]);

/**
 * The refusal for an answer that isn't the one asked for; `source_status` is the answer's own status. `advice` is what
 * to check where it is final: without, what holds for an address of the user's with headers of the user's.
 */
export function refusalOfAnswer(
  host: string,
  status: number,
  retryAfter: string | undefined,
  advice?: string,
): Refusal {
  const answered = `${host} answered ${`${status} ${STATUS_CODES[status] ?? ''}`.trim()}`;
  if (status < 500 && !LATER.has(status)) {
    const words = advice ?? ADVICE[status] ?? 'check the address and request_headers';
    return sourceRefusal('source_refused', `${answered}: ${words}`, { source_status: status });
  }
  const seconds = retryAfterSeconds(retryAfter);
  const when = seconds === undefined ? 'it may go better later' : `it asks to come back in ${seconds} s`;
  const extra = { source_status: status, ...(seconds === undefined ? {} : { retry_after: seconds }) };
  return sourceRefusal('source_unavailable', `${answered}: ${when}`, extra);
}

/** Retry-After is a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterSeconds(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

const NOT_HTTP = 'not HTTP';

/** What failed before an answer had begun, by the codes of Node, OpenSSL and undici, to be put behind the host. */
const BEFORE_ANSWER: Record<string, string> = {
  ENOTFOUND: 'is a name that DNS does not know: check the address',
  EAI_AGAIN: 'could not be looked up: DNS did not answer',
  ECONNREFUSED: 'refused the connection: check that it runs, and the port',
  ECONNRESET: 'broke off the connection before it answered',
  EPIPE: 'broke off the connection before it answered',
  UND_ERR_SOCKET: 'broke off the connection before it answered',
  EHOSTUNREACH: 'cannot be reached: there is no route to it',
  ENETUNREACH: 'cannot be reached: there is no route to its network',
  ETIMEDOUT: 'did not take the connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'did not take the connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'took the request and did not answer in time',
  [NOT_HTTP]: 'answered in something that is not HTTP: check the port',
  UND_ERR_HEADERS_OVERFLOW: 'answered with headers that are too long',
  EPROTO: 'does not speak TLS on this port: check https:// and the port',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS on this port: check https:// and the port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'does not speak TLS on this port: check https:// and the port',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
};

/** Node's codes of certificates that lead to no authority that is trusted (node: tls, X509 certificate error codes). */
export const UNTRUSTED =
  /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|CERT_UNTRUSTED|INVALID_CA|CERT_CHAIN_TOO_LONG/;
const UNTRUSTED_WORDS =
  'has a certificate that no trusted authority signed; ' + 'an operator can name its PEM file in NODE_EXTRA_CA_CERTS';

/** The refusal for a request that got no answer. What isn't a failure of the network is ours, and thrown as it is. */
export function refusalOfFailure(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  if (code === undefined || OURS.test(code)) throw error;
  return sourceRefusal('source_unavailable', `${host} ${wordsOf(code)}`);
}

/** The refusal for a body that broke off. */
export function refusalOfBreak(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  if (code === undefined || OURS.test(code)) throw error;
  const how = code === 'UND_ERR_BODY_TIMEOUT' ? 'stopped sending in the middle' : 'broke off in the middle';
  return sourceRefusal('transfer_broken', `${host} ${how} of the transfer`);
}

/** Arguments that we got wrong, of Node or undici. */
const OURS = /^ERR_(?:INVALID|ASSERTION|OUT_OF_RANGE)|^UND_ERR_INVALID/;

/** undici's parser has a class instead of a code; its error holds what the source sent. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof errors.HTTPParserError) return NOT_HTTP;
  const { code } = (error instanceof Error ? error : {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

function wordsOf(code: string): string {
  if (Object.hasOwn(BEFORE_ANSWER, code)) return BEFORE_ANSWER[code]!;
  if (UNTRUSTED.test(code)) return UNTRUSTED_WORDS;
  if (/^ERR_(?:SSL|TLS)_|CERT/.test(code)) return `failed at TLS (${code})`;
  return `cannot be reached (${code})`;
}
