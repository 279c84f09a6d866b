import { beforeAll, describe, expect, it } from 'vitest';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useStack } from '../../harness/core/stack.ts';
import { DAY, type ExportWorld, insertEvents, makeExportWorld, runExport } from '../../harness/exports/exports.ts';
import { testServer, type TestServer } from '../../server/http/test-server.ts';

const HOUR_MS = 3_600_000;
const stack = useStack();
let s3: TestS3;
let server: TestServer;

beforeAll(async () => {
  s3 = await testS3();
  server = await testServer(stack.store);
  stack.startWorker();
});

type File = { key: string; state: string | null; rows: number };
type Window = {
  window: { start: string | null; end: string };
  state: string;
  reason: string | null;
  run: string | null;
  rows: number;
  elsewhere: boolean;
  types: { type: string; expected: number; written: number; late: number | null; files: File[] }[];
  manifest: { key: string; state: string | null } | null;
};

async function reconcile(
  { exporter, token }: ExportWorld,
  query = '',
): Promise<{ items: Window[]; total_items: number }> {
  const { status, body } = await server.call(
    'GET',
    `/api/data_exporters/${exporter.identifier}/reconciliation${query}`,
    { token },
  );
  expect(status).toBe(200);
  return (body as unknown as { result: { items: Window[]; total_items: number } }).result;
}

const at = (hours: number) => new Date(DAY.start.getTime() + hours * HOUR_MS);
const seconds = (time: Date) => `${time.toISOString().slice(0, 19)}Z`;

describe('the reconciliation of an exporter', () => {
  let world: ExportWorld;
  let runs: ExportRun[];

  beforeAll(async () => {
    world = await makeExportWorld(stack, s3, { exportedData: ['logs', 'details'], partBytes: 64 * 1024 });
    await insertEvents(stack, world, 24_000);
    runs = [];
    for (const hours of [8, 16]) runs.push(await runExport(stack, world, { window: { start: null, end: at(hours) } }));
    await stack.store.db.query('UPDATE data_exporters SET exported_until = $2 WHERE id = $1', [
      world.exporter.id,
      at(20),
    ]);
    runs.push(await runExport(stack, world));
  });

  it('shows each window with what was expected and written, and where nothing was exported', async () => {
    const { items, total_items } = await reconcile(world);
    expect(total_items).toBe(3);
    expect(items.map(({ window, state, run, rows }) => ({ ...window, state, run, rows }))).toEqual([
      { start: seconds(at(0)), end: seconds(at(8)), state: 'exported', run: runs[0]!.identifier, rows: 24_000 },
      { start: seconds(at(8)), end: seconds(at(16)), state: 'exported', run: runs[1]!.identifier, rows: 24_000 },
      { start: seconds(at(16)), end: seconds(at(20)), state: 'gap', run: null, rows: 0 },
      { start: seconds(at(20)), end: seconds(at(24)), state: 'exported', run: runs[2]!.identifier, rows: 12_000 },
    ]);
    expect(items[0]!.types.map(({ type, expected, written, late }) => [type, expected, written, late])).toEqual([
      ['logs', 8_000, 8_000, 0],
      ['details', 16_000, 16_000, 0],
    ]);
    expect(items[0]!.types[0]!.files.map(({ state }) => state)).not.toContain('ok');
    expect(items[0]!.manifest!.state).toBeNull();
  });

  it('finds in the bucket what is there, what is gone, and what is another file', async () => {
    const first = await reconcile(world, '?verify=true');
    const states = ({ types, manifest }: Window) => [
      ...types.flatMap(({ files }) => files.map(({ state }) => state)),
      manifest!.state,
    ];
    for (const window of first.items.filter(({ state }) => state === 'exported'))
      expect(new Set(states(window))).toEqual(new Set(['ok']));
    const files = first.items[1]!.types.flatMap((type) => type.files);
    await s3.delete(files[0]!.key);
    await s3.put(files.at(-1)!.key, 'something else');
    await s3.put(first.items[3]!.manifest!.key, '{}');
    const { items } = await reconcile(world, '?verify=true');
    expect(items[1]!.types[0]!.files[0]!.state).toBe('missing');
    expect(items[1]!.types[1]!.files.at(-1)!.state).toBe('differs');
    expect(items[0]!.manifest!.state).toBe('ok');
    expect(items[3]!.manifest!.state).toBe('differs');
  });

  it('is told for a time, and page by page', async () => {
    const some = await reconcile(world, `?from=${seconds(at(8))}&to=${seconds(at(17))}`);
    expect(some.items.map(({ run }) => run)).toEqual([runs[1]!.identifier]);
    const page = await reconcile(world, '?per_page=1&page=3');
    expect(page.items.map(({ state, run }) => [state, run])).toEqual([
      ['gap', null],
      ['exported', runs[2]!.identifier],
    ]);
  });

  it("is refused in the bucket's words where the secret is not the key's", async () => {
    const [path, { token }] = [`/api/data_exporters/${world.exporter.identifier}`, world];
    const set = (secret: string) => server.call('PUT', path, { token, body: { aws_secret_access_key: secret } });
    expect((await set('not the secret')).status).toBe(200);
    const { body, text } = await server.call('GET', `${path}/reconciliation?verify=true`, { token });
    expect(body).toMatchObject({ status: 'source_refused', source_code: 'SignatureDoesNotMatch' });
    expect(text).not.toContain('not the secret');
    expect((await set(s3.settings.secret_access_key)).status).toBe(200);
  });

  it('does not read a manifest that somebody has made huge', async () => {
    await s3.put(runs[1]!.manifestKey!, Buffer.alloc(64 * 1024 ** 2 + 1));
    const { items } = await reconcile(world, '?verify=true');
    expect(items[1]!.manifest!.state).toBe('differs');
  });

  it('does not look into a bucket with the keys of another', async () => {
    await stack.store.db.query(`UPDATE data_exporters SET bucket_name = 'another' WHERE id = $1`, [world.exporter.id]);
    const { items } = await reconcile(world, '?verify=true');
    expect(items[0]).toMatchObject({ elsewhere: true, manifest: { state: null } });
  });
});

it('what was due and is not exported is missing, with the reason that its run gave', async () => {
  const world = await makeExportWorld(stack, s3, { bucketName: 'never-made' });
  expect((await reconcile(world)).items).toEqual([]);
  const run = await runExport(stack, world, { cause: 'schedule', scheduledFor: DAY.end });
  await stack.store.db.query(
    `UPDATE data_exporters SET active = true, updated_at = now() - interval '3 days', exports_since = now() - interval '3 days'
     WHERE id = $1`,
    [world.exporter.id],
  );
  await stack.store.db.query(`UPDATE export_runs SET window_end = now() WHERE id = $1`, [run.id]);
  const { items } = await reconcile(world);
  expect(items).toMatchObject([{ state: 'missing', run: run.identifier, rows: 0, manifest: null }]);
  expect(items[0]!.reason).toContain('NoSuchBucket');
});
