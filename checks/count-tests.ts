import { readFile } from 'node:fs/promises';
import { countLine, type TestReport } from './test-counts.ts';

// Prints what the JSON report of a test run, named on the command line, counts. A run that ended badly
// (`failed` behind it) has at least one failure, whatever its report says, and even without one.
const [path = '', outcome] = process.argv.slice(2);
const report = await readFile(path, 'utf8').then((json) => JSON.parse(json) as TestReport, () => null);
console.log(countLine(report, outcome === 'failed'));
