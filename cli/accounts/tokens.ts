import type { Command } from 'commander';
import { allPages } from '../core/all-pages.ts';
import { call } from '../core/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';
import { rightList } from './right-list.ts';

type ServiceToken = {
  identifier: string; name: string; rights: string[]; created_by: { uid: string } | null; last_used_at: string | null;
  expires_at: string;
};
type CreateOptions = { rights: string; days: string };

const PATH = '/api/service_tokens';

export function addTokensCommand(program: Command, run: Run): void {
  const tokens = program.command('tokens').description('service tokens: for machines, instead of a person\'s password');

  tokens.command('list')
    .description('list those that are not revoked')
    .action(() => run(list));

  tokens.command('create')
    .description('print a new service token, this once')
    .argument('<name>', 'what it is for')
    .requiredOption('--rights <rights>', 'names between commas, or all')
    .requiredOption('--days <days>', 'until it expires, at most 730')
    .action((name: string, options: CreateOptions) => run((context) => create(context, name, options)));

  tokens.command('revoke')
    .description('revoke a service token')
    .argument('<identifier>', 'as `millrace tokens list` shows it')
    .action((identifier: string) => run((context) => revoke(context, identifier)));
}

async function list({ server, console }: CommandContext): Promise<number> {
  const tokens = await allPages<ServiceToken>(server, PATH);
  console.log(table(['identifier', 'name', 'made by', 'last used', 'expires', 'rights'], tokens.map((token) => [
    token.identifier, token.name, token.created_by?.uid ?? '', token.last_used_at?.slice(0, 16) ?? 'never',
    token.expires_at.slice(0, 16), token.rights.join(', '),
  ])));
  return 0;
}

/** The token alone goes to standard output, for `export MILLRACE_TOKEN=$(…)`; its identifier to standard error. */
async function create({ server, console }: CommandContext, name: string, { rights, days }: CreateOptions): Promise<number> {
  const body = { name, rights: rightList(rights), expires_in_days: Number(days) };
  const { token, identifier } = await call<{ token: string; identifier: string }>(server, 'POST', PATH, body);
  console.error(identifier);
  console.log(token);
  return 0;
}

async function revoke({ server }: CommandContext, identifier: string): Promise<number> {
  await call(server, 'DELETE', `${PATH}/${encodeURIComponent(identifier)}`);
  return 0;
}
