import { beforeAll, describe, expect, it } from 'vitest';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { type Answer, httpSource } from '../../harness/core/http-source.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { askFor, insertPeople, leftOf, requestTreated } from '../../harness/gdpr/gdpr.ts';
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
import { makeTrackedWorld, type TrackedWorld } from '../../harness/tracking/tracked-calls.ts';

const stack = useStack();
const web = await httpSource();
let world: TrackedWorld;
let shop: Shop;

beforeAll(async () => {
  stack.startWorker();
  await ensurePartitions(stack.store.db, [new Date('2026-11-05T10:00:00Z')]);
  world = await makeTrackedWorld(stack.store);
  shop = await openShop(stack, world);
});

/** A sync of a file of people, which comes up to the row `until`, and the rest of it once it is let go. */
async function syncOfHeldFile(
  name: string,
  people: string[],
  until: number,
): Promise<{ sync: string; release(): void }> {
  const lines = ['email,tariff', ...people.map((id) => `${id},silver`)].map((line) => `${line}\n`);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held: Answer = (_, response) => {
    response
      .writeHead(200, { 'content-length': Buffer.byteLength(lines.join('')) })
      .write(lines.slice(0, until + 1).join(''));
    void released.then(() => response.end(lines.slice(until + 1).join('')));
  };
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name,
    connector: 'http-file',
    settings: { url: web.serve(`/${name}.csv`, held), format: 'csv' },
  });
  const sync = await makeSync(stack, world, {
    source: { connection, stream: `${name}.csv` },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
  });
  return { sync, release };
}

const bury = (person: string) =>
  insertTombstone(
    stack.store.db,
    world.entity.id,
    stack.store.secrets.customerHash(world.entity.id, 'user_id', person),
  );
const runOf = async (run: string) => (await findRun(stack.store.db, world.entity.id, run))!;

describe('somebody who is erased while a sync has read them', () => {
  it('is not brought back, and the run tells of them by their hash only', async () => {
    const people = Array.from({ length: 7_000 }, (_, n) => `held-${n}`);
    const [batched, held] = [personId(90_001), personId(90_002)];
    people[10] = batched;
    people[5_500] = held;
    await insertPeople(stack.store, world, [batched, held]);
    const { sync, release } = await syncOfHeldFile('held', people, 6_000);
    const run = await askForRun(stack, world, sync);
    await waitFor('a batch', async () => (await runOf(run)).progress.read === 5_000);
    const { survivors } = await requestTreated(stack.store, await askFor(stack, 'delete', world, [batched, held]));
    expect(survivors).toEqual({});
    release();
    const ended = await runEnded(stack.store, world, run);
    expect(ended).toMatchObject({ state: 'finished', progress: { read: 7_000, written: 6_999, failed: 1 } });
    expect(await runErrors(stack.store, world, ended)).toMatchObject([
      { line: 5_501, message: 'erased', customerId: null, raw: null, customerHash: expect.any(Buffer) as Buffer },
    ]);
    expect(await leftOf(stack.store, world.entity.id, [batched, held])).toEqual({});
  });

  it('is not told of by a dry run that had looked at them', async () => {
    const person = personId(90_003);
    const { sync, release } = await syncOfHeldFile('looked-at', ['living', person], 0);
    const run = await askForRun(stack, world, sync, {}, 'dry_run');
    await waitFor('the file to be read', async () => web.asked.some(({ path }) => path === '/looked-at.csv'));
    const locking = await stack.store.db.connect();
    await locking.query('BEGIN');
    // These it reads once it has found that nobody was erased.
    await locking.query('LOCK TABLE attribute_values IN ACCESS EXCLUSIVE MODE');
    release();
    await lockWaits(stack.store);
    await bury(person);
    await locking.query('COMMIT');
    locking.release();
    const ended = await runEnded(stack.store, world, run);
    expect(ended).toMatchObject({ state: 'finished', progress: { read: 2, failed: 1 } });
    const path = `/api/syncs/${sync}/runs/${run}/sample`;
    const { records } = await ask<{ records: object[] }>(stack.app, world, 'GET', path);
    expect(records).toMatchObject([
      { customer_id: 'living', outcome: 'written' },
      { customer_id: null, outcome: 'failed', message: 'erased' },
    ]);
    expect(JSON.stringify(records)).not.toContain(person);
    expect(await runErrors(stack.store, world, ended)).toMatchObject([
      { line: 2, message: 'erased', customerId: null, raw: null },
    ]);
  });
});

describe('somebody who was erased, and whom the source still has, last of all', () => {
  /** A table of so many people and, behind them, of `last`, whose place in the order names them. */
  async function table(name: string, count: number, last: string): Promise<string> {
    const quoted = shop.table(name);
    await shop.db.query(`CREATE TABLE ${quoted} (email text PRIMARY KEY, tariff text, changed_at timestamptz);
      ALTER TABLE ${quoted} OWNER TO ${shop.role};
      INSERT INTO ${quoted} SELECT '${name}-' || n, 'gold', '2026-01-01'::timestamptz + make_interval(secs => n)
        FROM generate_series(1, ${count}) n;
      INSERT INTO ${quoted} VALUES ('${last}', 'gold', '2026-02-01')`);
    return quoted;
  }

  /** All that is kept of how far a sync and its runs have read, and whether the sync has a place. */
  async function places(sync: string): Promise<{ text: string; hasPlace: boolean }> {
    const { rows } = await stack.store.db.query<{ cursor: string | null }>(
      `SELECT s.cursor, r.position, r.cursor_before, r.sample, b.batch, p.position AS pinned
       FROM syncs s JOIN sync_runs r ON r.sync_id = s.id
       LEFT JOIN sync_batches b ON b.run_id = r.id LEFT JOIN sync_pinned_batches p ON p.run_id = r.id
       WHERE s.entity_id = $1 AND s.identifier = $2`,
      [world.entity.id, sync],
    );
    expect(rows.length).toBeGreaterThan(0);
    return { text: JSON.stringify(rows), hasPlace: rows[0]!.cursor !== null };
  }

  async function webhook(name: string): Promise<string> {
    const url = web.serve(`/${name}`, (request, response) => {
      request.resume().on('end', () => response.writeHead(200).end());
    });
    return (
      await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
        name,
        connector: 'webhook',
        settings: { url, secret: 'secret of 32 bytes for the tests..' },
      })
    ).identifier;
  }

  const toSor = async () => ({
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
  });
  const outside = async (name: string, key = ['email']) => ({
    destination: { connection: await webhook(name), stream: 'people', key },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'email' }, { from: 'tariff', to: 'plan' }] },
  });

  it.each([
    ['few people', 'few', 3, toSor],
    ['many people, who are pinned', 'many', 4_500, toSor],
    ['people sent elsewhere', 'sent', 3, outside],
  ] as const)(
    'is named by no place of a sync of %s, which goes on once there is somebody behind them',
    async (_, name, count, way) => {
      const erased = personId(91_000 + count + name.length);
      await bury(erased);
      const rows = await table(name, count, erased);
      const sync = await makeSync(stack, world, {
        source: { connection: shop.connection, stream: name },
        mode: 'incremental',
        cursor_field: 'changed_at',
        ...(await way(name)),
      });
      const dry = await runSync(stack, world, sync, { records: count + 1 }, 'dry_run');
      expect(dry).toMatchObject({ state: 'finished', progress: { read: count + 1, failed: 1 } });
      expect((await places(sync)).text).not.toContain(erased);
      expect(await runSync(stack, world, sync)).toMatchObject({
        state: 'finished',
        progress: { read: count + 1, written: count, failed: 1, errorsByType: { INVALID_CUSTOMER_ID: 1 } },
      });
      expect((await places(sync)).text).not.toContain(erased);
      expect(await runSync(stack, world, sync)).toMatchObject({
        state: 'finished',
        progress: { written: 0, failed: 1 },
      });
      await shop.db.query(`INSERT INTO ${rows} VALUES ('${name}-new', 'gold', '2026-02-02')`);
      expect(await runSync(stack, world, sync)).toMatchObject({
        state: 'finished',
        progress: { written: 1, failed: 1 },
      });
      expect(await places(sync)).toEqual({ text: expect.not.stringContaining(erased) as string, hasPlace: true });
      expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 0 });
    },
  );

  it('has nobody sent twice where no key names records', async () => {
    const erased = personId(91_100);
    await bury(erased);
    await table('keyless', 3, erased);
    const sync = await makeSync(stack, world, {
      source: { connection: shop.connection, stream: 'keyless' },
      mode: 'incremental',
      cursor_field: 'changed_at',
      ...(await outside('keyless', [])),
    });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 4, written: 3, failed: 1 });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 0 });
  });
});
