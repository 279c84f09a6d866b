/** What is read here of the report that vitest writes as JSON. */
export type TestReport = {
  testResults: { status: string; assertionResults: { status: string }[] }[];
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

function failedOutsideTests(file: TestReport['testResults'][number]): boolean {
  return file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed');
}
