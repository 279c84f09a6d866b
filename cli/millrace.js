#!/usr/bin/env node
// Runs the command under the Node that the package brings, whatever Node this is: TypeScript needs 24.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bundled = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const { status, signal } = spawnSync(bundled, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
if (signal) process.kill(process.pid, signal);
process.exitCode = status ?? 1;
