import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { ProcessIo } from './command-context.ts';
import { refuse } from '../domain/refusal.ts';

/** One line of standard input; typed ones are not echoed. */
export async function readPassword({ stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>, prompt = 'Password'): Promise<string> {
  const isTerminal = stdin.isTTY;
  if (isTerminal) stderr.write(`${prompt}: `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: isTerminal });
  const { value } = await lines[Symbol.asyncIterator]().next() as { value?: string };
  lines.close();
  if (isTerminal) stderr.write('\n');
  return value ?? refuse(400, 'no_password', 'No password was given.');
}
