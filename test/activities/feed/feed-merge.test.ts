import { beforeAll, expect, it } from 'vitest';
import { mergeFeed } from '../../../activities/feed/feed-attributes.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { insertCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { insertCustomSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { insertFeedRequest, listWaitingFeedRequests } from '../../../store/feed/feed-requests.ts';
import { deleteOldFeedRequests, listWaitingFeeds } from '../../../store/jobs/retention-across-entities.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { type GivenValue, mixedValues } from '../../harness/feed/feeds.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

const accept = ({ entity, sor }: World, values: GivenValue[], version: 2 | 3 = 3) =>
  write(store.db, (tx) =>
    insertFeedRequest(tx, entity.id, { sorId: sor.id, version, valuesIn: values.length, body: JSON.stringify(values) }),
  );

async function drain({ entity }: World, batchRecords: number, { countValues } = createMetrics()): Promise<number> {
  const deps = { ...store, log: { info() {}, warn() {}, error() {} }, countValues, batchRecords, boundary: () => {} };
  let batches = 0;
  while ((await mergeFeed(deps, entity.id)) !== null) batches += 1;
  return batches;
}

/** All that an entity's feed has left behind, without identifiers and times. */
async function leftBehind({ entity }: World): Promise<unknown> {
  const { rows: values } = await store.db.query(
    `SELECT v.customer_id, a.key, v.removed_at IS NOT NULL AS removed, v.string_value, v.number_value, v.set_elements
     FROM attribute_values v JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id
     WHERE v.entity_id = $1 ORDER BY v.customer_id, a.key`,
    [entity.id],
  );
  const { rows: requests } = await store.db.query(
    `SELECT values_in, values_ok, values_ignored, values_failed, suspicious_ids, (
       SELECT jsonb_agg(jsonb_build_array(line, error_type, raw) ORDER BY line) FROM import_errors e
       WHERE e.entity_id = r.entity_id AND e.import_id = r.id) AS errors
     FROM feed_requests r WHERE entity_id = $1 AND body IS NULL ORDER BY id`,
    [entity.id],
  );
  return { values, requests };
}

it('several drains of one inbox at once come to what one alone does, request by request', async () => {
  const [alone, together] = [await makeWorld(store), await makeWorld(store)];
  for (const world of [alone, together]) {
    for (let number = 0; number < 60; number += 1)
      await accept(world, mixedValues(7, 9, number), number % 4 === 0 ? 2 : 3);
  }
  expect(await drain(alone, 1)).toBe(60);
  const batches = await Promise.all(Array.from({ length: 5 }, () => drain(together, 20)));
  expect(batches.filter((count) => count > 0).length).toBeGreaterThan(1);
  const left = await leftBehind(together);
  expect(left).toEqual(await leftBehind(alone));
  expect(left).toMatchObject({ requests: { length: 60 } });
});

it('a batch holds no more values and bytes than it may, and at least one request', async () => {
  const world = await makeWorld(store);
  for (const count of [30, 5, 5, 5]) await accept(world, mixedValues(count, 5, 1));
  const sizes = (limits: { values: number; bytes: number }) =>
    write(store.db, async (tx) =>
      (await listWaitingFeedRequests(tx, world.entity.id, limits)).map(
        ({ body }) => (JSON.parse(body) as unknown[]).length,
      ),
    );
  expect(await sizes({ values: 10, bytes: 1e6 })).toEqual([30]);
  expect(await sizes({ values: 41, bytes: 1e6 })).toEqual([30, 5, 5]);
  expect(await sizes({ values: 1e6, bytes: 1 })).toEqual([30]);
  expect(await sizes({ values: 1e6, bytes: 1e6 })).toEqual([30, 5, 5, 5]);
});

it('one batch writes to several Systems of Records, each by its own rules', async () => {
  const world = await makeWorld(store);
  const { entity, sor, user } = world;
  const values = [{ customer_id: personId(1), attribute_key: 'colour', attribute_value: 'red' }];
  await write(store.db, async (tx) => {
    const other = await insertCustomSor(tx, store.secrets, entity.id, 'Shop', user.id);
    await insertCustomerAttribute(tx, entity.id, other.id, { key: 'colour', label: 'Colour', valueType: 'String' });
    const request = { version: 3, valuesIn: 1, body: JSON.stringify(values) } as const;
    const gone = 2_000_000_000;
    for (const sorId of [gone, other.id, sor.id]) await insertFeedRequest(tx, entity.id, { sorId, ...request });
  });
  expect(await drain(world, 100)).toBe(1);
  const raw = JSON.stringify(values[0]);
  expect(await leftBehind(world)).toMatchObject({
    values: [{ key: 'colour', string_value: 'red' }],
    requests: [
      { values_failed: 1, errors: [[0, 'EMPTY_SOR', raw]] },
      { values_ok: 1, errors: null },
      { values_ignored: 1, errors: [[0, 'UNDEFINED_ATTRIBUTE', raw]] },
    ],
  });
});

it('the metrics count the values of all batches by what became of them', async () => {
  const world = await makeWorld(store);
  for (let number = 0; number < 3; number += 1) await accept(world, mixedValues(9, 9, number));
  const metrics = createMetrics();
  expect(await drain(world, 10, metrics)).toBe(3);
  expect((await metrics.text()).split('\n').filter((line) => line.startsWith('millrace_feed_values_total'))).toEqual([
    'millrace_feed_values_total{outcome="ok"} 21',
    'millrace_feed_values_total{outcome="ignored"} 3',
    'millrace_feed_values_total{outcome="failed"} 3',
  ]);
});

it('the sweep finds feeds in which something waits, and deletes requests and their errors after a week', async () => {
  const world = await makeWorld(store);
  const { id } = world.entity;
  const age = (days: number) =>
    store.db.query(
      `UPDATE feed_requests SET received_at = now() - $2 * interval '1 day', done_at = done_at - $2 * interval '1 day'
     WHERE entity_id = $1`,
      [id, days],
    );
  const kept = async () =>
    (
      await store.db.query<{ requests: number; errors: number }>(
        `SELECT (SELECT count(*) FROM feed_requests WHERE entity_id = $1) AS requests,
       (SELECT count(*) FROM import_errors WHERE entity_id = $1) AS errors`,
        [id],
      )
    ).rows[0];
  await accept(world, [{}]);
  expect(await listWaitingFeeds(store.db, 5)).not.toContain(id);
  await age(1);
  expect(await listWaitingFeeds(store.db, 5)).toContain(id);
  await drain(world, 10);
  expect(await listWaitingFeeds(store.db, 5)).not.toContain(id);
  await age(6);
  await deleteOldFeedRequests(store.db);
  expect(await kept()).toEqual({ requests: 1, errors: 1 });
  await age(2);
  await deleteOldFeedRequests(store.db);
  expect(await kept()).toEqual({ requests: 0, errors: 0 });
});
