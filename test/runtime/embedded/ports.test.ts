import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { rememberedPort } from '../../../runtime/embedded/ports.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();
const silent = () => {};

test('a port is chosen once and remembered', async () => {
  const port = await rememberedPort(folder.path, 'postgres', silent);
  expect(await rememberedPort(folder.path, 'postgres', silent)).toBe(port);
});

test('parts that choose at once get different ports, and all are remembered', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `part-${index}`);
  const choose = () => Promise.all(names.map((name) => rememberedPort(folder.path, name, silent)));
  const ports = await choose();
  expect(new Set(ports).size).toBe(names.length);
  expect(await choose()).toEqual(ports);
});

test('a port that a stranger has taken is given up for a new one, and that is said', async () => {
  const port = await rememberedPort(folder.path, 'temporal', silent);
  const stranger = createServer().listen(port, '127.0.0.1');
  await once(stranger, 'listening');
  const said: string[] = [];
  try {
    const other = await rememberedPort(folder.path, 'temporal', (line) => said.push(line));
    expect(other).not.toBe(port);
    expect(said).toEqual([`temporal: port ${port} is taken by another program; ${other} from now on`]);
    expect(await rememberedPort(folder.path, 'temporal', silent)).toBe(other);
  } finally {
    stranger.close();
  }
});
