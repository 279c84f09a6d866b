import type { Command } from 'commander';
import type { Label } from '../../api/client.ts';
import type { Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';

const LABEL = ['<label>', 'its name'] as const;

export const addLabelsCommand = (program: Command, run: Run) =>
  addGroup<Label>(program, run, {
    name: 'labels',
    description: 'words that sort segments, funnels and other objects',
    columns: {
      label: ({ name }) => name,
      'used by': ({ targets }) => String(targets),
      made: (label) => label.created_at.slice(0, 16),
    },
    commands: [
      { name: 'list', isDefault: true, description: 'list them', does: ({ client }) => client.listLabels() },
      {
        name: 'add',
        description: 'make one',
        args: [LABEL],
        does: ({ client }, _, name: string) => client.createLabel({ body: { name } }),
      },
      {
        name: 'rename',
        description: 'rename one everywhere it is used',
        args: [LABEL, ['<name>', 'the new one']],
        does: ({ client }, _, name: string, newName: string) =>
          client.renameLabel({ params: { name }, body: { new_name: newName } }),
      },
      {
        name: 'remove',
        description: 'delete one, after asking; the objects that have it stay',
        args: [LABEL],
        deletes: async (_, name) => `the label ${name}`,
        does: ({ client }, _, name: string) => client.deleteLabel({ params: { name } }),
      },
    ],
  });
