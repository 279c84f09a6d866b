import { type ChildProcess, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { ownLog } from '../run/faults.ts';
import { shareBundles } from './bundles.ts';
import { onFileEnd } from './clean-up.ts';
import type { TestStore } from './database.ts';
import { nodeFlags } from './node-flags.ts';
import { FILES_PREFIX } from './open-test-files.ts';
import { programEnv } from './program-env.ts';
import type { Stack } from './stack.ts';
import { waitFor } from './wait.ts';

type Env = Record<string, string>;

export type RunningProcess = {
  pid: number;
  /** SIGTERM: it drains. Gives its exit code. */
  stop(): Promise<number | null>;
};

/**
 * The real `npm run serve` over a test's store, as a process of its own, whose log is searched at the end of the run.
 */
export async function startServer(stack: Stack, env: Env = {}): Promise<RunningProcess & { url: string }> {
  const { pid, stop, child } = await startProcess('serve', stack, { PORT: '0', ...env });
  const url = await listeningAt(child);
  await waitFor('a server that is ready', () =>
    fetch(`${url}/health/ready`).then(
      (reply) => reply.ok,
      () => false,
    ),
  );
  return { pid, stop, url };
}

/** The real `npm run work`, in the same way. It has no port to ask whether it is ready. */
export async function startWork(stack: Stack, env: Env = {}): Promise<RunningProcess> {
  const { pid, stop } = await startProcess('work', stack, env);
  return { pid, stop };
}

/** What a process has to be told of where the files of a store are. */
export function filesEnv({ s3, filesFolder }: Pick<TestStore, 's3' | 'filesFolder'>): Env {
  if (!s3) return { MILLRACE_FILES: `file:${filesFolder}` };
  return {
    MILLRACE_FILES: `s3://${s3.bucket}/${FILES_PREFIX}`,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_REGION: s3.region,
    AWS_ACCESS_KEY_ID: s3.access_key_id,
    AWS_SECRET_ACCESS_KEY: s3.secret_access_key,
  };
}

const LOG_NAMES = { serve: 'server-process', work: 'worker-process' };

type Started = RunningProcess & { child: ChildProcess };

async function startProcess(script: 'serve' | 'work', { store, namespace }: Stack, env: Env): Promise<Started> {
  const dataDir = await mkdtemp(join(tmpdir(), `millrace-${script}-`));
  await shareBundles(dataDir);
  const child = spawn(
    process.execPath,
    [...nodeFlags(script), fileURLToPath(new URL(`../../../runtime/${script}.ts`, import.meta.url))],
    {
      env: {
        ...programEnv(),
        MILLRACE_DATA_DIR: dataDir,
        DATABASE_URL: store.url,
        ...filesEnv(store),
        MILLRACE_SECRET_KEY: store.secretKey.toString('base64'),
        TEMPORAL_ADDRESS: inject('temporal').address,
        TEMPORAL_NAMESPACE: namespace,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  keepLog(child, `${LOG_NAMES[script]}-${namespace}-${child.pid}.log`);
  onFileEnd(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { pid: child.pid!, stop, child };
}

/** Into the folder whose logs are searched at the end of the run. */
function keepLog(child: ChildProcess, file: string): void {
  ownLog(file);
  const log = createWriteStream(join(inject('runFolder'), file));
  for (const stream of [child.stdout!, child.stderr!]) stream.pipe(log, { end: false });
  child.once('close', () => log.end());
}

/** The system chooses the port, so that no other run can take it in between; the server's log tells which it is. */
async function listeningAt(child: ChildProcess): Promise<string> {
  let said = '';
  for await (const [chunk] of on(child.stdout!, 'data', { close: ['end'] }) as AsyncIterable<[Buffer]>) {
    said += chunk.toString();
    const url = /"msg":"Server listening at (http:[^"]+)"/.exec(said)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`the server ended before it listened: ${said}`);
}
