import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Command } from './commands-file.ts';

/** How long a command may take to end by itself, ms. */
export const GRACE_MS = 10_000;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Bounds the memory and becomes the command. Beside it, in its process group, stays a watchdog: it waits for the end of
 * descriptor 3, whose other end our process alone holds, so that a command and its files don't outlive us, however we
 * end. The limit is of the memory that can be written (RLIMIT_DATA), since runtimes reserve addresses far beyond their
 * use.
 */
const LAUNCHER = `
(
  trap '' TERM HUP INT
  read -r never <&3
  kill -s TERM 0
  sleep "$3"
  rm -rf -- "$2"
  kill -s KILL 0
) </dev/null >/dev/null 2>&1 &
ulimit -d "$1" || exit 125
shift 3
exec "$@" 3<&-
`;

export type CommandProcess = {
  stdout: Readable;
  stderr: Readable;
  /** Null where a signal ended it. */
  exit: Promise<number | null>;
  /** Ends its whole process group: by SIGTERM, and after the grace by SIGKILL. */
  end(): Promise<void>;
};

/** Starts a command in a process group of its own, in `folder`, with nothing of our environment. */
export function startCommand(
  { command, env, memoryMib }: Command,
  args: string[],
  folder: string,
  graceMs = GRACE_MS,
): CommandProcess {
  const launched = [
    '-c',
    LAUNCHER,
    'millrace',
    String(memoryMib * 1024),
    folder,
    String(graceMs / 1_000),
    ...command,
    ...args,
  ];
  const child = spawn('/bin/sh', launched, {
    cwd: folder,
    env: { PATH, HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // It breaks when the command ends, and that is no failure.
  child.stdio[3]?.on('error', () => undefined);
  const exit = once(child, 'exit').then(([code]) => {
    // What it left behind in its group, and the watchdog.
    signalGroup(child, 'SIGKILL');
    return code as number | null;
  });
  exit.catch(() => undefined);
  return { stdout: child.stdout!, stderr: child.stderr!, exit, end: () => endGroup(child, exit, graceMs) };
}

async function endGroup(child: ChildProcess, exit: Promise<unknown>, graceMs: number): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    signalGroup(child, 'SIGTERM');
    const patience = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
    await exit.catch(() => undefined);
    clearTimeout(patience);
  }
  // What has left the group may still hold the other ends.
  for (const stream of child.stdio) stream?.destroy();
}

/** A group that is gone has ended. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // ESRCH
  }
}
