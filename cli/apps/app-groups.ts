/** The commands of `millrace apps groups`: list, add and remove groups of apps. */
import type { Command } from 'commander';
import type { AppGroup } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { resolveNamed } from '../core/nearest.ts';
import { findApp } from './find-app.ts';

const GROUP = ['<group>', 'its name or identifier'] as const;

export function addGroupCommands(apps: Command, run: Run): void {
  addGroup<AppGroup>(apps, run, {
    name: 'groups',
    description: 'groups of apps; an app may be in several',
    columns: {
      identifier: (group) => group.identifier,
      name: (group) => group.name,
      apps: (group) => group.apps.join(', '),
    },
    commands: [
      { name: 'list', isDefault: true, description: 'list them', does: ({ client }) => client.listAppGroups() },
      {
        name: 'add',
        description: 'make one',
        args: [['<name>', 'its name']],
        options: [['--app <app...>', 'apps that are in it, by name or identifier']],
        async does({ client }, { app: given = [] }: { app?: string[] }, name: string) {
          const found = await Promise.all(given.map((app) => findApp(client, app)));
          return client.createAppGroup({ body: { name, apps: found.map(({ identifier }) => identifier) } });
        },
      },
      {
        name: 'remove',
        description: 'delete one, after asking; its apps stay',
        args: [GROUP],
        deletes: async (context, group) => `the group ${(await findGroup(context, group)).name}`,
        async does(context, _, group: string) {
          const { identifier } = await findGroup(context, group);
          await context.client.deleteAppGroup({ params: { group_identifier: identifier } });
        },
      },
    ],
  });
}

async function findGroup({ client }: CommandContext, given: string): Promise<AppGroup> {
  const resolved = resolveNamed(await client.listAppGroups(), given, ['group', 'groups']);
  return 'found' in resolved ? resolved.found : refuse(404, 'no_group', resolved.error);
}
