import { beforeAll, expect, it } from 'vitest';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { type S3Proxy, s3Error, s3Proxy } from '../../harness/core/s3-proxy.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useStack } from '../../harness/core/stack.ts';
import { askForExport, DAY, exportEnded, makeExportWorld, readExport } from '../../harness/exports/exports.ts';

const SESSIONS = 20_000;
/** Those of the first part are gone: what changes finds room there. */
const LEFT = 16_000;

const stack = useStack({ impatient: true });
let s3: TestS3;
let proxy: S3Proxy;

beforeAll(async () => {
  s3 = await testS3();
  proxy = await s3Proxy(s3.settings.endpoint);
  stack.startWorker();
});

it('a backfill has each session once, though they change while it reads, and though it has to begin again', async () => {
  const world = await makeExportWorld(stack, s3, {
    exportedData: ['sessions'],
    partBytes: 256 * 1024,
    endpoint: proxy.endpoint,
  });
  const { db } = stack.store;
  await ensurePartitions(db, [DAY.start]);
  await db.query(
    `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_model)
     SELECT $1, $2, $3::timestamptz + i * interval '1 s', $4, 120, 'd' || i, repeat('m', 200) FROM generate_series(1, $5) AS i`,
    [world.entity.id, world.app.id, DAY.start, DAY.end, SESSIONS],
  );
  await db.query(`DELETE FROM sessions WHERE started_at <= $1::timestamptz + $2 * interval '1 s'`, [
    DAY.start,
    SESSIONS - LEFT,
  ]);
  await db.query('VACUUM sessions');
  const second = proxy.hold({ key: /sessions-0002/ });
  proxy.meet({ key: /sessions-0003/ }, s3Error(403, 'AllAccessDisabled'));
  const asked = await askForExport(stack, world, {
    cause: 'backfill',
    days: { from: '2026-11-20', to: '2026-11-20' },
    window: { start: DAY.start, end: DAY.end },
  });
  await second.reached;
  await db.query(
    `UPDATE sessions SET background_seconds = 1, received_at = now() WHERE started_at > $1::timestamptz + $2 * interval '1 s'`,
    [DAY.start, SESSIONS - LEFT / 4],
  );
  second.release();
  const run = await exportEnded(stack, asked);
  expect(run).toMatchObject({ state: 'finished', failure: null });
  expect(run.attempt).toBeGreaterThanOrEqual(2); // one that was lost on a busy machine is one more
  const { manifest, rows } = await readExport(stack, world, run.definition!.folder);
  expect(rows.sessions).toHaveLength(LEFT);
  expect(new Set(rows.sessions!.map(([id]) => id)).size).toBe(LEFT);
  expect(manifest.types[0]).toMatchObject({ expected: LEFT, rows: LEFT });
  const named = manifest.types.flatMap(({ files }) => files.map(({ key }) => key));
  expect(named.length).toBeGreaterThan(3);
  expect(await s3.keys(run.definition!.folder)).toEqual(
    [...named, `${run.definition!.folder}/manifest.json`].toSorted(),
  );
});
