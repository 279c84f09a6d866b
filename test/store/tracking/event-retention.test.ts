import { beforeEach, describe, expect, it } from 'vitest';
import { insertEntity } from '../../../store/accounts/entities.ts';
import { write } from '../../../store/core/database.ts';
import { ensurePartitions, keepRetention } from '../../../store/tracking/event-partitions.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { sampleActivity, sampleApp } from '../../harness/tracking/sdk-samples.ts';

/** Retention looks at all entities of a database, so each test has one of its own. */
let store: TestStore;

beforeEach(async () => {
  store = await testStore();
});

const always = () => true;
const keep = (now: string, isTimeLeft = always) => keepRetention(store.db, new Date(now), isTimeLeft);

type Keeper = { entityId: number; appId: number };

/** An entity that keeps what SDKs send for so many months, with an app. */
function keeper(months: number): Promise<Keeper> {
  return write(store.db, async (tx) => {
    const { id } = await insertEntity(tx, store.secrets, `Keeps ${months}`, { dataRetentionInMonths: months });
    return { entityId: id, appId: await sampleApp(tx, id) };
  });
}

async function activity(
  { entityId, appId }: Keeper,
  at: string,
  who: { deviceId: string | null; userId: string | null },
): Promise<void> {
  await ensurePartitions(store.db, [new Date(at)]);
  await write(store.db, (tx) =>
    sampleActivity(tx, entityId, { appId, at: new Date(at), ...who, title: `crash at ${at}` }),
  );
}

/** How many rows each table has of the entity; those without are left out. */
async function rowsOf({ entityId }: Keeper): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of [
    'events',
    'sessions',
    'locations',
    'session_heads',
    'devices',
    'device_users',
    'user_aliases',
    'crashes',
  ]) {
    const { rows } = await store.db.query<{ count: number }>(`SELECT count(*) FROM ${table} WHERE entity_id = $1`, [
      entityId,
    ]);
    if (rows[0]!.count > 0) counts[table] = rows[0]!.count;
  }
  return counts;
}

async function monthsOfEvents(): Promise<string[]> {
  const { rows } = await store.db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE inhparent = 'events'::regclass ORDER BY 1`,
  );
  return rows.map(({ name }) => name.slice('events_'.length));
}

const ALL = { events: 1, sessions: 1, locations: 1, session_heads: 1, devices: 1, device_users: 1, crashes: 1 };

describe('two entities of which one keeps for 3 months and one for 24', () => {
  it('share the partition of a month until the second needs it no more; rows of the first go after 3 months, to the day', async () => {
    const [short, long] = [await keeper(3), await keeper(24)];
    for (const each of [short, long]) await activity(each, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });

    await keep('2026-04-15T23:00:00Z');
    expect([await rowsOf(short), await rowsOf(long)]).toEqual([ALL, ALL]);
    await keep('2026-04-16T00:00:00Z');
    expect([await rowsOf(short), await rowsOf(long)]).toEqual([{}, ALL]);
    expect(await monthsOfEvents()).toEqual(['2026_01']);

    // The month ends with January; the day more leaves room for what is being taken in.
    await keep('2028-02-01T23:59:00Z');
    expect(await monthsOfEvents()).toEqual(['2026_01']);
    await keep('2028-02-02T00:00:00Z');
    expect([await monthsOfEvents(), await rowsOf(long)]).toEqual([[], {}]);
  });

  it('keep a partition also where the one that keeps longer has nothing in it', async () => {
    const short = await keeper(3);
    await keeper(24);
    await activity(short, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    await keep('2027-01-01T00:00:00Z');
    expect([await monthsOfEvents(), await rowsOf(short)]).toEqual([['2026_01'], {}]);
  });

  it('lose nothing of what is younger, and find it in a month whose partition was dropped before', async () => {
    const [short, long] = [await keeper(3), await keeper(24)];
    await activity(short, '2020-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    await keep('2026-04-16T12:00:00Z');
    expect([await monthsOfEvents(), await rowsOf(short)]).toEqual([[], {}]);
    for (const at of ['2026-01-15T23:59:59.999Z', '2026-01-16T00:00:00Z']) {
      await activity(short, at, { deviceId: at, userId: at });
      await activity(long, at, { deviceId: at, userId: at });
    }
    await keep('2026-04-16T12:00:00Z');
    await keep('2026-04-17T12:00:00Z');
    expect((await rowsOf(short))['events']).toBeUndefined();
    expect((await rowsOf(long))['events']).toBe(2);
    await activity(short, '2020-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    expect((await rowsOf(short))['events']).toBe(1);
  });
});

describe('an entity whose retention', () => {
  it('becomes shorter loses what is older at the next pass', async () => {
    const [changed] = [await keeper(24), await keeper(25)];
    await activity(changed, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    await keep('2026-06-01T12:00:00Z');
    expect(await rowsOf(changed)).toEqual(ALL);
    await store.db.query('UPDATE entities SET data_retention_in_months = 2 WHERE id = $1', [changed.entityId]);
    await keep('2026-06-01T12:00:10Z');
    expect(await rowsOf(changed)).toEqual({});
  });

  it('has much to delete does so over as many passes as it needs, each as long as it has time', async () => {
    const [short] = [await keeper(3), await keeper(24)];
    await ensurePartitions(store.db, [new Date('2026-01-15')]);
    await store.db.query(
      `INSERT INTO events (entity_id, app_id, happened_at, log_type, name)
       SELECT $1, $2, '2026-01-15'::timestamptz + make_interval(secs => n / 7), 2, 'Opened' FROM generate_series(1, 12000) AS n`,
      [short.entityId, short.appId],
    );
    const left: (number | undefined)[] = [];
    for (let pass = 0; pass < 2; pass += 1) {
      let transactions = 0;
      await keep('2026-06-01T12:00:00Z', () => {
        transactions += 1;
        return transactions <= 5;
      }); // four look at what goes by age
      left.push((await rowsOf(short))['events']);
    }
    await keep('2026-06-01T12:00:00Z');
    expect([...left, await rowsOf(short)]).toEqual([7_000, 2_000, {}]);
  });

  it('has many devices that stay is cleared of the old ones among them, also by passes that each see a part', async () => {
    const only = await keeper(3);
    const insertDevices = (name: string, many: number, seen: string) =>
      store.db.query(
        `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at)
       SELECT $1, $2, $3 || n, $4, $4 FROM generate_series(1, $5) AS n`,
        [only.entityId, only.appId, name, seen, many],
      );
    await insertDevices('a', 12_000, '2026-05-30T12:00:00Z');
    await insertDevices('z', 1, '2026-01-15T12:00:00Z');
    for (let pass = 0; pass < 8; pass += 1) {
      let transactions = 0;
      await keep('2026-06-01T12:00:00Z', () => {
        transactions += 1;
        return transactions <= 5;
      }); // three look at what goes by age
    }
    expect(await rowsOf(only)).toEqual({ devices: 12_000 });
    // The next day begins anew.
    await store.db.query(`UPDATE devices SET last_seen_at = '2026-03-02' WHERE device_id = 'a1'`);
    await keep('2026-06-03T12:00:00Z');
    expect(await rowsOf(only)).toEqual({ devices: 11_999 });
  });

  it('is the longest keeps its rows as long as their month, and what is remembered of devices to the day', async () => {
    const only = await keeper(3);
    await activity(only, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    await keep('2026-04-20T00:00:00Z');
    expect(await rowsOf(only)).toEqual({ events: 1, sessions: 1, locations: 1, crashes: 1 });
    await keep('2026-05-02T00:00:00Z');
    expect(await rowsOf(only)).toEqual({});
  });
});

describe('what is remembered of devices and users', () => {
  it('stays while they are seen, and with it who used a device last', async () => {
    const only = await keeper(3);
    await activity(only, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'first' });
    await activity(only, '2026-01-16T13:00:00Z', { deviceId: 'd', userId: 'last' });
    await activity(only, '2026-06-15T13:00:00Z', { deviceId: 'd', userId: null });
    await keep('2026-07-01T12:00:00Z');
    expect(await rowsOf(only)).toMatchObject({ devices: 1, session_heads: 1, device_users: 1 });
    const { rows } = await store.db.query('SELECT user_id FROM device_users');
    expect(rows).toEqual([{ user_id: 'last' }]);
  });

  it('stays while an id that only it links to the person has values', async () => {
    const only = await keeper(3);
    await activity(only, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, previous_id, user_id, first_seen_at)
       VALUES ($1, 'old', 'u', '2026-01-15'), ($1, 'older', 'u', '2026-01-15')`,
      [only.entityId],
    );
    await store.db.query(
      `INSERT INTO customers (entity_id, customer_type, customer_id) VALUES ($1, 1, 'd'), ($1, 0, 'old')`,
      [only.entityId],
    );
    await keep('2026-07-01T12:00:00Z');
    expect(await rowsOf(only)).toEqual({ device_users: 1, user_aliases: 1 });
    await store.db.query('DELETE FROM customers');
    await keep('2026-07-02T12:00:00Z');
    expect(await rowsOf(only)).toEqual({});
  });
});

it('message ids go after 90 days, refused calls after 30, counts of batches after 400, the last calls after an hour', async () => {
  const { entityId } = await keeper(24);
  const days = [29, 31, 89, 91, 399, 401];
  for (const day of days) {
    const at = new Date(Date.UTC(2026, 0) - day * 86_400_000);
    await store.db.query(
      'INSERT INTO event_messages (entity_id, app_id, message_hash, received_at) VALUES ($1, 1, $2, $3)',
      [entityId, Buffer.from([day % 256]), at],
    );
    await store.db.query(
      `INSERT INTO refused_calls (entity_id, index, code, message, received_at) VALUES ($1, 0, 'nobody', 'x', $2)`,
      [entityId, at],
    );
    await store.db.query(
      'INSERT INTO ingested_batches (entity_id, accepted, duplicates, refused, received_at) VALUES ($1, 1, 0, 0, $2)',
      [entityId, at],
    );
  }
  for (const at of ['2025-12-31T22:59:00Z', '2025-12-31T23:01:00Z']) {
    await store.db.query(
      `INSERT INTO live_calls (entity_id, received_at, outcome, call) VALUES ($1, $2, 'accepted', '{}')`,
      [entityId, at],
    );
  }
  await keep('2026-01-01T00:00:00Z');
  for (const [table, left] of [
    ['event_messages', 3],
    ['refused_calls', 1],
    ['ingested_batches', 5],
    ['live_calls', 1],
  ] as const) {
    const { rows } = await store.db.query<{ count: number }>(`SELECT count(*) FROM ${table}`);
    expect([table, rows[0]!.count]).toEqual([table, left]);
  }
});

describe('while a partition is due', () => {
  const DUE = '2026-05-02T00:00:00Z';

  /** A transaction that has used events, and ends with the file. */
  async function openTransaction() {
    const tx = await store.db.connect();
    onFileEnd(async () => tx.release());
    await tx.query('BEGIN');
    await tx.query('SELECT count(*) FROM events');
    return tx;
  }

  it('whoever uses the table goes on, and so do those who come after; the next pass drops it', async () => {
    const only = await keeper(3);
    await activity(only, '2026-01-15T13:00:00Z', { deviceId: 'd', userId: 'u' });
    const tx = await openTransaction();
    const pass = keep(DUE);
    await activity(only, '2026-05-01T13:00:00Z', { deviceId: 'd', userId: 'u' });
    await pass;
    expect(await monthsOfEvents()).toEqual(['2026_01', '2026_05']);
    await tx.query('COMMIT');
    await keep(DUE);
    expect(await monthsOfEvents()).toEqual(['2026_05']);
  });

  it('events come in all the time', async () => {
    const only = await keeper(3);
    const months = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2020, month)));
    await ensurePartitions(store.db, months);
    await ensurePartitions(store.db, [new Date(DUE)]);
    let isDropped = false;
    let taken = 0;
    const comeIn = async (lane: number) => {
      for (; !isDropped; taken += 1) {
        const activityNow = { appId: only.appId, at: new Date(DUE), deviceId: `d${lane}`, userId: null };
        await write(store.db, (tx) => sampleActivity(tx, only.entityId, activityNow));
      }
    };
    const lanes = [comeIn(1), comeIn(2), comeIn(3)];
    while ((await monthsOfEvents()).length > 1) await keep(DUE);
    isDropped = true;
    await Promise.all(lanes);
    expect(taken).toBeGreaterThan(0);
    expect((await rowsOf(only))['events']).toBe(taken);
  });
});
