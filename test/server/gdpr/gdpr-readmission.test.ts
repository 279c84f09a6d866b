import { beforeAll, expect, test } from 'vitest';
import { mergeFeed } from '../../../activities/feed/feed-attributes.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { raiseTombstones, readmit as takeBack } from '../../../store/gdpr/tombstone-batches.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId } from '../../harness/core/people.ts';
import { sendFeed } from '../../harness/feed/feeds.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { useServer } from '../http/use-server.ts';
import { basic, eventNames, insertKeyedApp, type KeyedSampleApp } from '../tracking/sample-tracking.ts';

/** Who was erased comes in again once somebody readmits them, and not before. */

const { store, server, world } = useServer();
let app: KeyedSampleApp;

beforeAll(async () => {
  app = await insertKeyedApp(store, world);
});

const hashOf = (type: 'user_id' | 'device_id', id: string) => store.secrets.customerHash(world.entity.id, type, id);
const erase = (...hashes: Buffer[]) => raiseTombstones(store, world.entity.id, hashes);
const readmit = (body: object) => server.call('POST', '/api/gdpr/readmit', { token: world.token, body });
const track = async (event: string, userId: string, deviceId: string): Promise<string[]> => {
  const { body } = await server.call('POST', '/v1/batch', {
    body: JSON.stringify({ batch: [{ type: 'track', event, userId, anonymousId: deviceId }] }),
    headers: basic(app.apiKey),
  });
  return body.refused.map(({ code }: { code: string }) => code);
};

/** Feeds a value, and tells what is stored of the person then. */
async function feed(userId: string): Promise<unknown[]> {
  await sendFeed(server.app, world, [{ customer_id: userId, attribute_key: 'plan', attribute_value: 'gold' }]);
  const log = { info() {}, warn() {}, error() {} };
  const deps = { ...store, log, countValues: createMetrics().countValues, batchRecords: 100, boundary: () => {} };
  while ((await mergeFeed(deps, world.entity.id)) !== null);
  return (
    await store.db.query('SELECT string_value FROM attribute_values WHERE entity_id = $1 AND customer_id = $2', [
      world.entity.id,
      userId,
    ])
  ).rows;
}

test('their data comes in again, from SDKs and by the feed; the same twice is done once', async () => {
  const [person, device] = [personId(1), 'device-1'];
  await erase(hashOf('user_id', person), hashOf('device_id', device));
  expect([
    await track('Before', person, 'new'),
    await track('Before', personId(2), device),
    await feed(person),
  ]).toEqual([['erased'], ['erased'], []]);
  const asked = { users: [person, person, personId(3)], devices: [device] };
  expect((await readmit(asked)).body).toEqual({ success: true, result: { readmitted: 2, unknown: 1 } });
  expect((await readmit(asked)).body.result).toEqual({ readmitted: 0, unknown: 3 });
  expect([await track('After', person, device), await feed(person)]).toEqual([[], [{ string_value: 'gold' }]]);
  expect(await eventNames(store, app)).toEqual(['After']);
  const { rows } = await store.db.query(
    `SELECT customer_hash FROM audit_log WHERE entity_id = $1 AND action = 'readmit' ORDER BY id`,
    [world.entity.id],
  );
  expect(rows.map((row) => row.customer_hash)).toEqual(
    expect.arrayContaining([hashOf('user_id', person), hashOf('device_id', device)]),
  );
  expect(rows).toHaveLength(2);
});

test('not while they are being deleted: the request is named, and nobody is readmitted', async () => {
  const person = personId(10);
  await erase(hashOf('user_id', person), hashOf('user_id', personId(11)));
  const { identifier } = await requestByApi(store.db, 'delete', world, [person]);
  const reply = await readmit({ users: [person, personId(11)] });
  expect([reply.status, reply.body.message]).toEqual([409, expect.stringContaining(identifier)]);
  expect(await track('Still', personId(11), 'new')).toEqual(['erased']);
  expect((await readmit({ users: [personId(11)] })).body.result).toEqual({ readmitted: 1, unknown: 0 });
});

test('a deletion that begins just then is not undone: whoever raises tombstones waits for it', async () => {
  const hash = hashOf('user_id', personId(20));
  await erase(hash);
  let raised: Promise<unknown> = Promise.resolve();
  await takeBack(store, world.entity.id, [hash], async () => {
    raised = erase(hash);
    await lockWaits(store);
  });
  await raised;
  expect(await track('Never', personId(20), 'new')).toEqual(['erased']);
});

test('nobody, or an id that can be none, is refused and named by its place', async () => {
  const element = async (body: object) => (await readmit(body)).body.messages[0].element as string;
  expect(await element({})).toBe('users');
  expect(await element({ users: [], devices: [] })).toBe('users');
  expect(await element({ users: [personId(1), ''] })).toBe('users.1');
  expect(await element({ devices: [personId(1), 7] })).toBe('devices.1');
  expect((await readmit({ users: `${personId(1)},${personId(2)}` })).body.message).toContain(
    'must be an array of user ids',
  );
});
