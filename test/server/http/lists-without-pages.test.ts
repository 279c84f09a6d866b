import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { BOUNDS, PLACES } from '../../../domain/core/limits.ts';
import { routes } from '../../../server/routes.ts';
import { streamFunnels } from '../../../store/analytics/funnels.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { testServer } from './test-server.ts';
import { useServer } from './use-server.ts';

const READER_MS = 2_000;
const { store, server, world } = useServer({ server: { settings: { limits: { readerMs: READER_MS } } } });

const SIZES = ['page', 'per_page', 'page_size', 'limit', 'cursor'];
/** These lists have no pages and hold little: what bounds each of them. */
const BOUNDED = {
  listConnectors: 'what is built in',
  listSigningKeys: 'the keys of the service',
  listDataExporters: '100 an entity, of names',
  listApiKeys: 'short keys, one call each',
  listUserTokenKeys: '2 an app',
  listPushCertificates: 'short lines, one call each',
  listLegalTexts: '20 MiB a wallet',
  listDataCategories: '20 MiB a wallet',
  listRecipients: '20 MiB a wallet',
  listPurposes: '20 MiB a wallet',
  listLiveCalls: '100 calls',
  listSyncRequests: '1,000 of one run, of at most 500 characters',
  listInappMessages: '100 messages of about 1 MiB together',
  listStreams: 'what a connector finds in its service',
  listLatestGdprRequests: 'MAX_POLLED',
  listGdprReceipts: 'those of one request',
  listPersonalDataLocations: 'what is built in',
  listEventValues: '100 members of 20 values of at most 256 characters',
};
/** They are streamed, and their own tests call them: what they list has to be made first. */
const STREAMED_ELSEWHERE = ['listCrashOccurrences'];

const unpaged = routes.filter(
  ({ id, method, query }) =>
    method === 'GET' &&
    id.startsWith('list') &&
    (id === 'listCampaigns' || !SIZES.some((size) => query && size in query.shape)),
);

test('each list without pages is streamed, or is of few short rows', async () => {
  const called: string[] = [];
  for (const { id, path } of unpaged) {
    if (id in BOUNDED || STREAMED_ELSEWHERE.includes(id)) continue;
    const { status, headers, body } = await server.call('GET', path, { token: world.token });
    expect({ id, status, length: headers['content-length'], success: body.success }).toEqual({
      id,
      status: 200,
      length: undefined,
      success: true,
    });
    called.push(id);
    // A place of a body that is never read is free again.
    for (let n = 0; n <= BOUNDS.streamedLists.maxEach; n += 1) {
      const head = await server.app.inject({
        method: 'HEAD',
        url: path,
        headers: { authorization: `Token ${world.token}` },
      });
      expect([id, head.statusCode]).toEqual([id, 200]);
    }
  }
  expect(called.toSorted()).toEqual([
    'listAppGroups',
    'listApps',
    'listCampaigns',
    'listFunnels',
    'listImports',
    'listLabels',
    'listSegments',
    'listSystemsOfRecords',
  ]);
  const known = unpaged.map(({ id }) => id);
  expect([...Object.keys(BOUNDED), ...STREAMED_ELSEWHERE].filter((id) => !known.includes(id))).toEqual([]);
});

test('30 funnels of 2 MB are read a few at a time, and no connection is held while the client takes its time', async () => {
  const app = await insertLargeFunnels(world, 30);
  const pieces: string[][] = [];
  for await (const piece of streamFunnels(store.db, world.entity.id, [app.id]))
    pieces.push(piece.map(({ identifier }) => identifier));
  expect(pieces.map(({ length }) => length)).toEqual(Array.from({ length: 30 }, () => 1));
  expect(pieces.flat()).toEqual(Array.from({ length: 30 }, (_, n) => `fun_${n + 1}`));

  const answer = await server.app.inject({
    method: 'GET',
    url: '/api/funnels',
    headers: { authorization: `Token ${world.token}` },
    payloadAsStream: true,
  });
  await waitFor('every connection to be idle', async () => store.db.idleCount === store.db.totalCount);
  let bytes = 0;
  for await (const chunk of answer.stream() as Readable & AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBeGreaterThan(60_000_000);
  expect(bytes).toBeLessThan(61_000_000);
  // They are larger than a funnel may be today: each can still be read, and changed in what else it has.
  for (const [method, path] of [
    ['GET', ''],
    ['PUT', '/archive'],
    ['PUT', '/restore'],
  ] as const) {
    expect(await server.call(method, `/api/funnels/fun_1${path}`, { token: world.token })).toMatchObject({
      status: 200,
    });
  }
});

test('callers who never read hold no list of others up, and their answers are ended', async () => {
  await server.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  const other = await makeWorld(store);
  const never = await openUnread(port, world, BOUNDS.streamedLists.maxEach + 2);
  const list = async (token: string, path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Token ${token}` } });
    return [answer.status, ((await answer.json()) as { success: boolean }).success];
  };
  let isOwnThere = false;
  const own = list(world.token, '/api/labels').finally(() => {
    isOwnThere = true;
  });
  expect([await list(other.token, '/api/funnels'), isOwnThere]).toEqual([[200, true], false]);
  // Its turn comes once answers that are not read have ended.
  expect(await own).toEqual([200, true]);
  expect(store.db.waitingCount).toBe(0);
  for (const socket of never) socket.destroy();
});

test('a list waits for a place for a bounded time, and only while many entities read slowly', async () => {
  const patient = await testServer(store, { settings: { limits: { readerMs: 60_000, listWaitMs: 300 } } });
  await patient.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = patient.app.server.address() as AddressInfo;
  const { maxEach } = BOUNDS.streamedLists;
  const last = await makeWorld(store);
  const list = () => patient.call('GET', '/api/labels', { token: last.token });
  const never: Socket[] = [];
  for (let places = 0; places < PLACES.streamedLists; places += maxEach) {
    expect(await list(), `${places} places held`).toMatchObject({ status: 200 });
    const slow = await makeWorld(store);
    await insertLargeFunnels(slow, 10);
    never.push(...(await openUnread(port, slow, maxEach)));
  }
  const refused = await list();
  expect(refused).toMatchObject({
    status: 503,
    headers: { 'retry-after': '10' },
    body: { success: false, status: 'service_unavailable' },
  });
  never[0]!.destroy();
  await waitFor('a list to have its place', async () => (await list()).status === 200);
  for (const socket of never) socket.destroy();
});

async function insertLargeFunnels({ entity }: World, count: number): Promise<{ id: number }> {
  const app = await insertSampleApp(store.db, entity.id, `com.example.large${entity.id}`);
  await store.db.query(
    `INSERT INTO funnels (entity_id, identifier, name, max_duration, steps, app_ids)
     SELECT $1, 'fun_' || n, 'Large ' || n, 60,
       json_build_array(json_build_object('match_name', json_build_array(), 'note', repeat('x', 2000000))), ARRAY[$2::integer]
     FROM generate_series(1, $3::integer) AS n`,
    [entity.id, app.id, count],
  );
  return app;
}

/** Asks for lists of funnels that begin, as far as there are places of the entity, and are read no further. */
async function openUnread(port: number, { token }: World, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(`GET /api/funnels HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${token}\r\n\r\n`);
    sockets.push(socket);
    if (n < BOUNDS.streamedLists.maxEach) await once(socket, 'readable');
  }
  return sockets;
}
