import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';

/** Reads one line of standard input; a typed one is not echoed. */
export async function readPassword(io: Pick<ProcessIo, 'stdin' | 'stderr'>, prompt = 'Password'): Promise<string> {
  const [password] = await readSecrets(io, [prompt]);
  return password!;
}

/** Reads one line of standard input for each prompt. */
export async function readSecrets(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  prompts: string[],
): Promise<string[]> {
  const isTerminal = stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // One interface for all: the first one may read more than its own piped line.
  const lines = createInterface({ input: stdin, output: silent, terminal: isTerminal });
  const next = lines[Symbol.asyncIterator]();
  const secrets: string[] = [];
  for (const prompt of prompts) {
    if (isTerminal) stderr.write(`${prompt}: `);
    const { value } = (await next.next()) as { value?: string };
    if (isTerminal) stderr.write('\n');
    secrets.push(value ?? refuseMissing(prompt, lines));
  }
  lines.close();
  return secrets;
}

function refuseMissing(prompt: string, lines: { close(): void }): never {
  lines.close();
  return refuse(400, 'no_password', `No ${prompt.toLowerCase()} was given.`);
}
