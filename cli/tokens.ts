import { Command } from 'commander';
import { allPages } from './all-pages.ts';
import { call, type Server } from './client.ts';
import { rightList } from './right-list.ts';
import { run } from './run.ts';
import { table } from './table.ts';

type ServiceToken = {
  identifier: string; name: string; rights: string[]; created_by: { uid: string } | null; last_used_at: string | null;
  expires_at: string;
};
type CreateOptions = { rights: string; days: string };

const PATH = '/api/service_tokens';

export const tokensCommand = new Command('tokens').description('service tokens: for machines, instead of a person\'s password');

tokensCommand.command('list')
  .description('list those that are not revoked')
  .action(() => run(list));

tokensCommand.command('create')
  .description('print a new service token, this once')
  .argument('<name>', 'what it is for')
  .requiredOption('--rights <rights>', 'names between commas, or all')
  .requiredOption('--days <days>', 'until it expires, at most 730')
  .action((name: string, options: CreateOptions) => run((server) => create(server, name, options)));

tokensCommand.command('revoke')
  .description('revoke a service token')
  .argument('<identifier>', 'as `millrace tokens list` shows it')
  .action((identifier: string) => run((server) => revoke(server, identifier)));

async function list(server: Server): Promise<number> {
  const tokens = await allPages<ServiceToken>(server, PATH);
  console.log(table(['identifier', 'name', 'made by', 'last used', 'expires', 'rights'], tokens.map((token) => [
    token.identifier, token.name, token.created_by?.uid ?? '', token.last_used_at?.slice(0, 16) ?? 'never',
    token.expires_at.slice(0, 16), token.rights.join(', '),
  ])));
  return 0;
}

/** The token alone goes to standard output, for `export MILLRACE_TOKEN=$(…)`; its identifier to standard error. */
async function create(server: Server, name: string, { rights, days }: CreateOptions): Promise<number> {
  const body = { name, rights: rightList(rights), expires_in_days: Number(days) };
  const { token, identifier } = await call<{ token: string; identifier: string }>(server, 'POST', PATH, body);
  console.error(identifier);
  console.log(token);
  return 0;
}

async function revoke(server: Server, identifier: string): Promise<number> {
  await call(server, 'DELETE', `${PATH}/${encodeURIComponent(identifier)}`);
  return 0;
}
