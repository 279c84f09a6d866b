/** Runs the command line: reads the arguments, calls the command, prints its result or error. */
import { Console } from 'node:console';
import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { stringify } from '../api/client.ts';
import { Refusal } from '../domain/core/refusal.ts';
import type { ProcessIo, Run } from './core/command-context.ts';
import { keepLastResult, type LastResult, withoutKeys } from './core/last-result.ts';
import { openClient } from './core/open-client.ts';
import { escapeControls, nowhere, readable, readableText } from './core/readable.ts';
import { terminalOf } from './core/terminal.ts';
import { buildProgram } from './program.ts';

/** Exit status of a command that failed. */
const FAILED = 1;

/** Runs the command in the arguments against the server that the environment names, and returns the exit status. */
export async function runCommand(args: readonly string[], { env, stdin, stdout, stderr }: ProcessIo): Promise<number> {
  const server = { url: env.MILLRACE_URL ?? 'http://127.0.0.1:8080', token: env.MILLRACE_TOKEN };
  const terminal = terminalOf({ env, stdout });
  const last: LastResult = { isSet: false, value: undefined };
  let [status, isJson] = [0, false];
  const run: Run = async (work) => {
    const client = openClient(server, terminal.command);
    // With --json, no text for people may appear on either stream, and no keys in a log of errors.
    const [out, err] = isJson ? [nowhere, nowhere] : [readable(stdout), readable(stderr)];
    const console = new Console({ stdout: out, stderr: err, ignoreErrors: false });
    status = await work({
      env,
      stdin,
      stdout,
      stderr,
      server,
      console,
      terminal,
      isJson,
      client: isJson ? keepLastResult(client, last) : client,
      setResult: (value) => {
        Object.assign(last, { isSet: true, value });
      },
    });
    if (isJson && last.isSet) stdout.write(`${escapeControls(stringify(withoutKeys(last.value ?? null)))}\n`);
  };
  const program = await buildProgram(
    run,
    {
      version: version(),
      output: { writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(readableText(text)) },
      setJson: (json) => {
        isJson = json;
      },
    },
    args[0],
  );
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // the fault, or the help, has been printed
    if (!(error instanceof Refusal)) throw error;
    stderr.write(readableText(`${error.message}\n`));
    return FAILED;
  }
}

function version(): string {
  return (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version;
}

// A reader such as `head` may close the output at any time, which is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

process.exitCode = await runCommand(process.argv.slice(2), process);
