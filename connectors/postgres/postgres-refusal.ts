/** Refusals by a Postgres server. */
import { isIP } from 'node:net';
import pg from 'pg';
import { Refusal } from '../../domain/core/refusal.ts';
import { refusalOfFailure, sourceRefusal, UNTRUSTED } from '../core/source-refusal.ts';

/** Errors of a connection or a statement, by SQLSTATE (Postgres: appendix A). */
const REFUSED: Record<string, string> = {
  '28P01': 'does not take this user with this password: check both',
  '28000': 'does not let this user in: check the user, whether tls has to be "on", and pg_hba.conf of the server',
  '3D000': 'has no database of this name: check it',
  '42501': 'does not allow this user to do that: grant it the rights',
  '25006': 'takes no writes: it is a replica, or read-only',
};
const UNAVAILABLE: Record<string, string> = {
  '53300': 'has too many connections: it may go better later',
  '57P03': 'is starting up or shutting down: it may go better later',
  '57P01': 'was shut down by its administrator: it may go better later',
  '57P02': 'has crashed and recovers: it may go better later',
  '57014': 'did not finish within statement_timeout_seconds',
  '55P03': 'waited for a lock in vain: it may go better later',
};
/** Classes of connections, resources, an operator's actions, internal errors, and colliding transactions. */
const LATER = new Set(['08', '53', '57', '58', 'XX', '40']);

/** Returns whether an SQLSTATE concerns the server, the connection or colliding transactions, and not the statement. */
export const isOfServer = (state: string) => LATER.has(state.slice(0, 2));

/** Errors of pg without a code. */
const WORDS: [RegExp, () => [Parameters<typeof sourceRefusal>[0], string]][] = [
  [/does not support SSL/, () => ['source_refused', 'does not offer TLS: switch it on there, or set tls to "off"']],
  [/establishing an SSL/, () => ['source_refused', 'does not speak TLS as Postgres does on this port: check the port']],
  [/timeout (?:expired|exceeded)/, () => ['source_unavailable', 'did not take the connection in time']],
  [
    /Connection terminated|Client has encountered a connection error|not queryable/,
    () => ['transfer_broken', 'broke off the connection'],
  ],
  [/^SASL/, () => ['source_refused', 'asks for a password in a way that is not understood, or does not prove itself']],
];

/** Returns `host:port` as messages name a server. */
export const serverName = (host: string, port: number) => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`);

/**
 * Returns the refusal for a server's failure, without values of rows; throws an error that the server did not cause.
 */
export function postgresRefusal(server: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof pg.DatabaseError) return refusalOfState(server, error);
  if (!(error instanceof Error)) throw error;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return refusalOfCode(server, code, error);
  const words = WORDS.find(([pattern]) => pattern.test(error.message))?.[1]();
  if (words === undefined) throw error;
  return sourceRefusal(words[0], `${server} ${words[1]}`);
}

function refusalOfState(server: string, { code = '', message }: pg.DatabaseError): Refusal {
  const extra = { sqlstate: code };
  const refused = REFUSED[code];
  if (refused !== undefined) return sourceRefusal('source_refused', `${server} ${refused}`, extra);
  const unavailable = UNAVAILABLE[code];
  if (unavailable !== undefined) return sourceRefusal('source_unavailable', `${server} ${unavailable}`, extra);
  if (LATER.has(code.slice(0, 2))) {
    return sourceRefusal('source_unavailable', `${server} failed with SQLSTATE ${code}: it may go better later`, extra);
  }
  // In these classes the message only quotes names of the statement: tables, columns and functions.
  const why = /^(?:42|0A)/.test(code) ? `: ${message.slice(0, 300)}` : '';
  return sourceRefusal('source_refused', `${server} refused the statement (SQLSTATE ${code})${why}`, extra);
}

function refusalOfCode(server: string, code: string, error: unknown): Refusal {
  if (UNTRUSTED.test(code)) {
    return sourceRefusal(
      'source_refused',
      `${server} has a certificate that no trusted authority signed: ` + 'put the one that did into tls_ca',
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code.startsWith('CERT_')) {
    const { message } = refusalOfFailure(server, error);
    return sourceRefusal('source_refused', message);
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) {
    return sourceRefusal('source_refused', `${server} failed at TLS (${code}): check the port, tls and tls_ca`);
  }
  return refusalOfFailure(server, error);
}
