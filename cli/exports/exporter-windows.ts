/** The commands of `millrace exporters` about what is there: windows by day, and lists of deleted ids. */
import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';
import { EXPORTER, idOf } from './find-exporter.ts';

type WindowOptions = { from?: string; to?: string; verify?: true };

/** Exit status if something is missing, as of a run with failed rows. */
const NOT_WHOLE = 2;

export function addExporterWindows(exporters: Command, run: Run): void {
  exporters
    .command('windows')
    .description('list the due windows of an exporter and what was exported of each; exits with 2 if one is not whole')
    .argument(...EXPORTER)
    .option('--from <time>', 'a day such as 2026-01-01, or a time; by default all')
    .option('--to <time>', 'before this day or time')
    .option('--verify', 'compare each with the files in the bucket')
    .action((given: string, options: WindowOptions) => run((context) => listWindows(context, given, options)));
  exporters
    .command('deletion-lists')
    .description('list the lists of deleted ids that an exporter writes into the bucket, newest first')
    .argument(...EXPORTER)
    .action((given: string) => run((context) => listDeletionLists(context, given)));
}

async function listWindows(context: CommandContext, given: string, options: WindowOptions): Promise<number> {
  const { client, console, terminal } = context;
  const query = { ...options, per_page: 62 };
  const windows = await Array.fromAsync(client.each.reconcileExports({ params: await idOf(context, given), query }));
  context.setResult(windows);
  const rows = windows.map((one) => {
    const { window, state, run, types, reason } = one;
    const late = types.reduce((total, type) => total + (type.late ?? 0), 0);
    const expected = types.reduce((total, type) => total + (type.expected ?? 0), 0);
    return [
      window.start?.slice(0, 16) ?? 'the first data',
      window.end.slice(0, 16),
      state,
      run ?? '',
      run === null ? '' : String(expected),
      String(one.rows),
      String(late),
      [reason ?? '', ...faultsOf(one)].filter((part) => part !== '').join('; '),
    ];
  });
  console.log(table(['from', 'to', 'state', 'run', 'expected', 'rows', 'late', 'reason'], rows, terminal.width));
  return windows.every((one) => one.state === 'exported' && faultsOf(one).length === 0) ? 0 : NOT_WHOLE;
}

type Faulty = { state: string | null; key: string };

function faultsOf({ types, manifest }: { types: { files: Faulty[] }[]; manifest: Faulty | null }): string[] {
  const files = [...types.flatMap((type) => type.files), ...(manifest ? [manifest] : [])];
  return files.filter(({ state }) => state !== null && state !== 'ok').map(({ key, state }) => `${key} ${state}`);
}

async function listDeletionLists(context: CommandContext, given: string): Promise<number> {
  const { client, console, terminal } = context;
  const lists = await Array.fromAsync(client.each.listDeletionLists({ params: await idOf(context, given) }));
  context.setResult(lists);
  console.log(
    table(
      ['list', 'request', 'erased', 'ids', 'state', 'key', 'fault'],
      lists.map((list) => [
        list.identifier,
        list.request,
        list.erased_at.slice(0, 16),
        String(list.identifiers),
        list.state.replace('_', ' '),
        list.key ?? '',
        list.fault ?? '',
      ]),
      terminal.width,
    ),
  );
  return 0;
}
