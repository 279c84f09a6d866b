import { beforeAll, describe, expect, test } from 'vitest';
import { type KeptFigures, listAppFigures } from '../../../store/apps/app-figures.ts';
import { type Queryable, write } from '../../../store/core/database.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { insertMany } from '../../harness/core/database.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

const DAY = 86_400;
const NOW = Math.floor(Date.now() / 1_000);

beforeAll(async () => {
  // What a vacuum reads would be counted, too.
  await store.db
    .query(`CREATE TABLE sessions_of_2001 PARTITION OF sessions FOR VALUES FROM ('2001-01-01') TO ('2002-01-01')
    WITH (autovacuum_enabled = off)`);
});

type Device = { id: string; firstSeen: number; lastSeen: number; sdkVersion?: string };

/** Times are in seconds since the epoch. */
async function insertDevice(
  appId: number,
  { id, firstSeen, lastSeen, sdkVersion }: Device,
  entityId = world.entity.id,
): Promise<void> {
  await store.db.query(
    `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at, sdk_version)
     VALUES ($1, $2, $3, to_timestamp($4), to_timestamp($5), $6)`,
    [entityId, appId, id, firstSeen, lastSeen, sdkVersion ?? null],
  );
}

async function insertCertificate(
  appId: number,
  identifier: string,
  { revoked = false, until = NOW + DAY } = {},
): Promise<void> {
  await store.db.query(
    `INSERT INTO push_certificates (entity_id, app_id, identifier, fingerprint, x509_pem, pkey_pem, subject, not_before, not_after, revoked)
     VALUES ($1, $2, $3, convert_to($3, 'UTF8'), '', '', '', now(), to_timestamp($4), $5)`,
    [world.entity.id, appId, identifier, until, revoked],
  );
}

/** How many sessions this transaction has read. */
const sessionsRead = async (tx: Queryable) =>
  (
    await tx.query<{ read: number }>(
      `SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_xact_user_tables WHERE relname = 'sessions_of_2001'`,
    )
  ).rows[0]!.read;
const figuresOf = async (identifier: string) =>
  (await server.call('GET', `/api/apps/${identifier}`, { token: world.token })).body.result.apps[0];
const sample = (packageName: string) => insertSampleApp(store.db, world.entity.id, packageName);

describe('the figures of an app', () => {
  test("come from its devices, and from no other app's", async () => {
    const app = await sample('com.example.counted');
    const other = await sample('com.example.other');
    const stranger = await makeWorld(store);
    const newest = NOW - 3 * DAY;
    await insertDevice(app.id, { id: 'a', firstSeen: NOW - 90 * DAY, lastSeen: NOW - 31 * DAY, sdkVersion: '1.0' });
    await insertDevice(app.id, { id: 'b', firstSeen: NOW - 80 * DAY, lastSeen: NOW - 29 * DAY, sdkVersion: '2.0' });
    await insertDevice(app.id, { id: 'c', firstSeen: newest, lastSeen: NOW - DAY });
    await insertDevice(other.id, { id: 'a', firstSeen: NOW, lastSeen: NOW, sdkVersion: '9.0' });
    await insertDevice(app.id, { id: 'd', firstSeen: NOW, lastSeen: NOW, sdkVersion: '8.0' }, stranger.entity.id);
    expect(await figuresOf(app.identifier)).toMatchObject({
      downloads: 3,
      mau: 2,
      last_sdk_version: '2.0',
      has_usage_data: true,
      downloads_last_report_date: newest - (newest % DAY),
    });
    const listed = (await server.call('GET', '/api/apps', { token: world.token })).body.result.apps as {
      identifier: string;
    }[];
    expect(listed.find(({ identifier }) => identifier === other.identifier)).toMatchObject({
      downloads: 1,
      mau: 1,
      last_sdk_version: '9.0',
    });
  });

  test('tell of usage by a session without a device', async () => {
    const app = await sample('com.example.sessions');
    expect(await figuresOf(app.identifier)).toMatchObject({ has_usage_data: false, downloads: 0 });
    await store.db.query(
      `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject) VALUES ($1, $2, $3, $3, 120, 'u1')`,
      [world.entity.id, app.id, '2001-05-01T00:00:00Z'],
    );
    expect(await figuresOf(app.identifier)).toMatchObject({ has_usage_data: true, downloads: 0, mau: 0 });
  });

  test('tell of a certificate that is neither revoked nor expired', async () => {
    const app = await sample('com.example.certified');
    await insertCertificate(app.id, 'crt_revoked', { revoked: true });
    await insertCertificate(app.id, 'crt_expired', { until: NOW - 60 });
    expect(await figuresOf(app.identifier)).toMatchObject({ has_pem_file: false });
    await insertCertificate(app.id, 'crt_good');
    expect(await figuresOf(app.identifier)).toMatchObject({ has_pem_file: true });
  });

  test('of 1,000 apps are there at once, though the planner knows of devices and sessions of one alone', async () => {
    const own = await makeWorld(store);
    const { rows: apps } = await store.db.query<{ id: number }>(
      `INSERT INTO apps (entity_id, identifier, name, package_name, app_type)
       SELECT $1, 'app_many_' || n, 'Many', 'com.example.many' || n, 'Web App' FROM generate_series(1, 1000) AS n RETURNING id`,
      [own.entity.id],
    );
    await insertMany(
      store.db,
      `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at)
       SELECT $1, $2, 'many' || n, now(), now() FROM generate_series(1, 100000) AS n`,
      [own.entity.id, apps[0]!.id],
    );
    await insertMany(
      store.db,
      `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject)
       SELECT $1, $2, at, at, 120, 'dmany' FROM generate_series('2001-01-01'::timestamptz, '2001-03-10', '1 minute') AS at`,
      [own.entity.id, apps[0]!.id],
    );
    await store.db.query('ANALYZE devices, sessions');
    // A plan that scans would read all sessions for each app that has none.
    const read = await write(store.db, async (tx) => {
      await listAppFigures(
        tx,
        own.entity.id,
        apps.map(({ id }) => id),
        new Map(),
      );
      const ofFigures = await sessionsRead(tx);
      await tx.query('SELECT FROM sessions_of_2001 LIMIT 1');
      expect(await sessionsRead(tx), 'the counter counts').toBeGreaterThan(ofFigures);
      return ofFigures;
    });
    expect(read).toBeLessThan(1_000);
    const { body } = await server.call('GET', '/api/apps', { token: own.token });
    expect(body.result.apps).toHaveLength(1_000);
    expect(body.result.apps[0]).toMatchObject({ downloads: 100_000, mau: 100_000, has_usage_data: true });
  });

  test('that took long to count are kept for a while, of that app alone', async () => {
    const [big, small] = [await sample('com.example.big'), await sample('com.example.small')];
    for (const { id } of [big, small]) await insertDevice(id, { id: 'one', firstSeen: NOW, lastSeen: NOW });
    const kept: KeptFigures = new Map();
    const figures = {
      lastSdkVersion: '1.0',
      downloads: 5_000_000,
      downloadsLastReportDay: 0,
      monthlyActive: 1_000_000,
      push: { reachable: 5_000_000, uninstalled: 0, withoutToken: 0, turnedOff: 0 },
    };
    const downloadsOf = async ({ id }: { id: number }) =>
      (await listAppFigures(store.db, world.entity.id, [big.id, small.id], kept)).get(id)!.downloads;
    kept.set(big.id, { ...figures, untilMs: performance.now() + 60_000 });
    expect([await downloadsOf(big), await downloadsOf(small)]).toEqual([5_000_000, 1]);
    kept.set(big.id, { ...figures, untilMs: performance.now() - 1 });
    expect(await downloadsOf(big)).toBe(1);
  });
});
