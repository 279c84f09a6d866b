/** Shared parts of the demo: the server and its SoR as types, its database, and calls of the command line. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type Database, openDatabase } from '../../store/core/database.ts';

export type DemoServer = { url: string; token: string; client: Client };

export type DemoSor = { identifier: string; apiKey: string };

/** Opens the demo's own connection, for what no call does: a shop's table, times in the past, ids of pushes. */
export const openDemoDatabase = (url: string): Database => openDatabase({ url, max: 1, name: 'millrace-demo' });

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** Loaded as the launcher loads it: a command starts in two thirds of the time. */
const COMPILE_CACHE = new URL('../compile-cache.ts', import.meta.url).href;
const run = promisify(execFile);

/** Returns what `millrace` prints at a terminal. Throws for an exit status other than 0. */
export async function millrace(env: Record<string, string>, args: string[]): Promise<string> {
  const { PATH, HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  const kept = { PATH, HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE };
  const { stdout } = await run(process.execPath, [`--import=${COMPILE_CACHE}`, MAIN, ...args], {
    env: { ...kept, ...env },
  }).catch(({ stdout: said = '', stderr = '', code }: Error & { stdout?: string; stderr?: string; code?: unknown }) =>
    refuse(500, 'command', `millrace ${args[0]} ended with ${String(code)}: ${said}${stderr}`.trim()),
  );
  return stdout.trim();
}
