import { beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../store/core/database.ts';
import { ensurePartitions, ensurePartitionsAhead } from '../../../store/tracking/event-partitions.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';

let store: TestStore;

beforeEach(async () => {
  store = await testStore();
});

/** The partitions there are, by name, each with its bounds. */
async function partitions(): Promise<Record<string, string>> {
  const { rows } = await store.db.query<{ name: string; bounds: string }>(
    `SELECT relname AS name, pg_get_expr(relpartbound, oid) AS bounds FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, bounds }) => [name, bounds]));
}

/** One more pool, as another server has one. */
function anotherServer() {
  const db = openDatabase({ url: store.url, name: 'another' });
  onFileEnd(() => db.end());
  return db;
}

async function insertEvent(happenedAt: string): Promise<void> {
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, name) VALUES (1, 1, $1, 2, 'Opened')`,
    [happenedAt],
  );
}

describe('partitions', () => {
  it("are made for each month asked for, from its first moment in UTC to the next month's", async () => {
    await ensurePartitions(store.db, [
      new Date('2026-11-30T23:59:59.999Z'),
      Date.UTC(2026, 11, 1),
      new Date('2026-12-31T23:59:59Z'),
    ]);
    const found = await partitions();
    expect(Object.keys(found)).toEqual([
      'events_2026_11',
      'events_2026_12',
      'locations_2026_11',
      'locations_2026_12',
      'sessions_2026_11',
      'sessions_2026_12',
    ]);
    expect(found['events_2026_12']).toBe(`FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00')`);
    await insertEvent('2026-11-30T23:59:59.999999Z');
    await insertEvent('2026-12-31T23:59:59Z');
    await expect(insertEvent('2027-01-01T00:00:00Z')).rejects.toThrow(/no partition/);
  });

  it('have each index and key of their table, and none besides', async () => {
    await ensurePartitions(store.db, [Date.UTC(2026, 10)]);
    const indexes = async (table: string) => {
      const { rows } = await store.db.query<{ definition: string }>(
        `SELECT regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '') AS definition FROM pg_index
         WHERE indrelid = $1::regclass ORDER BY 1`,
        [table],
      );
      return rows;
    };
    for (const table of ['events', 'sessions', 'locations'])
      expect(await indexes(`${table}_2026_11`)).toEqual(await indexes(table));
    const { rows } = await store.db.query<{ attached: number; all: number }>(
      `SELECT count(*) FILTER (WHERE c.relispartition) AS attached, count(*) AS all FROM pg_index i
       JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'events_2026_11'::regclass`,
    );
    expect(rows[0]!.attached).toBe(rows[0]!.all);
  });

  it('are made once where many servers want them at the same time', async () => {
    const servers = [store.db, anotherServer(), anotherServer()];
    const months = [Date.UTC(2026, 0), Date.UTC(2026, 1), Date.UTC(2026, 2)];
    await Promise.all(
      servers.flatMap((db) => [ensurePartitions(db, months), ensurePartitions(db, months.toReversed())]),
    );
    expect(Object.keys(await partitions())).toHaveLength(9);
  });

  it('are made while rows are being written to other months, without waiting for them', async () => {
    await ensurePartitions(store.db, [Date.UTC(2026, 10)]);
    const tx = await store.db.connect();
    try {
      await tx.query('BEGIN');
      await tx.query(
        `INSERT INTO events (entity_id, app_id, happened_at, log_type, name) VALUES (1, 1, '2026-11-03', 2, 'Opened')`,
      );
      await ensurePartitions(store.db, [Date.UTC(2026, 11)]);
      await tx.query('COMMIT');
    } finally {
      tx.release();
    }
    expect(Object.keys(await partitions())).toContain('events_2026_12');
  });

  it('of this month and the next two are there before anyone asks for them', async () => {
    await ensurePartitionsAhead(store.db, new Date('2026-11-30T23:59:59Z'));
    const found = Object.keys(await partitions());
    expect(found.filter((name) => name.startsWith('events'))).toEqual([
      'events_2026_11',
      'events_2026_12',
      'events_2027_01',
    ]);
  });

  it('are looked for once a month, and again where another server may have dropped them', async () => {
    const [recent, old] = [Date.now(), Date.UTC(2020, 0)];
    await ensurePartitions(store.db, [recent, old]);
    await anotherServer().query('DROP TABLE events_2020_01');
    await ensurePartitions(store.db, [recent, old]);
    await insertEvent('2020-01-15T00:00:00Z');
    let asked = 0;
    store.db.on('acquire', () => {
      asked += 1;
    });
    await ensurePartitions(store.db, [recent]);
    expect(asked).toBe(0);
    await ensurePartitions(store.db, [old]);
    expect(asked).toBe(1);
  });
});
