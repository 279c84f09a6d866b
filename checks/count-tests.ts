import { readFile } from 'node:fs/promises';
import { countLine, slowestFiles, type TestReport } from './test-counts.ts';

// Prints the slowest files of a test run, and last what its JSON report, named on the command line, counts. A run that
// ended badly (`failed` behind it) has at least one failure, whatever its report says, and even without one.
const [path = '', outcome] = process.argv.slice(2);
const report = await readFile(path, 'utf8').then(
  (json) => JSON.parse(json) as TestReport,
  () => null,
);
for (const line of slowestFiles(report, process.cwd())) console.log(line);
console.log(countLine(report, outcome === 'failed'));
