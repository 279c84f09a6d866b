import { expect, it } from 'vitest';
import { TEST_SEED } from '../harness/run/seed.ts';
import { liveThrough } from './live-through.ts';

const MINUTES = 2;
/** Few: the walk is part of what a run of all tests may cost. */
const OPERATIONS_PER_SECOND = 4;

it('two minutes of all features with kills keep what has to hold at every moment and in the end', async () => {
  const { findings, report } = await liveThrough({
    seed: TEST_SEED,
    minutes: MINUTES,
    rate: OPERATIONS_PER_SECOND,
    shrinkMinutes: 0,
    say: () => {},
  });
  expect(findings.length === 0 ? '' : report).toBe('');
}, 2_400_000);
