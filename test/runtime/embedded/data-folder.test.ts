import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { area, DataFolderInUse, lockDataFolder } from '../../../runtime/embedded/data-folder.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();
const live = new Set<ChildProcess>();

afterEach(async () => {
  await Promise.all([...live].map((child) => kill(child)));
});

/** Another process that locks the folder, says how that went, and stays. */
async function holder(path: string): Promise<{ child: ChildProcess; says: string }> {
  const module = new URL('../../../runtime/embedded/data-folder.ts', import.meta.url).href;
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `
    import { lockDataFolder } from ${JSON.stringify(module)};
    try { lockDataFolder(process.argv[1]); console.log('locked'); } catch (error) { console.log(error.message); }
    setInterval(() => {}, 1000);
  `,
      path,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  live.add(child);
  const [says] = (await once(createInterface(child.stdout!), 'line')) as [string];
  return { child, says };
}

async function kill(child: ChildProcess): Promise<void> {
  live.delete(child);
  const hasExited = once(child, 'exit');
  child.kill('SIGKILL');
  await hasExited;
}

test('a data folder that another process uses is refused, and the message names that process', async () => {
  const { child, says } = await holder(folder.path);
  expect(says).toBe('locked');
  expect(() => lockDataFolder(folder.path)).toThrow(DataFolderInUse);
  expect(() => lockDataFolder(folder.path)).toThrow(`${folder.path} is in use by process ${child.pid}:`);
});

test('the lock that SIGKILL left behind is taken over', async () => {
  const { child } = await holder(folder.path);
  await kill(child);
  const unlock = lockDataFolder(folder.path);
  expect((await holder(folder.path)).says).toContain(`in use by process ${process.pid}`);
  unlock();
});

test('of several that start at once after SIGKILL one gets the folder', async () => {
  const { child } = await holder(folder.path);
  await kill(child);
  const racers = await Promise.all(Array.from({ length: 6 }, () => holder(folder.path)));
  expect(racers.filter(({ says }) => says === 'locked')).toHaveLength(1);
});

test('a folder that was given back is free', async () => {
  lockDataFolder(folder.path)();
  expect((await holder(folder.path)).says).toBe('locked');
});

test('the folder and its areas are closed to others; as root, others may pass through', () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777;
  expect(modeOf(folder.path)).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
  expect(modeOf(area(folder.path, 'temporal'))).toBe(0o700);
});
