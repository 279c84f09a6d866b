import { expect, it } from 'vitest';
import { createLog } from '../../../runtime/telemetry/log.ts';
import { stepAttempts } from '../../../runtime/workers.ts';
import { openDatabase } from '../../../store/core/database.ts';
import { findFileJob } from '../../../store/files/file-jobs.ts';
import type { JobStep } from '../../../store/jobs/step-attempts.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import type { TestWorker } from '../../harness/core/workers.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { askFor, insertPeople, leftOf, requestTreated, requestWhen } from '../../harness/gdpr/gdpr.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { ensureSampleMonths } from '../../harness/tracking/sdk-samples.ts';
import { importAttributesUnderKill as imports } from '../imports/import-attributes.kill.ts';

/** Law 11: a step that kills its process is given up after three times; others' steps are not. */

const stack = useStack({ impatient: true, sweepSeconds: 2 });
const maxStepDeaths = 3;

const call = async (world: World, method: 'GET' | 'POST', url: string) => {
  const reply = await stack.app.inject({
    method,
    url: `/api/${url}`,
    headers: { authorization: `Token ${world.token}` },
  });
  return reply.json<{ result: never }>().result;
};

const attentionOf = async (world: World, id: string) => {
  const { attention } = (await call(world, 'GET', 'attention')) as {
    attention: { kind: string; object: { id: string } }[];
  };
  return attention
    .filter(({ object }) => object.id === id)
    .map(({ kind }) => kind)
    .toSorted();
};

/** So many workers, one after another, end at a boundary. */
async function dieAt(boundary: string, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const worker = stack.startWorker({ kill: { boundary, hit: 1 }, maxStepDeaths });
    expect((await worker.ended).signal).toBe('SIGKILL');
  }
}

async function withWorker<T>(work: (worker: TestWorker) => Promise<T>): Promise<T> {
  const worker = stack.startWorker({ maxStepDeaths });
  const result = await work(worker);
  await worker.stop();
  return result;
}

it('a file whose step kills its process three times fails with the reason, while an import beside it goes through', async () => {
  expectFault('writeFile');
  const {
    store: { db },
  } = stack;
  const world = await makeWorld(stack.store);
  const app = await insertSampleApp(db, world.entity.id, 'com.example.killed');
  const other = await imports.begin(stack);
  await call(world, 'GET', `apps/${app.identifier}/devices_export.csv`);
  const {
    rows: [asked],
  } = await db.query<{ identifier: string }>('SELECT identifier FROM file_jobs WHERE entity_id = $1', [
    world.entity.id,
  ]);
  const { identifier } = asked!;
  const file = async () => (await findFileJob(db, world.entity.id, identifier))!;

  await dieAt('file: written', 3);
  expect((await file()).state).toBe('running');
  await withWorker(async () => {
    await waitFor('the mail about the file', async () => (await file()).mailState === 'filed');
    await waitFor('the end of the import', () => imports.hasEnded(stack, other));
  });
  expect(await imports.outcome(stack, other)).toMatchObject({ counts: { state: 'finished', rowsIn: imports.size } });
  expect((await file()).state).toBe('failed');
  expect((await file()).failure!.message).toMatch(
    /^an error in Millrace: the step writeFile ended its process several times/,
  );
  expect(await attentionOf(world, identifier)).toEqual(['failed', 'internal_error']);
});

it('a deletion with a location that kills its process erases the others, and ends once staff approve it', async () => {
  expectFault('eraseLocation');
  const { store } = stack;
  const world = await makeWorld(store);
  const app = await insertSampleApp(store.db, world.entity.id, 'com.example.deletion');
  await ensureSampleMonths(store.db);
  const userId = personId(1);
  await insertPeople(store, { ...world, app }, [userId]);
  const request = await askFor(stack, 'delete', world, [userId]);

  await dieAt('gdpr: erased events', 3);
  await withWorker(async () => {
    const { fault } = await requestWhen(store, request, 'given up', ({ state }) => state === 'accepted');
    expect(fault).toContain('the step eraseLocation (events) ended its process several times');
    expect(await leftOf(store, world.entity.id, [userId])).toEqual({});
    expect(await attentionOf(world, request.identifier)).toEqual(['failed', 'internal_error']);
    // The sweep starts what is accepted, and comes to requests of people last.
    const later = await askFor(stack, 'delete', world, [personId(2)]);
    await store.db.query(`UPDATE gdpr_requests SET received_at = now() - interval '1 minute' WHERE id = $1`, [
      request.id,
    ]);
    await requestTreated(store, later);
    expect(await requestWhen(store, request, 'known', () => true)).toMatchObject({ state: 'accepted' });
    await call(world, 'POST', `gdpr/requests/${request.identifier}/approve`);
    expect(await requestTreated(store, request)).toMatchObject({ fault: null, locationFaults: {} });
  });
  expect(await attentionOf(world, request.identifier)).toEqual([]);
});

it('an import that is killed from outside again and again, and goes further between, ends', async () => {
  const run = await imports.begin(stack);
  await dieAt('import: after a batch committed', 3);
  await withWorker(() => waitFor('the end of the import', () => imports.hasEnded(stack, run)));
  expect(await imports.outcome(stack, run)).toMatchObject({ counts: { state: 'finished', rowsIn: imports.size } });
});

it('suspected steps run alone one after another, and one whose process lives is not counted', async () => {
  const { store } = stack;
  const {
    entity: { id: entityId },
  } = await makeWorld(store);
  const processes = ['one', 'two', 'three'].map((name) => {
    const db = openDatabase({ url: store.url, name });
    const attempts = stepAttempts(db, createLog({ level: 'fatal' }), maxStepDeaths);
    onFileEnd(async () => {
      await attempts.close();
      await db.end();
    });
    return { name, ...attempts };
  });
  const [one, two, three] = processes as [(typeof processes)[0], (typeof processes)[0], (typeof processes)[0]];
  const end = async ({ name }: { name: string }) => {
    await store.db.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [name]);
    await waitFor(
      'the end of its sessions',
      async () =>
        (await store.db.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [name])).rowCount === 0,
    );
  };
  const step = (job: string, attempt: number): JobStep => ({ entityId, kind: 'file', job, activity: 'run/1', attempt });

  // A location of a deletion: its workflow tries it again by another activity.
  const at = (attempt: number): JobStep => ({
    entityId,
    kind: 'delete',
    job: 'd',
    activity: 'eraseLocation/events',
    attempt,
    location: 'events',
  });
  expect(await one.begin(at(1))).toBe('runs');
  expect(await one.begin(at(2))).toBe('runs');
  await one.ended(at(2), 'failed');
  expect(await two.begin(at(1))).toBe('runs');
  await two.ended(at(1), 'done');
  expect(await three.begin(at(2))).toBe('runs');
  await end(three);
  expect(await one.begin(at(3))).toBe('runs');
  await end(one);
  expect(await two.begin(at(1))).toBe('given up');
  await two.ended(at(1), 'given up');

  // Temporal missed its heartbeats, whichever process has the next attempt.
  for (const [attempt, process] of [
    [2, one],
    [3, two],
    [4, three],
    [5, one],
    [6, two],
  ] as const) {
    expect(await process.begin(step('living', attempt))).toBe('runs');
  }
  expect(await one.begin(step('b', 2))).toBe('runs');
  expect(await one.begin(step('c', 2))).toBe('runs');
  await end(one);
  expect(await two.begin(step('b', 3))).toBe('runs');
  expect(await three.begin(step('c', 3))).toBe('waits');
  await two.ended(step('b', 3), 'done');
  expect(await three.begin(step('c', 4))).toBe('runs');
  await end(three);
  expect(await two.begin(step('c', 5))).toBe('given up');
  expect(await two.begin(step('living', 7))).toBe('runs');
});
