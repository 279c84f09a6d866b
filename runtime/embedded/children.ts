import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

/** How long a child may take to end before it is killed. */
const PATIENCE_MS = 20_000;

export type Child = { process: ChildProcess; logPath: string; stop(): Promise<void> };

export type ChildSettings = {
  dataDir: string;
  /** Names the child's log and its record. */
  name: string;
  command: string;
  args: string[];
  /** What asks the child to end in good order. */
  stopSignal: NodeJS.Signals;
  options?: Pick<SpawnOptions, 'uid' | 'gid' | 'env' | 'cwd'>;
};

/**
 * Starts a child in a session of its own, so that Ctrl-C reaches only us and children end last. It is
 * recorded in the data folder, so that a start after SIGKILL finds it.
 */
export function startChild({ dataDir, name, command, args, stopSignal, options }: ChildSettings): Child {
  const logPath = join(dataDir, `${name}.log`);
  const log = openSync(logPath, 'a', 0o600);
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const record = recordPath(dataDir, name);
  child.once('error', () => {});          // told by the exit, or by what waits for the child to be ready
  if (child.pid) writeFileSync(record, JSON.stringify(identify(child.pid)));
  return {
    process: child,
    logPath,
    async stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        child.kill(stopSignal);
        const killer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
        await once(child, 'exit');
        clearTimeout(killer);
      }
      rmSync(record, { force: true });
    },
  };
}

/** Ends the children that an earlier run of this data folder left behind, and no other process. Tells their names. */
export async function endChildrenLeftBehind(dataDir: string): Promise<string[]> {
  const records = readdirSync(dataDir).filter((file) => file.startsWith(PREFIX) && file.endsWith(SUFFIX));
  const ended = await Promise.all(records.map(async (file) => {
    const path = join(dataDir, file);
    const child = readRecord(path);
    const wasAlive = child !== null && isAlive(child);
    if (wasAlive) await end(child);
    rmSync(path, { force: true });
    return wasAlive ? [file.slice(PREFIX.length, -SUFFIX.length)] : [];
  }));
  return ended.flat();
}

async function end(child: ProcessIdentity): Promise<void> {
  // Postgres takes SIGINT for its fast shutdown, and Temporal for the same as SIGTERM.
  process.kill(child.pid, 'SIGINT');
  const deadline = performance.now() + PATIENCE_MS;
  while (isAlive(child)) {
    if (performance.now() > deadline) process.kill(child.pid, 'SIGKILL');
    await delay(50);
  }
}

const PREFIX = 'child.';
const SUFFIX = '.json';

function recordPath(dataDir: string, name: string): string {
  return join(dataDir, `${PREFIX}${name}${SUFFIX}`);
}

function readRecord(path: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity | null;
  } catch {
    return null;
  }
}
