import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAllPlaces } from '../../../activities/core/open-all-places.ts';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { endExportRun, type ExportEnd } from '../../../activities/exports/export-end.ts';
import { mailExportAlert } from '../../../activities/exports/export-daily.ts';
import { readFetchAllow, type FetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import type { DataExporter, NewExporter } from '../../../store/exports/data-exporter-record.ts';
import { findExporterById, updateActive } from '../../../store/exports/data-exporters.ts';
import { insertExportRecords, listExportRecords, updateLateRows } from '../../../store/exports/export-files.ts';
import type { ExportRun, NewExportRun } from '../../../store/exports/export-run-record.ts';
import { listRunAlerts } from '../../../store/jobs/run-alerts.ts';
import { insertConnection } from '../../../store/syncs/connections.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { type Answer, httpSource, inTurn, status } from '../../harness/core/http-source.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { claimed, instant, keyOf, runNow, storedExportRun } from '../../harness/exports/export-runs.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';

let store: TestStore;
let world: World;
let deps: Dependencies;
let exporter: DataExporter;
let outbox: string;
let counted: [string, number?][] = [];
let days = 0;
const chats = await httpSource();
const allow = readFetchAllow('127.0.0.1') as FetchAllow;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
});

async function useExporter(more: Partial<NewExporter> = {}): Promise<void> {
  exporter = await storedExporter(store.db, store.secrets, world, more);
  await updateActive(store.db, world.entity.id, exporter.id, true);
}

beforeEach(async () => {
  outbox = await mkdtemp(join(tmpdir(), 'outbox-'));
  counted = [];
  deps = {
    ...openAllPlaces(),
    db: store.db,
    secrets: store.secrets,
    boundary() {},
    outside: { allow, fetch: guardedFetch(allow) },
    scratch: store.scratch,
    publicUrl: 'http://millrace.test',
    mailer: openMailer({ smtpUrl: undefined, outbox: folderFiles(outbox), from: 'm@example.com' }),
    countExportRuns: (outcome: string) => counted.push([outcome]),
    countExportRows: (rows: number) => counted.push(['rows', rows]),
  } as unknown as Dependencies;
  await useExporter();
});

const FAILED: ExportEnd = { failure: { status: 'AccessDenied', message: 'the policy lacks s3:PutObject' } };
const GOOD: ExportEnd = { failure: null };
const stands = async () => (await findExporterById(store.db, world.entity.id, exporter.id))!;

/** A run of a day after those before it, claimed. */
async function begun(more: Partial<NewExportRun> = {}): Promise<ExportRun> {
  days += 1;
  const scheduledFor = new Date(Date.UTC(2026, 0, days, 3));
  const run = await storedExportRun(store, exporter, new Date(Date.UTC(2026, 0, days)), {
    cause: 'schedule',
    scheduledFor,
    ...more,
  });
  return (await claimed(store, run))!;
}

async function ended(end: ExportEnd, more: Partial<NewExportRun> = {}): Promise<ExportRun> {
  const run = await begun(more);
  expect(await endExportRun(deps, keyOf(run), end)).toBe(true);
  return runNow(store, run);
}

/** What was mailed about a run. */
async function mailed(run: ExportRun): Promise<string[]> {
  expect(await mailExportAlert(deps, keyOf(run))).toBeNull();
  const names = (await readdir(outbox)).filter((name) => name.endsWith('.eml'));
  const mails = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8')));
  return mails.map((mail) => mail.replaceAll('=\r\n', ''));
}

describe('the end of a run', () => {
  it('that is good moves the cursor on, once, and tells nobody', async () => {
    const run = await begun();
    expect(await endExportRun(deps, keyOf(run), GOOD)).toBe(true);
    expect(await endExportRun(deps, keyOf(run), FAILED)).toBe(false);
    expect(await runNow(store, run)).toMatchObject({ state: 'finished', alert: null, failure: null });
    const {
      window: { end: exportedUntil },
      startedAt,
    } = run;
    expect(await stands()).toMatchObject({ exportedUntil, initialRunAt: startedAt, lastRunAt: startedAt, failures: 0 });
    expect(counted).toEqual([['finished'], ['rows', 0]]);
  });

  it('that failed leaves the cursor, so that the next run carries its window', async () => {
    const [good, failed] = [await ended(GOOD), await ended(FAILED)];
    expect(failed).toMatchObject({ state: 'failed', failure: { status: 'AccessDenied' }, alert: 'failed' });
    expect((await begun()).window.start).toEqual(good.window.end);
    expect(counted).toEqual([['finished'], ['rows', 0], ['failed']]);
  });

  it('of a rerun or a backfill moves nothing, nor does one that had nothing to write', async () => {
    const good = await ended(GOOD);
    const window = { start: instant('2025-01-01T00:00:00Z'), end: instant('2027-01-01T00:00:00Z') };
    await ended(GOOD, { cause: 'rerun', scheduledFor: null, window });
    await ended(GOOD, {
      cause: 'backfill',
      scheduledFor: null,
      window,
      days: { from: '2025-01-01', to: '2026-12-31' },
    });
    const covered = await ended(GOOD, {
      cause: 'request',
      scheduledFor: null,
      window: { start: null, end: window.start },
    });
    expect(covered).toMatchObject({ isCovered: true, state: 'finished' });
    expect(await stands()).toMatchObject({ exportedUntil: good.window.end, lastRunAt: good.startedAt });
  });

  it('stands or falls with what commits alongside', async () => {
    const run = await begun();
    const alongside = async () => Promise.reject(new Error('taken over'));
    await expect(endExportRun(deps, keyOf(run), { ...GOOD, alongside })).rejects.toThrow('taken over');
    expect([(await runNow(store, run)).state, (await stands()).exportedUntil]).toEqual(['running', null]);
  });
});

describe('an exporter that keeps failing', () => {
  it('is told of once, paused after three scheduled runs in a row, and cancels the one that waits', async () => {
    const runs = [await ended(FAILED), await ended(FAILED)];
    expect((await stands()).paused).toBeNull();
    const third = await begun();
    const due = await storedExportRun(store, exporter, new Date(), { cause: 'schedule', scheduledFor: new Date() });
    const asked = await storedExportRun(store, exporter, new Date());
    await endExportRun(deps, keyOf(third), FAILED);
    runs.push(await runNow(store, third));
    expect(runs.map(({ alert }) => alert)).toEqual(['failed', null, 'paused']);
    expect(await stands()).toMatchObject({
      active: true,
      failures: 3,
      paused: { reason: '3 scheduled runs failed in a row: the policy lacks s3:PutObject' },
    });
    expect([(await runNow(store, due)).state, (await runNow(store, asked)).state]).toEqual(['canceled', 'accepted']);
  });

  it('is not paused by runs that were asked for, each of which is told of', async () => {
    for (let time = 0; time < 4; time += 1) {
      expect(await ended(FAILED, { cause: 'request', scheduledFor: null })).toMatchObject({ alert: 'failed' });
    }
    expect(await stands()).toMatchObject({ paused: null, failures: 0 });
  });

  it('is told to work again by the first good run; one that failed in between counts anew', async () => {
    await ended(FAILED);
    expect(await ended(GOOD)).toMatchObject({ alert: 'recovered' });
    expect(await ended(FAILED)).toMatchObject({ alert: 'failed' });
    expect(await stands()).toMatchObject({ failures: 1, paused: null });
  });

  it('stays paused where a run that was asked for is good, and the mail says how that ends', async () => {
    for (let time = 0; time < 3; time += 1) await ended(FAILED);
    const good = await ended(GOOD, { cause: 'request', scheduledFor: null });
    expect(good).toMatchObject({ alert: 'recovered' });
    expect(await stands()).toMatchObject({ failures: 0, paused: { reason: expect.any(String) } });
    expect((await mailed(good))[0]).toContain(`millrace exporters activate ${exporter.identifier}`);
  });
});

describe('the mail of a run', () => {
  it('goes to whoever made the exporter, once, and is told in the run', async () => {
    const run = await ended(FAILED);
    const [mail, ...others] = await mailed(run);
    expect(mail).toContain(`To: ${world.user.email}`);
    // words of an outside system: they stand behind the link
    expect(mail).not.toContain('the policy lacks s3:PutObject');
    expect(mail).toContain(`http://millrace.test/api/data_exporters/${exporter.identifier}/runs/${run.identifier}`);
    expect([others, await mailed(run)]).toEqual([[], [mail]]);
    expect((await runNow(store, run)).mail).toEqual({
      state: 'filed',
      tries: 1,
      reason: expect.stringContaining('outbox') as string,
    });
  });

  it('goes to those whom the exporter names; of a run that nobody need know of there is none', async () => {
    await useExporter({ notifyEmails: ['lake@example.com', 'night@example.com'] });
    expect(await mailed(await ended(GOOD))).toEqual([]);
    const [mail] = await mailed(await ended(FAILED));
    expect(mail).toContain('To: lake@example.com, night@example.com');
    expect(mail).not.toContain(world.user.email);
  });

  it('tells of rows that came late, by their windows, and how to export them', async () => {
    const early = await ended(GOOD);
    const late = await ended({
      failure: null,
      async alongside(tx) {
        await insertExportRecords(tx, early.entityId, early.id, ['logs']);
        const [record] = await listExportRecords(tx, early.entityId, [early.id]);
        return { lateRows: await updateLateRows(tx, early.entityId, record!, 5) };
      },
    });
    expect(late).toMatchObject({ alert: 'late', state: 'finished' });
    expect((await mailed(late))[0]).toContain(
      `: 5 of logs; npx --no-install millrace exporters rerun ${early.identifier}`,
    );
  });
});

describe('the alert of a run', () => {
  const alert = (run: ExportRun) => mailExportAlert(deps, keyOf(run));
  const asked = (name: string) => chats.asked.filter(({ path }) => path === `/${name}`).length;

  /** An exporter that has these chats; and what the run's alerts have come to, by the names of the chats. */
  async function useChats(answers: Record<string, Answer>) {
    const names = new Map<string, string>();
    for (const [name, answer] of Object.entries(answers)) {
      const { identifier } = (await insertConnection(store.db, store.secrets, world.entity.id, {
        name,
        connector: 'slack',
        settings: {},
        secretSettings: { url: chats.serve(`/${name}`, answer) },
        createdBy: world.user.id,
      }))!;
      names.set(identifier, name);
    }
    await useExporter({ notifyConnections: [...names.keys()] });
    return async (run: ExportRun) => {
      const alerts = (await listRunAlerts(store.db, 'export', world.entity.id, [run.id])).get(run.id)!;
      return Object.fromEntries(alerts.map(({ connection, state, tries }) => [names.get(connection), [state, tries]]));
    };
  }

  it("that one chat can't take now waits as long as that one asks; those who took or refused it don't get it again", async () => {
    const busy = inTurn(status(429, { 'retry-after': '300' }), status(200));
    const outcomes = await useChats({ busy, gone: status(404), fine: status(200) });
    const run = await ended(FAILED);
    expect(await alert(run)).toEqual({ againInMs: 300_000 });
    expect(await outcomes(run)).toEqual({ busy: ['not_sent', 1], gone: ['not_sent', 1], fine: ['sent', 1] });
    const { againInMs } = (await alert(run))!; // asked too early, as after a worker's end
    expect([againInMs > 200_000 && againInMs <= 300_000, asked('busy')]).toEqual([true, 1]);
    await store.db.query(
      'UPDATE run_alerts SET mail_due_at = now() WHERE export_run_id = $1 AND mail_due_at IS NOT NULL',
      [run.id],
    );
    expect(await alert(run)).toBeNull();
    expect(await outcomes(run)).toEqual({ busy: ['sent', 2], gone: ['not_sent', 1], fine: ['sent', 1] });
    expect([asked('busy'), asked('gone'), asked('fine')]).toEqual([2, 1, 1]);
  });

  it('keeps no address waiting for another that fails for an internal error', async () => {
    const failed = Promise.withResolvers<void>();
    const outcomes = await useChats({
      slow: (_, response) => {
        void failed.promise.then(() => response.writeHead(200).end());
      },
    });
    const send = () => {
      failed.resolve();
      return Promise.reject(new Error('ours'));
    };
    deps.mailer = { send } as unknown as Dependencies['mailer'];
    const run = await ended(FAILED);
    await expect(alert(run)).rejects.toThrow('ours');
    expect(await outcomes(run)).toEqual({ slow: ['sent', 1] });
  });
});
