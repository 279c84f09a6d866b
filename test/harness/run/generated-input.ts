import fc from 'fast-check';
import { sampledRuns, TEST_SEED } from './seed.ts';

// A setup file of vitest: generated input comes from the run's seed, and as often as the run says.
fc.configureGlobal({ seed: TEST_SEED, numRuns: sampledRuns(100) });
