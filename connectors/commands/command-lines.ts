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
import type { Line } from './bounded-lines.ts';
import type { NamedCommand } from './command-settings.ts';
import type { Command } from './commands-file.ts';

/** A file that stands in for itself among the arguments: written for this call, deleted behind it. */
export type CommandFile = { name: string; text: string };

export type CommandCall = NamedCommand & {
  args: (string | CommandFile)[];
  /** What a command that fails is refused as. */
  error: 'source_refused' | 'transfer_broken';
  /** How long it may take to end by itself, ms; default GRACE_MS. For tests. */
  graceMs?: number;
};

export const LINE_BYTES = 4 * 1024 * 1024;
const LOGGED_BYTES = 2 * 1024;
const LOGGED_LINES = 1_000;
/** How long we wait for the end of what an ended command had to say. */
const STDERR_MS = 1_000;

/**
 * What a command prints, as it prints it: it waits while nobody takes the next line. It is ended with the reading, by
 * the signal, and when its time is up. Refuses a command that fails, with what it said last.
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
    // Only of a command that ended well is it a line, and not a part of one.
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

/** Brings what it says into the log, and gives its last word. */
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
    // Destroyed, as it still was open when the command had ended.
  }
  if (count > LOGGED_LINES) log(`${name}: and ${count - LOGGED_LINES} lines more, left out`);
  return last;
}

/** Libraries put where to read on behind what happened, in brackets. */
function isWord(line: string): boolean {
  return !/^[\s…]*(?:\(.*\)\s*)?$/.test(line);
}

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

type CommandProcess = {
  stdout: Readable;
  stderr: Readable;
  /** Null where a signal ended it. */
  exit: Promise<number | null>;
  /** Ends its whole process group: by SIGTERM, and after the grace by SIGKILL. */
  end(): Promise<void>;
};

/** Starts a command in a process group of its own, in `folder`, with nothing of our environment. */
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

const NEWLINE = 0x0a;

/** The lines of a stream, empty ones left out, of which no more than `limit` bytes are kept. */
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
    // A copy: the rest of a line must not hold the whole chunk in memory.
    if (from < chunk.length) keep(Buffer.from(chunk.subarray(from)));
  }
  if (bytes > 0) yield take(false);
}
