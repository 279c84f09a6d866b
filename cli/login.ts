import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Command } from 'commander';
import { call, type Server } from './client.ts';
import { run } from './run.ts';
import { refuse } from '../domain/refusal.ts';

export const loginCommand = new Command('login')
  .description('print a token; the password is read from standard input')
  .argument('<email>')
  .action((email: string) => run((server) => login(server, email)));

/** Prints a token for `export MILLRACE_TOKEN=…`. */
async function login(server: Server, email: string): Promise<number> {
  const password = await readPassword();
  const { auth_token: token } = await call<{ auth_token: string }>(server, 'POST', '/api/login', { email, password });
  console.log(token);
  return 0;
}

/** One line of standard input; typed ones are not echoed. */
async function readPassword(): Promise<string> {
  const isTerminal = process.stdin.isTTY;
  if (isTerminal) process.stderr.write('Password: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal });
  const { value } = await lines[Symbol.asyncIterator]().next() as { value?: string };
  lines.close();
  if (isTerminal) process.stderr.write('\n');
  return value ?? refuse(400, 'no_password', 'No password was given.');
}
