/** Configuration of the tests: services, files, and the seed of generated input. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { HANGS_MS, PATIENCE_MS } from './test/harness/core/wait.ts';
import { reportRun } from './test/harness/run/report-run.ts';
import { TEST_SEED } from './test/harness/run/seed.ts';

// Hundreds of processes are started, of test files, servers, workers and commands: what Node has made of a module is
// kept for the next.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));
// All processes of a run draw from one seed.
process.env.TEST_SEED = String(TEST_SEED);
reportRun();

const EACH_FILE = ['test/harness/run/file-cost.ts', 'test/harness/run/generated-input.ts'];

/** Real Postgres and Temporal: started once for both projects, stopped after the last. */
const withServices = {
  globalSetup: ['test/harness/core/global-setup.ts'],
  setupFiles: [...EACH_FILE, 'test/harness/core/each-file.ts'],
  testTimeout: HANGS_MS,
  hookTimeout: HANGS_MS,
  expect: { poll: { timeout: PATIENCE_MS } },
};
const RULES = ['test/domain/**/*.test.ts', 'test/checks/**/*.test.ts', 'test/reference/**/*.test.ts'];
/** Searches what the whole run has left behind, so it begins when all else has ended. */
const LAST = ['test/laws/no-hidden-faults.test.ts', 'test/laws/no-personal-data.test.ts'];

/** Tests that take a minute or more. */
const LONG = [
  'life',
  'killed',
  'many-kills',
  'import-many-bad',
  'gdpr-access',
  'export-faults',
  'real-taps',
  'real-sources',
  'demo',
  'every-route-bad-input',
];
const LONGEST = new RegExp(`(?:${LONG.join('|')})\\.test\\.ts$`);

/**
 * On a clean checkout nothing is known of how long a file takes: without this those would be waited for alone at the
 * end.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLongest = ({ moduleId }: TestSpecification) => LONGEST.test(moduleId);
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}

/**
 * Files of a process follow each other and share its modules, as Node loads them: loading them anew for each took a
 * sixth of a run. What a file leaves behind in its process the next one finds.
 */
const sharing = { isolate: false, experimental: { viteModuleRunner: false, nodeLoader: false } };

export default defineConfig({
  test: {
    pool: 'forks',
    ...sharing,
    sequence: { sequencer: LongestFirst },
    // Within this the services have to stop, after the last test.
    teardownTimeout: 60_000,
    projects: [
      {
        test: {
          name: 'rules',
          ...sharing,
          include: RULES,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          testTimeout: HANGS_MS,
          setupFiles: EACH_FILE,
        },
      },
      {
        test: {
          name: 'service',
          ...sharing,
          include: ['test/**/*.test.ts'],
          exclude: [...RULES, ...LAST],
          // Most wait for something most of the time.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          ...withServices,
        },
      },
      {
        test: { name: 'laws', ...sharing, include: LAST, maxWorkers: 1, sequence: { groupOrder: 2 }, ...withServices },
      },
    ],
  },
});
