import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { dataConverter } from '../../runtime/temporal-client.ts';
import { workflowBundle } from '../../runtime/workflow-bundle.ts';

Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'OFF', forward: {} } } });

const FOLDER = new URL('../histories/', import.meta.url);

const kept = (await readdir(FOLDER, { recursive: true })).filter((file) => file.endsWith('.json')).toSorted();

/** How many spans a workflow gives when its history is gone through again. */
async function spansOfReplay(history: string, codePath: string): Promise<number> {
  let spans = 0;
  const count = { fn: (_info: unknown, given: unknown[]) => { spans += given.length; }, callDuringReplay: true };
  const options = { workflowBundle: { codePath }, dataConverter, sinks: { exporter: { export: count } } };
  await Worker.runReplayHistory(options, historyFromJSON(JSON.parse(history)), 'replayed');
  return spans;
}

describe('a run that began without traces', () => {
  let traced: string;

  beforeAll(async () => {
    traced = await workflowBundle(join(inject('runFolder'), 'cache'), { traced: true });
  });

  it.for(kept)('goes on when they are turned on: %s', async (file) => {
    expect(await spansOfReplay(await readFile(new URL(file, FOLDER), 'utf8'), traced)).toBeGreaterThan(0);
  });
});
