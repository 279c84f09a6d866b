import { beforeAll, expect, it } from 'vitest';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import {
  askForExport,
  exportEnded,
  type ExportWorld,
  makeExportWorld,
  readExport,
} from '../../harness/exports/exports.ts';

const LATE_MS = 29_000;

const stack = useStack();
let s3: TestS3;

beforeAll(async () => {
  s3 = await testS3();
  stack.startWorker();
});

/**
 * A transaction that has written an event and is not committed; it may last longer than ours do, should the machine be
 * slow.
 */
async function beginWriter({ entity, app }: ExportWorld) {
  await ensurePartitions(stack.store.db, [new Date()]);
  const writer = await stack.store.db.connect();
  await writer.query(`SET transaction_timeout = '60s'`);
  await writer.query('BEGIN');
  await writer.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, device_id, name) VALUES ($1, $2, now(), 2, 'device-1', 'Late')`,
    [entity.id, app.id],
  );
  return writer;
}

it('what a writer commits 29 s after the end of a window, in which it began, is in that window', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs'] });
  const writer = await beginWriter(world);
  // Times of JavaScript end at the millisecond, which may be the one in which the writer began.
  const end = new Date(Date.now() + 1);
  const run = await askForExport(stack, world, { window: { start: null, end } });
  await waitFor('the writer to be 29 s late', async () => Date.now() - end.getTime() >= LATE_MS);
  await writer.query('COMMIT');
  writer.release(true);
  const { definition } = await exportEnded(stack, run);
  const { manifest, rows } = await readExport(stack, world, definition!.folder);
  expect(rows.logs!.map(([, , name]) => name)).toEqual(['Late']);
  expect(manifest.types).toMatchObject([{ type: 'logs', expected: 1, rows: 1 }]);
});
