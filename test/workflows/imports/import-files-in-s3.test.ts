import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { listFiles } from '../../harness/core/files.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { importAttributesUnderKill as imports } from './import-attributes.kill.ts';

const stack = useStack({ filesOnS3: true, impatient: true });

it('an import whose file lies in S3, killed in the middle, ends as an unbroken one', async () => {
  const worker = stack.startWorker({ kill: { boundary: 'import: after a batch committed', hit: 6 } });
  const killed = await imports.begin(stack);
  expect((await worker.ended).signal).toBe('SIGKILL');
  expect(await imports.hasEnded(stack, killed)).toBe(false);
  expect(await imports.progress(stack, killed)).toBeGreaterThan(0);
  expect(await listFiles(stack.store, 'imports/')).toHaveLength(1);
  expect((await readdir(stack.store.filesFolder)).filter((name) => name !== 'scratch')).toEqual([]);

  stack.startWorker();
  await waitFor('the end of the killed one', () => imports.hasEnded(stack, killed));
  const unbroken = await imports.begin(stack);
  await waitFor('the end of the unbroken one', () => imports.hasEnded(stack, unbroken));
  const outcome = await imports.outcome(stack, killed);
  expect(outcome).toMatchObject({ counts: { state: 'finished', rowsIn: imports.size } });
  expect(outcome).toEqual(await imports.outcome(stack, unbroken));
});
