import { beforeAll, expect, it } from 'vitest';
import { peakMib } from '../../harness/core/memory.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';

/** Law 6: what any file may take, of a worker's memory. */
const MAX_MIB = 512;
const MIB = 1024 * 1024;

const stack = useStack();
let pid: number;

beforeAll(() => {
  ({ pid } = stack.startWorker({ alone: true }));
});

it('a file of many rows, most of them bad, and with records of any size is imported in bounded memory', async () => {
  const world = await makeWorld(stack.store);
  const header = 'user_id,attribute_key,value,action_type\n';
  const rows = mixedFile(60_000, 2_000).slice(header.length);
  const bad = 'someone,score,not a number,\n'.repeat(120_000);
  const long = `someone,plan,${'x'.repeat(24 * MIB)},\n`;
  const open = `someone,plan,"${'y'.repeat(3 * MIB)}\n`;
  const id = await postImport(stack.app, world, header + rows + long + bad + open + bad);
  const job = await importEnded(stack.store, world, id);
  // Behind the quote that is never closed nothing is a row.
  expect(job.rowsIn).toBe(60_000 + 1 + 120_000 + 1);
  expect(job.rowsFailed).toBeGreaterThan(120_000);
  expect(job.rowsOk + job.rowsIgnored + job.rowsFailed).toBe(job.rowsIn);
  expect(peakMib(pid)).toBeLessThan(MAX_MIB);
});
