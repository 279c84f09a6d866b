import { beforeAll, describe, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { listUserDevices, updateTokensGone } from '../../../store/sends/send-targets.ts';
import { updateVerifiedUser, settlePushTokens } from '../../../store/tracking/devices.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import {
  makeTrackedWorld,
  SAMPLE_START,
  sampleCall,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

const ADA = personId(1);
const AHEAD = (Date.now() + 20 * 3_600_000 - SAMPLE_START) / 1_000;

/** Takes in calls of devices under the user's id, each at all of these seconds. */
function tell(devices: readonly string[], seconds: readonly number[], hasToken = true) {
  return takeIn(
    store,
    world,
    devices.flatMap((deviceId) =>
      seconds.map((second) =>
        sampleCall(world, {
          deviceId,
          userId: ADA,
          second,
          context: hasToken ? { pushToken: `token of ${deviceId}` } : {},
        }),
      ),
    ),
  );
}

const madeUp = (kind: string) => Array.from({ length: 100 }, (_, nth) => `${kind} ${nth}`);
const receivers = async () =>
  (await listUserDevices(store.db, world.entity.id, [world.app.id], [ADA])).map(({ deviceId }) => deviceId);

it('made-up devices of one call, or without a push token, push out no device of a person, whatever time they name', async () => {
  await tell(['hers'], [0, 60]);
  await tell(madeUp('of one call'), [AHEAD]);
  expect(await receivers()).toContain('hers');
  await tell(madeUp('without a token'), [AHEAD, AHEAD + 60], false);
  expect(await receivers()).toContain('hers');
  expect(await receivers()).toHaveLength(100);
});

it('a time ahead of its receipt is no later than the receipt', async () => {
  const { rows } = await store.db.query(
    `SELECT count(*) FROM (
       SELECT last_seen_at FROM devices WHERE entity_id = $1
       UNION ALL SELECT last_seen_at FROM device_users WHERE entity_id = $1) AS seen WHERE last_seen_at > now()`,
    [world.entity.id],
  );
  expect(rows).toEqual([{ count: 0 }]);
  // A later call counts, though a clock was ahead before.
  await takeIn(store, world, [sampleCall(world, { deviceId: 'fast', userId: ADA, second: AHEAD })]);
  await takeIn(store, world, [
    sampleCall(world, {
      deviceId: 'fast',
      userId: personId(2),
      happenedAt: Date.now(),
      context: { optOut: true },
    }),
  ]);
  const {
    rows: [fast],
  } = await store.db.query(`SELECT current_user_id, opt_out FROM devices WHERE entity_id = $1 AND device_id = 'fast'`, [
    world.entity.id,
  ]);
  expect(fast).toEqual({ current_user_id: personId(2), opt_out: true });
});

it('a token that its provider found gone before the device sent it again stays', async () => {
  const tokenOf = async (since: Date | null) => {
    await takeIn(store, world, [sampleCall(world, { deviceId: 'again', second: 100, context: { pushToken: 'kept' } })]);
    const gone = { appId: world.app.id, deviceId: 'again', token: 'kept', since };
    await write(store.db, (tx) => updateTokensGone(tx, world.entity.id, [gone]));
    const {
      rows: [row],
    } = await store.db.query(`SELECT push_token FROM devices WHERE entity_id = $1 AND device_id = 'again'`, [
      world.entity.id,
    ]);
    return row as unknown;
  };
  expect(await tokenOf(new Date(SAMPLE_START + 99_000))).toEqual({ push_token: 'kept' });
  expect(await tokenOf(new Date(SAMPLE_START + 101_000))).toEqual({ push_token: null });
  expect(await tokenOf(null)).toEqual({ push_token: null });
});

describe('a push token', () => {
  const says = (deviceId: string, pushToken: string | null, second: number) =>
    sampleCall(world, { deviceId, second, context: { pushToken } });
  const ownersOf = async (token: string) =>
    (
      await store.db.query<{ device_id: string }>(
        'SELECT device_id FROM devices WHERE entity_id = $1 AND push_token = $2',
        [world.entity.id, token],
      )
    ).rows.map((row) => row.device_id);

  it('belongs to the device that sent it last, in whatever order and batches the calls come', async () => {
    await takeIn(store, world, [says('sold', 'T', 10)]);
    await takeIn(store, world, [says('bought', 'T', 20)]);
    expect(await ownersOf('T')).toEqual(['bought']);
    // Late: it was sold by then, and its owner's next token is another.
    await takeIn(store, world, [says('sold', 'T', 15), says('third', null, 16)]);
    expect(await ownersOf('T')).toEqual(['bought']);
    await takeIn(store, world, [says('sold', 'T', 30)]);
    expect(await ownersOf('T')).toEqual(['sold']);
    await takeIn(store, world, [says('sold', 'U', 40), says('late', 'U', 35), says('later', 'U', 45)]);
    expect([await ownersOf('U'), await ownersOf('T')]).toEqual([['later'], []]);
  });

  it('has one device, also of two that send it at once', async () => {
    await Promise.all(
      Array.from({ length: 6 }, (_, nth) =>
        takeIn(store, world, [says(`twin ${nth}`, 'shared', nth), says(`twin ${(nth + 3) % 6}`, 'shared', nth)]),
      ),
    );
    expect(await ownersOf('shared')).toHaveLength(1);
    // If two had it before, the next call leaves one.
    await store.db.query(`UPDATE devices SET push_token = 'shared' WHERE entity_id = $1 AND device_id LIKE 'twin%'`, [
      world.entity.id,
    ]);
    await takeIn(store, world, [says('twin 2', 'shared', 100)]);
    expect(await ownersOf('shared')).toEqual(['twin 2']);
  });

  it('takes few locks, however many a batch brings', async () => {
    const devices = Array.from({ length: 500 }, (_, n) => ({
      appId: world.app.id,
      deviceId: `many ${n}`,
      calls: [says(`many ${n}`, `token ${n}`, n)],
    }));
    const locks = await write(store.db, async (tx) => {
      await settlePushTokens(tx, world.entity.id, devices);
      const { rows } = await tx.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
      );
      return rows[0]!.count;
    });
    expect(locks).toBeGreaterThan(0);
    expect(locks).toBeLessThanOrEqual(16);
  });

  it('of a verified device is taken by a user token alone, where the app requires verified users', async () => {
    const verify = (deviceId: string) =>
      write(store.db, (tx) =>
        updateVerifiedUser(tx, world.entity.id, { appId: world.app.id, deviceId }, ADA, 'vouched'),
      );
    await takeIn(store, world, [says('verified', 'vouched', 10), says('other', null, 10)]);
    expect(await verify('verified')).toBe(true);
    await store.db.query('UPDATE apps SET verified_users = true WHERE entity_id = $1', [world.entity.id]);
    await takeIn(store, world, [
      sampleCall(world, { deviceId: 'other', happenedAt: Date.now(), context: { pushToken: 'vouched' } }),
    ]);
    expect(await ownersOf('vouched')).toEqual(['verified']);
    expect(await verify('other')).toBe(true);
    expect(await ownersOf('vouched')).toEqual(['other']);
    await store.db.query('UPDATE apps SET verified_users = false WHERE entity_id = $1', [world.entity.id]);
    await takeIn(store, world, [
      sampleCall(world, { deviceId: 'verified', happenedAt: Date.now(), context: { pushToken: 'vouched' } }),
    ]);
    expect(await ownersOf('vouched')).toEqual(['verified']);
  });
});
