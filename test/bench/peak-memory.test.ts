import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { forgetPeak, peakMemoryMib } from '../../bench/peak-memory.ts';
import { waitFor } from '../harness/core/wait.ts';

/** Holds 300 MiB for a moment. */
const HOLDER = `let held = Buffer.alloc(300 * 2 ** 20, 1); held = null; gc(); process.on('message', () => {}); process.send('released');`;

test.skipIf(process.platform !== 'linux')('the peak memory of a process is the most that it has held', async () => {
  const child = spawn(process.execPath, ['--expose-gc', '-e', HOLDER], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  await once(child, 'message');
  expect(peakMemoryMib(child.pid!)).toBeGreaterThan(300);
  expect(peakMemoryMib(child.pid!)).toBeLessThan(600);
  // What was released goes back to the system a moment later.
  await waitFor('a lower peak', async () => {
    forgetPeak(child.pid!);
    return peakMemoryMib(child.pid!)! < 200;
  });
});

test('a process that is not there has none', () => {
  expect(peakMemoryMib(2 ** 30)).toBeNull();
});
