import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { isAway, isInternal } from '../../../domain/core/internal-error.ts';
import type { Route } from '../../../server/http/route.ts';
import { routes } from '../../../server/routes.ts';
import { type Database, openDatabase } from '../../../store/core/database.ts';
import { impatient } from '../../../store/core/impatient-database.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { CLOSED_PORT } from '../../harness/core/closed-port.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { goodCalls, makeSample, nameOf, type Sample, send } from './samples.ts';
import { testServer, type TestServer } from './test-server.ts';

let store: TestStore;
let sample: Sample;
let server: TestServer;
beforeAll(async () => {
  store = await testStore();
  sample = await makeSample(
    store,
    routes.find((route) => nameOf(route) === 'POST /api/login')!,
  );
  server = await testServer({ ...store, db: opened(`postgres://millrace@127.0.0.1:${CLOSED_PORT}/millrace`) });
});

function opened(url: string): Database {
  const db = openDatabase({ url });
  onFileEnd(() => db.end());
  return db;
}

/** Answered from memory: the public keys, and the page with the form; and health, which says what is away. */
const WITHOUT_DATABASE = ['GET /.well-known/jwks.json', 'GET /reset', 'GET /health/live', 'GET /health/ready'];

const each = routes
  .filter((route) => !WITHOUT_DATABASE.includes(nameOf(route)))
  .map((route): [string, Route] => [nameOf(route), route]);

it.each(each)('%s answers 503 with Retry-After while the database is away', async (name, route) => {
  const { statusCode, headers, body } = await send(server.app, route, goodCalls[name]!(sample), sample, sample.token);
  expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
  if (route.contentType !== 'text/html') {
    expect(JSON.parse(body)).toMatchObject({ success: false, status: 'service_unavailable', retry_after: 5 });
  }
});

/** Opens a database at a server that does not let a session begin. */
async function openedAt(onStartup: (socket: Socket) => void): Promise<Database> {
  const postgres = createServer((socket) => socket.on('error', () => {}).once('data', () => onStartup(socket)));
  postgres.listen(0, '127.0.0.1');
  await once(postgres, 'listening');
  onFileEnd(async () => void postgres.close());
  return opened(`postgres://millrace@127.0.0.1:${(postgres.address() as AddressInfo).port}/millrace`);
}

/** As Postgres says it: an ErrorResponse, whose fields end with a zero each (Postgres: message formats). */
function startingUp(socket: Socket): void {
  const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up', ''].join('\0');
  const message = Buffer.from(`E    ${fields}\0`);
  message.writeInt32BE(message.length - 1, 1);
  socket.end(message);
}

it.each([
  ['57P03', 'starts up', startingUp],
  ['ECONNRESET', 'breaks connections off', (socket: Socket) => void socket.resetAndDestroy()],
])('%s: a request answers 503 with Retry-After while Postgres %s', async (code, _, onStartup) => {
  const db = await openedAt(onStartup);
  const error: unknown = await db.query('SELECT').catch((thrown: unknown) => thrown);
  expect([error, isAway(error), isInternal(error)]).toEqual([expect.objectContaining({ code }), true, false]);
  const { app, logs } = await testServer({ ...store, db });
  const reply = await app.inject({ url: '/api/apps', headers: { authorization: `Token ${sample.token}` } });
  expect([reply.statusCode, reply.headers['retry-after']]).toEqual([503, '5']);
  expect(logs.filter(({ level }) => level === 'error')).toEqual([]);
});

const PATIENCE = { sessionMs: 300, answerMs: 300 };
/** Far less than the 30 s of a pool, and enough for a busy machine. */
const SOON_MS = 10_000;

async function soon(app: TestServer['app']): Promise<unknown[]> {
  const from = performance.now();
  const reply = await app.inject({ url: '/api/apps', headers: { authorization: `Token ${sample.token}` } });
  return [reply.statusCode, reply.headers['retry-after'], performance.now() - from < SOON_MS];
}

it('a request answers 503 soon while others hold all sessions of the pool, and 200 once one is free', async () => {
  const db = openDatabase({ url: store.url, max: 1 });
  onFileEnd(() => db.end());
  const { app } = await testServer({ ...store, db: impatient(db, PATIENCE) });
  const holder = await db.connect();
  // The pool's end waits for its sessions.
  const answer = await soon(app).finally(() => holder.release());
  expect(answer).toEqual([503, '5', true]);
  expect(await soon(app)).toEqual([200, undefined, true]);
});

it('a request answers 503 soon while Postgres is frozen, in a session that was there or a new one, and 200 afterwards', async () => {
  const { hostname, port, pathname, username, password } = new URL(store.url);
  const ends: Socket[] = [];
  let isFrozen = false;
  const between = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.push(one.on('error', () => {}).on('close', () => other.destroy()));
      // A frozen process takes bytes, as far as its buffers go, and answers nothing.
      one.on('data', (bytes) => {
        if (!isFrozen) other.write(bytes);
      });
    }
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  onFileEnd(async () => void between.close());
  const url = `postgres://${username}:${password}@127.0.0.1:${(between.address() as AddressInfo).port}${pathname}`;
  const { app } = await testServer({ ...store, db: impatient(opened(url), PATIENCE) });
  expect(await soon(app)).toEqual([200, undefined, true]);
  isFrozen = true;
  expect(await soon(app)).toEqual([503, '5', true]);
  expect(await soon(app)).toEqual([503, '5', true]);
  isFrozen = false;
  for (const end of ends) end.destroy();
  // On a busy machine a new session may take longer than this patience.
  await waitFor('an answer', async () => (await soon(app))[0] === 200);
});

it('a statement that takes longer than an answer is waited for while Postgres lives', async () => {
  const db = impatient(store.db, PATIENCE);
  expect((await db.query('SELECT pg_sleep(1), 1 AS one')).rows).toMatchObject([{ one: 1 }]);
});

it('a database that is away is told from an error of ours', async () => {
  const { db } = store;
  const failure = async (work: Promise<unknown>) => {
    const [{ status, reason }] = (await Promise.allSettled([work])) as [{ status: string; reason?: unknown }];
    expect(status).toBe('rejected');
    return reason;
  };
  const session = await db.connect();
  // The pool's end waits for its sessions, also where this test fails on its way.
  onFileEnd(async () => session.release(true));
  const {
    rows: [own],
  } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ended = failure(session.query('SELECT pg_sleep(600)'));
  await db.query('SELECT pg_terminate_backend($1)', [own!.pid]);
  const role = `limited_${own!.pid}`;
  await db.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 0 PASSWORD 'zqlimited'`);
  onFileEnd(() => db.query(`DROP ROLE ${role}`));
  const url = Object.assign(new URL(store.url), { username: role, password: 'zqlimited' });
  const full = new pg.Pool({ connectionString: store.url, max: 1 });
  const holder = await full.connect();
  // From now on: on a busy machine the first session takes longer.
  full.options.connectionTimeoutMillis = 50;
  const away = {
    'ended by an administrator': await ended,
    'used after it ended': await failure(session.query('SELECT')),
    'too many connections': await failure(opened(url.href).query('SELECT')),
    'no connection in time': await failure(full.query('SELECT')),
    refused: await failure(opened(`postgres://127.0.0.1:${CLOSED_PORT}/x`).query('SELECT')),
    'an unknown host': await failure(opened('postgres://no-such-host.invalid/x').query('SELECT')),
  };
  holder.release(true);
  await full.end();
  for (const [what, error] of Object.entries(away)) {
    expect([what, isAway(error), isInternal(error)]).toEqual([what, true, false]);
  }
  const ours = [
    await failure(db.query('SELEC')),
    await failure(db.query('SELECT 1 / 0')),
    await failure(readFile('/no-such-file')),
    new Error('anything'),
    new TypeError('anything'),
    'anything',
  ];
  expect(ours.map(isAway)).toEqual(ours.map(() => false));
});
