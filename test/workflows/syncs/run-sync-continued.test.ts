import { beforeAll, describe, expect, it } from 'vitest';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findRun, insertRun } from '../../../store/syncs/sync-runs.ts';
import { findSync } from '../../../store/syncs/syncs.ts';
import { type Answer, file, httpSource } from '../../harness/core/http-source.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, makeSync, runEnded } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

/** Of a record; each answer of the source breaks off after the whole batch that it goes on with, and some. */
const ROW_BYTES = 20;
const ROWS = 13_000;
const BREAKS_AFTER = 6_000 * ROW_BYTES;
const WAITS_OF_A_RUN = 1;

const stack = useStack({ impatient: true });
let world: World;
const web = await httpSource();

beforeAll(async () => {
  world = await makeWorld(stack.store);
});

const emailOf = (n: number) => `continued-${String(n).padStart(5, '0')}`;
const BYTES = Buffer.from(
  ['email,tariff', ...Array.from({ length: ROWS }, (_, n) => `${emailOf(n)},${(n % 900) + 100}`), ''].join('\n'),
);

/** A file that breaks off again and again, and can be gone on with. */
async function syncOfBreaking(name: string): Promise<string> {
  const answer: Answer = (request, response, nth) => {
    file(BYTES, { etag: '"1"', ...(nth === 0 ? {} : { breaksAfter: BREAKS_AFTER }) })(request, response, nth);
  };
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name,
    connector: 'http-file',
    settings: { url: web.serve(`/${name}.csv`, answer), format: 'csv' },
  });
  return makeSync(stack, world, {
    source: { connection, stream: `${name}.csv` },
    destination: { sor: world.sor.identifier },
    mode: 'incremental',
    mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'score', as: 'number' }] },
  });
}

/** A run whose workflow continues as new after each wait. Older versions named the run's id `runId` in the input. */
async function begin(sync: string, idName: 'jobId' | 'runId' = 'jobId'): Promise<SyncRun> {
  const { id: syncId } = (await findSync(stack.store.db, world.entity.id, sync))!;
  const run = (await insertRun(stack.store.db, world.entity.id, { syncId, cause: 'request' }))!;
  await stack.temporal.workflow.start('runSync', {
    workflowId: jobWorkflowId('sync', run.identifier),
    taskQueue: 'flows',
    args: [{ entityId: world.entity.id, [idName]: run.id, identifier: run.identifier }, WAITS_OF_A_RUN],
  });
  return run;
}

async function runsOfWorkflow({ identifier }: SyncRun): Promise<Set<string>> {
  const query = `WorkflowId = "${jobWorkflowId('sync', identifier)}"`;
  return new Set((await Array.fromAsync(stack.temporal.workflow.list({ query }))).map(({ runId }) => runId));
}

async function expectExact(sync: string, run: SyncRun): Promise<void> {
  const ended = await runEnded(stack.store, world, run.identifier);
  expect(ended).toMatchObject({
    state: 'finished',
    generation: run.generation,
    tries: 0,
    fault: null,
    cursorBefore: null,
    progress: { read: ROWS, written: ROWS, unchanged: 0, ignored: 0, failed: 0 },
  });
  const { cursor } = (await findSync(stack.store.db, world.entity.id, sync))!;
  expect(JSON.parse(cursor!)).toEqual(JSON.parse(ended.progress.position!));
  const path = `/api/syncs/${sync}/runs/${run.identifier}/log`;
  const { lines } = await ask<{ lines: { line: string }[] }>(stack.app, world, 'GET', path);
  expect(lines).toEqual([]);
  const values = (await importedValues(stack, world)) as { customer_id: string; number_value: string }[];
  expect(values.map(({ customer_id: id, number_value: value }) => [id, Number(value)])).toEqual(
    Array.from({ length: ROWS }, (_, n) => [emailOf(n), (n % 900) + 100]),
  );
}

describe('a run that waits so often that its workflow goes on in a new one', () => {
  it('ends with exact counts, log and place', async () => {
    const worker = stack.startWorker();
    const sync = await syncOfBreaking('breaking');
    const run = await begin(sync);
    await expectExact(sync, run);
    // One a break; where a busy worker's heartbeat is late, Temporal begins the step anew without a wait.
    await waitFor('the runs of the workflow', async () => (await runsOfWorkflow(run)).size >= 2);
    await worker.stop();
  });

  it('does so too when a worker is killed as the new one begins', async () => {
    const doomed = stack.startWorker();
    const sync = await syncOfBreaking('killed');
    const run = await begin(sync, 'runId');
    const handle = stack.temporal.workflow.getHandle(jobWorkflowId('sync', run.identifier));
    const { runId: first } = await handle.describe();
    await waitFor('the next run of the workflow', async () => (await handle.describe()).runId !== first);
    await doomed.kill();
    expect((await findRun(stack.store.db, world.entity.id, run.identifier))!.endedAt).toBeNull();
    const worker = stack.startWorker();
    await expectExact(sync, run);
    await worker.stop();
  });
});
