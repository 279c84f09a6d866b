import { Command } from 'commander';
import { allPages } from './all-pages.ts';
import { call, type Server } from './client.ts';
import { readPassword } from './read-password.ts';
import { rightList } from './right-list.ts';
import { run } from './run.ts';
import { table } from './table.ts';
import { refuse } from '../domain/refusal.ts';

type User = {
  uid: string; email: string; full_name: string; enable: Record<string, boolean>; admin: boolean; superadmin: boolean;
};
type Names = { firstName?: string; lastName?: string };
type AddOptions = Names & { rights?: string; admin?: true };
type SetOptions = Names & { give?: string; take?: string; admin?: boolean; email?: string; password?: true };

const USER = ['<user>', 'e-mail address, uid or id'] as const;

export const usersCommand = new Command('users').description('the users of the entity that the token acts in');

usersCommand.command('list')
  .description('list them with their rights')
  .action(() => run(list));

usersCommand.command('add')
  .description('add a user; the password is read from standard input')
  .argument('<email>')
  .option('--first-name <name>')
  .option('--last-name <name>')
  .option('--rights <rights>', 'names between commas, or all')
  .option('--admin', 'make an admin of the entity')
  .action((email: string, options: AddOptions) => run((server) => add(server, email, options)));

usersCommand.command('set')
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
  .action((user: string, options: SetOptions) => run((server) => set(server, user, options)));

usersCommand.command('remove')
  .description('remove a user from the entity')
  .argument(...USER)
  .action((user: string) => run((server) => remove(server, user)));

async function list(server: Server): Promise<number> {
  return show(await allPages<User>(server, '/api/users'));
}

async function add(server: Server, email: string, { firstName, lastName, rights, admin }: AddOptions): Promise<number> {
  const enable = flags(rights, true);
  const password = await readPassword();
  const body = { email, password, first_name: firstName, last_name: lastName, enable, admin };
  return show([await call<User>(server, 'POST', '/api/users', body)]);
}

async function set(server: Server, user: string, { give, take, admin, email, firstName, lastName, password }: SetOptions): Promise<number> {
  const enable = { ...flags(give, true), ...flags(take, false) };
  const path = await pathOf(server, user);
  const body = {
    email, first_name: firstName, last_name: lastName, admin,
    ...(Object.keys(enable).length > 0 ? { enable } : {}),
    ...(password ? { password: await readPassword('New password') } : {}),
  };
  return show([await call<User>(server, 'PUT', path, body)]);
}

async function remove(server: Server, user: string): Promise<number> {
  await call(server, 'DELETE', await pathOf(server, user));
  return 0;
}

async function pathOf(server: Server, user: string): Promise<string> {
  if (!user.includes('@')) return `/api/users/${encodeURIComponent(user)}`;
  const users = await allPages<User>(server, '/api/users');
  const found = users.find(({ email }) => email.toLowerCase() === user.toLowerCase());
  return found ? `/api/users/${found.uid}` : refuse(404, 'no_user', `No user of the entity has the e-mail address ${user}.`);
}

function show(users: User[]): number {
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
