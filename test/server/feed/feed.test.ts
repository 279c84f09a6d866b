import { describe, expect, it } from 'vitest';
import { mergeFeed } from '../../../activities/feed/feed-attributes.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { sendFeed } from '../../harness/feed/feeds.ts';
import { testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

const value = (text: unknown = 'gold') => ({ customer_id: personId(1), attribute_key: 'plan', attribute_value: text });

async function waiting(
  own = world,
): Promise<{ identifier: string; values_in: number; version: number; body: string }[]> {
  const { rows } = await store.db.query<{ identifier: string; values_in: number; version: number; body: string }>(
    'SELECT identifier, values_in, version, body FROM feed_requests WHERE entity_id = $1 ORDER BY id',
    [own.entity.id],
  );
  return rows;
}

describe('POST /api/attribute_values', () => {
  it('answers with the request id, errorMessage and errorCode, and has stored the values by then', async () => {
    const own = await makeWorld(store);
    const reply = await sendFeed(server.app, own, [value(), value(null)], { version: 2 });
    const [stored] = await waiting(own);
    expect(reply.json()).toEqual({
      success: true,
      result: { requestId: stored!.identifier },
      errorMessage: null,
      errorCode: 0,
    });
    expect(stored).toMatchObject({ values_in: 2, version: 2, body: JSON.stringify([value(), value(null)]) });
    expect(stored!.identifier).toMatch(/^req_/);
  });

  it('takes a single object instead of the array, an empty array, and a web form with JSON', async () => {
    const own = await makeWorld(store);
    await sendFeed(server.app, own, value());
    await sendFeed(server.app, own, []);
    const { status } = await server.call('POST', '/api/attribute_values', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        sor: own.sor.identifier,
        api_key: own.apiKey,
        customer_attribute_values: '[{"attribute_value": 12.50}]',
      }).toString(),
    });
    expect(status).toBe(200);
    expect(await waiting(own)).toMatchObject([
      { values_in: 1 },
      { values_in: 0 },
      { body: '[{"attribute_value":12.50}]' },
    ]);
  });

  it('says of a request how many of the values taken have a customer id that hardly is one', async () => {
    const own = await makeWorld(store);
    const given = ['undefined', 'NaN', '12345.0', personId(1)].map((customer_id) => ({ ...value(), customer_id }));
    await sendFeed(server.app, own, [...given, { ...value(), customer_id: 'null', attribute_key: 'unknown' }]);
    const log = { info() {}, warn() {}, error() {} };
    const { countValues } = createMetrics();
    const [stored] = await waiting(own);
    const path = `/api/attribute_values/feeds/${stored!.identifier}`;
    const view = async () => (await server.call('GET', path, { token: own.token })).body.result;
    expect(await view()).toMatchObject({ state: 'accepted', suspicious_ids: 0 });
    await mergeFeed({ ...store, log, countValues, batchRecords: 10, boundary: () => {} }, own.entity.id);
    expect(await view()).toMatchObject({
      state: 'finished',
      values: { in: 5, ok: 4, ignored: 1, failed: 0 },
      suspicious_ids: 3,
    });
  });

  it('refuses a wrong key or SoR as batch_import does', async () => {
    for (const wrong of [
      { ...world, apiKey: 'wrong' },
      { ...world, sor: { ...world.sor, identifier: 'sor_unknown' } },
    ]) {
      const reply = await sendFeed(server.app, wrong, value());
      const message = 'Invalid sor_id or api_key';
      expect([reply.statusCode, reply.json()]).toEqual([
        401,
        {
          success: false,
          status: 'unauthorized',
          error_message: message,
          message,
          errorMessage: message,
          errorCode: 401,
        },
      ]);
    }
  });

  it.for([
    { kind: 'a text', values: '"gold"', element: 'customer_attribute_values' },
    { kind: 'a number', values: '12', element: 'customer_attribute_values' },
    { kind: 'null', values: 'null', element: 'customer_attribute_values' },
    { kind: 'a text among objects', values: '[{}, "x"]', element: 'customer_attribute_values.1' },
    { kind: 'a number in the array', values: '[1]', element: 'customer_attribute_values.0' },
    { kind: 'an array in the array', values: '[[]]', element: 'customer_attribute_values.0' },
    { kind: 'over 3,000 values', values: `[${'{},'.repeat(3_000)}{}]`, element: 'customer_attribute_values' },
  ])('refuses what is no array of objects, and names the element: $kind', async ({ values, element }) => {
    const reply = await sendFeed(server.app, world, values);
    expect(reply.statusCode).toBe(400);
    expect(reply.json()).toMatchObject({ status: 'bad_request', errorCode: 400, messages: [{ element }] });
  });

  it('refuses a body of over 10 MiB', async () => {
    expect((await sendFeed(server.app, world, value('x'.repeat(10 * 1024 ** 2)))).statusCode).toBe(413);
  });

  it('has one effect under one Idempotency-Key; a number written otherwise is another request', async () => {
    const own = await makeWorld(store);
    const headers = { 'idempotency-key': 'feed' };
    const first = await sendFeed(server.app, own, `[{"attribute_value": 1.0}]`, { headers });
    const repeat = await sendFeed(server.app, own, `[{"attribute_value": 1.0}]`, { headers });
    expect([repeat.body, repeat.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
    expect((await sendFeed(server.app, own, `[{"attribute_value": 1.00}]`, { headers })).statusCode).toBe(409);
    expect(await waiting(own)).toHaveLength(1);
  });

  it('wakes the feed at once, and then at most once a second', async () => {
    const own = await makeWorld(store);
    const wakes: number[] = [];
    const watched = await testServer(store, { wakeFeed: async () => void wakes.push(performance.now()) });
    const began = performance.now();
    await sendFeed(watched.app, own, value());
    expect(wakes).toHaveLength(1);
    for (let count = 0; count < 20; count += 1) await sendFeed(watched.app, own, value());
    await waitFor('the second wake', async () => wakes.length > 1);
    // A busy machine notes a wake late, and may note the next one in time.
    for (const [before, wake] of wakes.entries()) expect(wake - began).toBeGreaterThan(before * 990);
  });

  it('does not fail where the feed can not be woken', async () => {
    const down = await testServer(store, { wakeFeed: () => Promise.reject(new Error('Temporal is down')) });
    expect((await sendFeed(down.app, await makeWorld(store), value())).statusCode).toBe(200);
    expect(down.logs.filter(({ msg }) => msg === 'a feed could not be woken yet')).toHaveLength(1);
  });

  it.for([
    ['requests', { waitingRequests: 3 }],
    ['bytes', { waitingBytes: 3 * JSON.stringify([value()]).length }],
  ] as const)(
    'answers 429 while too many %s wait, drops nothing, and takes more once there is room',
    async ([, limits]) => {
      const small = await testServer(store, { settings: { limits } });
      const own = await makeWorld(store);
      const replies = [];
      for (let count = 0; count < 5; count += 1) replies.push(await sendFeed(small.app, own, value()));
      expect(replies.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 429, 429]);
      expect(replies[4]!.headers['retry-after']).toBe('5');
      expect(replies[4]!.json()).toMatchObject({ status: 'too_many_requests', errorCode: 429 });
      expect(await waiting(own)).toHaveLength(3);
      expect((await sendFeed(small.app, await makeWorld(store), value())).statusCode).toBe(200);
      await store.db.query(
        'UPDATE feed_requests SET done_at = now(), body = NULL, values_ok = 1, values_ignored = 0, values_failed = 0 WHERE entity_id = $1',
        [own.entity.id],
      );
      await waitFor('room', async () => (await sendFeed(small.app, own, value())).statusCode === 200);
    },
  );
});

it('requests are listed newest first with their counts, in pages, and by their errors', async () => {
  const own = await makeWorld(store);
  const plan = own.attributes['plan']!;
  const sent: string[] = [];
  for (const values of [[value()], [{ ...value(), attribute_key: 'unknown' }, value('silver')]])
    sent.push(((await sendFeed(server.app, own, values)).json() as { result: { requestId: string } }).result.requestId);
  expect(plan.key).toBe('plan');
  const list = async (query: string) =>
    (await server.call('GET', `/api/attribute_values/feeds?${query}`, { token: own.token })).body.result;
  const [good, bad] = sent;
  const page = await list('per_page=1');
  expect(page.feed_requests).toMatchObject([{ request_id: bad, state: 'accepted', sor: { name: own.sor.name } }]);
  expect(await list(new URL(page.next).search.slice(1))).toMatchObject({
    feed_requests: [{ request_id: good }],
    next: null,
  });
  expect((await list('with_errors=true')).feed_requests).toEqual([]);
  const log = { info() {}, warn() {}, error() {} };
  await mergeFeed({ ...store, log, ...createMetrics(), batchRecords: 10, boundary: () => {} }, own.entity.id);
  expect((await list('with_errors=true')).feed_requests).toMatchObject([
    { request_id: bad, state: 'finished', values: { in: 2, ok: 1, ignored: 1, failed: 0 } },
  ]);
});
