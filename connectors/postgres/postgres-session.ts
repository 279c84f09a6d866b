/** A connection to a user's Postgres. */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Refusal } from '../../domain/core/refusal.ts';
import type { LeastRate } from '../core/answer-bounds.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { guardedSocket } from '../core/guarded-socket.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { postgresRefusal, serverName } from './postgres-refusal.ts';
import type { PostgresSettings } from './postgres-settings.ts';

const CONNECT_MS = 15_000;
const GOODBYE_MS = 1_000;

/** Returns columns as Postgres' own texts. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/**
 * One connection. Every statement runs in a transaction that sets what it relies on, so that a pooler may stand
 * between.
 */
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
