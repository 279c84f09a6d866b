import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { askFor } from '../../harness/gdpr/gdpr.ts';

const stack = useStack();

/** The types of the workflows that Temporal lists for a query, and whether they are still running. */
const list = (query: string): Promise<string[]> =>
  Array.fromAsync(stack.temporal.workflow.list({ query }), ({ type, status }) => `${type} ${status.name}`);

it('the view that the docs name shows work alone, and a finished request of a person as completed', async () => {
  const docs = await readFile(new URL('../../../docs/deploying.md', import.meta.url), 'utf8');
  const view = /```sql\n(WorkflowType .+)\n```/.exec(docs)![1]!;
  for (const tick of ['syncTick', 'exportTick']) {
    await stack.temporal.workflow.start(tick, { taskQueue: 'of no worker', workflowId: tick });
  }
  stack.startWorker();
  const world = await makeWorld(stack.store);
  const { identifier } = await askFor(stack, 'access', world, [personId(640)]);
  await stack.temporal.workflow.getHandle(jobWorkflowId('access', identifier)).result();
  await waitFor('Temporal to list all of them', async () => {
    const all = new Set(await list(''));
    return ['sweep COMPLETED', 'syncTick RUNNING', 'exportTick RUNNING', 'gdprAccess COMPLETED'].every((entry) =>
      all.has(entry),
    );
  });
  expect(await list(view)).toEqual(['gdprAccess COMPLETED']);
  for (const tick of ['syncTick', 'exportTick']) await stack.temporal.workflow.getHandle(tick).terminate();
});
