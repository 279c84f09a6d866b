import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { NewExporter } from '../../../store/exports/data-exporter-record.ts';
import { listExportRecords } from '../../../store/exports/export-files.ts';
import { findExportRun } from '../../../store/exports/export-runs.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { breakAfter, loseAnswer, s3Error, type S3Proxy, s3Proxy, SLOW_DOWN } from '../../harness/core/s3-proxy.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useStack } from '../../harness/core/stack.ts';
import { testSts, type TestSts } from '../../harness/exports/sts.ts';
import { waitFor } from '../../harness/core/wait.ts';
import {
  askForExport,
  DAY,
  exportEnded,
  type ExportWorld,
  insertEvents,
  makeExportWorld,
  readExport,
  runExport,
} from '../../harness/exports/exports.ts';
import { ask } from '../../harness/syncs/syncs.ts';

const ROLE = { accountId: '123456789012', roleName: 'millrace-exports' };
const EVENTS = 3_000;

const stack = useStack();
let s3: TestS3;
let proxy: S3Proxy;
let sts: TestSts;

beforeAll(async () => {
  s3 = await testS3();
  proxy = await s3Proxy(s3.settings.endpoint);
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = s3.settings;
  sts = await testSts({ role: { ...ROLE, externalId: 'known-later' }, credentials: { accessKeyId, secretAccessKey } });
  // Two of them: a step that is tried again goes to either.
  for (let count = 0; count < 2; count += 1) stack.startWorker({ env: sts.env });
});
beforeEach(() => proxy.clear());

async function worldBehindProxy(exporter: Partial<NewExporter> = {}): Promise<ExportWorld> {
  const world = await makeExportWorld(stack, s3, {
    exportedData: ['logs', 'details'],
    endpoint: proxy.endpoint,
    ...exporter,
  });
  await insertEvents(stack, world, EVENTS);
  return world;
}

async function expectWhole(world: ExportWorld, run: Awaited<ReturnType<typeof runExport>>): Promise<void> {
  expect(run).toMatchObject({ state: 'finished', failure: null, tries: 0, fault: null });
  const { folder } = run.definition!;
  const { manifest, rows } = await readExport(stack, world, folder);
  expect(manifest.rows).toBe(3 * EVENTS);
  expect(new Set(rows.logs!.map(([, , name]) => name)).size).toBe(EVENTS);
  const named = manifest.types.flatMap(({ files }) => files.map(({ key }) => key));
  expect(await s3.keys(folder)).toEqual([...named, `${folder}/manifest.json`].toSorted());
  expect((await s3.unfinished()).filter((key) => key.startsWith(folder))).toEqual([]);
}

it.for([
  ['a bucket that asks for less', SLOW_DOWN],
  ['a bucket that is away', s3Error(503, 'ServiceUnavailable')],
  ['a connection that breaks in a file', breakAfter(10_000)],
  ['an answer that is lost', loseAnswer],
] as const)('%s is tried again, and every row is there once', async ([, fault]) => {
  const world = await worldBehindProxy();
  proxy.meet({ operation: ['PutObject', 'UploadPart'], key: new RegExp(world.exporter.identifier) }, fault, 3);
  await expectWhole(world, await runExport(stack, world));
});

it('a bucket that is away for longer is waited for, and the run tells why', async () => {
  const world = await worldBehindProxy();
  proxy.meet(
    { key: new RegExp(`${world.exporter.identifier}.*details`) },
    s3Error(503, 'SlowDown', 'Wait', { 'retry-after': '1' }),
    1_000,
  );
  const asked = await askForExport(stack, world);
  const waiting = await waitFor('the run to wait', async () => {
    const run = await findExportRun(stack.store.db, asked.entityId, asked.identifier);
    return run!.waitsUntil && run;
  });
  expect(waiting.fault).toContain('503 SlowDown');
  expect(
    (await listExportRecords(stack.store.db, asked.entityId, [asked.id])).map(({ dataType, isDone }) => [
      dataType,
      isDone,
    ]),
  ).toEqual([
    ['logs', true],
    ['details', false],
  ]);
  proxy.clear();
  const run = await exportEnded(stack, asked);
  await expectWhole(world, run);
});

it('a bucket that is gone fails the run in the words of the provider, and the next run exports its day', async () => {
  const world = await worldBehindProxy({ bucketName: 'gone-for-good' });
  const chat = await httpSource();
  const posted: string[] = [];
  const url = chat.serve(
    '/chat',
    (request, response) =>
      void text(request).then((body) => {
        posted.push(body);
        response.writeHead(200).end();
      }),
  );
  const { identifier } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: 'Chat',
    connector: 'slack',
    settings: { url },
  });
  await ask(stack.app, world, 'PUT', `/api/data_exporters/${world.exporter.identifier}`, {
    notify_connections: [identifier],
  });
  const failed = await runExport(stack, world);
  expect(failed).toMatchObject({ state: 'failed', failure: { status: 'source_refused' }, alert: 'failed' });
  await waitFor('the alert', async () => posted.length === 1);
  expect(JSON.parse(posted[0]!)).toEqual({
    text: expect.stringMatching(
      new RegExp(`^Exporter ${world.exporter.identifier}: a run failed\\. .* http://millrace\\.test/api/`),
    ),
  });
  expect(failed.failure!.message).toContain('NoSuchBucket');
  await stack.store.db.query('UPDATE data_exporters SET bucket_name = $2 WHERE id = $1', [
    world.exporter.id,
    s3.settings.bucket,
  ]);
  const end = new Date(DAY.end.getTime() + 3_600_000);
  const next = await runExport(stack, world, { window: { start: null, end } });
  expect(next.window).toMatchObject({ start: DAY.start, end });
  await expectWhole(world, next);
});

it('a run of a role whose credentials expire meanwhile goes on with new ones', async () => {
  const world = await worldBehindProxy({ type: 'aws_account_id', ...ROLE });
  await stack.store.db.query(`UPDATE entities SET external_id = 'known-later' WHERE id = $1`, [world.entity.id]);
  proxy.checkTokens(sts.isGood, s3.settings.secret_access_key);
  const held = proxy.hold({ operation: ['PutObject', 'UploadPart'], key: /details/ });
  const asked = await askForExport(stack, world);
  await held.reached;
  sts.expire();
  held.release();
  const run = await exportEnded(stack, asked);
  proxy.checkTokens(() => true);
  await expectWhole(world, run);
  expect(sts.asked.filter(({ externalId }) => externalId !== null).length).toBeGreaterThan(1);
});

it('a secret that the provider quotes is not kept', async () => {
  const world = await worldBehindProxy();
  proxy.meet(
    { key: new RegExp(world.exporter.identifier) },
    s3Error(403, 'AccessDenied', `no ${s3.settings.secret_access_key} here`),
    100,
  );
  const run = await runExport(stack, world);
  expect(run.state).toBe('failed');
  expect(JSON.stringify(run)).not.toContain(s3.settings.secret_access_key);
});
