import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { ownLog } from '../run/faults.ts';
import { onFileEnd } from './clean-up.ts';
import type { TestStore } from './database.ts';
import { IMPATIENCE } from './impatience.ts';
import { nodeFlags } from './node-flags.ts';
import type { WorkerOrder, WorkerReport, WorkerSettings } from './worker-main.ts';

const MAIN = fileURLToPath(new URL('./worker-main.ts', import.meta.url));

/**
 * How often a test's sweep looks for lost work. A sweep takes 0.2 s of CPU, so only tests that wait for one have it
 * more often.
 */
export const SWEEP_SECONDS = 15;

/** When its file is through, a worker that has not drained within this time is killed. */
const DRAIN_WITHIN_MS = 2_000;
/** So many processes are kept for the next workers: loading modules costs more than all that most workers do. */
const MAX_KEPT = 4;

type Ended = { signal: NodeJS.Signals | null; code: number | null };

export type TestWorker = {
  pid: number;
  /** Settles when it works no more: its process has ended, or it was stopped. */
  ended: Promise<Ended>;
  /** Its log, without what earlier workers of its process said. */
  logPath: string;
  /** SIGKILL, at once. */
  kill(): Promise<void>;
  /** The worker drains. */
  stop(): Promise<void>;
};

export type WorkerOptions = Pick<
  WorkerSettings,
  | 'kill'
  | 'fetchAllow'
  | 'pushServices'
  | 'commands'
  | 'smtpUrl'
  | 'batchRecords'
  | 'keptLimits'
  | 'patienceMs'
  | 'maxStepDeaths'
> & {
  /** Beside the environment of the tests; in a process of its own. */
  env?: Record<string, string>;
  /** In a process of its own, whose memory is looked at. */
  alone?: boolean;
};

export type WorkersOptions = {
  temporalAddress?: string;
  /** A worker that dies is missed after a second, not after five. */
  impatient?: boolean;
  sweepSeconds?: number;
};

/**
 * Starts workers over a test's store, in processes of their own, and ends those that are left when the file is through.
 */
export function workersOver(store: TestStore, namespace: string, options: WorkersOptions = {}) {
  const { temporalAddress = inject('temporal').address, impatient = false, sweepSeconds = SWEEP_SECONDS } = options;
  const live = new Set<TestWorker>();
  onFileEnd(() =>
    Promise.all(
      [...live].map(async (worker) => {
        await Promise.race([worker.stop(), delay(DRAIN_WITHIN_MS)]);
        if (live.has(worker)) await worker.kill();
      }),
    ),
  );
  return ({ env, alone = env !== undefined, ...settings }: WorkerOptions = {}): TestWorker => {
    const process = (alone ? undefined : kept.pop()) ?? new WorkerProcess(env);
    const worker = process.work({
      databaseUrl: store.url,
      filesFolder: store.filesFolder,
      s3: store.s3,
      secretKey: store.secretKey.toString('base64'),
      temporalAddress,
      namespace,
      ...(impatient
        ? { bundlePath: inject('impatientBundlePath'), patience: IMPATIENCE }
        : { bundlePath: inject('bundlePath') }),
      sweepSeconds,
      ...settings,
    });
    live.add(worker);
    void worker.ended.then(() => {
      live.delete(worker);
      if (alone || kept.length === MAX_KEPT) void process.end();
      else if (process.isAlive) kept.push(process);
    });
    return worker;
  };
}

/** Those that have been a worker, and may be another one. */
const kept: WorkerProcess[] = [];

// Vitest ends this process so. Its workers end first, since the CPU time of a process counts once its parent has waited
// for it.
process.once('SIGTERM', () => {
  void Promise.allSettled(kept.map((worker) => worker.end())).then(() => process.exit());
});

class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<Ended>;
  #log: WriteStream | undefined;

  constructor(env: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, [...nodeFlags('work'), MAIN], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#exit = once(this.#child, 'exit').then(([code, signal]) => ({ code, signal }) as Ended);
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on('data', (chunk: Buffer) => this.#log?.write(chunk));
    this.#child.once('close', () => this.#log?.end());
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  /** One at a time. */
  work(settings: WorkerSettings): TestWorker {
    const { pid } = this.#child;
    // In the folder whose logs are searched at the end of the run.
    this.#log?.end();
    const name = `worker-${settings.namespace}-${pid}.log`;
    ownLog(name);
    const logPath = join(inject('runFolder'), name);
    this.#log = createWriteStream(logPath, { flags: 'a' });
    const drained = Promise.withResolvers<Ended>();
    const onMessage = (report: unknown) => {
      if (report === ('drained' satisfies WorkerReport)) drained.resolve({ code: 0, signal: null });
    };
    this.#child.on('message', onMessage);
    const ended = Promise.race([drained.promise, this.#exit]).finally(() => this.#child.off('message', onMessage));
    this.#tell({ start: settings });
    return {
      pid: pid!,
      ended,
      logPath,
      kill: async () => {
        this.#child.kill('SIGKILL');
        await ended;
      },
      stop: async () => {
        this.#tell('drain');
        await ended;
      },
    };
  }

  /** Nothing, where the process has ended. */
  #tell(order: WorkerOrder): void {
    if (this.#child.connected) this.#child.send(order, () => {});
  }
}
