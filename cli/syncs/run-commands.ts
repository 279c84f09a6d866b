import { type Command, InvalidArgumentError } from 'commander';
import { type Client, type FoundSyncRun, type SampledRecord, stringify } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { printable, table } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';
import { errorOptions, type ErrorsOptions, printErrorList, RUN_HEADS } from '../imports/error-list.ts';
import { hasEnded } from '../imports/import-status.ts';
import { addRunCommands, printRuns, RUN, RUNS_SHOWN, type RunsOfCommand, sayStarted } from '../jobs/runs.ts';
import { sayValueChange } from './definition-changes.ts';
import { reportRun, runExitStatus, shownRun } from './run-status.ts';
import { findSync } from './sync-record.ts';

type RunOptions = { fresh?: true; confirmRemovals?: true; wait: boolean };
type DryRunOptions = { records?: number };
type RunErrorsOptions = ErrorsOptions & { open?: true };

const RUNS: RunsOfCommand<FoundSyncRun> = { command: 'syncs', view: viewRun, shown: shownRun, tell };

/** Adds the commands of `millrace syncs` that start or show runs. */
export function addSyncRunCommands(syncs: Command, run: Run, sync: readonly [string, string]): void {
  addStarting(syncs, run, sync);
  addRunCommands(syncs, run, RUNS, [
    ['cancel', 'cancel a run that has not ended; what it has written stays', cancel],
    ['log', 'print the log of a run and its source', printLog],
    ['redrive', 'send the failed and ignored records of a run again, through the current mapping', redrive],
  ]);
  const errors = syncs
    .command('errors')
    .description('list the records of a run that were not fully written, each with the reason')
    .argument(...RUN('syncs'))
    .option('--open', 'without those that a re-drive has settled')
    .action((id: string, options: RunErrorsOptions) => run((context) => printErrors(context, id, options)));
  for (const option of errorOptions({ json: 'one JSON object a line, with the record', csv: 'as a CSV file' }))
    errors.addOption(option);
}

function addStarting(syncs: Command, run: Run, sync: readonly [string, string]): void {
  syncs
    .command('run')
    .description('run a sync now, and follow the run until it has ended')
    .argument(...sync)
    .option('--fresh', 'from the beginning, and write each record again')
    .option('--confirm-removals', 'remove all records that vanished from the source, beyond the limit, too')
    .option('--no-wait', 'only start it')
    .action((given: string, options: RunOptions) => run((context) => startRun(context, given, options)));
  syncs
    .command('dry-run')
    .description('show what a run would write for the first records; writes nothing')
    .argument(...sync)
    .option('--records <n>', 'number of records; 1,000 by default', wholeNumber)
    .action((given: string, options: DryRunOptions) => run((context) => dryRun(context, given, options)));
  syncs
    .command('runs')
    .description(`list the last ${RUNS_SHOWN} runs of a sync, newest first`)
    .argument(...sync)
    .action((given: string) => run((context) => listRuns(context, given)));
}

function wholeNumber(given: string): number {
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new InvalidArgumentError('It takes a whole number.');
}

async function startRun(
  context: CommandContext,
  given: string,
  { fresh, confirmRemovals, wait }: RunOptions,
): Promise<number> {
  const params = await idOf(context, given);
  const { run_id: id } = await context.client.runSync({ params, body: { fresh, confirm_removals: confirmRemovals } });
  return sayStarted(context, RUNS, id, wait);
}

async function dryRun(context: CommandContext, given: string, { records }: DryRunOptions): Promise<number> {
  const { run_id: id } = await context.client.dryRunSync({ params: await idOf(context, given), body: { records } });
  return sayStarted(context, RUNS, id);
}

async function idOf({ client }: CommandContext, given: string): Promise<{ sync_id: string }> {
  return { sync_id: (await findSync(client, given)).identifier };
}

async function listRuns(context: CommandContext, given: string): Promise<number> {
  const { items, total_items: total } = await context.client.listSyncRuns({
    params: await idOf(context, given),
    query: { per_page: RUNS_SHOWN },
  });
  const heads = ['run', 'cause', 'state', 'started', 'read', 'written', 'unchanged', 'ignored', 'failed'];
  const rows = items.map((one) => {
    const { read, written, unchanged, ignored, failed } = one.records;
    const [cause, startedAt] = [one.dry_run ? 'dry run' : one.cause, one.started_at?.slice(0, 16) ?? ''];
    return [one.run_id, cause, one.state, startedAt, ...[read, written, unchanged, ignored, failed].map(String)];
  });
  return printRuns(context, heads, rows, total);
}

/** Finds a run, with its sync. */
function viewRun(client: Client, id: string): Promise<FoundSyncRun> {
  return client.findSyncRun({ params: { run_id: id } });
}

async function tell({ client, console, terminal, setResult }: CommandContext, status: FoundSyncRun): Promise<number> {
  console.log(reportRun(status, terminal));
  if (!hasEnded(status)) return 0;
  if (status.dry_run) {
    const { records } = await client.viewDryRunSample({ params: paramsOf(status) });
    if (records.length > 0) console.log(`\n${sampleTable(records, terminal.width)}`);
    setResult({ run: status, sample: records });
  }
  return runExitStatus(status);
}

async function cancel({ client, console, terminal }: CommandContext, id: string): Promise<number> {
  const status = await client.cancelSyncRun({ params: paramsOf(await viewRun(client, id)) });
  console.log(
    hasEnded(status)
      ? 'canceled'
      : `It ends within moments. To see how it ended: ${terminal.command} syncs follow ${id}`,
  );
  return 0;
}

async function redrive(context: CommandContext, id: string): Promise<number> {
  const { run_id: redriven } = await context.client.redriveSyncRun({
    params: paramsOf(await viewRun(context.client, id)),
  });
  return sayStarted(context, RUNS, redriven);
}

async function printLog({ client, console }: CommandContext, id: string): Promise<number> {
  const { lines } = await client.readSyncLog({ params: paramsOf(await viewRun(client, id)) });
  console.log(lines.length === 0 ? 'no lines' : lines.map(({ at, line }) => `${at}  ${printable(line)}`).join('\n'));
  return 0;
}

async function printErrors(context: CommandContext, id: string, options: RunErrorsOptions): Promise<number> {
  const { client } = context;
  const { type, open, csv, output } = options;
  const asked = { params: paramsOf(await viewRun(client, id)), query: { error_type: type, open } };
  if (!csv) {
    const reply = await client.stream.listSyncErrors(asked);
    return printErrorList(context, { reply, member: 'errors', lineZero: '0', heads: RUN_HEADS }, options);
  }
  await writeOut(context, await client.stream.downloadSyncErrors(asked), output);
  return 0;
}

function paramsOf({ sync_id, run_id }: FoundSyncRun): { sync_id: string; run_id: string } {
  return { sync_id, run_id };
}

/** Returns a table with a row for each change; only the first row of a record names it. */
function sampleTable(records: SampledRecord[], width: number | null): string {
  const rows = records.flatMap((record) =>
    changesOf(record).map((change, index) =>
      index === 0 ? [String(record.line), record.outcome, record.customer_id ?? '', change] : ['', '', '', change],
    ),
  );
  return table(['record', 'outcome', 'customer', 'change'], rows, width);
}

function changesOf({ changes = [], record, message }: SampledRecord): string[] {
  const lines = changes.map(({ key, before, after }) => sayValueChange(key, before, after));
  if (record !== undefined && record !== null) lines.push(stringify(record));
  if (message !== undefined) lines.push(message);
  return lines.length > 0 ? lines : [''];
}
