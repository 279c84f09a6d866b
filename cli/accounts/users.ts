import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import { allPages } from '../core/all-pages.ts';
import { call, type Server } from '../core/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readSecrets } from '../core/read-password.ts';
import { table } from '../core/table.ts';
import { rightList } from './right-list.ts';

type User = {
  uid: string; email: string; full_name: string; enable: Record<string, boolean>; admin: boolean; superadmin: boolean;
};
type Invitation = Omit<User, 'uid' | 'full_name'> & { identifier: string; expires_at: string; mail: { state: string } };
type Names = { firstName?: string; lastName?: string };
type InviteOptions = Names & { rights?: string; admin?: true };
type SetOptions = Names & { give?: string; take?: string; admin?: boolean; email?: string };

const USER = ['<user>', 'e-mail address, uid or id'] as const;
const INVITATION = ['<invitation>', 'e-mail address, or what `millrace users invitations` shows'] as const;
const INVITATIONS = '/api/invitations';

export function addUsersCommand(program: Command, run: Run): void {
  const users = program.command('users').description('the users of the entity that the token acts in, invitations and passwords');
  addMembers(users, run);
  addInvitations(users, run);
  addPasswords(users, run);
}

function addMembers(users: Command, run: Run): void {
  users.command('list')
    .description('list them with their rights')
    .action(() => run(list));

  users.command('set')
    .description('change a user')
    .argument(...USER)
    .option('--give <rights>', 'names between commas, or all')
    .option('--take <rights>', 'names between commas, or all')
    .option('--admin', 'make an admin of the entity')
    .option('--no-admin', 'an admin no longer')
    .option('--email <email>', 'for superadmins')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .action((user: string, options: SetOptions) => run((context) => set(context, user, options)));

  users.command('remove')
    .description('remove a user from the entity')
    .argument(...USER)
    .action((user: string) => run((context) => remove(context, user)));
}

function addInvitations(users: Command, run: Run): void {
  users.command('invite')
    .description('mail a person a link that makes them a user of the entity')
    .argument('<email>')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--rights <rights>', 'names between commas, or all')
    .option('--admin', 'make an admin of the entity')
    .action((email: string, options: InviteOptions) => run((context) => invite(context, email, options)));

  users.command('invitations')
    .description('list the invitations that are not accepted yet')
    .action(() => run(listInvitations));

  users.command('invite-again')
    .description('mail an invitation again, with a new link')
    .argument(...INVITATION)
    .action((given: string) => run((context) => inviteAgain(context, given)));

  users.command('withdraw')
    .description('withdraw an invitation')
    .argument(...INVITATION)
    .action((given: string) => run((context) => withdraw(context, given)));

  users.command('accept')
    .description('accept an invitation; its link and the password, in force or new, are read from standard input, a line each')
    .option('--first-name <name>', 'of a new account')
    .option('--last-name <name>', 'of a new account')
    .action((options: Names) => run((context) => accept(context, options)));
}

function addPasswords(users: Command, run: Run): void {
  users.command('reset-password')
    .description('mail a user a link that sets a new password')
    .argument(...USER)
    .action((user: string) => run((context) => resetPassword(context, user)));

  users.command('forgot-password')
    .description('have a link mailed that sets a new password for the own account')
    .argument('<email>')
    .action((email: string) => run((context) => forgotPassword(context, email)));

  users.command('new-password')
    .description('set a new password; the mailed link and the password are read from standard input, a line each')
    .action(() => run(setNewPassword));
}

async function list(context: CommandContext): Promise<number> {
  return show(context, await allPages<User>(context.server, '/api/users'));
}

async function set(context: CommandContext, user: string, options: SetOptions): Promise<number> {
  const { give, take, admin, email, firstName, lastName } = options;
  const enable = { ...flags(give, true), ...flags(take, false) };
  const path = await pathOf(context.server, user);
  const body = {
    email, first_name: firstName, last_name: lastName, admin, ...(Object.keys(enable).length > 0 ? { enable } : {}),
  };
  return show(context, [await call<User>(context.server, 'PUT', path, body)]);
}

async function remove({ server }: CommandContext, user: string): Promise<number> {
  await call(server, 'DELETE', await pathOf(server, user));
  return 0;
}

async function invite(
  context: CommandContext, email: string, { firstName, lastName, rights, admin }: InviteOptions,
): Promise<number> {
  const body = { email, first_name: firstName, last_name: lastName, enable: flags(rights, true), admin };
  return showInvitations(context, [await call<Invitation>(context.server, 'POST', '/api/users', body)]);
}

async function listInvitations(context: CommandContext): Promise<number> {
  return showInvitations(context, await allPages<Invitation>(context.server, INVITATIONS));
}

async function inviteAgain(context: CommandContext, given: string): Promise<number> {
  const path = `${await invitationPath(context.server, given)}/send`;
  return showInvitations(context, [await call<Invitation>(context.server, 'POST', path)]);
}

async function withdraw({ server }: CommandContext, given: string): Promise<number> {
  await call(server, 'DELETE', await invitationPath(server, given));
  return 0;
}

async function accept(context: CommandContext, { firstName, lastName }: Names): Promise<number> {
  const [token, password] = await readSecrets(context, ['Link', 'Password']);
  const body = { token, password, first_name: firstName, last_name: lastName };
  const { email, entity } = await call<{ email: string; entity: { name: string } }>(context.server, 'POST', `${INVITATIONS}/accept`, body);
  context.console.log(`You are a user of ${entity.name} now. To log in: millrace login ${email}`);
  return 0;
}

async function resetPassword({ server, console }: CommandContext, user: string): Promise<number> {
  await call(server, 'POST', `${await pathOf(server, user)}/password_reset`);
  console.log('A link is on its way to the address of the account. It works once, for 24 hours.');
  return 0;
}

async function forgotPassword({ server, console }: CommandContext, email: string): Promise<number> {
  await call(server, 'POST', '/api/password_resets', { email });
  console.log('If there is an account with this address, a link is on its way. With it: millrace users new-password');
  return 0;
}

async function setNewPassword(context: CommandContext): Promise<number> {
  const [token, password] = await readSecrets(context, ['Link', 'New password']);
  await call(context.server, 'POST', '/api/password_resets/confirm', { token, password });
  context.console.log('The new password is set.');
  return 0;
}

async function pathOf(server: Server, user: string): Promise<string> {
  if (!user.includes('@')) return `/api/users/${encodeURIComponent(user)}`;
  const users = await allPages<User>(server, '/api/users');
  const found = users.find(({ email }) => email.toLowerCase() === user.toLowerCase());
  return found ? `/api/users/${found.uid}` : refuse(404, 'no_user', `No user of the entity has the e-mail address ${user}.`);
}

async function invitationPath(server: Server, given: string): Promise<string> {
  if (!given.includes('@')) return `${INVITATIONS}/${encodeURIComponent(given)}`;
  const found = (await allPages<Invitation>(server, INVITATIONS)).find(({ email }) => email.toLowerCase() === given.toLowerCase());
  return found ? `${INVITATIONS}/${found.identifier}` : refuse(404, 'no_invitation', `Nobody is invited as ${given}.`);
}

function showInvitations({ console }: CommandContext, invitations: Invitation[]): number {
  console.log(table(['invitation', 'e-mail address', 'mail', 'until', 'role', 'rights'], invitations.map((invitation) => {
    const { identifier, email, mail, expires_at: until } = invitation;
    return [identifier, email, mail.state.replace('_', ' '), until.slice(0, 16), roleOf(invitation), rightsOf(invitation)];
  })));
  return 0;
}

function show({ console }: CommandContext, users: User[]): number {
  console.log(table(['uid', 'e-mail address', 'name', 'role', 'rights'], users.map(toRow)));
  return 0;
}

function toRow(user: User): string[] {
  return [user.uid, user.email, user.full_name, roleOf(user), rightsOf(user)];
}

function roleOf({ admin, superadmin }: Pick<User, 'admin' | 'superadmin'>): string {
  return superadmin ? 'superadmin' : admin ? 'admin' : '';
}

function rightsOf({ enable }: Pick<User, 'enable'>): string {
  const rights = Object.entries(enable).filter(([, isGiven]) => isGiven).map(([right]) => right);
  return rights.length === Object.keys(enable).length ? 'all' : rights.join(', ');
}

function flags(rights: string | undefined, isGiven: boolean): Record<string, boolean> {
  return Object.fromEntries(rightList(rights ?? '').map((right) => [right, isGiven]));
}
