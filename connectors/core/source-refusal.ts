/** Refusals by outside systems, and their network errors. */
import { STATUS_CODES } from 'node:http';
import { errors } from 'undici';
import { OUTSIDE_STATUSES, type OutsideStatus } from '../../domain/core/outside-status.ts';
import { Refusal, type RefusalExtra } from '../../domain/core/refusal.ts';

/** Returns a refusal by an outside source or its guard. Messages name the host, and quote nothing else. */
export function sourceRefusal(status: OutsideStatus, message: string, extra?: RefusalExtra): Refusal {
  return new Refusal(OUTSIDE_STATUSES[status], status, message, extra);
}

const ADVICE: Record<number, string> = {
  401: 'check request_headers, or whether the signature of the URL has expired',
  403: 'check request_headers, or whether the signature of the URL has expired',
  404: 'nothing is at this address; check it',
  410: 'what was at this address is gone for good',
};

/** 4xx statuses that are not final (RFC 9110, 15.5.9; RFC 8470; RFC 6585, 4). */
const LATER = new Set([408, 425, 429]);

/** Returns the refusal for an unexpected answer; `advice`: what to check, by default address and headers. */
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

/** Reads Retry-After: a number of seconds or a date (RFC 9110, 10.2.3). */
export function retryAfterSeconds(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

const NOT_HTTP = 'not HTTP';

/**
 * Failures before an answer, by the codes of Node, OpenSSL and undici, each as the end of a sentence about the host.
 */
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

/** Node's codes of certificates without a trusted authority (node: tls, X509 certificate error codes). */
export const UNTRUSTED =
  /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|CERT_UNTRUSTED|INVALID_CA|CERT_CHAIN_TOO_LONG/;
const UNTRUSTED_WORDS =
  'has a certificate that no trusted authority signed; ' + 'an operator can name its PEM file in NODE_EXTRA_CA_CERTS';

/** Returns the refusal for a request without an answer. An error that is not the network's is ours, and is thrown. */
export function refusalOfFailure(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  if (code === undefined || OURS.test(code)) throw error;
  return sourceRefusal('source_unavailable', `${host} ${wordsOf(code)}`);
}

/** Returns the refusal for a body that broke off. */
export function refusalOfBreak(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  if (code === undefined || OURS.test(code)) throw error;
  const how = code === 'UND_ERR_BODY_TIMEOUT' ? 'stopped sending in the middle' : 'broke off in the middle';
  return sourceRefusal('transfer_broken', `${host} ${how} of the transfer`);
}

/** Codes of Node or undici for our own wrong arguments. */
const OURS = /^ERR_(?:INVALID|ASSERTION|OUT_OF_RANGE)|^UND_ERR_INVALID/;

/** Returns the code; undici's parser has a class instead, and its error contains what the source sent. */
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
