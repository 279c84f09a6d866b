import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { onFileEnd } from './clean-up.ts';
import type { TestStore } from './database.ts';
import { nodeFlags } from './node-flags.ts';
import type { WorkerSettings } from './worker-main.ts';

const MAIN = fileURLToPath(new URL('./worker-main.ts', import.meta.url));

/** So often a test's sweep looks for work that is lost. */
export const SWEEP_SECONDS = 2;

export type TestWorker = {
  pid: number;
  /** Settles when the process has ended, by itself or not. */
  ended: Promise<{ signal: NodeJS.Signals | null; code: number | null }>;
  /** SIGKILL, at once. */
  kill(): Promise<void>;
  /** SIGTERM: the worker drains. */
  stop(): Promise<void>;
};

export type WorkerOptions = Pick<WorkerSettings, 'kill' | 'fetchAllow' | 'commands' | 'smtpUrl' | 'batchRecords'> & {
  /** Beside the environment of the tests. */
  env?: Record<string, string>;
};

/** Starts worker processes over a test's store, and ends those that are left when the file is through. */
export function workersOver(store: TestStore, namespace: string, temporalAddress = inject('temporal').address) {
  const live = new Set<TestWorker>();
  onFileEnd(() => Promise.all([...live].map((worker) => worker.kill())));
  return ({ env = {}, ...options }: WorkerOptions = {}): TestWorker => {
    const worker = spawnWorker({
      databaseUrl: store.url,
      filesFolder: store.filesFolder,
      s3: store.s3,
      secretKey: store.secretKey.toString('base64'),
      temporalAddress,
      namespace,
      bundlePath: inject('bundlePath'),
      sweepSeconds: SWEEP_SECONDS,
      ...options,
    }, env);
    live.add(worker);
    void worker.ended.then(() => live.delete(worker));
    return worker;
  };
}

function spawnWorker(settings: WorkerSettings, env: Record<string, string>): TestWorker {
  const child = spawn(process.execPath, [...nodeFlags('work'), MAIN], {
    env: { ...process.env, ...env, TEST_WORKER: JSON.stringify(settings) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  keepLog(child, settings.namespace);
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return { pid: child.pid!, ended, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}

/** Into the folder whose logs are searched at the end of the run. */
function keepLog(child: ChildProcess, namespace: string): void {
  const log = createWriteStream(join(inject('runFolder'), `worker-${namespace}-${child.pid}.log`));
  child.stdout!.pipe(log, { end: false });
  child.stderr!.pipe(log, { end: false });
  child.once('close', () => log.end());
}
