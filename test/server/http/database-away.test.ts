import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { beforeAll, expect, it } from 'vitest';
import type { Route } from '../../../server/http/route.ts';
import { routes } from '../../../server/routes.ts';
import { type Database, isAway, openDatabase } from '../../../store/core/database.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { CLOSED_PORT } from '../../harness/core/closed-port.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { goodCalls, makeSample, nameOf, type Sample, send } from './samples.ts';
import { testServer, type TestServer } from './test-server.ts';

let store: TestStore;
let sample: Sample;
let server: TestServer;
beforeAll(async () => {
  store = await testStore();
  sample = await makeSample(store, routes.find((route) => nameOf(route) === 'POST /api/login')!);
  server = await testServer({ ...store, db: opened(`postgres://millrace@127.0.0.1:${CLOSED_PORT}/millrace`) });
});

function opened(url: string): Database {
  const db = openDatabase({ url });
  onFileEnd(() => db.end());
  return db;
}

/** Answered from memory: the public keys, and the page with the form. */
const WITHOUT_DATABASE = ['GET /.well-known/jwks.json', 'GET /reset'];

const each = routes.filter((route) => !WITHOUT_DATABASE.includes(nameOf(route))).map((route): [string, Route] => [nameOf(route), route]);

it.each(each)('%s answers 503 with Retry-After while the database is away', async (name, route) => {
  const { statusCode, headers, body } = await send(server.app, route, goodCalls[name]!(sample), sample, sample.token);
  expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
  if (route.contentType !== 'text/html') {
    expect(JSON.parse(body)).toMatchObject({ success: false, status: 'service_unavailable', retry_after: 5 });
  }
});

it('a database that is away is told from an error of ours', async () => {
  const { db } = store;
  const failure = async (work: Promise<unknown>) => {
    const [{ status, reason }] = await Promise.allSettled([work]) as [{ status: string; reason?: unknown }];
    expect(status).toBe('rejected');
    return reason;
  };
  const session = await db.connect();
  const { rows: [own] } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ended = failure(session.query('SELECT pg_sleep(600)'));
  await db.query('SELECT pg_terminate_backend($1)', [own!.pid]);
  const role = `limited_${own!.pid}`;
  await db.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 0 PASSWORD 'zqlimited'`);
  onFileEnd(() => db.query(`DROP ROLE ${role}`));
  const url = Object.assign(new URL(store.url), { username: role, password: 'zqlimited' });
  const full = new pg.Pool({ connectionString: store.url, max: 1, connectionTimeoutMillis: 50 });
  const holder = await full.connect();
  const away = {
    'ended by an administrator': await ended,
    'used after it ended': await failure(session.query('SELECT')),
    'too many connections': await failure(opened(url.href).query('SELECT')),
    'no connection in time': await failure(full.query('SELECT')),
    refused: await failure(opened(`postgres://127.0.0.1:${CLOSED_PORT}/x`).query('SELECT')),
    'an unknown host': await failure(opened('postgres://no-such-host.invalid/x').query('SELECT')),
  };
  session.release(true);
  holder.release(true);
  await full.end();
  for (const [what, error] of Object.entries(away)) expect([what, isAway(error)]).toEqual([what, true]);
  const ours = [
    await failure(db.query('SELEC')), await failure(db.query('SELECT 1 / 0')), await failure(readFile('/no-such-file')),
    new Error('anything'), new TypeError('anything'), 'anything',
  ];
  expect(ours.map(isAway)).toEqual(ours.map(() => false));
});
