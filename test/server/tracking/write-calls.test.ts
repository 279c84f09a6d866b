import { expect, test } from 'vitest';
import { callWriter } from '../../../server/tracking/write-calls.ts';
import { openDatabase } from '../../../store/core/database.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore } from '../../harness/core/database.ts';
import { makeTrackedWorld, sampleCall, takeIn } from '../../harness/tracking/tracked-calls.ts';

test('requests that wait together for a database that does not answer fail together, and are taken in afterwards', async () => {
  const store = await testStore();
  const world = await makeTrackedWorld(store);
  await takeIn(store, world, [sampleCall(world, { deviceId: 'before' })]);
  const hasty = openDatabase({
    url: `${store.url}?options=${encodeURIComponent('-c transaction_timeout=3000 -c timezone=UTC')}`,
  });
  onFileEnd(() => hasty.end());
  // Each transaction that runs out of time takes its session with it.
  let sessions = 0;
  hasty.on('connect', () => {
    sessions += 1;
  });
  const intake = callWriter(hasty, store.secrets);
  const send = () =>
    Promise.allSettled(
      Array.from({ length: 20 }, (_, at) =>
        intake(world.entity.id, { calls: [sampleCall(world, { deviceId: `d${at}` })], refused: [] }),
      ),
    );
  const holder = await store.db.connect();
  await holder.query('BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE');
  const held = await send();
  await holder.query('ROLLBACK');
  holder.release();
  expect(held.map(({ status }) => status)).toEqual(held.map(() => 'rejected'));
  expect(sessions).toBeLessThan(10);
  expect((await send()).map(({ status }) => status)).toEqual(held.map(() => 'fulfilled'));
});
