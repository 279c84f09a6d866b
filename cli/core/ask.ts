/** Questions at the terminal: a line, a confirmation, passwords. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';
import { readableText } from './write-out.ts';

export async function askLine(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  question: string,
): Promise<string> {
  stderr.write(readableText(question));
  const lines = createInterface({ input: stdin });
  const { value: answer = '' } = (await lines[Symbol.asyncIterator]().next()) as { value?: string };
  lines.close();
  return answer.trim();
}

export type YesOption = { yes?: true };

export const YES = ['--yes', 'delete without asking; required without a terminal'] as const;

/** Asks before a deletion, unless `--yes` was given. Refuses if the answer is no or there is no terminal. */
export async function confirmDeletion(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  what: string,
  isSaid = false,
): Promise<void> {
  if (isSaid) return;
  if (!stdin.isTTY) return refuse(400, 'not_confirmed', `This would delete ${what}: add --yes. Nothing was changed.`);
  if (!/^y(es)?$/i.test(await askLine({ stdin, stderr }, `Delete ${what}? [y/N] `)))
    refuse(400, 'not_confirmed', 'Nothing was changed.');
}

/** Reads one line of standard input, without an echo. */
export async function readPassword(io: Pick<ProcessIo, 'stdin' | 'stderr'>, prompt = 'Password'): Promise<string> {
  const [password] = await readSecrets(io, [prompt]);
  return password!;
}

export async function readSecrets(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  prompts: string[],
): Promise<string[]> {
  const isTerminal = stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // One interface for all: the first may read more than its own piped line.
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
