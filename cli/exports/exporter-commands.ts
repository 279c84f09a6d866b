import type { Command } from 'commander';
import type { Client, ExportRun, FoundExportRun, ListedDataExporter } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { nearestOf } from '../core/nearest.ts';
import { table } from '../core/table.ts';
import { hasEnded } from '../imports/import-status.ts';
import { follow } from '../jobs/follow.ts';
import { waiting } from '../syncs/run-status.ts';
import { exportExitStatus, reportExportRun, sayWindow } from './export-run-status.ts';

type WaitOption = { wait: boolean };

const EXPORTER = ['<exporter>', 'its identifier, or its name'] as const;
const RUN = ['<run>', 'as `millrace exporters runs` shows it'] as const;
const NO_WAIT = ['--no-wait', 'only start it'] as const;
const RUNS_SHOWN = 50;

/** The commands of `millrace exporters` that ask the server. */
export function addExporterCommands(exporters: Command, run: Run): void {
  exporters
    .command('list', { isDefault: true })
    .description('list them, and how they stand')
    .action(() => run(async (context) => show(context, await context.client.listDataExporters())));
  exporters
    .command('runs')
    .description(`list the last ${RUNS_SHOWN} runs of an exporter, newest first`)
    .argument(...EXPORTER)
    .action((exporter: string) => run((context) => listRuns(context, exporter)));
  for (const [name, description, change] of [
    [
      'activate',
      'try its bucket, and let it export daily; where failures had paused it, it goes on',
      'activateDataExporter',
    ],
    ['deactivate', 'let it export no longer daily; a run under way goes on', 'deactivateDataExporter'],
  ] as const) {
    exporters
      .command(name)
      .description(description)
      .argument(...EXPORTER)
      .action((exporter: string) => run((context) => changeState(context, exporter, change)));
  }
  for (const [name, description, work] of [
    ['status', 'tell how a run stands', async (context, id) => tell(context, await viewRun(context.client, id))],
    ['follow', 'follow a run until it has ended', followToEnd],
    ['cancel', 'cancel a run that has not ended', cancel],
  ] satisfies [string, string, (context: CommandContext, id: string) => Promise<number>][]) {
    exporters
      .command(name)
      .description(description)
      .argument(...RUN)
      .action((id: string) => run((context) => work(context, id)));
  }
  addStarting(exporters, run);
}

function addStarting(exporters: Command, run: Run): void {
  exporters
    .command('run')
    .description('export now what has come since the last good run, and follow the run until it has ended')
    .argument(...EXPORTER)
    .option(...NO_WAIT)
    .action((given: string, options: WaitOption) =>
      run(async (context) =>
        started(context, await context.client.runDataExporter({ params: await idOf(context, given) }), options),
      ),
    );
  exporters
    .command('rerun')
    .description('export the window of a run again, as the exporter is now')
    .argument(...RUN)
    .option(...NO_WAIT)
    .action((id: string, options: WaitOption) =>
      run(async (context) =>
        started(
          context,
          await context.client.rerunExport({ params: paramsOf(await viewRun(context.client, id)) }),
          options,
        ),
      ),
    );
  exporters
    .command('backfill')
    .description('export what happened from one day to another, both included, into a folder of its own')
    .argument(...EXPORTER)
    .requiredOption('--from <day>', 'such as 2026-01-01, by the clocks of the entity')
    .requiredOption('--to <day>', 'such as 2026-01-31')
    .option(...NO_WAIT)
    .action((given: string, { from, to, ...options }: WaitOption & { from: string; to: string }) =>
      run(async (context) =>
        started(
          context,
          await context.client.backfillExports({ params: await idOf(context, given), body: { from, to } }),
          options,
        ),
      ),
    );
}

async function started(context: CommandContext, { identifier }: ExportRun, { wait }: WaitOption): Promise<number> {
  context.console.log(`run ${identifier}`);
  return wait ? followToEnd(context, identifier) : 0;
}

async function listRuns(context: CommandContext, given: string): Promise<number> {
  const {
    client,
    console,
    terminal: { width },
  } = context;
  const params = await idOf(context, given);
  const { items, total_items: total } = await client.listExportRuns({ params, query: { per_page: RUNS_SHOWN } });
  console.log(
    table(
      ['run', 'cause', 'state', 'window', 'started', 'rows', 'late'],
      items.map((one) => [
        one.identifier,
        one.cause,
        one.covered ? `${one.state}, covered` : one.state,
        sayWindow(one),
        one.started_at?.slice(0, 16) ?? '',
        String(one.rows),
        String(one.types.reduce((sum, { late_rows: late }) => sum + (late ?? 0), 0)),
      ]),
      width,
    ),
  );
  if (total > items.length) console.log(`and ${total - items.length} older ones`);
  return 0;
}

function viewRun(client: Client, id: string): Promise<FoundExportRun> {
  return client.findExportRun({ params: { run_id: id } });
}

async function idOf({ client }: CommandContext, given: string): Promise<{ exporter_id: string }> {
  return { exporter_id: (await findExporter(client, given)).identifier };
}

async function followToEnd(context: CommandContext, id: string): Promise<number> {
  const { client } = context;
  const now = await viewRun(client, id);
  return tell(
    context,
    hasEnded(now)
      ? now
      : await follow<ExportRun>(context, {
          view: () => viewRun(client, id),
          hasEnded,
          shown: (status) => ({ phase: '{text}', value: 0, total: 1, text: progressOf(status) }),
          name: 'run',
          toFollow: `exporters follow ${id}`,
          toCancel: `exporters cancel ${id}`,
        }),
  );
}

function progressOf(status: ExportRun): string {
  const { state, stage, rows, types, fault, waits_until: until } = status;
  if (state === 'accepted') return 'waiting for its turn';
  if (!hasEnded(status) && fault !== null && until !== null) return waiting(status);
  if (stage !== null) return stage;
  if (types.length === 0) return 'waiting until all of its window is there';
  return `${rows} of ${types.reduce((sum, { expected }) => sum + (expected ?? 0), 0)} rows`;
}

function tell({ console, terminal }: CommandContext, status: ExportRun): number {
  console.log(reportExportRun(status, terminal));
  return hasEnded(status) ? exportExitStatus(status) : 0;
}

async function cancel({ client, console }: CommandContext, id: string): Promise<number> {
  await client.cancelExportRun({ params: paramsOf(await viewRun(client, id)) });
  console.log('canceled');
  return 0;
}

async function changeState(
  context: CommandContext,
  given: string,
  change: 'activateDataExporter' | 'deactivateDataExporter',
): Promise<number> {
  return show(context, [await context.client[change]({ params: await idOf(context, given) })]);
}

function show({ console, terminal: { width } }: CommandContext, exporters: ListedDataExporter[]): number {
  console.log(
    table(
      ['identifier', 'name', 'state', 'to', 'data', 'apps', 'last good run'],
      exporters.map((exporter) => [
        exporter.identifier,
        exporter.name,
        exporter.active ? 'active' : 'inactive',
        [exporter.bucket_name, exporter.subfolder].filter((part) => part !== '').join('/'),
        exporter.exported_data.join(', '),
        exporter.apps.map(({ name }) => name).join(', '),
        exporter.last_run_at?.slice(0, 16) ?? 'never',
      ]),
      width,
    ),
  );
  return 0;
}

function paramsOf({ exporter, identifier }: FoundExportRun): { exporter_id: string; run_id: string } {
  return { exporter_id: exporter, run_id: identifier };
}

/** The exporter with an identifier, or else the one with a name: several may have the same. */
async function findExporter(client: Client, given: string): Promise<ListedDataExporter> {
  const exporters = await client.listDataExporters();
  const found = exporters.find(({ identifier }) => identifier === given);
  const named = exporters.filter(({ name }) => name === given);
  if (!found && named.length > 1) {
    const identifiers = named.map(({ identifier }) => identifier).join(', ');
    return refuse(
      409,
      'ambiguous',
      `${named.length} exporters are called ${given}: give an identifier (${identifiers})`,
    );
  }
  return (
    found ??
    named[0] ??
    refuse(
      404,
      'no_exporter',
      `There is no exporter ${given}${nearestOf(
        given,
        exporters.map(({ name }) => name),
      )}`,
    )
  );
}
