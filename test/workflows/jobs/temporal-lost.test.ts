import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTemporal, temporalDatabase, type EmbeddedTemporal } from '../../../runtime/embedded/temporal.ts';
import { openTemporalClient } from '../../../temporal/client.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { newTestServer } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { workersOver } from '../../harness/core/workers.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { feedDone, postFeed } from '../../harness/feed/feeds.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';

const NAMESPACE = 'lost-and-found';
const ROWS = 20_000;

let store: TestStore;
let dataDir: string;
let server: EmbeddedTemporal;
let startWorker: ReturnType<typeof workersOver>;

const start = () => startTemporal({ dataDir, say: () => {}, headless: true });

beforeAll(async () => {
  store = await testStore();
  dataDir = await mkdtemp(join(tmpdir(), 'millrace-temporal-'));
  server = await start();
  startWorker = workersOver(store, NAMESPACE, { temporalAddress: server.address });
});

afterAll(async () => {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

it('an import goes on when Temporal comes back with an empty database', async () => {
  const client = await openTemporalClient({ address: server.address, namespace: NAMESPACE }, 'test-server');
  const app = await newTestServer(store, client, NAMESPACE);
  startWorker();
  const world = await makeWorld(store);
  const id = await postImport(app, world, mixedFile(ROWS, 500));
  const before = await waitFor('some rows', async () => {
    const job = await findImport(store.db, world.entity.id, id);
    return job!.rowsIn > 0 && job;
  });
  await server.stop();
  for (const suffix of ['', '-wal', '-shm']) await rm(`${temporalDatabase(dataDir)}${suffix}`, { force: true });
  expect(await findImport(store.db, world.entity.id, id)).toMatchObject({ state: 'running' });

  server = await start();
  const job = await importEnded(store, world, id);
  expect(job).toMatchObject({ state: 'finished', rowsIn: ROWS });
  expect(job.generation).toBeGreaterThan(before.generation);
  expect(job.rowsOk + job.rowsIgnored + job.rowsFailed).toBe(ROWS);
  await app.close();
  await client.connection.close();
});

it('a feed takes values in while Temporal is down, and merges them in order when it is back', async () => {
  const client = await openTemporalClient({ address: server.address, namespace: NAMESPACE }, 'test-server');
  const app = await newTestServer(store, client, NAMESPACE);
  const world = await makeWorld(store);
  await server.stop();
  const ids: string[] = [];
  for (let number = 0; number < 10; number += 1) {
    ids.push(
      await postFeed(app, world, {
        customer_id: personId(1),
        attribute_key: 'plan',
        attribute_value: `plan ${number}`,
      }),
    );
  }

  server = await start();
  startWorker = workersOver(store, NAMESPACE, { temporalAddress: server.address });
  startWorker();
  for (const id of ids) expect(await feedDone(store, world, id)).toMatchObject({ valuesIn: 1, valuesOk: 1 });
  const { rows } = await store.db.query('SELECT string_value FROM attribute_values WHERE entity_id = $1', [
    world.entity.id,
  ]);
  expect(rows).toEqual([{ string_value: 'plan 9' }]);
  await app.close();
  await client.connection.close();
});
