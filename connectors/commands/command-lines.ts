/** Runs an operator's command, and reads its output line by line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { shorten, withoutCutWord } from '../../domain/text/text-limits.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { removeFolder } from '../core/remove-folder.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { Line } from './command-message.ts';
import type { NamedCommand } from './command-settings.ts';
import type { Command } from './commands-file.ts';

/** A temporary file whose path replaces it among the arguments; deleted after the call. */
export type CommandFile = { name: string; text: string };

export function configFile({ config }: NamedCommand): CommandFile {
  return { name: 'config.json', text: config };
}

export type CommandCall = NamedCommand & {
  args: (string | CommandFile)[];
  /** Status of the refusal if the command fails. */
  error: 'source_refused' | 'transfer_broken';
  /** Time that it may take to end by itself, in ms; default GRACE_MS. For tests. */
  graceMs?: number;
};

export const LINE_BYTES = 4 * 1024 * 1024;
const LOGGED_BYTES = 2 * 1024;
const LOGGED_LINES = 1_000;
/** Time to wait for the rest of an ended command's messages. */
const STDERR_MS = 1_000;

/**
 * Yields the lines of a command as it prints them; it waits while no line is taken. The command ends with the reading,
 * by the signal, or when its time is up. Refuses a command that fails, with its last message.
 */
export async function* commandLines(call: CommandCall, context: ConnectorContext): AsyncGenerator<Line> {
  context.signal.throwIfAborted();
  await access(call.command.command[0]!, constants.X_OK).catch(() => {
    throw sourceRefusal(
      'source_refused',
      `the program of ${call.name} is not there: ask an operator to look at MILLRACE_TAPS`,
    );
  });
  const folder = await mkdtemp(join(context.scratch, 'command-'));
  try {
    const args: string[] = [];
    for (const arg of call.args) args.push(typeof arg === 'string' ? arg : await privateFile(folder, arg));
    yield* linesOf(call, startCommand(call.command, args, folder, call.graceMs), context);
  } finally {
    await removeFolder(folder);
  }
}

async function privateFile(folder: string, { name, text }: CommandFile): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

async function* linesOf(call: CommandCall, process: CommandProcess, context: ConnectorContext): AsyncGenerator<Line> {
  const { command, name } = call;
  const timeUp = AbortSignal.timeout(command.timeoutMinutes * 60_000);
  const stop = AbortSignal.any([context.signal, timeUp]);
  const end = () => void process.end();
  stop.addEventListener('abort', end);
  const lastWords = logged(process.stderr, call, context);
  let unended: Line | null = null;
  try {
    for await (const line of boundedLines(process.stdout, LINE_BYTES)) {
      if (line.isEnded) yield line;
      else unended = line;
    }
    const code = await process.exit;
    const words = await Promise.race([lastWords, delay(STDERR_MS, '', { ref: false })]);
    if (code !== 0) throw failure(call, code, words);
    // It is a complete line only if the command ended well.
    if (unended) yield unended;
  } catch (error) {
    context.signal.throwIfAborted();
    if (timeUp.aborted) {
      const advice = 'ask an operator to raise its timeout_minutes in MILLRACE_TAPS';
      throw sourceRefusal(
        'source_unavailable',
        `${name} took more than its ${command.timeoutMinutes} minutes: ${advice}`,
      );
    }
    throw error;
  } finally {
    stop.removeEventListener('abort', end);
    await process.end();
  }
}

function failure({ name, error }: CommandCall, code: number | null, words: string): Error {
  const how = code === null ? 'was killed' : `failed with status ${code}`;
  return sourceRefusal(error, `${name} ${how}${words === '' ? '' : `: ${words}`}`);
}

/** Writes its messages into the log, and returns the last one. */
async function logged(stderr: Readable, { name, redact }: CommandCall, { log }: ConnectorContext): Promise<string> {
  let last = '';
  let count = 0;
  try {
    for await (const { text } of boundedLines(stderr, LOGGED_BYTES)) {
      const line = redact(text.trimEnd());
      if (isWord(line)) last = shorten(line.trim(), 500);
      count += 1;
      if (count <= LOGGED_LINES) log(`${name}: ${line}`);
    }
  } catch {
    // The stream was destroyed, because it was still open after the command's end.
  }
  if (count > LOGGED_LINES) log(`${name}: and ${count - LOGGED_LINES} lines more, left out`);
  return last;
}

/** Returns whether a line is a message: libraries add lines in brackets about where to read more. */
function isWord(line: string): boolean {
  return !/^[\s…]*(?:\(.*\)\s*)?$/.test(line);
}

/** Time that a command may take to end by itself, in ms. */
export const GRACE_MS = 10_000;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Limits the memory and becomes the command. A watchdog stays in its process group and waits for the end of descriptor
 * 3, whose other end only our process holds, so that a command and its files don't outlive us, however we end. The
 * limit applies to writable memory (RLIMIT_DATA), because runtimes reserve addresses far beyond their use.
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

type CommandProcess = {
  stdout: Readable;
  stderr: Readable;
  /** Null if a signal ended it. */
  exit: Promise<number | null>;
  /** Ends its whole process group: by SIGTERM, and after the grace period by SIGKILL. */
  end(): Promise<void>;
};

/** Starts a command in `folder`, in its own process group, without our environment. */
function startCommand(
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
  // It breaks when the command ends, which is no failure.
  child.stdio[3]?.on('error', () => undefined);
  const exit = once(child, 'exit').then(([code]) => {
    // Ends the rest of its group, and the watchdog.
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
  // Processes that left the group may still hold the other ends.
  for (const stream of child.stdio) stream?.destroy();
}

/** Signals a group; one that is gone has ended. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {}
}

const NEWLINE = 0x0a;

/** Yields the lines of a stream without empty ones, each with at most `limit` bytes. */
async function* boundedLines(chunks: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Line> {
  let kept: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    if (bytes < limit) kept.push(part.subarray(0, limit - bytes));
    bytes += part.length;
  };
  const take = (isEnded: boolean): Line => {
    const text = Buffer.concat(kept).toString('utf8');
    const isCut = bytes > limit;
    const line = { text: isCut ? withoutCutWord(text) : text, bytes, isCut, isEnded };
    kept = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, at));
      from = at + 1;
      const line = take(true);
      if (line.text.trim() !== '') yield line;
    }
    // A copy: the rest of a line must not keep the whole chunk in memory.
    if (from < chunk.length) keep(Buffer.from(chunk.subarray(from)));
  }
  if (bytes > 0) yield take(false);
}
