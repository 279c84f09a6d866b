import { readdir, readFile } from 'node:fs/promises';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import { dataConverter } from '../../../temporal/client.ts';
import '../core/temporal-runtime.ts';

const FOLDER = new URL('../../histories/', import.meta.url);

/** The histories that are kept, as `<workflow>/<name>.json`. */
export async function keptHistories(): Promise<string[]> {
  return (await readdir(FOLDER, { recursive: true })).filter((file) => file.endsWith('.json')).toSorted();
}

export function readHistory(file: string): Promise<string> {
  return readFile(new URL(file, FOLDER), 'utf8');
}

/**
 * Replays histories on one worker, which has each of them as the workflow of its name. Returns what was wrong with it,
 * or undefined.
 */
export async function replay(
  histories: Record<string, string>,
  options: Omit<ReplayWorkerOptions, 'dataConverter'>,
): Promise<Record<string, Error | undefined>> {
  const given = Object.entries(histories).map(([workflowId, text]) => ({
    workflowId,
    history: historyFromJSON(JSON.parse(text)),
  }));
  const results = await Array.fromAsync(Worker.runReplayHistories({ ...options, dataConverter }, given));
  return Object.fromEntries(results.map(({ workflowId, error }) => [workflowId, error]));
}
