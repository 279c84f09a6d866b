import { beforeAll, describe, expect, it } from 'vitest';
import { askFor, insertPeople, leftOf, requestTreated } from '../harness/gdpr.ts';
import { type Answer, httpSource } from '../harness/http-source.ts';
import { lockWaits } from '../harness/lock-waits.ts';
import { personId } from '../harness/people.ts';
import { useStack } from '../harness/stack.ts';
import { ask, askForRun, makeSync, runEnded, runErrors } from '../harness/syncs.ts';
import { makeTrackedWorld, type TrackedWorld } from '../harness/tracked-calls.ts';
import { waitFor } from '../harness/wait.ts';
import { ensurePartitions } from '../../store/event-partitions.ts';
import { findRun } from '../../store/sync-runs.ts';
import { insertTombstone } from '../../store/tombstones.ts';

const stack = useStack();
const web = await httpSource();
let world: TrackedWorld;

beforeAll(async () => {
  stack.startWorker();
  await ensurePartitions(stack.store.db, [new Date('2026-11-05T10:00:00Z')]);
  world = await makeTrackedWorld(stack.store);
});

/** A sync of a file of people, which comes up to the row `until`, and the rest of it once it is let go. */
async function syncOfHeldFile(name: string, people: string[], until: number): Promise<{ sync: string; release(): void }> {
  const lines = ['email,tariff', ...people.map((id) => `${id},silver`)].map((line) => `${line}\n`);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held: Answer = (_, response) => {
    response.writeHead(200, { 'content-length': Buffer.byteLength(lines.join('')) }).write(lines.slice(0, until + 1).join(''));
    void released.then(() => response.end(lines.slice(until + 1).join('')));
  };
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name, connector: 'http-file', settings: { url: web.serve(`/${name}.csv`, held), format: 'csv' },
  });
  const sync = await makeSync(stack, world, {
    source: { connection, stream: `${name}.csv` }, destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
  });
  return { sync, release };
}

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
    await insertTombstone(stack.store.db, world.entity.id, stack.store.secrets.customerHash(world.entity.id, 'user_id', person));
    await locking.query('COMMIT');
    locking.release();
    const ended = await runEnded(stack.store, world, run);
    expect(ended).toMatchObject({ state: 'finished', progress: { read: 2, failed: 1 } });
    const path = `/api/syncs/${sync}/runs/${run}/sample`;
    const { records } = await ask<{ records: object[] }>(stack.app, world, 'GET', path);
    expect(records).toMatchObject([
      { customer_id: 'living', outcome: 'written' }, { customer_id: null, outcome: 'failed', message: 'erased' },
    ]);
    expect(JSON.stringify(records)).not.toContain(person);
    expect(await runErrors(stack.store, world, ended)).toMatchObject([{ line: 2, message: 'erased', customerId: null, raw: null }]);
  });
});
