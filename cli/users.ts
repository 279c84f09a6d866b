import type { Command } from 'commander';
import { allPages } from './all-pages.ts';
import { call, type Server } from './client.ts';
import type { CommandContext, Run } from './command-context.ts';
import { readPassword } from './read-password.ts';
import { rightList } from './right-list.ts';
import { table } from './table.ts';
import { refuse } from '../domain/refusal.ts';

type User = {
  uid: string; email: string; full_name: string; enable: Record<string, boolean>; admin: boolean; superadmin: boolean;
};
type Names = { firstName?: string; lastName?: string };
type AddOptions = Names & { rights?: string; admin?: true };
type SetOptions = Names & { give?: string; take?: string; admin?: boolean; email?: string; password?: true };

const USER = ['<user>', 'e-mail address, uid or id'] as const;

export function addUsersCommand(program: Command, run: Run): void {
  const users = program.command('users').description('the users of the entity that the token acts in');

  users.command('list')
    .description('list them with their rights')
    .action(() => run(list));

  users.command('add')
    .description('add a user; the password is read from standard input')
    .argument('<email>')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--rights <rights>', 'names between commas, or all')
    .option('--admin', 'make an admin of the entity')
    .action((email: string, options: AddOptions) => run((context) => add(context, email, options)));

  users.command('set')
    .description('change a user')
    .argument(...USER)
    .option('--give <rights>', 'names between commas, or all')
    .option('--take <rights>', 'names between commas, or all')
    .option('--admin', 'make an admin of the entity')
    .option('--no-admin', 'an admin no longer')
    .option('--email <email>')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--password', 'set a new password, read from standard input')
    .action((user: string, options: SetOptions) => run((context) => set(context, user, options)));

  users.command('remove')
    .description('remove a user from the entity')
    .argument(...USER)
    .action((user: string) => run((context) => remove(context, user)));
}

async function list(context: CommandContext): Promise<number> {
  return show(context, await allPages<User>(context.server, '/api/users'));
}

async function add(context: CommandContext, email: string, { firstName, lastName, rights, admin }: AddOptions): Promise<number> {
  const enable = flags(rights, true);
  const password = await readPassword(context);
  const body = { email, password, first_name: firstName, last_name: lastName, enable, admin };
  return show(context, [await call<User>(context.server, 'POST', '/api/users', body)]);
}

async function set(context: CommandContext, user: string, options: SetOptions): Promise<number> {
  const { give, take, admin, email, firstName, lastName, password } = options;
  const enable = { ...flags(give, true), ...flags(take, false) };
  const path = await pathOf(context.server, user);
  const body = {
    email, first_name: firstName, last_name: lastName, admin,
    ...(Object.keys(enable).length > 0 ? { enable } : {}),
    ...(password ? { password: await readPassword(context, 'New password') } : {}),
  };
  return show(context, [await call<User>(context.server, 'PUT', path, body)]);
}

async function remove({ server }: CommandContext, user: string): Promise<number> {
  await call(server, 'DELETE', await pathOf(server, user));
  return 0;
}

async function pathOf(server: Server, user: string): Promise<string> {
  if (!user.includes('@')) return `/api/users/${encodeURIComponent(user)}`;
  const users = await allPages<User>(server, '/api/users');
  const found = users.find(({ email }) => email.toLowerCase() === user.toLowerCase());
  return found ? `/api/users/${found.uid}` : refuse(404, 'no_user', `No user of the entity has the e-mail address ${user}.`);
}

function show({ console }: CommandContext, users: User[]): number {
  console.log(table(['uid', 'e-mail address', 'name', 'role', 'rights'], users.map(toRow)));
  return 0;
}

function toRow({ uid, email, full_name: name, admin, superadmin, enable }: User): string[] {
  const role = superadmin ? 'superadmin' : admin ? 'admin' : '';
  const rights = Object.entries(enable).filter(([, isGiven]) => isGiven).map(([right]) => right);
  const isEvery = rights.length === Object.keys(enable).length;
  return [uid, email, name, role, isEvery ? 'all' : rights.join(', ')];
}

function flags(rights: string | undefined, isGiven: boolean): Record<string, boolean> {
  return Object.fromEntries(rightList(rights ?? '').map((right) => [right, isGiven]));
}
