import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Fills the heap, lets go of it, and goes on with little: V8's own collections keep the pages. */
const PROGRAM = `
  import { besideHeap, releaseUnusedMemory } from '${new URL('../../runtime/memory.ts', import.meta.url).href}';
  const usualBytes = besideHeap();
  for (let round = 0; round < 3; round += 1) {
    const held = [];
    for (let at = 0; at < 1_000_000; at += 1) held.push({ at, text: 'x' + at });
  }
  for (let round = 0; round < 3; round += 1) {
    const few = [];
    for (let at = 0; at < 2_000_000; at += 1) few[at % 300_000] = { at };
  }
  const kept = besideHeap();
  const ending = new AbortController();
  const releasing = releaseUnusedMemory(ending.signal, { usualBytes, lookEveryMs: 10 });
  for (let looks = 0; looks < 500 && besideHeap() > kept / 2; looks += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  ending.abort();
  await releasing;
  console.log(JSON.stringify({ usual: usualBytes, kept, left: besideHeap() }));
`;

test('memory that V8 keeps and does not use is given back', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-semi-space-size=16', '--input-type=module', '-e', PROGRAM]);
  const { usual, kept, left } = JSON.parse(stdout) as Record<'usual' | 'kept' | 'left', number>;
  expect(kept - usual, 'the program has V8 keep pages').toBeGreaterThan(70_000_000);
  expect(left - usual).toBeLessThan((kept - usual) / 2);
});
