import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { endChildrenLeftBehind, startChild, identify, isAlive } from '../../../runtime/embedded/children.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();
const strangers = new Set<ChildProcess>();

afterEach(() => {
  for (const stranger of strangers) stranger.kill('SIGKILL');
  strangers.clear();
});

/** Runs `script` (of sh) as the child of a process that then gets SIGKILL; the child goes on. */
async function leaveBehind(name: string, script: string): Promise<{ pid: number; startedAt: string }> {
  const module = new URL('../../../runtime/embedded/children.ts', import.meta.url).href;
  const parent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `
    import { startChild } from ${JSON.stringify(module)};
    const [dataDir, name, script] = process.argv.slice(1);
    startChild({ dataDir, name, command: 'sh', args: ['-c', script], stopSignal: 'SIGINT' });
    console.log('started');
    setInterval(() => {}, 1000);
  `,
      folder.path,
      name,
      script,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(createInterface(parent.stdout), 'line');
  const hasExited = once(parent, 'exit');
  parent.kill('SIGKILL');
  await hasExited;
  return JSON.parse(readFileSync(join(folder.path, `child.${name}.json`), 'utf8')) as {
    pid: number;
    startedAt: string;
  };
}

test('children that a killed process left behind are ended, and named', async () => {
  const left = await leaveBehind('sleeper', 'exec sleep 1000');
  expect(isAlive(left)).toBe(true);
  expect(await endChildrenLeftBehind(folder.path)).toEqual(['sleeper']);
  expect(isAlive(left)).toBe(false);
  expect(await endChildrenLeftBehind(folder.path)).toEqual([]);
});

test('one that is deaf to the wish to end is killed', async () => {
  const left = await leaveBehind('deaf', 'trap "" INT; echo deaf; while :; do sleep 0.1; done');
  await waitFor('the child to be deaf', async () =>
    readFileSync(join(folder.path, 'deaf.log'), 'utf8').includes('deaf'),
  );
  expect(await endChildrenLeftBehind(folder.path, 100)).toEqual(['deaf']);
  expect(isAlive(left)).toBe(false);
});

test('a stranger that got the same process id since is left alone', async () => {
  const stranger = spawn('sleep', ['1000']);
  strangers.add(stranger);
  const identity = identify(stranger.pid!)!;
  writeFileSync(
    join(folder.path, 'child.postgres.json'),
    JSON.stringify({ ...identity, startedAt: `${identity.startedAt}1` }),
  );
  expect(await endChildrenLeftBehind(folder.path)).toEqual([]);
  expect(isAlive(identity)).toBe(true);
});

test('a record that a kill cut short is passed over', async () => {
  writeFileSync(join(folder.path, 'child.postgres.json'), '{"pid": 1');
  expect(await endChildrenLeftBehind(folder.path)).toEqual([]);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('a child that ends leaves no record; one that is told to end does so', async () => {
  const short = startChild({ dataDir: folder.path, name: 'short', command: 'true', args: [], stopSignal: 'SIGINT' });
  const long = startChild({
    dataDir: folder.path,
    name: 'long',
    command: 'sleep',
    args: ['1000'],
    stopSignal: 'SIGINT',
  });
  await waitFor('the short one to end', async () => short.hasEnded());
  expect(existsSync(join(folder.path, 'child.short.json'))).toBe(false);
  expect(long.hasEnded()).toBe(false);
  await Promise.all([long.stop(), long.stop(), short.stop()]);
  expect(long.hasEnded()).toBe(true);
  expect(existsSync(join(folder.path, 'child.long.json'))).toBe(false);
});

test('what a child said last is told when it did not start, and nothing of earlier runs', async () => {
  const start = (script: string) =>
    startChild({ dataDir: folder.path, name: 'server', command: 'sh', args: ['-c', script], stopSignal: 'SIGINT' });
  for (const [script, reason] of [
    ['echo first; echo no room', 'no room'],
    [':', ''],
  ] as const) {
    const child = start(script);
    await waitFor('its end', async () => child.hasEnded());
    const log = join(folder.path, 'server.log');
    expect(child.didNotStart().message).toBe(`The embedded server did not start; its log ${log} ends: ${reason}`);
  }
  const absent = startChild({
    dataDir: folder.path,
    name: 'absent',
    command: join(folder.path, 'none'),
    args: [],
    stopSignal: 'SIGINT',
  });
  await waitFor('the failure', async () => absent.didNotStart().message.includes('ENOENT'));
  expect(absent.hasEnded()).toBe(true);
});
