import { beforeAll, expect, test } from 'vitest';
import type { TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import type { World } from '../../harness/core/world.ts';
import { deletionByDevice } from '../../harness/gdpr/gdpr-requests.ts';
import type { TestServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../tracking/sample-tracking.ts';

let store: TestStore;
let world: World;
let server: TestServer;
let app: KeyedSampleApp;

const used = useServer();
beforeAll(async () => {
  ({ store, world, server } = used);
  app = await insertKeyedApp(store, world);
});

const [ME, VICTIM] = [personId(960_001), personId(960_002)];
const [MY_DEVICE, MY_GUEST] = ['device-of-960001', 'guest-of-960001'];

async function track(...batch: object[]): Promise<void> {
  const calls = batch.map((call) => ({
    type: 'track',
    event: 'Opened',
    ...call,
    context: { device: { id: MY_DEVICE } },
  }));
  const { status } = await server.call('POST', '/v1/batch', {
    headers: basic(app.apiKey),
    body: JSON.stringify({ batch: calls }),
  });
  expect(status).toBe(200);
}

type Link = {
  kind: string;
  id: string;
  origin: string | null;
  via: string | null;
  left_alone: string | null;
  device_id: string | null;
};

async function get<T>(path: string): Promise<T[]> {
  const { status, body } = await server.call('GET', path, { token: world.token });
  expect(status).toBe(200);
  return (body['result'] as { items: T[] }).items;
}

const told = (links: Link[]) =>
  links.map(({ kind, id, origin, via, left_alone: left, device_id: by }) => [kind, id, origin, via, left, by]);
const wouldGather = async (id: string) =>
  told(await get<Link>(`/api/gdpr/identifiers?user_id=${encodeURIComponent(id)}`));
const decide = (decision: string, previousId = VICTIM) =>
  server.call('PUT', '/api/gdpr/aliases', {
    token: world.token,
    body: { previous_id: previousId, user_id: ME, decision },
  });

test('what an SDK says of others is listed with who said so, and followed only once staff confirm it', async () => {
  await store.db.query(
    `INSERT INTO attribute_values (entity_id, customer_type, customer_id, attribute_id, sor_id, changed_at, string_value)
     VALUES ($1, 0, $2, $3, $4, now(), 'gold')`,
    [world.entity.id, VICTIM, world.attributes.plan!.id, world.sor.id],
  );
  await track(
    { userId: MY_GUEST },
    { type: 'alias', previousId: MY_GUEST, userId: ME },
    { type: 'alias', previousId: VICTIM, userId: ME },
  );
  const mine = [
    ['user_id', MY_GUEST, 'alias', ME, null, MY_DEVICE],
    ['device_id', MY_DEVICE, 'device', expect.any(String), null, null],
  ];
  expect(await wouldGather(ME)).toEqual([...mine, ['user_id', VICTIM, null, ME, 'unconfirmed', MY_DEVICE]]);
  expect(await wouldGather(VICTIM)).toEqual([['user_id', ME, null, VICTIM, 'unconfirmed', MY_DEVICE]]);
  expect(await decide('confirmed')).toMatchObject({
    status: 200,
    body: { result: { decision: 'confirmed', app_id: app.app.identifier } },
  });
  expect(await wouldGather(VICTIM)).toContainEqual(['user_id', ME, 'confirmed', VICTIM, null, MY_DEVICE]);
  await decide('refused');
  expect(await wouldGather(ME)).toEqual(mine);
  expect(await get(`/api/gdpr/aliases?user_id=${encodeURIComponent(ME)}`)).toMatchObject([
    { previous_id: MY_GUEST, witnessed: true, decision: null },
    { previous_id: VICTIM, decision: 'refused' },
  ]);
  await decide('undecided');
  // A page needs both ids in their order to decide on what it lists.
  expect(await get(`/api/gdpr/identifiers?user_id=${encodeURIComponent(VICTIM)}`)).toMatchObject([
    { id: ME, left_alone: 'unconfirmed', previous_id: VICTIM },
  ]);
  expect(await wouldGather(ME)).toContainEqual(['user_id', VICTIM, null, ME, 'unconfirmed', MY_DEVICE]);
});

test('of a request that waits for approval it is known what it would gather', async () => {
  const { identifier } = await deletionByDevice(store.db, world.entity.id, { userId: null, deviceId: MY_DEVICE });
  const links = await get<Link>(`/api/gdpr/requests/${identifier}/identifiers`);
  expect(told(links).map(([kind, id, origin]) => [kind, id, origin])).toEqual([['whole_device', MY_DEVICE, 'asked']]);
  const { rows } = await store.db.query('SELECT FROM gdpr_identifiers WHERE entity_id = $1', [world.entity.id]);
  expect(rows).toEqual([]);
});

test('an alias that is none, and a decision that is none, are refused by name', async () => {
  expect((await decide('confirmed', personId(960_003))).body.error_message).toMatch(
    /Alias not found: GET \/api\/gdpr\/aliases/,
  );
  expect((await decide('maybe')).body.error_message).toMatch(/^decision: /);
});
