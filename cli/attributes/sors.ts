/** The command `millrace sors`. */
import type { Command } from 'commander';
import type { Client, ViewedSystemOfRecords } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup, type Group } from '../core/group.ts';
import { findSor, findSorId, SOR } from './find-sor.ts';

type Options = { name: string; creator?: true };

const paramsOf = async (client: Client, sor: string) => ({ sor_identifier: await findSorId(client, sor) });

const SORS: Group<ViewedSystemOfRecords> = {
  name: 'sors',
  description: 'Systems of Records, the sources of values, with their attributes and keys',
  columns: {
    identifier: (sor) => sor.identifier,
    name: (sor) => sor.name,
    type: (sor) => sor.type,
    state: (sor) => (sor.disabled ? 'disabled' : ''),
    attributes: (sor) => String(sor.attributes_count),
  },
  commands: [
    {
      name: 'list',
      isDefault: true,
      description: 'list them',
      does: ({ client }) => client.listSystemsOfRecords({ query: { secrets: false } }),
    },
    {
      name: 'view',
      description: 'show one, without its keys',
      args: [SOR],
      async does({ client }, _, given: string) {
        const params = await paramsOf(client, given);
        const sor = await client.viewSystemOfRecord({ params, query: { secrets: false } });
        const attributes = sor.customer_attributes.map(({ key, value_type: type }) => `${key} ${type}`).join(', ');
        return { record: { ...sor, customer_attributes: attributes } };
      },
    },
    {
      name: 'add',
      description: 'make one',
      args: [['<name>', 'its name']],
      does: ({ client }, _, name: string) => client.createSystemOfRecord({ body: { name } }),
    },
    {
      name: 'rename',
      description: 'rename one',
      args: [SOR, ['<name>', 'the new one']],
      does: async ({ client }, _, given: string, name: string) =>
        client.renameSystemOfRecord({ params: await paramsOf(client, given), body: { name } }),
    },
    {
      name: 'disable',
      description: 'refuse values of it and of all its attributes',
      args: [SOR],
      async does({ client }, _, given: string) {
        await client.disableSystemOfRecord({ params: await paramsOf(client, given) });
        return 'disabled';
      },
    },
    {
      name: 'enable',
      description: 'accept its values again',
      args: [SOR],
      async does({ client }, _, given: string) {
        await client.enableSystemOfRecord({ params: await paramsOf(client, given) });
        return 'enabled';
      },
    },
    {
      name: 'keys',
      description: 'print its keys for files and feeds; they are secrets',
      args: [SOR],
      async does({ client, console, setResult }, _, given: string) {
        const { name, api_keys: keys = [] } = await client.viewSystemOfRecord({
          params: await paramsOf(client, given),
        });
        setResult(keys);
        console.error(`Keys of ${name}, the oldest first:`);
        return keys.length === 0 ? undefined : keys.join('\n');
      },
    },
    {
      name: 'notify',
      description: 'show or set the recipients of mails about imports into it',
      args: [SOR, ['[email...]', 'all recipients']],
      options: [['--creator', 'mail only its creator']],
      async does({ client }, { creator }: Options, given: string, emails: string[]) {
        const params = await paramsOf(client, given);
        const { notify_emails: mailed } =
          emails.length > 0 || creator
            ? await client.updateNotifyEmails({ params, body: { notify_emails: creator ? [] : emails } })
            : await client.viewNotifyEmails({ params });
        return mailed.length === 0 ? 'its creator' : mailed.join('\n');
      },
    },
    {
      name: 'remove',
      description: 'delete one with all its values, after asking',
      args: [SOR],
      deletes: sayDeleted,
      does: async ({ client }, _, given: string) =>
        client.deleteSystemOfRecord({ params: await paramsOf(client, given) }),
    },
  ],
};

export const addSorsCommand = (program: Command, run: Run) => addGroup(program, run, SORS);

async function sayDeleted({ client }: CommandContext, given: string): Promise<string> {
  const { name, identifier } = await findSor(client, given);
  return `the System of Records ${name} (${identifier}) and all of its values`;
}
