import { Command } from 'commander';
import { call, type Server } from './client.ts';
import { readPassword } from './read-password.ts';
import { run } from './run.ts';

type LoginOptions = { entity?: string };

export const loginCommand = new Command('login')
  .description('print a token; the password is read from standard input')
  .argument('<email>')
  .option('--entity <entity>', 'id or identifier of the entity that the token acts in; the preferred one when left out')
  .action((email: string, options: LoginOptions) => run((server) => login(server, email, options)));

/** Prints a token for `export MILLRACE_TOKEN=…`. */
async function login(server: Server, email: string, { entity }: LoginOptions): Promise<number> {
  const password = await readPassword();
  const { auth_token: token } = await call<{ auth_token: string }>(server, 'POST', '/api/login', { email, password, entity });
  console.log(token);
  return 0;
}
