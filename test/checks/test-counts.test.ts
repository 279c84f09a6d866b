import { describe, expect, test } from 'vitest';
import { countLine } from '../../checks/test-counts.ts';

const file = (status: string, ...tests: string[]) => ({ status, assertionResults: tests.map((outcome) => ({ status: outcome })) });

describe('the line that ends a run', () => {
  test('counts what passed, failed and was left out', () => {
    const report = { testResults: [file('passed', 'passed', 'passed', 'pending'), file('failed', 'failed', 'todo')] };
    expect(countLine(report, true)).toBe('2 passed, 1 failed, 2 skipped');
    expect(countLine({ testResults: [file('passed', 'passed')] }, false)).toBe('1 passed, 0 failed');
  });

  test('counts a file that could not be loaded as one failure', () => {
    expect(countLine({ testResults: [file('passed', 'passed'), file('failed')] }, true)).toBe('1 passed, 1 failed');
  });

  test('counts a file whose hook threw, though all its tests passed or were left out', () => {
    expect(countLine({ testResults: [file('failed', 'passed', 'skipped')] }, true)).toBe('1 passed, 1 failed, 1 skipped');
  });

  test('has a failure when the run ended badly without a failed test', () => {
    expect(countLine({ testResults: [file('passed', 'passed')] }, true)).toBe('1 passed, 1 failed');
  });

  test('has a failure when nothing ran', () => {
    expect(countLine({ testResults: [] }, false)).toBe('0 passed, 1 failed');
    expect(countLine(null, true)).toBe('0 passed, 1 failed');
  });
});
