/** The command `millrace sync`: syncs in files. */
import type { Command } from 'commander';
import type { Client } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { confirmDeletion, YES, type YesOption } from '../core/ask.ts';
import { printable } from '../core/table.ts';
import { type PlannedSync, planSyncs, sayValueChange, type SyncPlan } from './sync-plan.ts';

type DiffOptions = { delete?: true };
type ApplyOptions = DiffOptions & YesOption;

const FILES = ['<files...>', 'YAML files of syncs, one a document; - for standard input'] as const;
const DELETE = '--delete';
const DIFFERS = 2;

export function addSyncCommand(program: Command, run: Run): void {
  const sync = program
    .command('sync')
    .description('syncs in files, for example in a git repository; identified by their names');

  sync
    .command('validate')
    .description('list all faults of files of syncs; changes nothing')
    .argument(...FILES)
    .action((paths: string[]) => run((context) => validate(context, paths)));

  sync
    .command('diff')
    .description('show what apply would change; exits with 2 if it would change something')
    .argument(...FILES)
    .option(DELETE, 'as apply --delete')
    .action((paths: string[], options: DiffOptions) => run((context) => diff(context, paths, options)));

  sync
    .command('apply')
    .description('make and change syncs as the files have them; changes nothing if one of them is wrong')
    .argument(...FILES)
    .option(DELETE, 'delete the syncs that no file has, after asking')
    .option(...YES)
    .action((paths: string[], options: ApplyOptions) => run((context) => apply(context, paths, options)));
}

async function validate(context: CommandContext, paths: string[]): Promise<number> {
  const { syncs } = await planSyncs(context, paths);
  context.setResult({ valid: syncs.map(({ name }) => name) });
  context.console.log(`valid: ${countOf(syncs)}`);
  return 0;
}

async function diff(context: CommandContext, paths: string[], options: DiffOptions): Promise<number> {
  const { console } = context;
  const plan = await planSyncs(context, paths);
  const changed = plan.syncs.filter((sync) => !isSame(sync));
  for (const sync of changed) console.log(describe(sync));
  if (changed.length < plan.syncs.length) console.log(`unchanged: ${countOf(plan.syncs.filter(isSame))}`);
  showOthers(context, plan, options);
  context.setResult({
    changed: changed.map(({ name, existing, changes }) => ({
      name,
      identifier: existing?.identifier ?? null,
      changes,
    })),
    only_on_server: plan.onlyOnServer.map(({ identifier }) => identifier),
  });
  return changed.length > 0 || (options.delete && plan.onlyOnServer.length > 0) ? DIFFERS : 0;
}

async function apply(context: CommandContext, paths: string[], options: ApplyOptions): Promise<number> {
  const { client, console } = context;
  const plan = await planSyncs(context, paths);
  showOthers(context, plan, options);
  const doomed = options.delete ? plan.onlyOnServer : [];
  if (doomed.length > 0) await confirmDeletion(context, countOf(doomed), options.yes);
  const applied: string[] = [];
  for (const sync of plan.syncs) {
    const line = await applyOne(client, sync);
    console.log(line);
    applied.push(line);
  }
  for (const { identifier, name } of doomed) {
    await client.deleteSync({ params: { sync_id: identifier } });
    console.log(`deleted: ${printable(name)} (${identifier})`);
    applied.push(`deleted: ${printable(name)} (${identifier})`);
  }
  context.setResult(applied);
  return 0;
}

async function applyOne(client: Client, { name, definition, existing, changes }: PlannedSync): Promise<string> {
  if (existing && changes.length === 0) return `unchanged: ${printable(name)} (${existing.identifier})`;
  const { identifier } = existing
    ? await client.updateSync({ params: { sync_id: existing.identifier }, body: definition })
    : await client.createSync({ body: definition });
  return `${existing ? 'changed' : 'created'}: ${printable(name)} (${identifier})`;
}

function isSame({ existing, changes }: PlannedSync): boolean {
  return existing !== null && changes.length === 0;
}

function describe({ name, existing, changes }: PlannedSync): string {
  if (!existing) return `new: ${printable(name)}`;
  const lines = changes.map(({ path, before, after }) => `  ${printable(sayValueChange(path, before, after))}`);
  return [`changed: ${printable(name)} (${existing.identifier})`, ...lines].join('\n');
}

function showOthers(
  { console }: CommandContext,
  { onlyOnServer }: SyncPlan,
  { delete: isDeleting }: DiffOptions,
): void {
  const words = isDeleting ? 'to be deleted' : 'only on the server';
  for (const { name, identifier } of onlyOnServer) console.log(`${words}: ${printable(name)} (${identifier})`);
}

function countOf(syncs: readonly unknown[]): string {
  return `${syncs.length} ${syncs.length === 1 ? 'sync' : 'syncs'}`;
}
