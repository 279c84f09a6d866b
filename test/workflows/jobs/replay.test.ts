import { beforeAll, describe, expect, inject, it } from 'vitest';
import * as workflows from '../../../workflows/index.ts';
import { keptHistories, readHistory, replay } from '../../harness/jobs/replays.ts';

const kept = await keptHistories();

describe('a run that began under older code', () => {
  const options = { workflowBundle: { codePath: inject('bundlePath') } };
  const histories: Record<string, string> = {};
  let outcomes: Record<string, Error | undefined>;

  beforeAll(async () => {
    for (const file of kept) histories[file] = await readHistory(file);
    outcomes = await replay(histories, options);
  });

  it('is kept for every workflow', () => {
    expect(new Set(kept.map((file) => file.split('/')[0]))).toEqual(new Set(Object.keys(workflows)));
  });

  it.for(kept)('goes on under this code: %s', (file) => {
    expect(outcomes).toHaveProperty([file], undefined);
  });

  it('would be noticed if this code did something else', async () => {
    const history = histories[kept.find((file) => file.startsWith('importAttributes/'))!]!;
    const { other } = await replay({ other: history.replaceAll('claimImport', 'anotherStep') }, options);
    expect(other?.message).toMatch(/nondetermin|anotherStep/i);
  });
});
