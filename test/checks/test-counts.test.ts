import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { countLine, slowestFiles } from '../../checks/test-counts.ts';

const BEGAN = Date.parse('2026-01-01T00:00:00Z');

const file = (status: string, ...tests: string[]) => ({
  name: '/millrace/test/a.test.ts',
  status,
  startTime: BEGAN,
  endTime: BEGAN,
  assertionResults: tests.map((of) => ({ status: of })),
});
const lasting = (name: string, seconds: number) => ({
  ...file('passed', 'passed'),
  name,
  endTime: BEGAN + seconds * 1000,
});

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
    expect(countLine({ testResults: [file('failed', 'passed', 'skipped')] }, true)).toBe(
      '1 passed, 1 failed, 1 skipped',
    );
  });

  test('has a failure when the run ended badly without a failed test', () => {
    expect(countLine({ testResults: [file('passed', 'passed')] }, true)).toBe('1 passed, 1 failed');
  });

  test('has a failure when nothing ran', () => {
    expect(countLine({ testResults: [] }, false)).toBe('0 passed, 1 failed');
    expect(countLine(null, true)).toBe('0 passed, 1 failed');
  });
});

describe('the slowest test files', () => {
  test('are ten, with their seconds, the slowest first', () => {
    const files = Array.from({ length: 12 }, (_, index) =>
      lasting(`/millrace/test/${index}.test.ts`, ((index * 5) % 12) + 0.25),
    );
    expect(slowestFiles({ testResults: files }, '/millrace')).toEqual([
      'The 10 slowest test files:',
      '    11.3 s  test/7.test.ts',
      '    10.3 s  test/2.test.ts',
      '     9.3 s  test/9.test.ts',
      '     8.3 s  test/4.test.ts',
      '     7.3 s  test/11.test.ts',
      '     6.3 s  test/6.test.ts',
      '     5.3 s  test/1.test.ts',
      '     4.3 s  test/8.test.ts',
      '     3.3 s  test/3.test.ts',
      '     2.3 s  test/10.test.ts',
    ]);
  });

  test('are all, where there are fewer than ten', () => {
    const testResults = [lasting('/millrace/test/quick.test.ts', 0.04), lasting('/millrace/test/slow.test.ts', 612)];
    expect(slowestFiles({ testResults }, '/millrace')).toEqual([
      'The 2 slowest test files:',
      '   612.0 s  test/slow.test.ts',
      '     0.0 s  test/quick.test.ts',
    ]);
    expect(slowestFiles({ testResults: testResults.slice(0, 1) }, '/millrace')[0]).toBe('The slowest test file:');
  });

  test('are none that could not be loaded, and none at all without a report', () => {
    const testResults = [file('failed'), lasting('/millrace/test/slow.test.ts', 2)];
    expect(slowestFiles({ testResults }, '/millrace')).toEqual([
      'The slowest test file:',
      '     2.0 s  test/slow.test.ts',
    ]);
    expect(slowestFiles({ testResults: [file('failed')] }, '/millrace')).toEqual([]);
    expect(slowestFiles(null, '/millrace')).toEqual([]);
  });

  test('are printed before the counts, which stay the last line', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-report-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const report = join(folder, 'report.json');
    writeFileSync(report, JSON.stringify({ testResults: [lasting(resolve('test/a.test.ts'), 3), file('failed')] }));
    expect(execFileSync(process.execPath, ['checks/count-tests.ts', report, 'failed'], { encoding: 'utf8' })).toBe(
      'The slowest test file:\n     3.0 s  test/a.test.ts\n1 passed, 1 failed\n',
    );
    expect(
      execFileSync(process.execPath, ['checks/count-tests.ts', join(folder, 'none.json'), 'failed'], {
        encoding: 'utf8',
      }),
    ).toBe('0 passed, 1 failed\n');
  });
});
