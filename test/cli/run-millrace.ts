import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What `npx millrace` runs. */
export const MILLRACE = fileURLToPath(new URL('../../cli/millrace.js', import.meta.url));

/** Whom the command asks, as whom, and what it reads and runs with. */
export type Surroundings = { url: string; token: string; input?: string; env?: NodeJS.ProcessEnv };
export type Outcome = { status: number | null; out: string; err: string };
export type Running = {
  child: ChildProcess;
  /** What has been printed so far. */
  said: { out: string; err: string };
  ended: Promise<Outcome>;
};

/** Starts the command in a process group of its own, as a shell does. */
export function startMillrace(args: string[], { url, token, input = '', env }: Surroundings): Running {
  const child = spawn(process.execPath, [MILLRACE, ...args], {
    env: { ...process.env, MILLRACE_URL: url, MILLRACE_TOKEN: token, ...env }, detached: true,
  });
  child.stdin.end(input);
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => { said.out += chunk; });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => { said.err += chunk; });
  const ended = once(child, 'close').then(([status]) => ({ status: status as number | null, ...said }));
  return { child, said, ended };
}

export function runMillrace(args: string[], surroundings: Surroundings): Promise<Outcome> {
  return startMillrace(args, surroundings).ended;
}
