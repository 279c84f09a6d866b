import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const MIB = 1024 ** 2;

/**
 * Fills the heap and lets go of it, until V8's own collections have kept enough: what they keep differs from round to
 * round.
 */
const PROGRAM = `
  import { besideHeap, releaseUnusedMemory } from '${new URL('../../runtime/memory.ts', import.meta.url).href}';
  const usualBytes = besideHeap();
  let kept = 0;
  for (let round = 0; round < 100 && kept - usualBytes < ${70 * MIB}; round += 1) {
    let held = [];
    for (let at = 0; at < 1_000_000; at += 1) held.push({ at, text: 'x' + at });
    held = null;
    const few = [];
    for (let at = 0; at < 2_000_000; at += 1) few[at % 300_000] = { at };
    await new Promise((resolve) => setTimeout(resolve, 1));
    kept = besideHeap();
  }
  const ending = new AbortController();
  const releasing = releaseUnusedMemory(ending.signal, { usualBytes, lookEveryMs: 10 });
  for (let looks = 0; looks < 500 && besideHeap() > (usualBytes + kept) / 2; looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  ending.abort();
  await releasing;
  console.log(JSON.stringify({ usual: usualBytes, kept, left: besideHeap() }));
`;

test('memory that V8 keeps and does not use is given back', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=16',
    '--input-type=module',
    '-e',
    PROGRAM,
  ]);
  const { usual, kept, left } = JSON.parse(stdout) as Record<'usual' | 'kept' | 'left', number>;
  expect(kept - usual, 'the program has V8 keep pages').toBeGreaterThanOrEqual(70 * MIB);
  expect(left - usual).toBeLessThan((kept - usual) / 2);
});
