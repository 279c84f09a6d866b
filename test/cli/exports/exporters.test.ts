import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import { insertExportRecords, listExportRecords, updateLateRows } from '../../../store/exports/export-files.ts';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import { exportRuns, findExportRun } from '../../../store/exports/export-runs.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { claimed, instant, storedExportRun } from '../../harness/exports/export-runs.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { testServer } from '../../server/http/test-server.ts';
import { runMillrace } from '../core/run-millrace.ts';

let store: TestStore;
let url: string;
let world: World;
let exporter: DataExporter;
let made = 0;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  url = await (await testServer(store)).app.listen({ port: 0, host: '127.0.0.1' });
});

beforeEach(async () => {
  made += 1;
  exporter = await storedExporter(store.db, store.secrets, world, { name: `Lake ${made}` });
});

const millrace = (...args: string[]) => runMillrace(['exporters', ...args], { url, token: world.token });
const found = async (id: string): Promise<ExportRun> => (await findExportRun(store.db, world.entity.id, id))!;
const idIn = (out: string) => /run_\w+/.exec(out)![0];

async function end(id: string, failure: ExportRun['failure'] = null): Promise<void> {
  const run = (await claimed(store, await found(id)))!;
  await exportRuns.end(store.db, run, { state: failure ? 'failed' : 'finished', failure, alert: null });
}

describe('millrace exporters', () => {
  it('lists them, starts runs by name or identifier, lists these and cancels them', async () => {
    const { identifier, name } = exporter;
    expect((await millrace()).out).toMatch(
      new RegExp(`^${identifier} +${name} +inactive +exports/daily +logs +never$`, 'm'),
    );
    const started = await millrace('run', exporter.name, '--no-wait');
    expect(started).toMatchObject({ status: 0, err: '' });
    const id = idIn(started.out);
    expect((await millrace('run', exporter.identifier, '--no-wait')).err).toContain(`waits already: ${id}`);
    const row = new RegExp(`^${id} +request +accepted +the last good run to \\S+Z +0 +0$`, 'm');
    expect((await millrace('runs', exporter.name)).out).toMatch(row);
    expect(await millrace('status', id)).toMatchObject({ status: 0, out: expect.stringContaining('accepted: 0 rows') });
    expect(await millrace('cancel', id)).toEqual({ status: 0, out: 'canceled\n', err: '' });
    expect(await millrace('cancel', id)).toMatchObject({ status: 1, err: 'The run has ended already\n' });
  });

  it('backfills days, and tells in a line what is wrong with them', async () => {
    const started = await millrace(
      'backfill',
      exporter.name,
      '--from',
      '2026-01-01',
      '--to',
      '2026-01-31',
      '--no-wait',
    );
    expect(await found(idIn(started.out))).toMatchObject({
      cause: 'backfill',
      days: { from: '2026-01-01', to: '2026-01-31' },
    });
    expect((await millrace('runs', exporter.name)).out).toContain('2026-01-01 to 2026-01-31');
    expect(await millrace('backfill', exporter.name, '--from', '2026-02-01', '--to', '2026-01-31')).toMatchObject({
      status: 1,
      err: 'to: must not be before from\n',
    });
    expect((await millrace('backfill', exporter.name, '--from', '2026-02-01')).err).toContain('--to');
  });

  it('follows a run to its end: exit status 0 where it finished, else 2 with the reason', async () => {
    const id = idIn((await millrace('run', exporter.name, '--no-wait')).out);
    const following = millrace('follow', id);
    await end(id, { status: 'AccessDenied', message: 'the policy lacks s3:PutObject' });
    const { status, out } = await following;
    expect([status, out]).toEqual([
      2,
      expect.stringMatching(/^failed: 0 rows of .+\nthe policy lacks s3:PutObject\n$/s),
    ]);
  });

  it('exports a window again, where it says that rows came late', async () => {
    const run = await storedExportRun(store, exporter, instant('2026-01-01T00:00:00Z'));
    await end(run.identifier);
    await write(store.db, async (tx) => {
      await insertExportRecords(tx, run.entityId, run.id, ['logs']);
      await updateLateRows(tx, run.entityId, (await listExportRecords(tx, run.entityId, [run.id]))[0]!, 3);
    });
    const status = await millrace('status', run.identifier);
    expect(status.out).toContain('finished: 0 rows of the beginning to 2026-01-01T00:00:00Z');
    expect(status.out).toContain(`millrace exporters rerun ${run.identifier}`);
    const rerun = idIn((await millrace('rerun', run.identifier, '--no-wait')).out);
    expect(await found(rerun)).toMatchObject({ cause: 'rerun', rerunOf: run.id });
    expect((await millrace('rerun', rerun)).err).toBe('The run has not ended yet\n');
  });

  it('says which there are where a name means none, or several', async () => {
    expect((await millrace('runs', 'Lacke 1')).err).toContain('There is no exporter Lacke 1');
    const twin = await storedExporter(store.db, store.secrets, world, { name: exporter.name });
    expect((await millrace('runs', exporter.name)).err).toContain(`(${exporter.identifier}, ${twin.identifier})`);
    expect((await millrace('runs', twin.identifier)).status).toBe(0);
  });

  it('deactivates one, and does not activate one whose bucket says no', async () => {
    expect((await millrace('deactivate', exporter.name)).out).toContain('inactive');
    const unreachable = await storedExporter(store.db, store.secrets, world, {
      endpoint: 'http://127.0.0.1:1',
      name: 'Nowhere',
    });
    const { status, err } = await millrace('activate', unreachable.name);
    expect(status).toBe(1);
    expect(err).not.toBe('');
  });
});

describe('millrace exporters, their settings', () => {
  it('are stored, shown without secrets, changed and deleted after asking', async () => {
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.settings');
    const settings = join(await mkdtemp(join(tmpdir(), 'settings-')), 'settings.json');
    const secret = 'the-secret-key-of-a-lake';
    rememberSecret(secret);
    await writeFile(
      settings,
      JSON.stringify({
        export_configuration: 'aws_secret_key',
        aws_access_key_id: 'AKIASETTINGS',
        aws_secret_access_key: secret,
        bucket_name: 'settings',
        app_ids: [app.identifier],
        exported_data: ['logs'],
      }),
    );
    const added = await millrace('add', 'By file', '--settings', settings, '--json');
    expect(JSON.parse(added.out)).toMatchObject({ name: 'By file', bucket_name: 'settings', active: false });
    expect((await millrace('view', 'By file')).out).toMatch(/^bucket_name +settings$/m);
    expect((await millrace('policy', 'By file')).out).toContain('arn:aws:s3:::settings');
    expect((await millrace('update', 'By file', '--name', 'Renamed', '--json')).out).toContain('"name":"Renamed"');
    expect((await millrace('windows', 'Renamed')).status).toBe(0);
    expect((await millrace('deletion-lists', 'Renamed', '--json')).out).toBe('[]\n');
    expect((await millrace('secrets', 'Renamed')).out).toContain(secret);
    const refused = await millrace('remove', 'Renamed');
    expect(refused.err).toMatch(/^This would delete the exporter Renamed \(\w+\): add --yes/);
    const removed = await millrace('remove', 'Renamed', '--yes', '--json');
    expect(removed.status).toBe(0);
    for (const { out } of [added, removed, await millrace('list', '--json')]) expect(out).not.toContain(secret);
    expect((await millrace('view', 'Renamed')).err).toContain('There is no exporter Renamed');
  });
});
