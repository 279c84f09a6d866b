/** Reads vitest's report: how many tests ran, and how long files took. */
import { relative } from 'node:path';

/** The part of vitest's JSON report that is read here; times in milliseconds. */
export type TestReport = {
  testResults: {
    name: string;
    status: string;
    startTime: number;
    endTime: number;
    assertionResults: { status: string }[];
  }[];
};

/**
 * `N passed, N failed`, and `, N skipped` if there are any. A file that failed without a failed test (it
 * could not be loaded, a hook threw) is one failure, and so is a run that ended badly (`isFailed`) without
 * any, or that left no report.
 */
export function countLine(report: TestReport | null, isFailed: boolean): string {
  const files = report?.testResults ?? [];
  const tests = files.flatMap((file) => file.assertionResults);
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  const passed = count('passed');
  const failed = count('failed') + files.filter(failedOutsideTests).length;
  const skipped = tests.length - passed - count('failed');
  const isWorse = failed === 0 && (isFailed || passed === 0);
  return `${passed} passed, ${isWorse ? 1 : failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

const SLOWEST = 10;

/**
 * The slowest test files, a line each under a heading, with the seconds from the begin of a file's first test to the
 * end of its last, and the path as it is under `root`. A file without tests took none: it could not be loaded.
 */
export function slowestFiles(report: TestReport | null, root: string): string[] {
  const files = (report?.testResults ?? [])
    .filter((file) => file.assertionResults.length > 0)
    .map(({ name, startTime, endTime }) => ({ name: relative(root, name), seconds: (endTime - startTime) / 1000 }))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST);
  if (files.length === 0) return [];
  const heading = files.length === 1 ? 'The slowest test file:' : `The ${files.length} slowest test files:`;
  return [heading, ...files.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}`)];
}

function failedOutsideTests(file: TestReport['testResults'][number]): boolean {
  return file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed');
}
