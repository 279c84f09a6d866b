/** Child processes of the service: starts them, and ends those of earlier runs. */
import { type ChildProcess, spawn, type SpawnOptions, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CannotStart } from '../cannot-start.ts';

/** Time that a child may take to end before it is killed. */
const PATIENCE_MS = 20_000;

export type Child = {
  hasEnded(): boolean;
  /** Resolves with a message when it ends without a call of `stop`. */
  lost: Promise<string>;
  stop(): Promise<void>;
  didNotStart(cause?: unknown): CannotStart;
};

export type ChildSettings = {
  dataDir: string;
  name: string;
  command: string;
  args: string[];
  stopSignal: NodeJS.Signals;
  options?: Pick<SpawnOptions, 'uid' | 'gid' | 'env' | 'cwd'>;
};

/** Starts a child in its own session, so that Ctrl-C leaves it for last. A start after SIGKILL finds its record. */
export function startChild({ dataDir, name, command, args, stopSignal, options }: ChildSettings): Child {
  const logPath = join(dataDir, `${name}.log`);
  const log = openSync(logPath, 'a', 0o600);
  const { size: logStart } = fstatSync(log);
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const record = recordPath(dataDir, name);
  let failure = '';
  child.once('error', (error) => {
    failure = error.message;
  });
  child.once('exit', () => rmSync(record, { force: true }));
  if (child.pid) writeFileSync(record, JSON.stringify(identify(child.pid)), { mode: 0o600 });
  let isAskedToEnd = false;
  const lost = new Promise<string>((resolve) => {
    child.once('exit', () => {
      if (!isAskedToEnd) resolve(`${name}: ended by itself; its log is ${logPath}`);
    });
  });
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    hasEnded,
    lost,
    async stop() {
      isAskedToEnd = true;
      if (!hasEnded()) await stop(child, stopSignal);
    },
    didNotStart(cause) {
      const lastLine = readFileSync(logPath).subarray(logStart).toString('utf8').trim().split('\n').at(-1);
      const reason = failure || lastLine;
      return new CannotStart(`The embedded ${name} did not start; its log ${logPath} ends: ${reason}`, { cause });
    },
  };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const hasExited = once(child, 'exit');
  child.kill(signal);
  const killer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await hasExited;
  clearTimeout(killer);
}

/** Ends only the children that an earlier run of this data folder left. Returns their names. */
export async function endChildrenLeftBehind(dataDir: string, patienceMs = PATIENCE_MS): Promise<string[]> {
  const records = readdirSync(dataDir).filter((file) => file.startsWith(PREFIX) && file.endsWith(SUFFIX));
  const ended = await Promise.all(
    records.map(async (file) => {
      const path = join(dataDir, file);
      const child = readRecord(path);
      const wasAlive = child !== null && isAlive(child);
      if (wasAlive) await end(child, patienceMs);
      rmSync(path, { force: true });
      return wasAlive ? [file.slice(PREFIX.length, -SUFFIX.length)] : [];
    }),
  );
  return ended.flat();
}

async function end(child: ProcessIdentity, patienceMs: number): Promise<void> {
  // A fast shutdown for Postgres; like SIGTERM for Temporal.
  signal(child, 'SIGINT');
  const deadline = performance.now() + patienceMs;
  while (isAlive(child)) {
    await delay(20);
    if (performance.now() > deadline) signal(child, 'SIGKILL');
  }
}

/** Sends a signal; the child may just have ended. */
function signal({ pid }: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
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

/** A process by id and start: ids are used again, pairs are not. */
export type ProcessIdentity = { pid: number; startedAt: string };

export function identify(pid: number): ProcessIdentity | null {
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
  return startedAt === null ? null : { pid, startedAt };
}

/** Returns whether this very process lives; a zombie does not. */
export function isAlive({ pid, startedAt }: ProcessIdentity): boolean {
  return identify(pid)?.startedAt === startedAt;
}

/** Returns field 22 of /proc/<pid>/stat (proc(5)), with the boot, which makes it unique. */
function startOnLinux(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return null;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${fields[18]}`;
  } catch {
    return null;
  }
}

function startByPs(pid: number): string | null {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}
