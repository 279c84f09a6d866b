/** The command `millrace attributes`. */
import { type Command, Option } from 'commander';
import type { Client, SorAttribute } from '../../api/client.ts';
import { VALUE_TYPES } from '../../domain/attributes/attribute-value.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { nearestOf } from '../core/nearest.ts';
import { findSorId, SOR } from './find-sor.ts';

type AddOptions = { type: SorAttribute['value_type']; label?: string };
type UpdateOptions = { label?: string; disable?: true; enable?: true; type?: SorAttribute['value_type'] };

const ATTRIBUTE = ['<attribute>', 'its key or identifier'] as const;

export const addAttributesCommand = (program: Command, run: Run) =>
  addGroup<SorAttribute>(program, run, {
    name: 'attributes',
    description: 'the attributes of Systems of Records',
    columns: {
      identifier: (attribute) => attribute.identifier,
      key: (attribute) => attribute.key,
      type: (attribute) => attribute.value_type,
      state: stateOf,
      label: (attribute) => attribute.label,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list those of a System of Records',
        args: [SOR],
        async does({ client, setResult }, _, sor: string) {
          const attributes = await listAttributes(client, sor);
          setResult(attributes);
          return attributes;
        },
      },
      {
        name: 'view',
        description: 'show one',
        args: [SOR, ATTRIBUTE],
        does: async ({ client }, _, sor: string, given: string) => ({
          record: await client.viewCustomerAttribute({ params: await paramsOf(client, sor, given) }),
        }),
      },
      {
        name: 'add',
        description: 'define one',
        args: [SOR, ['<key>', 'its name in rows of files and fields of feeds']],
        options: [
          new Option('--type <type>', 'type of its values').choices(VALUE_TYPES).makeOptionMandatory(),
          ['--label <label>', 'name for people; the key by default'],
        ],
        does: async ({ client }, { type, label }: AddOptions, sor: string, key: string) =>
          client.createCustomerAttribute({
            body: { sor_id: await findSorId(client, sor), key, label, value_type: type },
          }),
      },
      {
        name: 'update',
        description: 'change one',
        args: [SOR, ATTRIBUTE],
        options: [
          ['--label <label>', 'name for people'],
          new Option('--disable', 'refuse its values').conflicts('enable'),
          ['--enable', 'accept its values again'],
          new Option('--type <type>', 'define a guessed type: the type that it has, or String').choices(VALUE_TYPES),
        ],
        does: async ({ client }, { label, disable, enable, type }: UpdateOptions, sor: string, given: string) =>
          client.updateCustomerAttribute({
            params: await paramsOf(client, sor, given),
            body: { label, disabled: disable ? true : enable ? false : undefined, value_type: type },
          }),
      },
      {
        name: 'remove',
        description: 'delete one with all its values, after asking',
        args: [SOR, ATTRIBUTE],
        async deletes({ client }: CommandContext, sor: string, given: string) {
          const { ca_identifier: identifier } = await paramsOf(client, sor, given);
          return `the attribute ${given} of ${sor} (${identifier}) and all of its values`;
        },
        does: async ({ client }, _, sor: string, given: string) =>
          client.deleteCustomerAttribute({ params: await paramsOf(client, sor, given) }),
      },
    ],
  });

function stateOf({ disabled, guessed }: SorAttribute): string {
  return [...(disabled ? ['disabled'] : []), ...(guessed ? ['guessed'] : [])].join(', ');
}

async function listAttributes(client: Client, sor: string): Promise<SorAttribute[]> {
  const params = { sor_identifier: await findSorId(client, sor) };
  return (await client.viewSystemOfRecord({ params, query: { secrets: false } })).customer_attributes;
}

async function paramsOf(client: Client, sor: string, given: string): Promise<{ ca_identifier: string }> {
  const attributes = await listAttributes(client, sor);
  const found =
    attributes.find(({ identifier }) => identifier === given) ?? attributes.find(({ key }) => key === given);
  const { identifier } =
    found ??
    refuse(
      404,
      'no_attribute',
      `${sor} has no attribute ${given}${nearestOf(
        given,
        attributes.map(({ key }) => key),
      )}`,
    );
  return { ca_identifier: identifier };
}
