import { beforeAll, expect, it } from 'vitest';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { type SalesforceServer, salesforceServer } from '../../harness/syncs/salesforce-server.ts';
import { ask, askForRun, makeSync, runEnded, runSync } from '../../harness/syncs/syncs.ts';

const stack = useStack({ impatient: true });
let world: World;

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
});

const contacts = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ LastName: `Name ${n}`, Email: personId(n), Title: 'gold' }));

async function syncOf({ url: address, app }: SalesforceServer, more: object = {}): Promise<string> {
  const settings = { address, client_id: app.clientId, client_secret: app.clientSecret, bulk: 'always' };
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: address,
    connector: 'salesforce',
    settings,
  });
  return makeSync(stack, world, {
    source: { connection, stream: 'Contact' },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'Email' }, fields: [{ from: 'Title', to: 'plan' }] },
    ...more,
  });
}

it('a run that is canceled while its Bulk job works leaves no job behind', async () => {
  const server = await salesforceServer({ bulkLooks: Infinity });
  server.putMany('Contact', contacts(3));
  const sync = await syncOf(server);
  const run = await askForRun(stack, world, sync);
  await waitFor('the job to be looked at', async () =>
    server.calls.some(({ method, path }) => method === 'GET' && path.includes('/jobs/query/')) ? true : null,
  );
  expect(server.jobs.size).toBe(1);
  await ask(stack.app, world, 'POST', `/api/syncs/${sync}/runs/${run}/cancel`);
  expect((await runEnded(stack.store, world, run)).state).toBe('canceled');
  await waitFor('the job to be gone', async () => (server.jobs.size === 0 ? true : null));
});

it('a dry run of some records leaves no job behind, and a run brings all', async () => {
  const server = await salesforceServer({ bulkLooks: 0 });
  server.putMany('Contact', contacts(12_000));
  const sync = await syncOf(server);
  const dry = await runSync(stack, world, sync, {}, 'dry_run');
  expect(dry).toMatchObject({ state: 'finished' });
  expect(dry.progress.read).toBeLessThan(12_000);
  await waitFor('the job to be gone', async () => (server.jobs.size === 0 ? true : null));
  const run = await runSync(stack, world, sync);
  expect(run).toMatchObject({ state: 'finished', progress: { read: 12_000, failed: 0 } });
  expect(server.jobs.size).toBe(0);
});
