/** The command `millrace syncs`. */
import { type Command, InvalidArgumentError } from 'commander';
import { Document } from 'yaml';
import { type Client, type FoundSyncRun, type SampledRecord, stringify, type Sync } from '../../api/client.ts';
import { countRefused } from '../../domain/syncs/refused-records.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { sayChange } from '../../domain/syncs/schema-change.ts';
import type { CommandContext, Run, Terminal } from '../core/command-context.ts';
import { confirmDeletion, YES, type YesOption } from '../core/ask.ts';
import { refuseUnknown } from '../core/nearest.ts';
import { printable, table } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';
import { errorCounts, suspiciousIds } from '../imports/error-counts.ts';
import { errorOptions, type ErrorsOptions, printErrorList, RUN_HEADS } from '../imports/error-list.ts';
import { hasEnded } from '../imports/import-status.ts';
import type { Shown } from '../jobs/follow.ts';
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
import { listSyncEnds, type SyncEnds, resolveEnd } from './sync-ends.ts';
import { planSyncs, sayValueChange } from './sync-plan.ts';
import { definitionOf, listSyncs } from './sync-record.ts';

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

type RunOptions = { fresh?: true; confirmRemovals?: true; wait: boolean };
type DryRunOptions = { records?: number };
type RunErrorsOptions = ErrorsOptions & { open?: true };

const RUNS: RunsOfCommand<FoundSyncRun> = { command: 'syncs', view: viewRun, shown: shownRun, tell };

function addSyncRunCommands(syncs: Command, run: Run, sync: readonly [string, string]): void {
  addStarting(syncs, run, sync);
  addRunCommands(syncs, run, RUNS, [
    ['cancel', 'cancel a run that has not ended; what it has written stays', cancel],
    ['log', 'print the log of a run and its source', printLog],
    ['requests', 'list the last HTTP requests of a run, newest first', printRequests],
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

async function printRequests({ client, console, terminal, setResult }: CommandContext, id: string): Promise<number> {
  const { requests } = await client.listSyncRequests({ params: paramsOf(await viewRun(client, id)) });
  setResult({ requests });
  const rows = requests.map(({ sent_at: at, method, path, status, milliseconds }) => [
    at,
    method,
    path,
    status === null ? 'no answer' : String(status),
    String(milliseconds),
  ]);
  console.log(
    rows.length === 0 ? 'no requests' : table(['sent', 'method', 'path', 'status', 'ms'], rows, terminal.width),
  );
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

/** Returns 0 if the run finished, no record failed and no removal was held back, else 2. */
function runExitStatus({ state, records, removal }: FoundSyncRun): number {
  return state === 'finished' && records.failed === 0 && removal?.state !== 'held' ? 0 : 2;
}

function reportRun(run: FoundSyncRun, terminal: Terminal): string {
  const {
    run_id: id,
    state,
    records: { read, written, unchanged, ignored, failed },
  } = run;
  const lines = run.dry_run ? ['dry run: nothing was written'] : [];
  const counted = `${read} ${read === 1 ? 'record' : 'records'} read`;
  lines.push(`${state}: ${counted}, ${written} written, ${unchanged} unchanged, ${ignored} ignored, ${failed} failed`);
  lines.push(...suspiciousIds(run.suspicious_ids, 'records'));
  if (run.deletions_ignored > 0)
    lines.push(`of those ignored, ${run.deletions_ignored} were deleted in the source: the sync removes nothing`);
  if (ignored > run.deletions_ignored) lines.push('of ignored records the values that have an attribute were written');
  if (run.missing_fields.length > 0) {
    lines.push(
      `the source does not tell of these fields of the mapping: ${run.missing_fields.map(printable).join(', ')}`,
    );
  }
  if (run.odd_cursors > 0) {
    lines.push(
      `records whose cursor value is NaN, infinite, or over a day ahead, which each run reads again: ${run.odd_cursors}`,
    );
  }
  if (run.redrive_of !== null) lines.push(`a re-drive of ${run.redrive_of}`);
  if (run.missed > 0) lines.push(`it stands for ${run.missed} more scheduled times, which passed meanwhile`);
  if (state === 'canceled' && !run.dry_run) lines.push('what was written before it was canceled stays');
  lines.push(...troubleLines(run));
  lines.push(...removalLines(run, terminal), ...schemaLines(run, terminal));
  lines.push(...errorCounts(run.errors_by_type, 'records', terminal, `syncs errors ${id}`));
  if (
    hasEnded(run) &&
    run.open !== null &&
    run.open < countRefused({ ignored, failed, deletionsIgnored: run.deletions_ignored })
  ) {
    lines.push('', `still open: ${run.open} (records failed and ignored that no re-drive has brought)`);
  }
  return lines.join('\n');
}

function removalLines({ sync_id: sync, removed, removal }: FoundSyncRun, { command }: Terminal): string[] {
  const lines =
    removed > 0 ? [`removed: ${removed} ${removed === 1 ? 'record' : 'records'} that the source has no more`] : [];
  if (removal && removal.reason !== null) lines.push(printable(removal.reason));
  if (removal?.state === 'held') lines.push(`If they are really gone: ${command} syncs run ${sync} --confirm-removals`);
  return lines;
}

function schemaLines(
  { schema_change: change, unmapped_fields: unmapped, sync_id: sync, state }: FoundSyncRun,
  { command }: Terminal,
): string[] {
  const lines = unmapped.length > 0 ? [`fields without an attribute: ${printable(unmapped.join(', '))}`] : [];
  if (change !== null && state === 'failed')
    lines.push(`To accept the fields as they are: ${command} syncs accept-schema ${sync}`);
  else if (change !== null) lines.push(`the source's fields have changed: ${printable(sayChange(change))}`);
  return lines;
}

function shownRun(run: FoundSyncRun): Shown {
  const { progress, expected_end_at: end } = run;
  const left = end === null ? [] : [`${duration(Date.parse(end) - Date.now())} left`];
  return {
    phase: progress === null ? '{text}' : '{bar} {percentage}% | {text}',
    value: Math.floor((progress ?? 0) * 100),
    total: 100,
    text: [...progressOf(run), ...left, elapsed(run)].join(' | '),
  };
}

function progressOf(run: FoundSyncRun): string[] {
  const {
    state,
    records: { read, failed },
    rate,
    bytes,
  } = run;
  const wait = waitOf(run);
  if (state === 'accepted') return [wait!];
  const counts = [`${read} records`, ...(failed > 0 ? [`${failed} failed`] : [])];
  if (wait !== null) return [wait, ...counts];
  return [...counts, `${Math.round(rate ?? 0)} records/s`, `${(bytes / 2 ** 20).toFixed(1)} MiB`];
}

function elapsed({ received_at: received, started_at: started, ended_at: ended }: FoundSyncRun): string {
  const end = ended === null ? Date.now() : Date.parse(ended);
  return duration(end - Date.parse(started ?? received));
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return [...(hours > 0 ? [`${hours} h`] : []), ...(seconds >= 60 ? [`${minutes} min`] : []), `${seconds % 60} s`].join(
    ' ',
  );
}

/** Finds the sync with an identifier, or else with a name. */
async function findSync(client: Client, given: string): Promise<Sync> {
  const syncs = await listSyncs(client);
  const found = syncs.find(({ identifier }) => identifier === given) ?? syncs.find(({ name }) => name === given);
  return found ?? refuseUnknown('no_sync', 'sync', given, syncs);
}

/** Returns the name if it is unique, else the identifier. */
function nameEnd(ends: SyncEnds, kind: keyof SyncEnds, identifier: string): string {
  const name = ends[kind].find((end) => end.identifier === identifier)?.name;
  const found = name === undefined ? null : resolveEnd(ends, kind, name);
  return found && 'identifier' in found && found.identifier === identifier ? name! : identifier;
}
