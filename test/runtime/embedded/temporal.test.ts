import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterEach, expect, test } from 'vitest';
import { type EmbeddedTemporal, startTemporal, temporalDatabase } from '../../../runtime/embedded/temporal.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();
let temporal: EmbeddedTemporal | undefined;

afterEach(() => temporal?.stop());

test('Temporal keeps its state and its address from one start to the next, closed to other users', async () => {
  const said: string[] = [];
  const options = { dataDir: folder.path, namespace: 'kept', say: (line: string) => said.push(line) };
  const { address, uiAddress } = (temporal = await startTemporal(options));
  expect((await fetch(uiAddress!)).status).toBe(200);
  await waitFor('the workflow to be taken', () =>
    workflow(address, (client) => client.workflow.start('anything', { taskQueue: 'none', workflowId: 'kept' })),
  );
  await temporal.stop();

  temporal = await startTemporal({ ...options, headless: true });
  expect(temporal.address).toBe(address);
  expect(temporal.uiAddress).toBeNull();
  await waitFor('the workflow to be known', () =>
    workflow(address, async (client) => (await client.workflow.getHandle('kept').describe()).status.name === 'RUNNING'),
  );
  expect(said.at(-1)).toMatch(/^temporal: dev server ready in \d+\.\d s$/);
  expect(statSync(dirname(temporalDatabase(folder.path))).mode & 0o777).toBe(0o700);
});

/** A namespace is known at once, and served a moment later. */
async function workflow<T>(address: string, use: (client: Client) => Promise<T>): Promise<T | null> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection, namespace: 'kept' })).catch(() => null);
  } finally {
    await connection.close();
  }
}
