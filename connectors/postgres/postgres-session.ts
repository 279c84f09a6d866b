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

/** Columns come as the text that Postgres has for them. */
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
  /** Begins a transaction: a snapshot that cannot write, or one that writes. */
  begin(how: 'read' | 'write'): Promise<void>;
  commit(): Promise<void>;
  /** Ends the connection at once: what waits for the server fails with this. */
  breakOff(why: Refusal): void;
  /** What to throw instead of `error`: the reason of the signal, what it was broken off for, or what Postgres means. */
  error(error: unknown): unknown;
  end(): Promise<void>;
};

/** Connects at an address that the guard has looked at; refuses in words when it is not let in. */
export async function openSession(settings: PostgresSettings, context: ConnectorContext): Promise<PostgresSession> {
  context.signal.throwIfAborted();
  const server = serverName(settings.host, settings.port);
  const socket = guardedSocket(settings.host, settings.port, context.allow);
  const client = clientOf(settings, socket);
  // What breaks between two statements shows at the next.
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
      // A server that doesn't answer any more isn't waited for.
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
    // Nothing was transferred yet: to be let in may go better later.
    throw refusal.status === 'transfer_broken' ? sourceRefusal('source_unavailable', refusal.message) : refusal;
  }
}

/** A batch is written within this many times the time of a statement, at least within the time of the least rate. */
const STATEMENTS_OF_WRITE = 2;

/**
 * Runs `work` with a connection in one transaction. One that writes has a deadline of ours: the server's own timeout
 * bounds each statement, and only while the server keeps to it.
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
    // As a function, so that neither the environment nor a file of passwords stands in for it.
    password: () => password,
    ssl: tls === 'off' ? false : { rejectUnauthorized: true, ...(tls_ca === undefined ? {} : { ca: tls_ca }) },
    application_name: 'millrace',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
}

/** With the formats of values that `postgresKind` reads. */
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
