import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { BATCH_ITEMS } from '../../../connectors/core/contract.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { askFor, requestTreated } from '../../harness/gdpr/gdpr.ts';
import {
  ask,
  askForRun,
  makeSync,
  openShop,
  runEnded,
  runErrors,
  runSync,
  type Shop,
} from '../../harness/syncs/syncs.ts';

type Received = { batch_id: string; stream: string; removal: boolean; records: { id: number; email: string }[] };

const stack = useStack({ impatient: true });
let world: World;
let shop: Shop;
const web = await httpSource();
const SECRET = 'zqwebhooksecret-outside';
rememberSecret(SECRET);

beforeAll(async () => {
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
});

/** A receiver that keeps what it is sent, and refuses the records whose e-mail address begins with `bad`. */
async function receiver(name: string): Promise<{ connection: string; received: Received[] }> {
  const received: Received[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await json(request)) as Received;
    received.push(body);
    const outcomes = body.records.map(({ email }) =>
      email?.startsWith('bad') ? { ok: false, message: 'no such address' } : { ok: true },
    );
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ outcomes }));
  };
  const url = web.serve(`/${name}`, (request, response) => void take(request, response));
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name,
    connector: 'webhook',
    settings: { url, secret: SECRET, batch_records: 5_000 },
  });
  return { connection, received };
}

async function people(name: string, count: number): Promise<string> {
  const table = shop.table(name);
  await shop.db
    .query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text); ALTER TABLE ${table} OWNER TO ${shop.role};
    INSERT INTO ${table} SELECT n, '${name}-' || n || '@example.com', 'gold' FROM generate_series(1, ${count}) n`);
  return table;
}

const syncTo = (stream: string, connection: string, more: object = {}) =>
  makeSync(stack, world, {
    source: { connection: shop.connection, stream },
    destination: { connection, stream: 'people', key: ['id'] },
    removes: true,
    mapping: {
      customer: { field: 'email' },
      fields: [{ from: 'id' }, { from: 'email' }, { from: 'tariff', to: 'plan' }],
    },
    ...more,
  });

describe('a sync to a webhook', () => {
  it('sends what is new or changed, what vanished as a removal, and tells of what was refused', async () => {
    const worker = stack.startWorker();
    const table = await people('sent', 20);
    await shop.db.query(`UPDATE ${table} SET email = 'bad@example.com' WHERE id = 7`);
    const { connection, received } = await receiver('sent');
    const sync = await syncTo('sent', connection);
    const first = await runSync(stack, world, sync);
    expect(first.progress).toMatchObject({ read: 20, written: 19, failed: 1, errorsByType: { DELIVERY_FAILED: 1 } });
    expect(received).toMatchObject([{ stream: 'people', removal: false, batch_id: `${first.identifier}-0` }]);
    expect(received[0]!.records[0]).toEqual({ id: 1, email: 'sent-1@example.com', plan: 'gold' });
    const errors = await runErrors(stack.store, world, first);
    expect(errors).toMatchObject([{ line: 7, message: 'no such address', customerId: 'bad@example.com' }]);
    await shop.db.query(`UPDATE ${table} SET tariff = 'iron' WHERE id = 3; DELETE FROM ${table} WHERE id = 20`);
    const second = await runSync(stack, world, sync);
    expect(second).toMatchObject({
      progress: { read: 19, written: 1, unchanged: 17, failed: 1 },
      removed: 1,
      removal: { state: 'done' },
    });
    const path = `/api/syncs/${sync}/runs/${second.identifier}`;
    expect(await ask<{ requests: number }>(stack.app, world, 'GET', path)).toMatchObject({ requests: 2 });
    const { requests } = await ask<{ requests: object[] }>(stack.app, world, 'GET', `${path}/requests`);
    expect(requests).toMatchObject([
      { method: 'POST', path: '/sent', status: 200 },
      { method: 'POST', path: '/sent', status: 200 },
    ]);
    expect(received.slice(1)).toMatchObject([
      { removal: false, records: [{ id: 3, plan: 'iron' }, { id: 7 }] },
      { removal: true, records: [{ id: 20 }] },
    ]);
    await worker.stop();
  });

  it('tells of each of two equal records that the one which was sent for both was refused', async () => {
    const worker = stack.startWorker();
    const table = await people('equal', 3);
    await shop.db.query(`UPDATE ${table} SET email = 'bad-equal@example.com' WHERE id < 3`);
    const { connection, received } = await receiver('equal');
    const sync = await syncTo('equal', connection, {
      destination: { connection, stream: 'people', key: ['email'] },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'email' }, { from: 'tariff', to: 'plan' }] },
    });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({
      read: 3,
      written: 1,
      unchanged: 0,
      failed: 2,
    });
    expect(received[0]!.records).toHaveLength(2);
    await worker.stop();
  });

  it('sends a record again that the batch before has changed, though the run before had sent it like this', async () => {
    const worker = stack.startWorker();
    const table = await people('twice', BATCH_ITEMS + 1); // the last row is a batch of its own
    await shop.db.query(`UPDATE ${table} SET email = 'twice@example.com' WHERE id IN (1, ${BATCH_ITEMS + 1})`);
    const { connection, received } = await receiver('twice');
    const sync = await syncTo('twice', connection, {
      destination: { connection, stream: 'people', key: ['email'] },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'email' }, { from: 'tariff', to: 'plan' }] },
    });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ written: BATCH_ITEMS, unchanged: 1 });
    await shop.db.query(`UPDATE ${table} SET tariff = 'iron' WHERE id = 1`);
    received.length = 0;
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ written: 2, unchanged: BATCH_ITEMS - 1 });
    const email = 'twice@example.com';
    expect(received.flatMap(({ records }) => records)).toEqual([
      { email, plan: 'iron' },
      { email, plan: 'gold' },
    ]);
    await worker.stop();
  });

  it('shows a long record by its beginning, in a dry run', async () => {
    const worker = stack.startWorker();
    const table = await people('long', 2);
    await shop.db.query(`UPDATE ${table} SET tariff = repeat('x', 3000000) WHERE id = 2`);
    const { connection } = await receiver('long');
    const sync = await syncTo('long', connection);
    const dry = await runSync(stack, world, sync, {}, 'dry_run');
    const path = `/api/syncs/${sync}/runs/${dry.identifier}/sample`;
    const { records } = await ask<{ records: { record: unknown }[] }>(stack.app, world, 'GET', path);
    expect(records[0]!.record).toEqual({ id: 1, email: 'long-1@example.com', plan: 'gold' });
    expect(records[1]!.record).toMatch(/^\{"id":2,"email":"long-2@example.com","plan":"x{9000,10000}…$/);
    await worker.stop();
  });

  it('sends nothing of people who were erased', async () => {
    const worker = stack.startWorker();
    const table = await people('erasing', 3);
    await shop.db.query(`UPDATE ${table} SET email = $1 WHERE id = 2`, [personId(2)]);
    await insertTombstone(
      stack.store.db,
      world.entity.id,
      stack.store.secrets.customerHash(world.entity.id, 'user_id', personId(2)),
    );
    const { connection, received } = await receiver('erasing');
    const run = await runSync(stack, world, await syncTo('erasing', connection));
    expect(run.progress).toMatchObject({ read: 3, written: 2, failed: 1 });
    expect(received[0]!.records.map(({ id }) => id)).toEqual([1, 3]);
    expect(await runErrors(stack.store, world, run)).toMatchObject([
      { line: 2, message: 'erased', raw: null, customerId: null },
    ]);
    await worker.stop();
  });

  it('sends nothing of somebody who is erased between the look and the writing down, and notes nothing of them', async () => {
    const worker = stack.startWorker();
    const table = await people('overtaken', 3);
    await shop.db.query(`UPDATE ${table} SET email = $1 WHERE id = 2`, [personId(3)]);
    const { connection, received } = await receiver('overtaken');
    const sync = await syncTo('overtaken', connection);
    const locking = await stack.store.db.connect();
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE sync_records IN ACCESS EXCLUSIVE MODE');
    const running = runSync(stack, world, sync);
    await lockWaits(stack.store);
    await insertTombstone(
      stack.store.db,
      world.entity.id,
      stack.store.secrets.customerHash(world.entity.id, 'user_id', personId(3)),
    );
    await locking.query('COMMIT');
    locking.release();
    const { progress } = await running;
    expect(progress).toMatchObject({ read: 3, written: 2, failed: 1 });
    expect(received.flatMap(({ records }) => records.map(({ id }) => id))).toEqual([1, 3]);
    expect(
      (await stack.store.db.query('SELECT FROM sync_records WHERE customer_id = $1', [personId(3)])).rowCount,
    ).toBe(0);
    await worker.stop();
  });

  it('ends the run where the receiver takes nothing like this, and brings all with the next one', async () => {
    const worker = stack.startWorker();
    await people('refusing', 5);
    const bodies: Received[] = [];
    const url = web.serve(
      '/refusing',
      (request, response, nth) =>
        void json(request).then((body) => {
          bodies.push(body as Received);
          response.writeHead(nth === 0 ? 401 : 200).end();
        }),
    );
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'refusing',
      connector: 'webhook',
      settings: { url, secret: SECRET },
    });
    const sync = await syncTo('refusing', connection);
    const { id, state, failure, progress } = await runSync(stack, world, sync);
    expect({ state, read: progress.read }).toEqual({ state: 'failed', read: 0 });
    expect(failure).toEqual({
      status: 'source_refused',
      message: expect.stringMatching(/answered 401 Unauthorized: .*secret/) as string,
    });
    const { rows } = await stack.store.db.query('SELECT FROM sync_batches WHERE run_id = $1', [id]);
    expect(rows).toEqual([]);
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 5, written: 5 });
    expect(bodies.map(({ records }) => records.length)).toEqual([5, 5]);
    await worker.stop();
  });

  it('sends the records that are left where a request of a batch fails or it is killed, and counts each answer as progress', async () => {
    const dying = stack.startWorker({ kill: { boundary: 'sync: answers noted', hit: 1 } });
    await people('resuming', 4);
    const bodies: Received[] = [];
    // It takes one record, and is away before the next one.
    const url = web.serve(
      '/resuming',
      (request, response, nth) =>
        void json(request).then((body) => {
          if (nth % 2 === 0) bodies.push(body as Received);
          response.writeHead(nth % 2 === 0 ? 200 : 503).end();
        }),
    );
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'resuming',
      connector: 'webhook',
      settings: { url, secret: SECRET, batch_records: 1 },
    });
    const run = await askForRun(stack, world, await syncTo('resuming', connection));
    expect((await dying.ended).signal).toBe('SIGKILL');
    const worker = stack.startWorker();
    const waiting = await waitFor('two answers to be written down', async () => {
      const found = (await findRun(stack.store.db, world.entity.id, run))!;
      return found.answered === 2 && found.waitsUntil ? found : null;
    });
    expect(waiting).toMatchObject({ tries: 1, progress: { read: 0 } });
    const shown = await ask<{ progress: number; expected_end_at: string }>(
      stack.app,
      world,
      'GET',
      `/api/sync_runs/${run}`,
    );
    expect(shown.progress).toBeGreaterThan(0);
    expect(Date.parse(shown.expected_end_at)).toBeGreaterThan(Date.now());
    const ended = await runEnded(stack.store, world, run);
    expect(ended).toMatchObject({
      state: 'finished',
      answered: 0,
      tries: 0,
      progress: { read: 4, written: 4, failed: 0 },
    });
    expect(bodies.map(({ records }) => records.map(({ id }) => id))).toEqual([[1], [2], [3], [4]]);
    await worker.stop();
  });

  it('is known to have what a failed run may have brought: receipts name it, and the next run brings the record again', async () => {
    const worker = stack.startWorker();
    const table = await people('failing', 2);
    const person = 'failing-1@example.com';
    const received: Received['records'] = [];
    let takes = 2;
    const url = web.serve(
      '/failing',
      (request, response) =>
        void json(request).then((body) => {
          takes -= 1;
          if (takes >= 0) received.push(...(body as Received).records);
          response.writeHead(takes >= 0 ? 200 : 404).end();
        }),
    );
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'failing',
      connector: 'webhook',
      settings: { url, secret: SECRET, batch_records: 1 },
    });
    const sync = await syncTo('failing', connection, { removes: false });
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', progress: { written: 2 } });
    // The first of two changes arrives, and is taken back: what is known of the record is not what the receiver has.
    await shop.db.query(`UPDATE ${table} SET tariff = 'iron'`);
    takes = 1;
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'failed',
      answered: 0,
      progress: { read: 1, written: 1 },
    });
    await shop.db.query(`UPDATE ${table} SET tariff = 'gold'`);
    takes = 2;
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', progress: { written: 2 } });
    const states = received.filter(({ id }) => id === 1).map((record) => (record as { plan?: string }).plan);
    expect(states).toEqual(['gold', 'iron', 'gold']);
    await shop.db.query(
      `INSERT INTO ${table} VALUES (0, 'failing-0@example.com', 'gold'), (3, 'failing-3@example.com', 'gold')`,
    );
    takes = 1;
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'failed',
      progress: { read: 3, written: 1, unchanged: 2 },
    });
    expect(received.at(-1)!.email).toBe('failing-0@example.com');
    const namedBy = async (id: string) => {
      const request = await requestTreated(stack.store, await askFor(stack, 'delete', world, [id]));
      const {
        receipts: [receipt],
      } = await ask<{ receipts: { copies: object[] }[] }>(
        stack.app,
        world,
        'GET',
        `/api/gdpr/requests/${request.identifier}/receipt`,
      );
      return receipt!.copies.filter((copy) => 'kind' in copy && copy.kind === 'sync');
    };
    const copy = { kind: 'sync', id: sync, state: 'elsewhere', reason: expect.stringContaining(connection) as string };
    for (const id of [person, 'failing-0@example.com'])
      expect(await namedBy(id)).toContainEqual(expect.objectContaining(copy));
    expect(await namedBy('unknown@example.com')).not.toContainEqual(expect.objectContaining(copy));
    await worker.stop();
  });

  it.for(['sync: alert noted', 'sync: alert sent'])(
    'that refuses has a chat alerted, and not again after a kill at "%s": its outcome is unknown',
    async (boundary) => {
      const name = `alerting${boundary.length}`;
      await people(name, 1);
      let alerts = 0;
      const url = web.serve(`/${name}`, (_, response) => response.writeHead(401).end());
      const chat = web.serve(`/${name}/chat`, (_, response) => {
        alerts += 1;
        response.writeHead(200).end();
      });
      const connect = async (body: object) =>
        (await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', body)).identifier;
      const connection = await connect({ name, connector: 'webhook', settings: { url, secret: SECRET } });
      const connections = [await connect({ name: `${name} chat`, connector: 'slack', settings: { url: chat } })];
      const dying = stack.startWorker({ kill: { boundary, hit: 1 } });
      const run = await askForRun(
        stack,
        world,
        await syncTo(name, connection, { alerts: { emails: [], connections } }),
      );
      expect((await dying.ended).signal).toBe('SIGKILL');
      const worker = stack.startWorker();
      const alerted = await waitFor('what came of the alert', async () => {
        const shown = await ask<{ alerted: { state: string }[] }>(stack.app, world, 'GET', `/api/sync_runs/${run}`);
        return shown.alerted[0]?.state === 'sending' ? null : shown.alerted;
      });
      expect(alerted).toEqual([
        {
          connection: connections[0],
          state: 'unknown',
          tries: 1,
          reason: 'the process ended while the alert was on its way',
        },
      ]);
      expect(alerts).toBe(boundary === 'sync: alert sent' ? 1 : 0);
      await worker.stop();
    },
  );

  it.for(['sync: batch written down', 'sync: batch sent', 'sync: before a batch commits'] as const)(
    'sends the very same batch again under its name when it was killed at "%s"',
    async (boundary) => {
      const name = `killed${boundary.length}`;
      await people(name, 12_000);
      const { connection, received } = await receiver(name);
      const sync = await syncTo(name, connection);
      const dying = stack.startWorker({ kill: { boundary, hit: 2 } });
      const run = await askForRun(stack, world, sync);
      expect((await dying.ended).signal).toBe('SIGKILL');
      const before = received.length;
      await shop.db.query(`UPDATE ${shop.table(name)} SET tariff = 'changed'`);
      const worker = stack.startWorker();
      const ended = await runEnded(stack.store, world, run);
      expect(ended).toMatchObject({ state: 'finished', progress: { read: 12_000, written: 12_000, failed: 0 } });
      const byName = Map.groupBy(received, ({ batch_id: id }) => id);
      expect(byName.size).toBe(3);
      for (const [first, ...again] of byName.values()) for (const repeat of again) expect(repeat).toEqual(first);
      // A busy machine misses a worker that lives, too: then another one sends the same once more.
      expect(received.length).toBeGreaterThanOrEqual(boundary === 'sync: batch written down' ? 3 : 4);
      // While a batch is recorded, the next one may be on its way.
      const sent = { 'sync: batch written down': [1], 'sync: batch sent': [2], 'sync: before a batch commits': [2, 3] };
      expect(sent[boundary]).toContain(before);
      expect([...byName.values()].flatMap(([first]) => first!.records)).toHaveLength(12_000);
      await worker.stop();
    },
  );
});

describe('a run that is canceled while a batch is on its way', () => {
  const COUNT = 10_500;

  /** It takes the second batch, and then does what `then` says. */
  async function receiverOfTwo(name: string, then: (response: ServerResponse) => void) {
    const received: Received[] = [];
    const url = web.serve(
      `/${name}`,
      (request, response) =>
        void json(request).then((body) => {
          received.push(body as Received);
          if (received.length === 2) then(response);
          else response.writeHead(200).end();
        }),
    );
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name,
      connector: 'webhook',
      settings: { url, secret: SECRET, batch_records: 5_000 },
    });
    await people(name, COUNT);
    const sync = await syncTo(name, connection, { removes: false, mode: 'incremental', cursor_field: 'id' });
    const run = await askForRun(stack, world, sync);
    await waitFor('the second batch to arrive', async () => received.length === 2);
    const canceled = await ask<{ ended_at: string | null }>(
      stack.app,
      world,
      'POST',
      `/api/syncs/${sync}/runs/${run}/cancel`,
    );
    expect(canceled).toMatchObject({ state: 'canceled', ended_at: null });
    const read = (count: number) =>
      waitFor(`${count} records to be counted`, async () => {
        const found = (await findRun(stack.store.db, world.entity.id, run))!;
        return found.progress.read === count ? found : null;
      });
    return { received, sync, read };
  }

  const idsOf = ({ records }: Received) => [records[0]!.id, records.at(-1)!.id];

  it('tells of each of its records that nobody knows whether it arrived, and does not read them again by itself', async () => {
    const worker = stack.startWorker();
    const { received, sync, read } = await receiverOfTwo('unknowing', () => undefined);
    const canceled = await read(10_000);
    expect(canceled).toMatchObject({
      state: 'canceled',
      endedAt: expect.any(Date) as Date,
      progress: { written: 5_000, failed: 5_000, errorsByType: { DELIVERY_UNKNOWN: 5_000 } },
    });
    const message = expect.stringContaining('whether it arrived is unknown') as string;
    const errors = await runErrors(stack.store, world, canceled);
    expect(errors[0]).toMatchObject({ line: 5_001, customerId: 'unknowing-5001@example.com', message });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 500, written: 500 });
    const path = `/api/syncs/${sync}/runs/${canceled.identifier}/redrive`;
    const { run_id: redrive } = await ask<{ run_id: string }>(stack.app, world, 'POST', path, {});
    expect((await runEnded(stack.store, world, redrive)).progress).toMatchObject({ read: 5_000, written: 5_000 });
    expect(received.slice(0, 3).map(idsOf)).toEqual([
      [1, 5_000],
      [5_001, 10_000],
      [10_001, COUNT],
    ]);
    expect(received.slice(3).flatMap(({ records }) => records.map(({ id }) => id))).toEqual(
      received[1]!.records.map(({ id }) => id),
    );
    await worker.stop();
  });

  it('takes the answer that still comes for what it is', async () => {
    const worker = stack.startWorker();
    const { promise: canceled, resolve: cancel } = Promise.withResolvers<void>();
    const answering = receiverOfTwo('answering', (response) => void canceled.then(() => response.writeHead(200).end()));
    await waitFor('the run to be canceled', async () => {
      const { rows } = await stack.store.db.query(`SELECT FROM sync_runs r JOIN syncs s USING (entity_id)
        WHERE s.id = r.sync_id AND s.stream = 'answering' AND r.state = 'canceled'`);
      return rows.length > 0;
    });
    cancel();
    const { sync, read } = await answering;
    const { progress } = await read(10_000);
    // Where it was too late nobody knows; else it was written. Never is anything of it left out, or counted twice.
    expect(progress.written + progress.failed).toBe(10_000);
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 500, written: 500 });
    await worker.stop();
  });
});

describe('a dry run', () => {
  it('asks another destination whether it has the stream and its fields', async () => {
    const worker = stack.startWorker();
    const table = await people('asking', 3);
    const dryRunTo = async (destination: object, fields: object[] = []) => {
      const sync = await syncTo('asking', shop.connection, {
        destination: { connection: shop.connection, key: ['id'], ...destination },
        mapping: { fields, other_fields: 'keep' },
      });
      const { state, failure } = await runSync(stack, world, sync, {}, 'dry_run');
      return failure?.message ?? state;
    };
    expect(await dryRunTo({ stream: 'askin' })).toBe('The destination has no stream askin: did you mean asking?');
    expect(await dryRunTo({ stream: 'asking' }, [{ from: 'tariff', to: 'tarif' }])).toBe(
      'The stream asking of the destination has no field tarif: did you mean tariff?',
    );
    expect(await dryRunTo({ stream: 'asking', key: ['tariff'] })).toBe(
      'destination.key: asking is not found by tariff: choose id',
    );
    expect(await dryRunTo({ stream: 'asking' })).toBe('finished');
    await shop.db.query(`ALTER TABLE ${table} ADD COLUMN shout text GENERATED ALWAYS AS (upper(tariff)) STORED`);
    expect(await dryRunTo({ stream: 'asking' }, [{ from: 'tariff', to: 'shout' }])).toMatch(
      /^The field shout of asking takes no values, since the destination makes them itself/,
    );
    await worker.stop();
  });
});

describe('Postgres to attributes and back', () => {
  it('gives a table what it had', async () => {
    const worker = stack.startWorker();
    const table = await people('origin', 6_000);
    const copy = shop.table('copy');
    await shop.db.query(
      `CREATE TABLE ${copy} (LIKE ${table} INCLUDING ALL); ALTER TABLE ${copy} OWNER TO ${shop.role}`,
    );
    const sync = await syncTo('origin', shop.connection, {
      destination: { connection: shop.connection, stream: 'copy', key: ['id'] },
      mapping: { customer: { field: 'email' } },
    });
    const copied = async () => (await shop.db.query(`SELECT * FROM ${copy} ORDER BY id`)).rows as unknown;
    const original = async () => (await shop.db.query(`SELECT * FROM ${table} ORDER BY id`)).rows as unknown;
    const first = await runSync(stack, world, sync);
    expect(first.progress).toMatchObject({ read: 6_000, written: 6_000 });
    expect(await copied()).toEqual(await original());
    await shop.db.query(`DELETE FROM ${table} WHERE id > 5000`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1_000, progress: { unchanged: 5_000 } });
    expect(await copied()).toEqual(await original());
    await worker.stop();
  });
});
