import { readdir, readFile } from 'node:fs/promises';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { describe, expect, inject, it } from 'vitest';
import * as workflows from '../../workflows/index.ts';
import { dataConverter } from '../../runtime/temporal-client.ts';

Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'OFF', forward: {} } } });

const FOLDER = new URL('../histories/', import.meta.url);

const kept = (await readdir(FOLDER, { recursive: true })).filter((file) => file.endsWith('.json')).toSorted();

async function replay(history: string): Promise<void> {
  const options = { workflowBundle: { codePath: inject('bundlePath') }, dataConverter };
  await Worker.runReplayHistory(options, historyFromJSON(JSON.parse(history)), 'replayed');
}

describe('a run that began under older code', () => {
  it('is kept for every workflow', () => {
    expect(new Set(kept.map((file) => file.split('/')[0]))).toEqual(new Set(Object.keys(workflows)));
  });

  it.for(kept)('goes on under this code: %s', async (file) => {
    await expect(replay(await readFile(new URL(file, FOLDER), 'utf8'))).resolves.toBeUndefined();
  });

  it('would be noticed if this code did something else', async () => {
    const history = await readFile(new URL(kept.find((file) => file.startsWith('importAttributes/'))!, FOLDER), 'utf8');
    await expect(replay(history.replaceAll('claimImport', 'anotherStep'))).rejects.toThrow(/nondetermin|anotherStep/i);
  });
});
