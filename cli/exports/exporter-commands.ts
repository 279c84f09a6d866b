import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { call, type Server } from '../core/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';
import { hasEnded } from '../imports/import-status.ts';
import { follow } from '../jobs/follow.ts';
import { waiting } from '../syncs/run-status.ts';
import { exportExitStatus, type ExportRunStatus, reportExportRun, sayWindow } from './export-run-status.ts';
import { type ExporterRecord, exporterPath, findExporter, listExporters } from './exporter-record.ts';

type WaitOption = { wait: boolean };

const EXPORTER = ['<exporter>', 'its identifier, or its name'] as const;
const RUN = ['<run>', 'as `millrace exporters runs` shows it'] as const;
const NO_WAIT = ['--no-wait', 'only start it'] as const;
const RUNS_SHOWN = 50;

/** The commands of `millrace exporters` that ask the server. */
export function addExporterCommands(exporters: Command, run: Run): void {
  exporters.command('list', { isDefault: true }).description('list them, and how they stand')
    .action(() => run(async (context) => show(context, await listExporters(context.server))));
  exporters.command('runs').description(`list the last ${RUNS_SHOWN} runs of an exporter, newest first`).argument(...EXPORTER)
    .action((exporter: string) => run((context) => listRuns(context, exporter)));
  for (const [name, description] of [
    ['activate', 'try its bucket, and let it export daily; where failures had paused it, it goes on'],
    ['deactivate', 'let it export no longer daily; a run under way goes on'],
  ] as const) {
    exporters.command(name).description(description).argument(...EXPORTER)
      .action((exporter: string) => run((context) => changeState(context, exporter, name)));
  }
  for (const [name, description, work] of [
    ['status', 'tell how a run stands', async (context, id) => tell(context, await viewRun(context.server, id))],
    ['follow', 'follow a run until it has ended', followToEnd],
    ['cancel', 'cancel a run that has not ended', cancel],
  ] satisfies [string, string, (context: CommandContext, id: string) => Promise<number>][]) {
    exporters.command(name).description(description).argument(...RUN).action((id: string) => run((context) => work(context, id)));
  }
  addStarting(exporters, run);
}

function addStarting(exporters: Command, run: Run): void {
  exporters.command('run')
    .description('export now what has come since the last good run, and follow the run until it has ended')
    .argument(...EXPORTER).option(...NO_WAIT)
    .action((given: string, options: WaitOption) => run(async (context) =>
      start(context, `${exporterPath((await findExporter(context.server, given)).identifier)}/runs`, {}, options)));
  exporters.command('rerun').description('export the window of a run again, as the exporter is now')
    .argument(...RUN).option(...NO_WAIT)
    .action((id: string, options: WaitOption) => run(async (context) =>
      start(context, `${runPath(await viewRun(context.server, id))}/rerun`, {}, options)));
  exporters.command('backfill').description('export what happened from one day to another, both included, into a folder of its own')
    .argument(...EXPORTER)
    .requiredOption('--from <day>', 'such as 2026-01-01, by the clocks of the entity')
    .requiredOption('--to <day>', 'such as 2026-01-31')
    .option(...NO_WAIT)
    .action((given: string, { from, to, ...options }: WaitOption & { from: string; to: string }) => run(async (context) =>
      start(context, `${exporterPath((await findExporter(context.server, given)).identifier)}/backfills`, { from, to }, options)));
}

/** Nothing is started twice, however often the request is sent. */
async function start(context: CommandContext, path: string, asked: object, { wait }: WaitOption): Promise<number> {
  const { identifier } = await call<ExportRunStatus>(context.server, 'POST', path, asked, randomUUID());
  context.console.log(`run ${identifier}`);
  return wait ? followToEnd(context, identifier) : 0;
}

async function listRuns({ server, console }: CommandContext, given: string): Promise<number> {
  const { identifier } = await findExporter(server, given);
  const { items, total_items: total } = await call<{ items: ExportRunStatus[]; total_items: number }>(
    server, 'GET', `${exporterPath(identifier)}/runs?per_page=${RUNS_SHOWN}`);
  console.log(table(['run', 'cause', 'state', 'window', 'started', 'rows', 'late'], items.map((one) => [
    one.identifier, one.cause, one.covered ? `${one.state}, covered` : one.state, sayWindow(one), one.started_at?.slice(0, 16) ?? '',
    String(one.rows), String(one.types.reduce((sum, { late_rows: late }) => sum + (late ?? 0), 0)),
  ])));
  if (total > items.length) console.log(`and ${total - items.length} older ones`);
  return 0;
}

function viewRun(server: Server, id: string): Promise<ExportRunStatus> {
  return call<ExportRunStatus>(server, 'GET', `/api/export_runs/${encodeURIComponent(id)}`);
}

async function followToEnd(context: CommandContext, id: string): Promise<number> {
  const { server } = context;
  const now = await viewRun(server, id);
  return tell(context, hasEnded(now) ? now : await follow<ExportRunStatus>(context, {
    view: () => viewRun(server, id), hasEnded, shown: (status) => ({ phase: '{text}', value: 0, total: 1, text: progressOf(status) }),
    name: 'run', toFollow: `millrace exporters follow ${id}`, toCancel: `millrace exporters cancel ${id}`,
  }));
}

function progressOf(status: ExportRunStatus): string {
  const { state, rows, types, fault, waits_until: until } = status;
  if (state === 'accepted') return 'waiting for its turn';
  if (!hasEnded(status) && fault !== null && until !== null) return waiting(status);
  if (types.length === 0) return 'waiting until all of its window is there';
  return `${rows} of ${types.reduce((sum, { expected }) => sum + (expected ?? 0), 0)} rows`;
}

function tell({ console }: CommandContext, status: ExportRunStatus): number {
  console.log(reportExportRun(status));
  return hasEnded(status) ? exportExitStatus(status) : 0;
}

async function cancel({ server, console }: CommandContext, id: string): Promise<number> {
  await call(server, 'POST', `${runPath(await viewRun(server, id))}/cancel`);
  console.log('canceled');
  return 0;
}

async function changeState(context: CommandContext, given: string, change: 'activate' | 'deactivate'): Promise<number> {
  const { server } = context;
  const { identifier } = await findExporter(server, given);
  return show(context, [await call<ExporterRecord>(server, 'PUT', `${exporterPath(identifier)}/${change}`)]);
}

function show({ console }: CommandContext, exporters: ExporterRecord[]): number {
  console.log(table(['identifier', 'name', 'state', 'to', 'data', 'apps', 'last good run'], exporters.map((exporter) => [
    exporter.identifier, exporter.name, exporter.active ? 'active' : 'inactive',
    [exporter.bucket_name, exporter.subfolder].filter((part) => part !== '').join('/'), exporter.exported_data.join(', '),
    exporter.apps.map(({ name }) => name).join(', '), exporter.last_run_at?.slice(0, 16) ?? 'never',
  ])));
  return 0;
}

function runPath({ exporter, identifier }: ExportRunStatus): string {
  return `${exporterPath(exporter)}/runs/${encodeURIComponent(identifier)}`;
}
