import { describe, expect, test } from 'vitest';
import { cpuOfTree } from '../harness/run/cpu-time.ts';
import { costLines } from '../harness/run/costs.ts';

describe('the lines that end a run', () => {
  test('have its CPU time, how much of it test files took, and the ten dearest of them', () => {
    const costs = Array.from({ length: 12 }, (_, index) => ({
      file: `/millrace/test/${index}.test.ts`,
      seconds: ((index * 5) % 12) + 0.25,
    }));
    const lines = costLines(300, costs, '/millrace');
    expect(lines).toHaveLength(12);
    expect(lines.slice(0, 4)).toEqual([
      'CPU time of the run and all its processes: 5.0 minutes',
      '  of it 1.1 in test files with their workers, the rest in Postgres, Temporal and vitest; the dearest files:',
      '    11.3 s  test/7.test.ts',
      '    10.3 s  test/2.test.ts',
    ]);
  });

  test('name no files if none left its costs', () => {
    expect(costLines(60, [], '/millrace')).toEqual(['CPU time of the run and all its processes: 1.0 minutes']);
  });

  test.runIf(process.platform === 'linux')('count what this process and its children took', () => {
    const before = cpuOfTree()!;
    const until = process.cpuUsage().user + 300_000;
    while (process.cpuUsage().user < until);
    expect(cpuOfTree()! - before).toBeGreaterThan(0.2);
  });
});
