/** Ports of embedded programs, which stay the same from start to start. */
import { randomInt } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Say } from './say.ts';

/** Ports below those of outgoing connections, which could take a remembered port. */
const FROM = 20_000;
const TO = 32_768;

/** Returns the loopback port of the first start, unless another program has taken it. */
export async function rememberedPort(dataDir: string, name: string, say: Say): Promise<number> {
  const path = join(dataDir, 'ports.json');
  const known = readPorts(path)[name];
  if (known !== undefined && (await isFree(known))) return known;
  const port = await freePort(() => Object.values(readPorts(path)));
  if (known !== undefined) say(`${name}: port ${known} is taken by another program; ${port} from now on`);
  writeFileSync(`${path}.draft`, JSON.stringify({ ...readPorts(path), [name]: port }), { mode: 0o600 });
  renameSync(`${path}.draft`, path);
  return port;
}

function readPorts(path: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

/** Calls `taken` last: another part may have chosen a port meanwhile. */
async function freePort(taken: () => number[]): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    if ((await isFree(port)) && !taken().includes(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
