import { describe, expect, test } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { updateSample } from '../../../store/syncs/sync-run-progress.ts';
import type { NewRun } from '../../../store/syncs/sync-run-record.ts';
import { claimRun, findRun, insertRun } from '../../../store/syncs/sync-runs.ts';
import { updateFailures, updateKnownFields, updatePaused } from '../../../store/syncs/syncs.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { testServer } from '../http/test-server.ts';
import { runError } from './sample-sync.ts';
import { mapping, refusalOf, resultOf, useSyncs } from './use-syncs.ts';

const { store, world, ask, connections, definition, createdId, view, get, put, post, stored, endedRun, audited } =
  useSyncs();

const found = async (id: string) => (await findRun(store.db, world.entity.id, id))!;

/** Runs as a workflow has claimed it. */
async function claim(id: string): Promise<void> {
  const run = await found(id);
  await write(store.db, (tx) => claimRun(tx, world.entity.id, run.id, 'workflow'));
}

describe('a run', () => {
  test('that is asked for waits until it is claimed, and is shown', async () => {
    const id = await createdId();
    const run = resultOf(await post(`/${id}/run`, { fresh: true, confirm_removals: true }));
    expect(run).toMatchObject({
      run_id: expect.stringMatching(/^run_/),
      cause: 'request',
      state: 'accepted',
      dry_run: false,
      fresh: true,
      redrive_of: null,
      started_at: null,
      records: { read: 0, written: 0, unchanged: 0, ignored: 0, failed: 0 },
      errors_by_type: {},
      failure: null,
    });
    expect(resultOf(await get(`/${id}/runs/${run.run_id}`))).toEqual({ ...run, open: 0 });
    expect(await found(run.run_id)).toMatchObject({ removalsConfirmed: true });
    expect((await view(id)).last_run).toMatchObject({ run_id: run.run_id, state: 'accepted' });
    expect((await audited(id)).slice(1)).toEqual([
      ['create', 'sync_run', { run: run.run_id, dry_run: false, fresh: true }],
    ]);
  });

  test('is one at a time that waits; a dry run may wait beside it', async () => {
    const id = await createdId();
    const { run_id: first } = resultOf(await post(`/${id}/run`));
    expect(refusalOf(await post(`/${id}/run`))).toEqual([409, 'conflict', expect.stringContaining(first)]);
    const { run_id: dry } = resultOf(await post(`/${id}/dry_run`));
    expect(refusalOf(await post(`/${id}/dry_run`))).toEqual([409, 'conflict', expect.stringContaining(dry)]);
    await claim(first);
    expect((await post(`/${id}/run`)).status).toBe(200);
  });

  test('of a paused sync can be asked for all the same', async () => {
    const id = await createdId();
    resultOf(await post(`/${id}/pause`));
    expect((await post(`/${id}/run`)).status).toBe(200);
  });

  test('holds what is read, where it goes and what is removed as it is until it ends; all else can be changed', async () => {
    const id = await createdId();
    const { run_id: run } = resultOf(await post(`/${id}/run`));
    expect((await put(id, { removes: true })).status).toBe(200);
    await claim(run);
    for (const body of [
      { removes: false },
      { mode: 'incremental', cursor_field: 'id', removes: false },
      { mapping: { customer: { field: 'mail' } } },
      { source: { connection: connections.postgres, stream: 'others' } },
    ])
      expect(refusalOf(await put(id, body))).toEqual([409, 'conflict', expect.stringContaining(`cancel ${run}`)]);
    expect(
      (await put(id, { name: definition().name, mapping: mapping({ from: 'plan' }), removal_limit: 7 })).status,
    ).toBe(200);
    resultOf(await post(`/${id}/runs/${run}/cancel`));
    expect((await put(id, { removes: false })).status).toBe(200);
  });

  test('ends where it stands when it is canceled, once', async () => {
    const id = await createdId();
    const { run_id: run } = resultOf(await post(`/${id}/run`));
    await claim(run);
    expect(resultOf(await post(`/${id}/runs/${run}/cancel`))).toMatchObject({
      state: 'canceled',
      ended_at: expect.any(String),
    });
    expect(refusalOf(await post(`/${id}/runs/${run}/cancel`))).toEqual([
      400,
      'bad_request',
      'The run has ended already',
    ]);
    expect(await audited(run)).toEqual([['update', 'sync_run', { change: 'canceled' }]]);
  });

  test('is found under its own sync and in its own entity only', async () => {
    const [id, other] = [await createdId(), await createdId()];
    const run = await endedRun(id, { errors: [runError(1, personId(1))] });
    const elsewhere = await makeWorld(store);
    const asked = [
      ['GET', ''],
      ['GET', '/errors'],
      ['GET', '/errors.csv'],
      ['GET', '/log'],
      ['GET', '/sample'],
      ['POST', '/cancel'],
      ['POST', '/redrive'],
    ] as const;
    for (const [method, rest] of asked) {
      expect(refusalOf(await ask(`/${other}/runs/${run.identifier}${rest}`, { method }))).toEqual([
        404,
        'not_found',
        'Run not found',
      ]);
      const reply = await ask(`/${id}/runs/${run.identifier}${rest}`, { method, token: elsewhere.token });
      expect(refusalOf(reply)).toEqual([404, 'not_found', 'Sync not found']);
    }
  });

  test('comes in pages with the others, newest first, re-drives with what they bring again', async () => {
    const id = await createdId();
    const first = await endedRun(id, { counts: { written: 2, failed: 1 } });
    const again = await endedRun(id, { cause: 'redrive', rootId: first.id });
    const last = await endedRun(id, { dryRun: true, dryRunRecords: 1 });
    const page = resultOf(await get(`/${id}/runs?per_page=2`));
    expect(page).toMatchObject({
      total_items: 3,
      total_pages: 2,
      navigation: { next: expect.stringContaining(`/api/syncs/${id}/runs?page=2`) },
      items: [
        { run_id: last.identifier, dry_run: true },
        { run_id: again.identifier, redrive_of: first.identifier, open: null },
      ],
    });
    const second = resultOf(await get(`/${id}/runs?per_page=2&page=2`));
    expect(second.items).toMatchObject([{ run_id: first.identifier, records: { read: 3, written: 2, failed: 1 } }]);
    expect((await view(id)).last_run).toMatchObject({ run_id: again.identifier });
  });

  test('needs the right sor_manage', async () => {
    const { token } = await makeWorld(store, { rights: [], admin: false });
    const id = await createdId();
    for (const [method, rest] of [
      ['GET', '/runs'],
      ['POST', '/run'],
      ['POST', '/dry_run'],
      ['POST', '/pause'],
      ['DELETE', ''],
    ] as const) {
      expect((await ask(`/${id}${rest}`, { method, token })).status).toBe(403);
    }
  });
});

describe('a dry run', () => {
  test('looks at 1,000 records unless told otherwise, at most 10,000', async () => {
    const id = await createdId();
    const usual = resultOf(await post(`/${id}/dry_run`));
    expect(usual).toMatchObject({ dry_run: true, fresh: false });
    expect(await found(usual.run_id)).toMatchObject({ dryRunRecords: 1_000 });
    for (const records of [0, 10_001, 1.5, 'many']) {
      const { status, body } = await post(`/${id}/dry_run`, { records });
      expect([status, body.errors]).toEqual([400, ['records: must be a whole number from 1 to 10000']]);
    }
    await post(`/${id}/runs/${usual.run_id}/cancel`);
    expect(await found(resultOf(await post(`/${id}/dry_run`, { records: 10_000 })).run_id)).toMatchObject({
      dryRunRecords: 10_000,
    });
  });

  test('shows what it would change; a real one has no such sample', async () => {
    const id = await createdId();
    const changes = [{ key: 'plan', before: 'silver', after: 'gold' }];
    const shown = { line: 1, outcome: 'written' as const, customer_id: personId(1), changes };
    const dry = await endedRun(id, { dryRun: true, dryRunRecords: 5, counts: { written: 1 } });
    expect(resultOf(await get(`/${id}/runs/${dry.identifier}/sample`))).toEqual({ records: [] });
    await write(store.db, (tx) => updateSample(tx, dry, [shown]));
    expect(resultOf(await get(`/${id}/runs/${dry.identifier}/sample`))).toEqual({ records: [shown] });
    expect((await audited(dry.identifier)).at(-1)).toEqual(['read', 'sync_run', { what: 'sample' }]);
    const real = await endedRun(id);
    expect(refusalOf(await get(`/${id}/runs/${real.identifier}/sample`))).toEqual([
      400,
      'bad_request',
      expect.stringContaining('Only a dry run'),
    ]);
  });
});

describe('a paused sync', () => {
  test('has no next runs, cancels those that are due, and goes on with no failure counted', async () => {
    const id = await createdId({ schedule: { every_minutes: 15 } });
    const { id: syncId } = await stored(id);
    await updateFailures(store.db, world.entity.id, syncId, 3);
    const insert = async (run: Omit<NewRun, 'syncId'>) =>
      (await insertRun(store.db, world.entity.id, { syncId, ...run }))!.identifier;
    const [due, asked] = [
      await insert({ cause: 'schedule', scheduledFor: new Date(0) }),
      await insert({ cause: 'request' }),
    ];
    const paused = resultOf(await post(`/${id}/pause`));
    expect(paused).toMatchObject({
      state: 'paused',
      paused_reason: 'by hand',
      paused_at: expect.any(String),
      next_runs: [],
      failures: 3,
    });
    expect([(await found(due)).state, (await found(asked)).state]).toEqual(['canceled', 'accepted']);
    const resumed = resultOf(await post(`/${id}/resume`));
    expect(resumed).toMatchObject({ state: 'active', paused_at: null, paused_reason: null, failures: 0 });
    expect(resumed.next_runs).toHaveLength(3);
    expect((await audited(id)).slice(1)).toEqual([
      ['update', 'sync', { change: 'paused' }],
      ['update', 'sync', { change: 'resumed' }],
    ]);
  });

  test('keeps the reason for which it was paused first, and can be changed', async () => {
    const id = await createdId({ schedule: { every_minutes: 15 } });
    await updatePaused(store.db, world.entity.id, (await stored(id)).id, 'it failed 5 times in a row: no table');
    expect(resultOf(await post(`/${id}/pause`))).toMatchObject({
      paused_reason: 'it failed 5 times in a row: no table',
    });
    expect(resultOf(await put(id, { schedule: { every_minutes: 30 } }))).toMatchObject({
      state: 'paused',
      next_runs: [],
    });
  });
});

describe('the fields of the source', () => {
  test('are forgotten when they are accepted, so that the next run takes them as they are', async () => {
    const id = await createdId();
    await updateKnownFields(store.db, world.entity.id, (await stored(id)).id, [{ name: 'email', type: 'string' }]);
    expect(await view(id)).toMatchObject({ fields: [{ name: 'email', type: 'string' }] });
    expect(resultOf(await post(`/${id}/accept_schema`))).toMatchObject({ fields: null });
    expect((await audited(id)).slice(1)).toEqual([['update', 'sync', { change: 'schema accepted' }]]);
  });
});

test("what Temporal can't be told now is left to the sweep", async () => {
  const unreachable = async () => Promise.reject(new Error('no Temporal'));
  const own = await testServer(store, { startJob: unreachable, followSync: unreachable });
  const body = definition({ schedule: { every_minutes: 15 } });
  const { identifier: id } = resultOf(await own.call('POST', '/api/syncs', { token: world.token, body }));
  const run = resultOf(await own.call('POST', `/api/syncs/${id}/run`, { token: world.token, body: {} }));
  expect(await found(run.run_id)).toMatchObject({ state: 'accepted' });
  const told = own.logs.filter(({ level }) => level === 40);
  const msg = expect.stringContaining('left to the sweep') as string;
  expect(told).toMatchObject([
    { sync: id, msg },
    { syncRun: run.run_id, msg },
  ]);
});
