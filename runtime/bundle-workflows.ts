import { rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleWorkflowCode } from '@temporalio/worker';
import { FAILURE_CONVERTER } from '../temporal/client.ts';

const TRACING = '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors.js';

/** `OUT [--traced] [--patience FILE]`: bundles into OUT, all or nothing. FILE replaces `workflows/patience.ts`. */
const {
  values: { traced, patience },
  positionals: [out = ''],
} = parseArgs({
  options: { traced: { type: 'boolean', default: false }, patience: { type: 'string' } },
  allowPositionals: true,
});
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn: console.error, error: console.error };

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
  failureConverterPath: FAILURE_CONVERTER,
  workflowInterceptorModules: traced ? [fileURLToPath(import.meta.resolve(TRACING))] : [],
  logger: quiet,
  webpackConfigHook(config) {
    if (patience)
      config.resolve!.alias = { ...(config.resolve!.alias as Record<string, string>), './patience.ts$': patience };
    return config;
  },
});
const unfinished = `${out}.${process.pid}`;
await writeFile(unfinished, code, { mode: 0o600 });
await rename(unfinished, out);
