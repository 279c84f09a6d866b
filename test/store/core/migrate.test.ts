import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { countTracked } from '../../../store/analytics/tracked-lists.ts';
import type { Database } from '../../../store/core/database.ts';
import { migrate } from '../../../store/core/migrate.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { emptyDatabase } from '../../harness/core/database.ts';

const FOLDER = new URL('../../../store/migrations/', import.meta.url);
const files = (await readdir(FOLDER)).toSorted();

/** As the release before this migration left it, with one entity, whose id is 1. */
async function databaseBefore(migration: string): Promise<Database> {
  const db = await emptyDatabase();
  await db.query(
    'CREATE TABLE schema_migrations (file text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
  );
  for (const file of files.filter((name) => name < migration)) {
    await db.query(await readFile(new URL(file, FOLDER), 'utf8'));
    await db.query('INSERT INTO schema_migrations (file) VALUES ($1)', [file]);
  }
  await db.query(
    `INSERT INTO entities (identifier, name, qa_api_key, prod_api_key) VALUES ('ent_1', 'One', 'sealed', 'sealed')`,
  );
  return db;
}

type Asked = { state: string; source: string; userId: string | null; deviceId: string | null; subject?: Buffer };

/** Each a request for one person. */
async function insertRequests(db: Database, requests: Asked[]): Promise<void> {
  for (const [index, { state, source, userId, deviceId, subject }] of requests.entries()) {
    const {
      rows: [request],
    } = await db.query<{ id: string }>(
      `
      INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, requester_kind, state)
      VALUES (1, $1, 'delete', $2, $3, $4) RETURNING id`,
      [`gdpr_${index}`, source, source === 'sdk' ? 'device' : 'user', state],
    );
    await db.query(
      `
      INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, user_id, device_id, subject) VALUES (1, $1, 1, $2, $3, $4)`,
      [request!.id, userId, deviceId, subject ?? null],
    );
  }
}

describe('a database of an earlier release', () => {
  it('has of requests from devices those that have not begun cover the device alone, and no other', async () => {
    const db = await databaseBefore('0023');
    const fromDevice = { source: 'sdk', userId: 'ann', deviceId: 'phone' };
    await insertRequests(db, [
      { ...fromDevice, state: 'waiting' },
      { ...fromDevice, state: 'accepted' },
      { ...fromDevice, state: 'accepted', subject: Buffer.from('hash') }, // its person was gathered: it has begun
      { ...fromDevice, state: 'running' },
      { ...fromDevice, state: 'treated' },
      { ...fromDevice, state: 'accepted', source: 'api', deviceId: null },
    ]);
    await migrate(db);
    const { rows } = await db.query<{ userId: string | null }>(
      'SELECT user_id "userId" FROM gdpr_request_people ORDER BY request_id',
    );
    expect(rows.map(({ userId }) => userId)).toEqual([null, null, 'ann', 'ann', 'ann', 'ann']);
  });

  it("has those aliases count whose earlier id was used on no device but the user's", async () => {
    const db = await databaseBefore('0024');
    await db.query(`INSERT INTO user_aliases (entity_id, previous_id, user_id) VALUES
      (1, 'unknown', 'ann'), (1, 'on her phone', 'ann'), (1, 'on another phone, too', 'ann')`);
    await db.query(`INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES
      (1, 1, 'hers', 'ann', now()), (1, 1, 'hers', 'on her phone', now()),
      (1, 1, 'hers', 'on another phone, too', now()), (1, 1, 'other', 'on another phone, too', now())`);
    await migrate(db);
    const { rows } = await db.query('SELECT previous_id FROM user_aliases WHERE witnessed ORDER BY previous_id');
    expect(rows).toEqual([{ previous_id: 'on her phone' }, { previous_id: 'unknown' }]);
  });
});

describe('a database with refused rows of an earlier release', () => {
  it('has those of erased people settled, and no other for what its message says', async () => {
    const db = await databaseBefore('0245');
    const insert = (line: number, message: string, raw: string | null, hash: Buffer | null) =>
      db.query(
        `INSERT INTO import_errors (entity_id, import_id, line, error_type, outcome, stage, message, raw, customer_hash)
       VALUES (1, 1, $1, 'DELIVERY_FAILED', 'failed', 'merge', $2, $3, $4)`,
        [line, message, raw, hash],
      );
    await insert(1, 'erased', null, Buffer.alloc(32));
    await insert(2, 'erased', '', null);
    await insert(3, 'erased', '{"id":1}', null);
    await insert(4, 'is no number', null, null);
    const pinned = [
      { kind: 'malformed', raw: '', message: 'erased' },
      { kind: 'record', record: { raw: '', message: 'erased' } },
    ];
    await db.query(
      `INSERT INTO sync_pinned_batches (entity_id, run_id, number, records_before, items) VALUES (1, 1, 1, 0, $1)`,
      [JSON.stringify(pinned)],
    );
    await migrate(db);
    const { rows } = await db.query<{ line: number }>('SELECT line FROM import_errors WHERE is_erased ORDER BY line');
    expect(rows.map(({ line }) => line)).toEqual([1, 2]);
    const {
      rows: [batch],
    } = await db.query<{ items: string }>('SELECT items FROM sync_pinned_batches');
    expect(JSON.parse(batch!.items)).toEqual([{ ...pinned[0], isErased: true }, pinned[1]]);
  });
});

describe('a database with events of an earlier release', () => {
  it('has them counted by UTC day', async () => {
    const db = await databaseBefore('0044');
    await ensurePartitions(db, [Date.UTC(2026, 9, 31), Date.UTC(2026, 10, 1)]);
    await db.query(`INSERT INTO events (entity_id, app_id, happened_at, log_type, name)
      SELECT 1, 1, at::timestamptz, 2, 'Tapped' FROM unnest(ARRAY['2026-10-31 23:59:59.999Z', '2026-11-01Z', '2026-11-01 12:00Z']) AS at`);
    await db.query(`INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject)
      VALUES (1, 1, '2026-10-31 23:00Z', '2026-11-01 01:00Z', 120, 'u1')`);
    await migrate(db);
    expect(await countTracked(db, 'events', 1, { appIds: [1], since: new Date('2026-11-01'), oneOf: {} })).toBe(2);
    const { rows } = await db.query('SELECT day, events, sessions, locations FROM tracked_counts ORDER BY day');
    expect(rows).toEqual([
      { day: '2026-10-31', events: 1, sessions: 1, locations: 0 },
      { day: '2026-11-01', events: 2, sessions: 0, locations: 0 },
    ]);
  });
});

describe('migrations', () => {
  it('are applied once, by processes that start together', async () => {
    const db = await emptyDatabase();
    const applied = (await Promise.all([migrate(db), migrate(db), migrate(db)])).map((migrated) => migrated.applied);
    expect(applied.flat()).toEqual(files);
    expect(await migrate(db)).toEqual({ version: files.length, applied: [] });
  });

  it('of a newer Millrace are left alone by an older one, which says what to do', async () => {
    const db = await databaseBefore('0002');
    await db.query(`INSERT INTO schema_migrations (file) VALUES ('9999_from_the_future.sql')`);
    await expect(migrate(db)).rejects.toThrow(/newer Millrace \(9999_from_the_future\.sql\): start that version/);
    const { rows } = await db.query(`SELECT to_regclass('systems_of_records') AS found`);
    expect(rows).toEqual([{ found: null }]);
  });
});
