import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import type { SyncRun } from '../../../api/syncs/sync-runs.ts';
import { waitOf } from '../../../cli/jobs/runs.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { type Answer, file, httpSource, inTurn, silence } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import type { TestWorker } from '../../harness/core/workers.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { QuotaPage } from '../../harness/syncs/quota-source.ts';
import { ask, askForRun, makeSync, runEnded, runSync } from '../../harness/syncs/syncs.ts';
import '../../harness/syncs/quota-source.ts';

const SOURCE = fileURLToPath(new URL('../../harness/syncs/quota-source.ts', import.meta.url));
/** Shorter than a single wait: waits for a quota take none of it. */
const PATIENCE_MS = 1_000;
const WAIT_MS = 2_000;
const HOUR_MS = 3_600_000;

rememberSecret('zqwebhooksecret-quota');

const stack = useStack({ impatient: true });
const web = await httpSource();
let world: World;
let worker: TestWorker;

const startWorker = () =>
  stack.startWorker({
    patienceMs: PATIENCE_MS,
    batchRecords: 40_000,
    env: { NODE_OPTIONS: `--import=${SOURCE}` },
  });

beforeAll(async () => {
  worker = startWorker();
  world = await makeWorld(stack.store);
});

/** Number of the page that is asked for: a step that is tried once more asks for it again. */
const pageOf = ({ url }: IncomingMessage) => Number(new URL(url!, 'http://quota').searchParams.get('page'));

/** Answers with a page of so many records, or with none, as a source does that lets no more calls through. */
function page(records: number, { used, waitMs }: { used: number; waitMs: number }, isLast = false): Answer {
  return (request, response) => {
    const answer: QuotaPage = {
      records: Array.from({ length: records }, (_, n) => ({ email: `quota-${pageOf(request)}-${n}`, tariff: 'gold' })),
      isLast,
      quota: { used, limit: 100, resetsAtMs: Date.now() + waitMs },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
}

async function syncOf(path: string, answer: Answer): Promise<string> {
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: path,
    connector: 'quota',
    settings: { url: web.serve(path, answer) },
  });
  return makeSync(stack, world, {
    source: { connection, stream: 'contacts' },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
  });
}

const shown = (sync: string, run: string) => ask<SyncRun>(stack.app, world, 'GET', `/api/syncs/${sync}/runs/${run}`);

/** Waits until a run waits, later than another wait if there was one. */
const waiting = (sync: string, run: string, after: string | null = null) =>
  waitFor('the run to wait', async () => {
    const now = await shown(sync, run);
    return now.waits_until !== null && now.waits_until !== after ? now : null;
  });

it('a run past the share of a quota writes what it read, says until when it waits and why, and does not fail', async () => {
  let isUsed = true;
  const answers = [page(3, { used: 80, waitMs: WAIT_MS }), page(2, { used: 81, waitMs: WAIT_MS })];
  const none = page(0, { used: 81, waitMs: WAIT_MS });
  const last = page(1, { used: 1, waitMs: HOUR_MS }, true);
  const sync = await syncOf('/waits', (request, response, nth) =>
    (answers[pageOf(request)] ?? (isUsed ? none : last))(request, response, nth),
  );
  const run = await askForRun(stack, world, sync);

  const first = await waiting(sync, run);
  expect(first).toMatchObject({
    state: 'running',
    tries: 0,
    failure: null,
    records: { read: 5, written: 5 },
  });
  expect(first.requests).toBeGreaterThanOrEqual(2);
  expect(first.fault).toMatch(/^127\.0\.0\.1:\d+ has counted 81 of the 100 calls of its quota, .* 80 % .* at 20\d\d-/);
  expect(waitOf(first)).toMatch(/^waiting until \d\d:\d\d:\d\d: 127\.0\.0\.1/);

  await worker.kill();
  worker = startWorker();
  let { waits_until: until } = first;
  for (let waits = 0; waits < 2; waits += 1) {
    const again = await waiting(sync, run, until);
    expect(again).toMatchObject({ state: 'running', tries: 0, failure: null, records: { read: 5 } });
    until = again.waits_until;
  }
  // By which the run would be listed as needing attention.
  expect((await findRun(stack.store.db, world.entity.id, run))!.failingSince).toBeNull();

  isUsed = false;
  const ended = await runEnded(stack.store, world, run);
  expect(ended).toMatchObject({ state: 'finished', alert: null, fault: null, waitsUntil: null });
  expect(ended.progress).toMatchObject({ read: 6, written: 6 });
  expect(ended.endedAt!.getTime() - ended.startedAt!.getTime()).toBeGreaterThan(2 * WAIT_MS + PATIENCE_MS);
});

it('a run that waits hours for its quota can be canceled, and the next one runs', async () => {
  const [used, left] = [page(1, { used: 90, waitMs: 5 * HOUR_MS }), page(1, { used: 1, waitMs: HOUR_MS }, true)];
  let isUsed = true;
  const sync = await syncOf('/canceled', (request, response, nth) => (isUsed ? used : left)(request, response, nth));
  const first = await askForRun(stack, world, sync);
  const { waits_until: until } = await waiting(sync, first);
  isUsed = false;
  expect(Math.abs(new Date(until!).getTime() - Date.now() - 5 * HOUR_MS)).toBeLessThan(60_000);
  const second = await askForRun(stack, world, sync);
  await ask(stack.app, world, 'POST', `/api/syncs/${sync}/runs/${first}/cancel`);
  expect(await runEnded(stack.store, world, second)).toMatchObject({ state: 'finished', progress: { read: 1 } });
  expect(await shown(sync, first)).toMatchObject({ state: 'canceled', waits_until: null, records: { written: 1 } });
});

it('a dry run asks for no more pages than it shows', async () => {
  const sync = await syncOf('/dry', inTurn(page(3, { used: 1, waitMs: HOUR_MS }), silence));
  const dry = await runSync(stack, world, sync, { records: 2 }, 'dry_run');
  expect(dry).toMatchObject({ state: 'finished', progress: { read: 2 } });
  expect(web.asked.filter(({ path }) => path.startsWith('/dry?'))).toHaveLength(1);
});

it('what comes again at each try is not sent at each to a destination without a key', async () => {
  const rows = Array.from({ length: 7_000 }, (_, n) => `quota-broken-${n},gold`);
  const bytes = Buffer.from(['email,tariff', ...rows, ''].join('\n'));
  let sent = 0;
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const { records } = (await json(request)) as { records: object[] };
    sent += records.length;
    const outcomes = records.map(() => ({ ok: true }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ outcomes }));
  };
  const connect = async (connector: string, settings: object) =>
    (
      await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
        name: connector,
        connector,
        settings,
      })
    ).identifier;
  const source = web.serve('/broken.csv', inTurn(file(bytes), file(bytes, { breaksAfter: 150_000 })));
  const sync = await makeSync(stack, world, {
    source: { connection: await connect('http-file', { url: source, format: 'csv' }), stream: 'broken.csv' },
    destination: {
      connection: await connect('webhook', {
        url: web.serve('/taking', (request, response) => void take(request, response)),
        secret: 'zqwebhooksecret-quota',
      }),
      stream: 'people',
      key: [],
    },
    mapping: { fields: [{ from: 'email' }] },
  });
  const run = await runSync(stack, world, sync);
  expect(run).toMatchObject({ state: 'failed', failure: { status: 'transfer_broken' } });
  expect([run.progress.read, sent]).toEqual([5_000, 5_000]);
});
