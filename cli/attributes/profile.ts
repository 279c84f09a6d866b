/** The command `millrace profile`. */
import type { Command } from 'commander';
import type { CustomerProfile } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { printable, sayValue, table } from '../core/table.ts';
import { findSorId } from './find-sor.ts';

type Options = { device?: true; all?: true; sor?: string };

export const addProfileCommand = (program: Command, run: Run) =>
  program
    .command('profile')
    .description("show a customer's profile: each attribute with a value")
    .argument('<id>', 'user id')
    .option('--device', 'it is the id of a device')
    .option('--all', 'attributes without a value, too')
    .option('--sor <sor>', 'only those of one System of Records: its name or identifier')
    .action((id: string, options: Options) => run((context) => view(context, id, options)));

async function view(
  { client, console, terminal: { width }, setResult }: CommandContext,
  id: string,
  options: Options,
): Promise<number> {
  const { device, all, sor } = options;
  const asked = sor === undefined ? undefined : await findSorId(client, sor);
  const profiles = await client.viewCustomerProfile({
    params: { customer_id: id },
    query: { customer_id_type: device ? 'device_id' : 'user_id', sor_identifiers: asked },
  });
  if (profiles.length === 0)
    refuse(404, 'no_profile', `There is no ${device ? 'device' : 'user'} with the id ${printable(id)}.`);
  const sors = await client.listSystemsOfRecords({ query: { secrets: false } });
  const names = new Map(sors.map(({ identifier, name }) => [identifier, name]));
  setResult(profiles); // differs from the last call's result
  for (const profile of profiles) {
    const rows = rowsOf(profile, names, all === true);
    console.log(printable(`${profile.customer_id_type} ${profile.customer_id}`));
    console.log(rows.length === 0 ? 'no attribute has a value' : table(['from', 'attribute', 'value'], rows, width));
  }
  return 0;
}

function rowsOf({ attributes }: CustomerProfile, names: Map<string, string>, isAll: boolean): string[][] {
  return Object.entries(attributes).flatMap(([sor, values]) =>
    Object.entries(values)
      .filter(([, value]) => isAll || hasValue(value))
      .map(([key, value]) => [
        names.get(sor) ?? sor,
        key,
        value === null || value === undefined ? '' : sayValue(value),
      ]),
  );
}

/** Returns whether an attribute has a value: an empty Set has none. */
const hasValue = (value: unknown): boolean =>
  value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
