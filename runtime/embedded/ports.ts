import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** Says one line to whoever started the process. */
export type Say = (line: string) => void;

/** A loopback port for `name`: the one of the first start, unless a stranger has taken it since. */
export async function rememberedPort(dataDir: string, name: string, say: Say): Promise<number> {
  const path = join(dataDir, 'ports.json');
  const known = readPorts(path)[name];
  if (known !== undefined && await isFree(known)) return known;
  const port = await freePort();
  if (known !== undefined) say(`${name}: port ${known} is taken by another program; ${port} from now on`);
  writeFileSync(path, JSON.stringify({ ...readPorts(path), [name]: port }), { mode: 0o600 });
  return port;
}

function readPorts(path: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

async function freePort(): Promise<number> {
  return (await listen(0))!;
}

async function isFree(port: number): Promise<boolean> {
  return await listen(port) !== null;
}

/** Listens for a moment: the port it got, or null when it is taken. */
function listen(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const { port: got } = server.address() as { port: number };
      server.close(() => resolve(got));
    });
  });
}
