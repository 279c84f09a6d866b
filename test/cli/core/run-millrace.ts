import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../../cli/main.ts';

/** What `npx --no-install millrace` runs. */
export const MILLRACE = fileURLToPath(new URL('../../../cli/millrace.js', import.meta.url));

/** Whom the command asks, as whom, and what it reads and runs with. */
export type Surroundings = { url: string; token: string; input?: string; env?: NodeJS.ProcessEnv };
export type Outcome = { status: number | null; out: string; err: string };
export type Running = {
  child: ChildProcess;
  /** What has been printed so far. */
  said: { out: string; err: string };
  ended: Promise<Outcome>;
};

/**
 * Runs the command in this process: the same but for what a process has to itself, such as signals, memory and a closed
 * pipe.
 */
export async function runMillrace(args: string[], surroundings: Surroundings): Promise<Outcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const status = await runCommand(args, {
    env: envOf(surroundings),
    stdin: Readable.from([surroundings.input ?? '']),
    stdout,
    stderr,
  });
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { status, out, err };
}

/** Starts the command as a process, in a group of its own, as a shell does. */
export function startMillrace(args: string[], surroundings: Surroundings): Running {
  const child = spawn(process.execPath, [MILLRACE, ...args], { env: envOf(surroundings), detached: true });
  child.stdin.end(surroundings.input ?? '');
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said.out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said.err += chunk;
  });
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, ...said }));
  return { child, said, ended };
}

function envOf({ url, token, env }: Surroundings): NodeJS.ProcessEnv {
  return { ...process.env, MILLRACE_URL: url, MILLRACE_TOKEN: token, ...env };
}
