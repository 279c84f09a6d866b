/** The command `millrace exporters`. */
import type { Command } from 'commander';
import type { Client, ExportRun, FoundExportRun } from '../../api/client.ts';
import type { CommandContext, Run, Terminal } from '../core/command-context.ts';
import { printable, table } from '../core/table.ts';
import { hasEnded } from '../imports/import-status.ts';
import {
  addRunCommands,
  printRuns,
  RUN,
  RUNS_SHOWN,
  type RunsOfCommand,
  sayStarted,
  troubleLines,
  waitOf,
} from '../jobs/runs.ts';
import { addExporterSettings } from './exporter-settings.ts';
import { addExporterWindows } from './exporter-windows.ts';
import { EXPORTER, idOf, showExporters } from './find-exporter.ts';
import { addVerifyCommand } from './verify-exports.ts';

export function addExportersCommand(program: Command, run: Run): void {
  const exporters = program.command('exporters').description('daily exports to S3');
  addExporterCommands(exporters, run);
  addExporterSettings(exporters, run);
  addExporterWindows(exporters, run);
  addVerifyCommand(exporters, run);
}

type WaitOption = { wait: boolean };

const NO_WAIT = ['--no-wait', 'only start it'] as const;

const RUNS: RunsOfCommand<FoundExportRun> = {
  command: 'exporters',
  view: viewRun,
  shown: (run) => ({ phase: '{text}', value: 0, total: 1, text: progressOf(run) }),
  tell,
};

function addExporterCommands(exporters: Command, run: Run): void {
  exporters
    .command('list', { isDefault: true })
    .description('list them with their states')
    .action(() => run(async (context) => showExporters(context, await context.client.listDataExporters())));
  exporters
    .command('runs')
    .description(`list the last ${RUNS_SHOWN} runs of an exporter, newest first`)
    .argument(...EXPORTER)
    .action((exporter: string) => run((context) => listRuns(context, exporter)));
  for (const [name, description, change] of [
    [
      'activate',
      'test its bucket and activate its daily exports; resumes one that failures had paused',
      'activateDataExporter',
    ],
    ['deactivate', 'deactivate its daily exports; a running one continues', 'deactivateDataExporter'],
  ] as const) {
    exporters
      .command(name)
      .description(description)
      .argument(...EXPORTER)
      .action((exporter: string) => run((context) => changeState(context, exporter, change)));
  }
  addRunCommands(exporters, run, RUNS, [['cancel', 'cancel a run that has not ended', cancel]]);
  addStarting(exporters, run);
}

function addStarting(exporters: Command, run: Run): void {
  exporters
    .command('run')
    .description('export now all data since the last successful run, and follow the run until it has ended')
    .argument(...EXPORTER)
    .option(...NO_WAIT)
    .action((given: string, options: WaitOption) =>
      run(async (context) =>
        started(context, await context.client.runDataExporter({ params: await idOf(context, given) }), options),
      ),
    );
  exporters
    .command('rerun')
    .description("export the window of a run again, with the exporter's current settings")
    .argument(...RUN('exporters'))
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
    .description('export the events of past days, both included, into a separate folder')
    .argument(...EXPORTER)
    .requiredOption('--from <day>', "such as 2026-01-01, in the entity's time zone")
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

function started(context: CommandContext, { identifier }: ExportRun, { wait }: WaitOption): Promise<number> {
  return sayStarted(context, RUNS, identifier, wait);
}

async function listRuns(context: CommandContext, given: string): Promise<number> {
  const params = await idOf(context, given);
  const asked = { params, query: { per_page: RUNS_SHOWN } };
  const { items, total_items: total } = await context.client.listExportRuns(asked);
  const rows = items.map((one) => [
    one.identifier,
    one.cause,
    one.covered ? `${one.state}, covered` : one.state,
    sayWindow(one),
    one.started_at?.slice(0, 16) ?? '',
    String(one.rows),
    String(one.types.reduce((sum, { late_rows: late }) => sum + (late ?? 0), 0)),
  ]);
  return printRuns(context, ['run', 'cause', 'state', 'window', 'started', 'rows', 'late'], rows, total);
}

function viewRun(client: Client, id: string): Promise<FoundExportRun> {
  return client.findExportRun({ params: { run_id: id } });
}

function progressOf(run: ExportRun): string {
  const { rows, types } = run;
  const wait = waitOf(run);
  if (wait !== null) return wait;
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
  return showExporters(context, [await context.client[change]({ params: await idOf(context, given) })]);
}

function paramsOf({ exporter, identifier }: FoundExportRun): { exporter_id: string; run_id: string } {
  return { exporter_id: exporter, run_id: identifier };
}

function exportExitStatus({ state }: ExportRun): number {
  return state === 'finished' ? 0 : 2;
}

function reportExportRun(run: ExportRun, { width, command }: Terminal): string {
  const { state, rows, types } = run;
  const lines = [`${state}: ${rows} ${rows === 1 ? 'row' : 'rows'} of ${sayWindow(run)}`];
  if (run.covered) lines.push('an earlier run had exported all of it: nothing was written');
  if (run.rerun_of !== null) lines.push(`a rerun of ${run.rerun_of}`);
  if (run.covers.length > 0) lines.push(`it stands for ${run.covers.length} more scheduled times`);
  lines.push(...troubleLines(run));
  if (run.manifest_key !== null) lines.push(`manifest: ${printable(run.manifest_key)}`);
  if (types.length > 0)
    lines.push('', table(['type', 'expected', 'rows', 'files', 'late rows'], types.map(typeCells), width));
  const ambiguous = types.reduce((sum, { ambiguous_sets: sets }) => sum + (sets ?? 0), 0);
  if (ambiguous > 0) {
    const sets = ambiguous === 1 ? '1 Set has' : `${ambiguous} Sets have`;
    lines.push(
      '',
      `${sets} elements with ; or empty ones, which CSV cannot give back: set the exporter's format to jsonl or parquet.`,
    );
  }
  if (types.some(({ late_rows: late }) => late !== null && late > 0)) {
    lines.push(
      '',
      `Late rows are in no file. To export the window again: ${command} exporters rerun ${run.rerun_of ?? run.identifier}`,
    );
  }
  return lines.join('\n');
}

function sayWindow({ days, window: { start, end }, state, cause }: ExportRun): string {
  if (days) return `${days.from} to ${days.to}`;
  const isOpen = state === 'accepted' && cause !== 'rerun';
  return `${start ?? (isOpen ? 'the last good run' : 'the beginning')} to ${end}`;
}

function typeCells({ type, expected, rows, files, late_rows: late }: ExportRun['types'][number]): string[] {
  return [
    type,
    expected === null ? '' : String(expected),
    String(rows),
    String(files),
    late === null ? '' : String(late),
  ];
}
