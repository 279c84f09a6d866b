/** The command `millrace syncs`. */
import type { Command } from 'commander';
import { Document } from 'yaml';
import type { Sync } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { confirmDeletion, YES, type YesOption } from '../core/confirm-deletion.ts';
import { printable, table } from '../core/table.ts';
import { addSyncRunCommands } from './run-commands.ts';
import { listSyncEnds, nameEnd } from './sync-ends.ts';
import { planSyncs } from './sync-plan.ts';
import { definitionOf, findSync, listSyncs } from './sync-record.ts';

/** Control characters that YAML does not escape, and a terminal obeys. */
const C1 = /[\x7f-\x9f]/g;
const SYNC = ['<sync>', 'its name, or its identifier'] as const;

export function addSyncsCommand(program: Command, run: Run): void {
  const syncs = program.command('syncs').description('what each sync reads, maps and writes; and its runs');

  syncs
    .command('list', { isDefault: true })
    .description('list them with their states')
    .action(() => run(async (context) => show(context, await listSyncs(context.client))));

  syncs
    .command('view')
    .description('print a sync as a file for `millrace sync apply`, with its state as a comment')
    .argument(...SYNC)
    .action((sync: string) => run((context) => view(context, sync)));

  syncs
    .command('add')
    .description('make the syncs of a YAML or JSON file, and print their identifiers')
    .argument('<file>', '- for standard input')
    .action((file: string) => run((context) => add(context, file)));

  addSyncRunCommands(syncs, run, SYNC);

  for (const [name, description, change] of [
    ['pause', 'pause its schedule', 'pauseSync'],
    ['resume', 'resume its schedule', 'resumeSync'],
    ['accept-schema', "accept the source's current fields", 'acceptSyncSchema'],
  ] as const) {
    syncs
      .command(name)
      .description(description)
      .argument(...SYNC)
      .action((sync: string) => run((context) => changeState(context, sync, change)));
  }

  syncs
    .command('remove')
    .description('delete a sync, after asking; what it has written stays')
    .argument(...SYNC)
    .option(...YES)
    .action((sync: string, options: YesOption) => run((context) => remove(context, sync, options)));
}

async function view({ client, console, setResult }: CommandContext, given: string): Promise<number> {
  const sync = await findSync(client, given);
  const ends = await listSyncEnds(client);
  const channels = sync.alerts.connections.map((connection) => nameEnd(ends, 'connection', connection));
  const definition = { ...definitionOf(sync), alerts: { ...sync.alerts, connections: channels } };
  const { source, destination } = definition as {
    source: { connection: string };
    destination: { connection?: string; sor?: string };
  };
  source.connection = nameEnd(ends, 'connection', source.connection);
  if (destination.connection !== undefined)
    destination.connection = nameEnd(ends, 'connection', destination.connection);
  if (destination.sor !== undefined) destination.sor = nameEnd(ends, 'sor', destination.sor);
  const document = new Document(definition);
  document.commentBefore = standing(sync)
    .map((line) => ` ${printable(line)}`)
    .join('\n');
  setResult(sync);
  console.log(document.toString({ lineWidth: 0 }).trimEnd().replaceAll(C1, '\uFFFD'));
  return 0;
}

function standing({
  identifier,
  state,
  paused_reason: reason,
  failures,
  next_runs: next,
  last_run: last,
}: Sync): string[] {
  return [
    identifier,
    state === 'paused' && reason !== null ? `paused: ${reason}` : state,
    ...(failures > 0 ? [`failed runs in a row: ${failures}`] : []),
    ...(last ? [`last run: ${last.run_id} ${last.state}, ${last.failed_records} records failed`] : []),
    ...(next.length > 0 ? [`next runs: ${next.join(', ')}`] : []),
  ];
}

async function add(context: CommandContext, file: string): Promise<number> {
  const { syncs } = await planSyncs(context, [file]);
  const there = syncs.find(({ existing }) => existing !== null);
  if (there) {
    const apply = `${context.terminal.command} sync apply ${file}`;
    return refuse(409, 'taken', `There is a sync ${there.name} already. To change it: ${apply}`);
  }
  const created = [];
  for (const { definition } of syncs) {
    const sync = await context.client.createSync({ body: definition });
    context.console.log(sync.identifier);
    created.push(sync);
  }
  context.setResult(created);
  return 0;
}

async function changeState(
  context: CommandContext,
  given: string,
  change: 'pauseSync' | 'resumeSync' | 'acceptSyncSchema',
): Promise<number> {
  const { client } = context;
  const { identifier } = await findSync(client, given);
  return show(context, [await client[change]({ params: { sync_id: identifier } })]);
}

async function remove(context: CommandContext, given: string, { yes }: YesOption): Promise<number> {
  const { client } = context;
  const { identifier, name } = await findSync(client, given);
  await confirmDeletion(context, `the sync ${printable(name)} (${identifier})`, yes);
  await client.deleteSync({ params: { sync_id: identifier } });
  return 0;
}

function show({ console, terminal: { width } }: CommandContext, syncs: Sync[]): number {
  console.log(
    table(
      ['identifier', 'name', 'from', 'to', 'mode', 'state', 'last run', 'next run'],
      syncs.map((sync) => [
        sync.identifier,
        sync.name,
        sayEnd(sync.source),
        sayEnd(sync.destination),
        sync.mode,
        sync.state,
        sayLastRun(sync),
        sync.next_runs[0]?.slice(0, 16) ?? '',
      ]),
      width,
    ),
  );
  return 0;
}

function sayEnd({ name, stream }: { name: string | null; stream?: string }): string {
  return [name ?? '(deleted)', stream].filter(Boolean).join(' / ');
}

function sayLastRun({ last_run: last }: Sync): string {
  if (!last) return 'never';
  return last.failed_records > 0 ? `${last.state}, ${last.failed_records} failed` : last.state;
}
