import { afterAll, expect } from 'vitest';
import { cpuOfTree } from './cpu-time.ts';
import { recordCost } from './costs.ts';

// A setup file of vitest, evaluated once for each test file: the CPU time of a file is what its process and that one's
// children take from here on. It is the first setup file, so its hook is the last.
const before = cpuOfTree();
afterAll(() => {
  const after = cpuOfTree();
  if (before !== null && after !== null) recordCost({ file: expect.getState().testPath!, seconds: after - before });
});
