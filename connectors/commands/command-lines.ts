import { constants } from 'node:fs';
import { access, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { shorten } from '../../domain/core/text-limits.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { removeFolder } from '../core/remove-folder.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { boundedLines, type Line } from './bounded-lines.ts';
import { type CommandProcess, startCommand } from './command-process.ts';
import type { NamedCommand } from './command-settings.ts';

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
