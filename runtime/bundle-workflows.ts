import { rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { FAILURE_CONVERTER } from './temporal-client.ts';

/** `node runtime/bundle-workflows.ts OUT`: bundles the workflows into the file OUT, whole or not at all. */
const out = process.argv[2]!;
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.error, error: console.error };

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
  failureConverterPath: FAILURE_CONVERTER,
  logger: quiet,
});
const unfinished = `${out}.${process.pid}`;
await writeFile(unfinished, code, { mode: 0o600 });
await rename(unfinished, out);
