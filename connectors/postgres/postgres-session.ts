/** A connection to a user's Postgres, and the refusals for its failures. */
import { type Socket, isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Refusal } from '../../domain/core/refusal.ts';
import { guardedSocket } from '../core/address-guard.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { LeastRate } from '../core/guarded-request.ts';
import { sourceRefusal, refusalOfFailure, UNTRUSTED } from '../core/source-refusal.ts';
import type { PostgresSettings } from './postgres-settings.ts';

const CONNECT_MS = 15_000;
const GOODBYE_MS = 1_000;

/** Returns columns as Postgres' own texts. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** One connection; each statement's transaction sets what it relies on, so a pooler may stand between. */
export type PostgresSession = {
  client: pg.Client;
  settings: PostgresSettings;
  /** Minimum number of bytes that rows bring in a time. */
  leastRate: LeastRate;
  /** Begins a transaction: a read-only snapshot, or one that writes. */
  begin(how: 'read' | 'write'): Promise<void>;
  commit(): Promise<void>;
  /** Ends the connection at once: whatever waits for the server fails with this. */
  breakOff(why: Refusal): void;
  /**
   * Returns what to throw instead of `error`: the signal's reason, the reason for breaking off, or Postgres' meaning.
   */
  error(error: unknown): unknown;
  end(): Promise<void>;
};

/** Connects through the address guard; refuses in words if the server does not let it in. */
export async function openSession(settings: PostgresSettings, context: ConnectorContext): Promise<PostgresSession> {
  context.signal.throwIfAborted();
  const server = serverName(settings.host, settings.port);
  const socket = guardedSocket(settings.host, settings.port, context.allow);
  const client = clientOf(settings, socket);
  // A break between two statements shows at the next.
  client.on('error', () => undefined);
  let brokenFor: Refusal | undefined;
  const breakOff = (why?: Refusal) => {
    brokenFor ??= why;
    socket.destroy();
  };
  const onAbort = () => breakOff();
  context.signal.addEventListener('abort', onAbort, { once: true });
  const session: PostgresSession = {
    client,
    settings,
    breakOff,
    leastRate: context.fetch.limits.leastRate,
    begin: async (how) => {
      await client.query(beginning(how, settings));
    },
    commit: async () => {
      await client.query('COMMIT');
    },
    error: (error) => {
      if (context.signal.aborted) return context.signal.reason;
      return brokenFor ?? postgresRefusal(server, error);
    },
    async end() {
      context.signal.removeEventListener('abort', onAbort);
      // Does not wait for a server that no longer answers.
      await Promise.race([client.end(), delay(GOODBYE_MS, undefined, { ref: false })]);
      socket.destroy();
    },
  };
  try {
    await client.connect();
    return session;
  } catch (error) {
    context.signal.removeEventListener('abort', onAbort);
    socket.destroy();
    const refusal = session.error(error) as Refusal;
    // Nothing was transferred yet: a connection may succeed later.
    throw refusal.status === 'transfer_broken' ? sourceRefusal('source_unavailable', refusal.message) : refusal;
  }
}

/** Maximum time of writing a batch, as a multiple of a statement's time; at least the time of the least rate. */
const STATEMENTS_OF_WRITE = 2;

/**
 * Runs `work` in one transaction of a new connection. A write has its own deadline, because the server's timeout bounds
 * each statement, and only if the server keeps to it.
 */
export async function inSession<T>(
  settings: PostgresSettings,
  context: ConnectorContext,
  how: 'read' | 'write',
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  const session = await openSession(settings, context);
  const writeMs = Math.max(STATEMENTS_OF_WRITE * settings.statement_timeout_seconds * 1000, session.leastRate.withinMs);
  const late = () =>
    session.breakOff(
      sourceRefusal(
        'source_unavailable',
        `${settings.host} did not write a batch within ` +
          `${writeMs / 1000} s: look whether it is busy or other sessions hold locks, or set a larger statement_timeout_seconds`,
      ),
    );
  const timer = how === 'write' ? setTimeout(late, writeMs) : undefined;
  try {
    await session.begin(how);
    const result = await work(session);
    await session.commit();
    return result;
  } catch (error) {
    throw session.error(error);
  } finally {
    clearTimeout(timer);
    await session.end();
  }
}

function clientOf({ host, port, database, user, password, tls, tls_ca }: PostgresSettings, socket: Socket): pg.Client {
  return new pg.Client({
    host,
    port,
    database,
    user,
    types: AS_TEXT,
    stream: () => socket,
    // A function, so that neither the environment nor a password file replaces it.
    password: () => password,
    ssl: tls === 'off' ? false : { rejectUnauthorized: true, ...(tls_ca === undefined ? {} : { ca: tls_ca }) },
    application_name: 'millrace',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
}

/** Returns the start of a transaction, with the formats of values that `postgresKind` reads. */
function beginning(how: 'read' | 'write', { schema, statement_timeout_seconds }: PostgresSettings): string {
  return `BEGIN ${how === 'read' ? 'ISOLATION LEVEL REPEATABLE READ, READ ONLY' : 'READ WRITE'};
    SET LOCAL statement_timeout = ${statement_timeout_seconds * 1000};
    SET LOCAL client_encoding = 'UTF8';
    SET LOCAL timezone = 'UTC';
    SET LOCAL datestyle = 'ISO, YMD';
    SET LOCAL intervalstyle = 'iso_8601';
    SET LOCAL bytea_output = 'hex';
    SET LOCAL extra_float_digits = 3;
    SET LOCAL search_path = ${pg.escapeIdentifier(schema)}, public`;
}

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
