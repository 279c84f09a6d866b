import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Tx, write } from '../../../store/core/database.ts';
import { findKnownRecords, upsertRecords } from '../../../store/syncs/sync-records.ts';
import { testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';

const ENTITY = 1;
const SYNC = { syncId: 7, runId: 3 };
const COUNT = 20_000;
const keys = Array.from({ length: 1_000 }, (_, index) => personId(index * 2));
let store: TestStore;

beforeAll(async () => {
  store = await testStore();
  await store.db.query('ALTER TABLE sync_records SET (autovacuum_enabled = off)');
  const people = Array.from({ length: COUNT }, (_, index) => ({
    key: personId(index),
    customerId: null,
    checksum: '01',
  }));
  await write(store.db, (tx) => upsertRecords(tx, ENTITY, { ...SYNC, isSeen: false }, people));
});

type Scans = { whole: number; keyed: number };

async function scansIn(db: Pick<Tx, 'query'>, view: string): Promise<Scans> {
  const { rows } = await db.query<Scans>(
    `SELECT seq_scan AS whole, idx_scan AS keyed FROM ${view} WHERE relname = 'sync_records'`,
  );
  return rows[0]!;
}

describe.each(['before', 'after'])('%s anybody has counted the records of syncs', (when) => {
  beforeAll(async () => {
    if (when === 'after') await vacuum(store.db, 'sync_records');
  });

  it('those of a batch are looked up by their keys', async () => {
    const scans = () => scansIn(store.db, 'pg_stat_user_tables');
    const before = await scans();
    const db = openDatabase({ url: store.url, max: 1 }); // one session, which tells of its scans when it ends
    const known = await findKnownRecords(db, ENTITY, SYNC.syncId, [...keys, 'nobody']);
    await db.end();
    expect([...known.keys()].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(keys.toSorted((a, b) => (a < b ? -1 : 1)));
    const after = await waitFor('the statistics of the session', async () => {
      const now = await scans();
      return now.keyed > before.keyed && now;
    });
    expect(after.whole).toBe(before.whole);
  });

  it('those that were seen are marked by their keys', async () => {
    await write(store.db, async (tx) => {
      const before = await scansIn(tx, 'pg_stat_xact_user_tables');
      await upsertRecords(tx, ENTITY, { ...SYNC, isSeen: true }, [], { seen: keys.map((key) => ({ key })) });
      expect((await scansIn(tx, 'pg_stat_xact_user_tables')).whole).toBe(before.whole);
      await tx.query('UPDATE sync_records SET seen_by = NULL');
      // Otherwise the statistics of this whole scan may come while the next test counts.
      await tx.query('SELECT pg_stat_force_next_flush()');
    });
  });
});
