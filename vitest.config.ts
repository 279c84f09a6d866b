import { defineConfig } from 'vitest/config';

/** Real Postgres and Temporal: started once for both projects, stopped after the last. */
const withServices = {
  globalSetup: ['test/harness/global-setup.ts'],
  setupFiles: ['test/harness/clean-up.ts'],
  testTimeout: 60_000,
  hookTimeout: 120_000,
};
const RULES = ['test/domain/**/*.test.ts', 'test/checks/**/*.test.ts'];
const LAWS = ['test/laws/**/*.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    // Within this the services have to stop, after the last test.
    teardownTimeout: 60_000,
    projects: [
      { test: { name: 'rules', include: RULES, maxWorkers: 2, sequence: { groupOrder: 0 }, testTimeout: 30_000 } },
      {
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: [...RULES, ...LAWS],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          ...withServices,
        },
      },
      // Searches what the whole run has left behind, so it begins when all else has ended.
      { test: { name: 'laws', include: LAWS, maxWorkers: 1, sequence: { groupOrder: 2 }, ...withServices } },
    ],
  },
});
