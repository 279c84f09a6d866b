import { rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { FAILURE_CONVERTER } from './temporal-client.ts';

const TRACING = '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors.js';

/** `node runtime/bundle-workflows.ts OUT [traced]`: bundles the workflows into the file OUT, whole or not at all. */
const [out, traced] = process.argv.slice(2) as [string, string?];
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.error, error: console.error };

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
  failureConverterPath: FAILURE_CONVERTER,
  workflowInterceptorModules: traced ? [fileURLToPath(import.meta.resolve(TRACING))] : [],
  logger: quiet,
});
const unfinished = `${out}.${process.pid}`;
await writeFile(unfinished, code, { mode: 0o600 });
await rename(unfinished, out);
