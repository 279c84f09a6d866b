/** The command `millrace entities`. */
import type { Command } from 'commander';
import type { Client, ViewedEntity } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { isTimeZone } from '../../domain/time/time-zone.ts';
import { askLine } from '../core/ask.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { resolveNamed } from '../core/nearest.ts';

type Options = {
  name?: string;
  description?: string;
  zone?: string;
  retention?: string;
  controlGroup?: string;
  active?: boolean;
};

const ENTITY = ['<entity>', 'its name or identifier'] as const;
const RETENTION = ['--retention <months>', 'months to keep its data: 1 to 120'] as const;

const CONTROL_GROUP = [
  '--control-group <percent>',
  'percentage of people who get only transactional campaigns: 0 to 50',
] as const;

export const addEntitiesCommand = (program: Command, run: Run) =>
  addGroup<ViewedEntity>(program, run, {
    name: 'entities',
    description: 'all entities of the service, for superadmins',
    columns: {
      identifier: (entity) => entity.identifier,
      name: (entity) => entity.name,
      state: (entity) => (entity.active ? '' : 'inactive'),
      zone: (entity) => entity.default_tz,
      'kept, months': (entity) => String(entity.data_retention_in_months),
      description: (entity) => entity.description,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them',
        does: ({ client }) => Array.fromAsync(client.each.listEntities({ query: { secrets: false } })),
      },
      {
        name: 'view',
        description: 'show one, without its keys',
        args: [ENTITY],
        async does({ client, setResult }, _, given: string) {
          const entity = await findEntity(client, given);
          setResult(entity);
          return { record: entity };
        },
      },
      {
        name: 'keys',
        description: 'print its keys for tests and for production: they are secrets',
        args: [ENTITY],
        async does({ client, console, setResult }, _, given: string) {
          const { qa_api_key: qa, prod_api_key: prod } = await client.viewEntity({
            params: await paramsOf(client, given),
          });
          setResult([qa, prod]);
          console.error('The first is for tests, the second for production:');
          return `${qa}\n${prod}`;
        },
      },
      {
        name: 'add',
        description: 'make one',
        args: [['<name>', 'its name']],
        options: [
          ['--description <text>'],
          ['--zone <zone>', "of the IANA database; by default asked at a terminal, else this machine's"],
          RETENTION,
          CONTROL_GROUP,
        ],
        does: async (context, options: Options, name: string) =>
          context.client.createEntity({
            body: { name, ...bodyOf(options), default_tz: options.zone ?? (await askZone(context)) },
          }),
      },
      {
        name: 'update',
        description: 'change one',
        args: [ENTITY],
        options: [
          ['--name <name>'],
          ['--description <text>'],
          ['--zone <zone>', 'of the IANA database'],
          RETENTION,
          CONTROL_GROUP,
          ['--active', 'accept its tokens and keys again'],
          ['--no-active', 'refuse all its tokens and keys'],
        ],
        does: async ({ client }, options: Options, given: string) =>
          client.updateEntity({
            params: await paramsOf(client, given),
            body: { ...bodyOf(options), name: options.name, active: options.active },
          }),
      },
      {
        name: 'remove',
        description: 'delete an empty one, after asking',
        args: [ENTITY],
        async deletes({ client }, given) {
          const { name, identifier } = await findEntity(client, given);
          return `the entity ${name} (${identifier})`;
        },
        does: async ({ client }, _, given: string) => client.deleteEntity({ params: await paramsOf(client, given) }),
      },
    ],
  });

function bodyOf({ description, zone, retention, controlGroup }: Options) {
  const number = (given: string | undefined) => (given === undefined ? undefined : Number(given));
  return {
    description,
    default_tz: zone,
    data_retention_in_months: number(retention),
    control_group_percent: number(controlGroup),
  };
}

/** Asks for the time zone, in which an entity's days begin. An empty line takes the machine's own. */
async function askZone(context: Pick<CommandContext, 'stdin' | 'stderr'>): Promise<string> {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const machine = isTimeZone(own) ? own : 'UTC';
  if (!context.stdin.isTTY) return machine;
  return (await askLine(context, `Time zone of the entity [${machine}]: `)) || machine;
}

async function findEntity(client: Client, given: string): Promise<ViewedEntity> {
  const resolved = resolveNamed(await Array.fromAsync(client.each.listEntities({ query: { secrets: false } })), given, [
    'entity',
    'entities',
  ]);
  return 'found' in resolved ? resolved.found : refuse(404, 'no_entity', resolved.error);
}

async function paramsOf(client: Client, given: string): Promise<{ entity_id: string }> {
  return { entity_id: (await findEntity(client, given)).identifier };
}
