import { beforeAll, describe, expect, it } from 'vitest';
import { wakeFeed } from '../../../temporal/flows.ts';
import { updateCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { deleteSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { lockFeed } from '../../../store/feed/feed-requests.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { personId } from '../../harness/core/people.ts';
import { startServer } from '../../harness/core/served.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { feedDone, feedErrors, type GivenValue, mixedValues, postFeed, sendFeed } from '../../harness/feed/feeds.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;

beforeAll(async () => {
  stack.startWorker();
  stack.startWorker();
  world = await makeWorld(stack.store);
});

async function feed(values: GivenValue | GivenValue[] | string, version: 2 | 3 = 3) {
  const requestId = await postFeed(stack.app, world, values, { version });
  return {
    requestId,
    request: await feedDone(stack.store, world, requestId),
    errors: await feedErrors(stack.store, world, requestId),
  };
}

/** Holds the inbox: until it is let go, whatever is accepted waits. */
async function whileHeld<T>({ entity }: World, work: () => Promise<T>): Promise<T> {
  return write(stack.store.db, async (tx) => {
    await lockFeed(tx, entity.id);
    return work();
  });
}

const get = (url: string, accept = 'application/vnd.svc.v3') =>
  stack.app.inject({ method: 'GET', url, headers: { accept, authorization: `Token ${world.token}` } });

describe('a feed', () => {
  it('brings each value into a profile or into the errors, with its place, reason and the value itself', async () => {
    const { request, errors, requestId } = await feed([
      { customer_id: personId(1), attribute_key: 'plan', attribute_value: 'gold' },
      { customer_id: personId(1), attribute_key: 'nothing', attribute_value: 'x' },
      { customer_id: personId(1), attribute_key: 'tags', attribute_value: 'a;b', action_type: 'ADD' },
      { customer_id: personId(2), attribute_key: 'score', attribute_value: 'many', note: 1 },
    ]);
    expect(request).toMatchObject({ valuesIn: 4, valuesOk: 2, valuesIgnored: 1, valuesFailed: 1 });
    expect(errors).toMatchObject([
      {
        line: 1,
        errorType: 'UNDEFINED_ATTRIBUTE',
        outcome: 'ignored',
        customerId: personId(1),
        attributeKey: 'nothing',
      },
      {
        line: 3,
        errorType: 'INVALID_VALUE',
        outcome: 'failed',
        customerId: personId(2),
        stage: 'validation',
        raw: `{"customer_id":"${personId(2)}","attribute_key":"score","attribute_value":"many","note":1}`,
      },
    ]);
    expect(await importedValues(stack, world)).toMatchObject([
      { customer_id: personId(1), key: 'plan', string_value: 'gold' },
      { key: 'tags', set_elements: ['a;b'] },
    ]);
    const view = await get(`/api/attribute_values/feeds/${requestId}`);
    expect(view.json()).toMatchObject({
      result: { request_id: requestId, state: 'finished', values: { in: 4, ok: 2, ignored: 1, failed: 1 } },
    });
    const v3 = await get(`/api/attribute_values/import_errors?import_id=${requestId}`);
    expect(v3.json()).toMatchObject({
      result: {
        attribute_errors: [
          { import_id: requestId, error_type: 'UNDEFINED_ATTRIBUTE', line: 1 },
          { error_type: 'INVALID_VALUE', line: 3, sor: world.sor.identifier },
        ],
      },
    });
    const v2 = await get(`/api/attribute_values/import_errors?job_id=${requestId}`, 'application/json');
    expect(v2.json()).toMatchObject({
      result: {
        attribute_errors: [
          { job_id: requestId, line: 1 },
          { job_id: requestId, line: 3 },
        ],
      },
    });
  });

  it('does to a value and to a Set what its action says, in each version', async () => {
    const own = await makeWorld(stack.store);
    const value = (of: number, attribute_value: unknown, action_type?: string, attribute_key = 'plan') => ({
      customer_id: personId(of),
      attribute_key,
      attribute_value,
      ...(action_type && { action_type }),
    });
    const tags = (of: number, action: string, elements: string | null = null) => value(of, elements, action, 'tags');
    const before = [
      ...[1, 2, 3, 4, 5, 6, 11, 12].map((of) => value(of, 'a')),
      tags(1, 'UPSERT', 'a;b;c'),
      tags(2, 'UPSERT', 'a;b'),
      tags(3, 'ADD', 'a'),
      tags(4, 'ADD', 'a'),
      tags(11, 'ADD', 'a'),
    ];
    const inV3 = [
      value(1, 'b'),
      value(2, 'b', 'REMOVE'),
      value(3, 'b', 'DEL'),
      value(4, null),
      value(5, 'b', 'ADD'),
      value(6, 'b', 'UPSERT'),
      tags(1, 'ADD', 'd;e'),
      tags(1, 'REMOVE', 'b'),
      tags(1, 'REMOVE', 'none'),
      tags(2, 'DEL'),
      tags(3, 'UPSERT', 'b;c'),
      value(4, null, undefined, 'tags'),
    ];
    const inV2 = [value(11, 'b', 'DEL'), value(12, null), tags(11, 'ADD', 'b')];
    for (const [values, version] of [
      [before, 3],
      [inV3, 3],
      [inV2, 2],
    ] as const) {
      await feedDone(stack.store, own, await postFeed(stack.app, own, [...values], { version }));
    }
    const stored = async (of: number) => {
      const query = new URLSearchParams({
        sor_id: own.sor.identifier,
        customer_type: 'user_id',
        customer_id: personId(of),
      });
      const headers = { authorization: `Token ${own.token}` };
      const reply = await stack.app.inject({ url: `/api/attribute_values?${query.toString()}`, headers });
      return reply.json<{ result: { attribute_values: object } }>().result.attribute_values;
    };
    expect(await Promise.all([1, 2, 3, 4, 5, 6, 11, 12].map(stored))).toEqual([
      { plan: 'b', tags: ['a', 'c', 'd;e'] },
      { plan: 'b', tags: [] },
      { tags: ['b', 'c'] },
      { tags: [] },
      { plan: 'b' },
      { plan: 'b' },
      { plan: 'b', tags: ['a', 'b'] },
      {},
    ]);
  });

  it('keeps every digit of a number', async () => {
    const values = ['9007199254740993', '12.50', '-0.1000000000000000055511151231257827'];
    const { request } = await feed(
      `[${values
        .map(
          (number, index) =>
            `{"customer_id": "${personId(10 + index)}", "attribute_key": "score", "attribute_value": ${number}}`,
        )
        .join()}]`,
      2,
    );
    expect(request).toMatchObject({ valuesOk: 3 });
    const stored = (await importedValues(stack, world)) as { customer_id: string; number_value: string }[];
    for (const [index, number] of values.entries()) {
      expect(stored.find((value) => value.customer_id === personId(10 + index))?.number_value).toBe(number);
    }
    const { errors } = await feed(
      `{"customer_id": "${personId(13)}", "attribute_key": "plan", "attribute_value": 9007199254740993}`,
    );
    expect(errors[0]!.raw).toContain('9007199254740993');
  });

  it('empties its body once it is done', async () => {
    await feed([{ customer_id: personId(20), attribute_key: 'plan', attribute_value: 'x' }]);
    const { rows } = await stack.store.db.query('SELECT FROM feed_requests WHERE entity_id = $1 AND body IS NOT NULL', [
      world.entity.id,
    ]);
    expect(rows).toEqual([]);
  });

  it('applies requests of one client in their order, though many are merged together and servers differ', async () => {
    const own = await makeWorld(stack.store);
    const other = await stack.newServer();
    const ids = await whileHeld(own, async () => {
      const accepted: string[] = [];
      for (let number = 0; number < 60; number += 1) {
        const value = { customer_id: personId(30), attribute_key: 'plan', attribute_value: `plan ${number}` };
        accepted.push(await postFeed(number % 2 === 0 ? stack.app : other, own, value));
      }
      return accepted;
    });
    for (const id of ids) await feedDone(stack.store, own, id);
    expect(await importedValues(stack, own)).toMatchObject([{ string_value: 'plan 59' }]);
  });

  it('merges a request that commits after later ones were merged', async () => {
    const own = await makeWorld(stack.store);
    const { db } = stack.store;
    const value = (key: string) => ({
      customer_id: personId(31),
      attribute_key: key,
      attribute_value: key === 'vip' ? true : 'late',
    });
    await write(db, async (tx) => {
      // Its id is drawn, and its transaction stays open while a later request is accepted and merged.
      await tx.query(
        `INSERT INTO feed_requests (entity_id, identifier, sor_id, version, values_in, body, body_bytes)
        VALUES ($1, 'req_late', $2, 3, 1, $3, 1)`,
        [own.entity.id, own.sor.id, JSON.stringify([value('plan')])],
      );
      await feedDone(stack.store, own, await postFeed(stack.app, own, value('vip')));
    });
    // The sweep wakes the feed for it, or the next request does.
    await feedDone(stack.store, own, 'req_late');
    expect(await importedValues(stack, own)).toHaveLength(2);
  });

  it('refuses an ADD to a full Set alone, and knows which value it was', async () => {
    const full = Array.from({ length: 1000 }, (_, number) => `e${number}`).join(';');
    await feed({ customer_id: personId(40), attribute_key: 'tags', attribute_value: full, action_type: 'UPSERT' });
    const { request, errors } = await feed([
      { customer_id: personId(40), attribute_key: 'plan', attribute_value: 'x' },
      { customer_id: personId(40), attribute_key: 'tags', attribute_value: 'one more', action_type: 'ADD' },
    ]);
    expect(request).toMatchObject({ valuesOk: 1, valuesFailed: 1 });
    expect(errors).toMatchObject([
      { line: 1, errorType: 'TOO_LONG_SET_SIZE', stage: 'merge', customerId: personId(40), attributeKey: 'tags' },
    ]);
  });

  it('brings nobody back who was erased, and tells nothing of them', async () => {
    const erased = personId(50);
    const hash = stack.store.secrets.customerHash(world.entity.id, 'user_id', erased);
    await insertTombstone(stack.store.db, world.entity.id, hash);
    const { errors, request } = await feed([
      { customer_id: personId(51), attribute_key: 'plan', attribute_value: 'gold' },
      { customer_id: erased, attribute_key: 'plan', attribute_value: 'gold' },
    ]);
    expect(request).toMatchObject({ valuesOk: 1, valuesFailed: 1 });
    expect(errors).toMatchObject([
      { line: 1, errorType: 'INVALID_CUSTOMER_ID', message: 'erased', customerId: null, raw: null, customerHash: hash },
    ]);
  });

  it('counts the value of a person who is erased while it waits, and merges all others', async () => {
    const person = { customerType: 'user_id', customerId: personId(60) } as const;
    const place = personalData.find(({ name }) => name === 'feed_requests')!;
    const { db } = stack.store;
    const own = await makeWorld(stack.store);
    const body = JSON.stringify(
      [60, 61, 60].map((number) => ({ customer_id: personId(number), attribute_key: 'plan', attribute_value: 'x' })),
    );
    const customerHash = stack.store.secrets.customerHash(own.entity.id, 'user_id', personId(60));
    // Accepted without waking anybody: erased before the sweep comes by.
    await db.query(
      `INSERT INTO feed_requests (entity_id, identifier, sor_id, version, values_in, body, body_bytes)
      VALUES ($1, 'req_erased', $2, 3, 3, $3, 1)`,
      [own.entity.id, own.sor.id, body],
    );
    const count = (writtenBefore: Date) => place.count({ ...stack.store, writtenBefore }, own.entity.id, [person]);
    expect([await count(new Date(0)), await count(new Date(Date.now() + 60_000))]).toEqual([0, 2]);
    expect(await place.erase!(stack.store, own.entity.id, [person])).toBe(2);
    expect(await feedDone(stack.store, own, 'req_erased')).toMatchObject({ valuesIn: 3, valuesOk: 1, valuesFailed: 2 });
    expect(await feedErrors(stack.store, own, 'req_erased')).toMatchObject([
      { line: 0, message: 'erased', customerId: null, raw: null, customerHash },
      { line: 2, message: 'erased' },
    ]);
  });

  it('goes by the rules at the time of the merge: disabled attributes, deleted Systems of Records', async () => {
    const own = await makeWorld(stack.store);
    const value = { customer_id: personId(70), attribute_key: 'plan', attribute_value: 'x' };
    const first = await whileHeld(own, async () => {
      const id = await postFeed(stack.app, own, value);
      await write(stack.store.db, (tx) =>
        updateCustomerAttribute(tx, own.entity.id, own.attributes.plan!.id, { disabled: true }),
      );
      return id;
    });
    await feedDone(stack.store, own, first);
    expect(await feedErrors(stack.store, own, first)).toMatchObject([{ errorType: 'DISABLED_ATTRIBUTE' }]);
    const second = await whileHeld(own, async () => {
      const id = await postFeed(stack.app, own, value);
      await write(stack.store.db, (tx) => deleteSor(tx, own.entity.id, own.sor.id));
      return id;
    });
    await feedDone(stack.store, own, second);
    expect(await feedErrors(stack.store, own, second)).toMatchObject([
      { errorType: 'EMPTY_SOR', customerId: personId(70) },
    ]);
    expect((await sendFeed(stack.app, own, value)).statusCode).toBe(401);
  });

  it('comes to rest, and starts again by the next request', async () => {
    const own = await makeWorld(stack.store);
    const value = { customer_id: personId(80), attribute_key: 'plan', attribute_value: 'x' };
    await feedDone(stack.store, own, await postFeed(stack.app, own, value));
    const handle = stack.temporal.workflow.getHandle(`feed/${own.entity.id}`);
    await waitFor('the feed to rest', async () => (await handle.describe()).status.name === 'COMPLETED');
    await feedDone(stack.store, own, await postFeed(stack.app, own, { ...value, attribute_value: 'y' }));
    expect(await importedValues(stack, own)).toMatchObject([{ string_value: 'y' }]);
  });
});

it('a feed that is woken again and again goes on in a new run, and misses nothing', async () => {
  const own = await makeWorld(stack.store);
  const workflowId = `feed/${own.entity.id}`;
  const post = (text: string) =>
    postFeed(stack.app, own, { customer_id: personId(90), attribute_key: 'plan', attribute_value: text });
  const ids = [await post('first')];
  const describe = (runId?: string) => stack.temporal.workflow.getHandle(workflowId, runId).describe();
  const { runId } = await waitFor('the feed', () => describe().catch(() => null));
  await waitFor('a new run', async () => {
    await wakeFeed(stack.temporal, own.entity.id);
    return (await describe()).runId !== runId;
  });
  ids.push(await post('last'));
  expect((await describe(runId)).status.name).toBe('CONTINUED_AS_NEW');
  for (const id of ids) expect(await feedDone(stack.store, own, id)).toMatchObject({ valuesOk: 1 });
  expect(await importedValues(stack, own)).toMatchObject([{ string_value: 'last' }]);
});

it('what a killed server had accepted is merged, each request once', async () => {
  const own = await makeWorld(stack.store);
  const server = await startServer(stack);
  const accepted: string[] = [];
  const values = mixedValues(20, 30, 1);
  const body = JSON.stringify({ sor: own.sor.identifier, api_key: own.apiKey, customer_attribute_values: values });
  const client = async () => {
    for (;;) {
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(`${server.url}/api/attribute_values`, { method: 'POST', body, headers });
      const answer = (await reply.json()) as { result: { requestId: string } };
      accepted.push(answer.result.requestId);
      if (accepted.length === 100) process.kill(server.pid, 'SIGKILL');
    }
  };
  await Promise.allSettled(Array.from({ length: 4 }, client));
  for (const requestId of accepted) {
    expect(await feedDone(stack.store, own, requestId)).toMatchObject({ valuesIn: 20 });
  }
});
