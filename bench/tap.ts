import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pythonProgram } from '../test/harness/core/python-program.ts';
import type { Tap } from './line.ts';

/** Reads CSV files in S3. */
const PACKAGE = { name: 'pipelinewise-tap-s3-csv', version: '3.0.1', program: 'tap-s3-csv' };
/** Without this the tap first asks Amazon's own machines for credentials, for seconds. */
export const TAP_ENVIRONMENT = { AWS_EC2_METADATA_DISABLED: 'true' };
/** The tap's option for the catalogue: with `--catalog` it ends well, and reads nothing. */
export const CATALOG_OPTION = '--properties';
/** Its name in the file for MILLRACE_TAPS. */
export const COMMAND = 's3-csv';

/** Returns null, and says so, if PyPI is out of reach. */
export async function prepareTap(folder: string): Promise<Tap | null> {
  const program = await pythonProgram(PACKAGE);
  if (program === null) return null;
  const tapsFile = join(folder, 'taps.json');
  const command = { kind: 'singer', command: [program], env: TAP_ENVIRONMENT, catalog_option: CATALOG_OPTION };
  await writeFile(tapsFile, JSON.stringify({ [COMMAND]: command }));
  return { program, tapsFile };
}
