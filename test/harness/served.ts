import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { onFileEnd } from './clean-up.ts';
import type { Stack } from './stack.ts';
import { waitFor } from './wait.ts';

const MAIN = fileURLToPath(new URL('../../runtime/serve.ts', import.meta.url));

/** The real `npm run serve` over a test's store, as a process of its own, whose log is searched at the end of the run. */
export async function startServer({ store, namespace }: Stack): Promise<{ pid: number; url: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-serve-'));
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env.PATH, HOME: process.env.HOME, PORT: String(port), MILLRACE_DATA_DIR: dataDir,
      DATABASE_URL: store.url, MILLRACE_FILES: `file:${store.filesFolder}`, MILLRACE_SECRET_KEY: store.secretKey.toString('base64'),
      TEMPORAL_ADDRESS: inject('temporal').address, TEMPORAL_NAMESPACE: namespace,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(join(inject('runFolder'), `serve-${namespace}.log`));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  const ended = once(child, 'exit');
  onFileEnd(async () => {
    child.kill('SIGKILL');
    await ended;
    log.end();
    await rm(dataDir, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor('a server that is ready', () => fetch(`${url}/health/ready`).then((reply) => reply.ok, () => false));
  return { pid: child.pid!, url };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
