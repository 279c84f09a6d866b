/** The command `millrace users`: users, invitations and passwords. */
import type { Command } from 'commander';
import type { Client, Invitation, User } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readSecrets } from '../core/ask.ts';
import { table } from '../core/table.ts';
import { rightList } from './right-list.ts';

type Names = { firstName?: string; lastName?: string };
type InviteOptions = Names & { rights?: string; admin?: true };
type SetOptions = Names & { give?: string; take?: string; admin?: boolean; email?: string };

const USER = ['<user>', 'e-mail address, uid or id'] as const;
const INVITATION = ['<invitation>', 'e-mail address, or what `millrace users invitations` shows'] as const;

export function addUsersCommand(program: Command, run: Run): void {
  const users = program
    .command('users')
    .description('the users of the entity that the token acts in, invitations and passwords');
  addMembers(users, run);
  addInvitations(users, run);
  addPasswords(users, run);
}

function addMembers(users: Command, run: Run): void {
  users
    .command('list')
    .description('list them with their rights')
    .action(() => run(list));

  users
    .command('set')
    .description('change a user')
    .argument(...USER)
    .option('--give <rights>', 'names between commas, or all')
    .option('--take <rights>', 'names between commas, or all')
    .option('--admin', 'make an admin of the entity')
    .option('--no-admin', 'make them no longer an admin')
    .option('--email <email>', 'for superadmins')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .action((user: string, options: SetOptions) => run((context) => set(context, user, options)));

  users
    .command('remove')
    .description('remove a user from the entity')
    .argument(...USER)
    .action((user: string) => run((context) => remove(context, user)));
}

function addInvitations(users: Command, run: Run): void {
  users
    .command('invite')
    .description('mail a person a link that makes them a user of the entity')
    .argument('<email>')
    .option('--first-name <name>')
    .option('--last-name <name>')
    .option('--rights <rights>', 'names between commas, or all')
    .option('--admin', 'make an admin of the entity')
    .action((email: string, options: InviteOptions) => run((context) => invite(context, email, options)));

  users
    .command('invitations')
    .description('list the invitations that are not accepted yet')
    .action(() => run(listInvitations));

  users
    .command('invite-again')
    .description('mail an invitation again, with a new link')
    .argument(...INVITATION)
    .action((given: string) => run((context) => inviteAgain(context, given)));

  users
    .command('withdraw')
    .description('withdraw an invitation')
    .argument(...INVITATION)
    .action((given: string) => run((context) => withdraw(context, given)));

  users
    .command('accept')
    .description(
      'accept an invitation; its link and the password, in force or new, are read from standard input, a line each',
    )
    .option('--first-name <name>', 'of a new account')
    .option('--last-name <name>', 'of a new account')
    .action((options: Names) => run((context) => accept(context, options)));
}

function addPasswords(users: Command, run: Run): void {
  users
    .command('change-password')
    .description('change your own password; the current and the new one are read from standard input, a line each')
    .action(() => run(changePassword));

  users
    .command('reset-password')
    .description('mail a user a link that sets a new password')
    .argument(...USER)
    .action((user: string) => run((context) => resetPassword(context, user)));

  users
    .command('forgot-password')
    .description('mail a link that sets a new password for your own account')
    .argument('<email>')
    .action((email: string) => run((context) => forgotPassword(context, email)));

  users
    .command('new-password')
    .description('set a new password; the mailed link and the password are read from standard input, a line each')
    .action(() => run(setNewPassword));
}

async function list(context: CommandContext): Promise<number> {
  return show(context, await Array.fromAsync(context.client.each.listUsers()));
}

async function set(context: CommandContext, user: string, options: SetOptions): Promise<number> {
  const { give, take, admin, email, firstName, lastName } = options;
  const enable = { ...flags(give, true), ...flags(take, false) };
  const params = await findUser(context.client, user);
  const body = {
    email,
    first_name: firstName,
    last_name: lastName,
    admin,
    ...(Object.keys(enable).length > 0 ? { enable } : {}),
  };
  return show(context, [await context.client.updateUser({ params, body })]);
}

async function remove({ client }: CommandContext, user: string): Promise<number> {
  await client.removeUser({ params: await findUser(client, user) });
  return 0;
}

async function invite(
  context: CommandContext,
  email: string,
  { firstName, lastName, rights, admin }: InviteOptions,
): Promise<number> {
  const body = { email, first_name: firstName, last_name: lastName, enable: flags(rights, true), admin };
  return showInvitations(context, [await context.client.inviteUser({ body })]);
}

async function listInvitations(context: CommandContext): Promise<number> {
  return showInvitations(context, await Array.fromAsync(context.client.each.listInvitations()));
}

async function inviteAgain(context: CommandContext, given: string): Promise<number> {
  const params = await findInvitation(context.client, given);
  return showInvitations(context, [await context.client.resendInvitation({ params })]);
}

async function withdraw({ client }: CommandContext, given: string): Promise<number> {
  await client.withdrawInvitation({ params: await findInvitation(client, given) });
  return 0;
}

async function accept(context: CommandContext, { firstName, lastName }: Names): Promise<number> {
  const [token, password] = await readSecrets(context, ['Link', 'Password']);
  const body = { token: token!, password: password!, first_name: firstName, last_name: lastName };
  const { email, entity } = await context.client.acceptInvitation({ body });
  context.console.log(`You are a user of ${entity.name} now. To log in: ${context.terminal.command} login ${email}`);
  return 0;
}

async function resetPassword({ client, console }: CommandContext, user: string): Promise<number> {
  await client.mailPasswordReset({ params: await findUser(client, user) });
  console.log('A link is on its way to the address of the account. It works once, for 24 hours.');
  return 0;
}

async function forgotPassword(
  { client, console, terminal: { command } }: CommandContext,
  email: string,
): Promise<number> {
  await client.requestPasswordReset({ body: { email } });
  console.log(`If there is an account with this address, a link is on its way. With it: ${command} users new-password`);
  return 0;
}

async function setNewPassword(context: CommandContext): Promise<number> {
  const [token, password] = await readSecrets(context, ['Link', 'New password']);
  await context.client.resetPassword({ body: { token: token!, password: password! } });
  context.console.log('The new password is set.');
  return 0;
}

async function changePassword(context: CommandContext): Promise<number> {
  const [password, newPassword] = await readSecrets(context, ['Current password', 'New password']);
  await context.client.changeOwnPassword({ body: { password: password!, new_password: newPassword! } });
  context.console.log('changed; all other sessions have ended');
  return 0;
}

async function findUser(client: Client, given: string): Promise<{ user_id: string }> {
  if (!given.includes('@')) return { user_id: given };
  const users = await Array.fromAsync(client.each.listUsers());
  const found = users.find(({ email }) => email.toLowerCase() === given.toLowerCase());
  return { user_id: found?.uid ?? refuse(404, 'no_user', `No user of the entity has the e-mail address ${given}.`) };
}

async function findInvitation(client: Client, given: string): Promise<{ invitation_id: string }> {
  if (!given.includes('@')) return { invitation_id: given };
  const invitations = await Array.fromAsync(client.each.listInvitations());
  const found = invitations.find(({ email }) => email.toLowerCase() === given.toLowerCase());
  return { invitation_id: found?.identifier ?? refuse(404, 'no_invitation', `There is no invitation of ${given}.`) };
}

function showInvitations({ console, terminal: { width } }: CommandContext, invitations: Invitation[]): number {
  console.log(
    table(
      ['invitation', 'e-mail address', 'mail', 'until', 'role', 'rights'],
      invitations.map((invitation) => {
        const { identifier, email, mail, expires_at: until } = invitation;
        return [
          identifier,
          email,
          mail.state.replace('_', ' '),
          until.slice(0, 16),
          roleOf(invitation),
          rightsOf(invitation),
        ];
      }),
      width,
    ),
  );
  return 0;
}

function show({ console, terminal: { width } }: CommandContext, users: User[]): number {
  console.log(table(['uid', 'e-mail address', 'name', 'role', 'rights'], users.map(toRow), width));
  return 0;
}

function toRow(user: User): string[] {
  return [user.uid, user.email, user.full_name, roleOf(user), rightsOf(user)];
}

function roleOf({ admin, superadmin }: Pick<User, 'admin' | 'superadmin'>): string {
  return superadmin ? 'superadmin' : admin ? 'admin' : '';
}

function rightsOf({ enable }: Pick<User, 'enable'>): string {
  const rights = Object.entries(enable)
    .filter(([, isGiven]) => isGiven)
    .map(([right]) => right);
  return rights.length === Object.keys(enable).length ? 'all' : rights.join(', ');
}

function flags(rights: string | undefined, isGiven: boolean): Record<string, boolean> {
  return Object.fromEntries(rightList(rights ?? '').map((right) => [right, isGiven]));
}
