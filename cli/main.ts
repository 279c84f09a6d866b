/** Runs the command line: reads the arguments, calls the command, prints its result or error. */
import { CommanderError } from 'commander';
import { Console } from 'node:console';
import { readFileSync } from 'node:fs';
import { BAD_URL, type Client, createClient, NOT_SENT, stringify, UNREACHABLE } from '../api/client.ts';
import { Refusal } from '../domain/core/refusal.ts';
import type { ProcessIo, Run, Server, Terminal } from './core/command-context.ts';
import { escapeControls, readableText } from './core/write-out.ts';
import { buildProgram } from './program.ts';

const FAILED = 1;

export async function runCommand(args: readonly string[], { env, stdin, stdout, stderr }: ProcessIo): Promise<number> {
  const server = { url: env.MILLRACE_URL ?? 'http://127.0.0.1:8080', token: env.MILLRACE_TOKEN };
  const terminal = terminalOf({ env, stdout });
  const last: LastResult = { isSet: false, value: undefined };
  let [status, isJson] = [0, false];
  const run: Run = async (work) => {
    const client = openClient(server, terminal.command);
    // With --json neither stream gets text for people, and a log of errors gets no keys.
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

/** The document for `--json`; `isSet` distinguishes an empty result from none. */
type LastResult = { isSet: boolean; value: unknown };

type Calls = Record<string, (...given: unknown[]) => unknown>;

/** Records the result of the client's last call; of a list over pages all items. */
function keepLastResult(client: Client, last: LastResult): Client {
  const { each, stream, ...calls } = client as unknown as { each: Calls; stream: Calls };
  const keep = <T>(value: T): T => {
    Object.assign(last, { isSet: true, value });
    return value;
  };
  const kept = Object.entries(calls as unknown as Calls).map(
    ([name, call]) => [name, async (...given: unknown[]) => keep(await call(...given))] as const,
  );
  const lists = Object.entries(each).map(
    ([name, list]) =>
      [
        name,
        async function* items(...given: unknown[]) {
          const all = keep<unknown[]>([]);
          for await (const item of list(...given) as AsyncIterable<unknown>) {
            all.push(item);
            yield item;
          }
        },
      ] as const,
  );
  return { ...Object.fromEntries(kept), each: Object.fromEntries(lists), stream } as unknown as Client;
}

/** Removes keys of entities and Systems of Records from a result: other commands print them. */
function withoutKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !isKeys(name, member))
      .map(([name, member]) => [name, withoutKeys(member)]),
  );
}

function isKeys(name: string, member: unknown): boolean {
  if (name === 'api_keys') return Array.isArray(member) && member.every((key) => typeof key === 'string');
  return name === 'qa_api_key' || name === 'prod_api_key';
}

/** The server's message. */
const NO_TOKEN = 'Invalid or missing token';

function openClient(server: Server, command: string): Client {
  return createClient({ ...server, explain: (refusal) => explain(refusal, command) });
}

function explain({ status, message }: Refusal, command: string): string {
  if (status === UNREACHABLE) return `${message}: is the server running, and MILLRACE_URL right?`;
  if (status === BAD_URL) return 'MILLRACE_URL is no URL: set it to one such as http://127.0.0.1:8080.';
  if (status === NOT_SENT) return message.replace('is the token right', 'is MILLRACE_TOKEN right');
  return message === NO_TOKEN
    ? `${message}: set MILLRACE_TOKEN to what \`${command} login\` prints, or to a service token`
    : message;
}

/** Reads variables that `npx` sets. Without `--no-install` it would ask the public registry for a missing command. */
function terminalOf({ env, stdout }: { env: NodeJS.ProcessEnv; stdout: object }): Terminal {
  const { columns } = stdout as { columns?: number };
  const width = columns ?? Number(env.COLUMNS);
  const byNpx = env.npm_command === 'exec' && env.npm_lifecycle_event === 'npx';
  return {
    width: Number.isSafeInteger(width) && width > 0 ? width : null,
    command: byNpx ? 'npx --no-install millrace' : 'millrace',
  };
}

function readable(stream: NodeJS.WritableStream): NodeJS.WritableStream {
  return { write: (text: string) => stream.write(readableText(text)) } as NodeJS.WritableStream;
}

const nowhere = { write: () => true } as object as NodeJS.WritableStream;

// A reader such as `head` may close the output at any time, which is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

process.exitCode = await runCommand(process.argv.slice(2), process);
