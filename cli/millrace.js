#!/usr/bin/env node
// Runs the command under the Node that the package brings, whatever Node this is: TypeScript needs 24.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bundled = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const stripTypes = new URL('./strip-types.js', import.meta.url).href;
const compileCache = new URL('../runtime/compile-cache.ts', import.meta.url).href;
// A small young generation: the command prints lists of any length in little memory, mostly taken by the contract.
const child = spawn(
  bundled,
  [
    '--max-semi-space-size=2',
    '--disable-warning=ExperimentalWarning',
    `--import=${stripTypes}`,
    `--import=${compileCache}`,
    main,
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);

// The command may have something to say when it is ended, so this process waits for it. Ctrl-C reaches both anyway.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
process.on('SIGINT', () => {});
child.on('exit', (status, signal) => {
  process.exitCode = status ?? 1;
  if (!signal) return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
