/** The command `millrace tokens`. */
import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';
import { rightList } from './right-list.ts';

type CreateOptions = { rights: string; days: string };

export function addTokensCommand(program: Command, run: Run): void {
  const tokens = program.command('tokens').description("service tokens: for machines, instead of a person's password");

  tokens
    .command('list')
    .description('list tokens that are not revoked')
    .action(() => run(list));

  tokens
    .command('create')
    .description('print a new service token, this once')
    .argument('<name>', 'what it is for')
    .requiredOption('--rights <rights>', 'names between commas, or all')
    .requiredOption('--days <days>', 'until it expires, at most 730')
    .action((name: string, options: CreateOptions) => run((context) => create(context, name, options)));

  tokens
    .command('revoke')
    .description('revoke a service token')
    .argument('<identifier>', 'as `millrace tokens list` shows it')
    .action((identifier: string) => run((context) => revoke(context, identifier)));
}

async function list({ client, console, terminal: { width } }: CommandContext): Promise<number> {
  const tokens = await Array.fromAsync(client.each.listServiceTokens());
  console.log(
    table(
      ['identifier', 'name', 'made by', 'last used', 'expires', 'rights'],
      tokens.map((token) => [
        token.identifier,
        token.name,
        token.created_by?.uid ?? '',
        token.last_used_at?.slice(0, 16) ?? 'never',
        token.expires_at.slice(0, 16),
        token.rights.join(', '),
      ]),
      width,
    ),
  );
  return 0;
}

/** Prints only the token to standard output, for `export MILLRACE_TOKEN=$(…)`, and its identifier to standard error. */
async function create(
  { client, console }: CommandContext,
  name: string,
  { rights, days }: CreateOptions,
): Promise<number> {
  const body = { name, rights: rightList(rights), expires_in_days: Number(days) };
  const { token, identifier } = await client.createServiceToken({ body });
  console.error(identifier);
  console.log(token);
  return 0;
}

async function revoke({ client }: CommandContext, identifier: string): Promise<number> {
  await client.revokeServiceToken({ params: { token_identifier: identifier } });
  return 0;
}
