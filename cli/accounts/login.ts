import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readPassword } from '../core/ask.ts';

type LoginOptions = { entity?: string };

export const addLoginCommand = (program: Command, run: Run) =>
  program
    .command('login')
    .description('print a token; the password is read from standard input')
    .argument('<email>')
    .option('--entity <entity>', 'id or identifier of the entity that the token acts in; by default the preferred one')
    .action((email: string, options: LoginOptions) => run((context) => login(context, email, options)));

/** Prints a token for `export MILLRACE_TOKEN=…`. */
async function login(context: CommandContext, email: string, { entity }: LoginOptions): Promise<number> {
  const password = await readPassword(context);
  const { auth_token: token } = await context.client.login({ body: { email, password, entity } });
  context.console.log(token);
  return 0;
}
