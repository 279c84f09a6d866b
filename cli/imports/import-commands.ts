/** The command `millrace imports`: imports files, re-drives them, and shows their errors. */
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import type { Client, ImportProgress } from '../../api/client.ts';
import { type Delimiter, DELIMITERS, type Encoding, ENCODINGS } from '../../domain/csv/csv-bytes.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { DATE_RULES, type DateRule, type Decimal, DECIMALS } from '../../domain/csv/table-format.ts';
import type { ColumnMapping } from '../../domain/imports/import-file.ts';
import { findSorId } from '../attributes/find-sor.ts';
import type { CommandContext, Run, Terminal } from '../core/command-context.ts';
import { printable, table } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';
import { follow, type Shown } from '../jobs/follow.ts';
import { internalErrorLines } from '../jobs/say-internal-error.ts';
import { errorCounts, suspiciousIds } from './error-counts.ts';
import { errorOptions, type ErrorsOptions, IMPORT_HEADS, printErrorList, TABLE_HEADS } from './error-list.ts';
import { hasEnded } from './import-status.ts';

const withFileOptions = (command: Command) =>
  command
    .addOption(new Option('--delimiter <delimiter>', 'separator of its fields').choices([...DELIMITERS, 'tab']))
    .addOption(new Option('--encoding <encoding>', 'encoding of a file without a byte order mark').choices(ENCODINGS))
    .addOption(new Option('--decimal <mark>', 'decimal separator of a Number').choices(DECIMALS))
    .option('--sheet <name>', 'the sheet of an .xlsx file; the first one by default')
    .option('--null-marker <text>', 'text of cells without a value, such as \\N')
    .addOption(
      new Option('--dates <rule>', 'lenient takes a midnight as a Date, and a day as a Datetime').choices(DATE_RULES),
    )
    .option('--customer <column>', 'for a table with a column for each attribute: the column with the customer ids')
    .option(
      '--map <column=attribute>',
      'for such a table: a column and its attribute, or one name for both; may be repeated',
      (pair: string, others: string[] | undefined) => [...(others ?? []), pair],
    );

const SOR = ['--sor <sor>', 'name or identifier of the System of Records to import into'] as const;

const addImportCommand = (program: Command, run: Run) =>
  withFileOptions(
    program
      .command('import')
      .description('import a file of attribute values: CSV or .xlsx, also gzipped or zipped')
      .argument('<file|url>', 'a file here, or a URL that the server fetches')
      .requiredOption(...SOR)
      .option('--api-key <key>', "the SoR's key; by default fetched with MILLRACE_TOKEN")
      .option('--dry-run', 'report what the import would do, and change nothing')
      .option(
        '--header <name: value>',
        'a header for the request of the URL; may be repeated',
        (header: string, others: string[] | undefined) => [...(others ?? []), header],
      ),
  ).action((source: string, options: ImportOptions) => run((context) => importFile(context, source, options)));

async function importFile(context: CommandContext, source: string, options: ImportOptions): Promise<number> {
  const { server, console, terminal } = context;
  const id = await startImport(context, source, options);
  console.log(options.dryRun ? `import ${id}, a dry run` : `import ${id}`);
  if (!server.token) {
    console.log('MILLRACE_TOKEN is not set, so its progress cannot be shown.');
    return 0;
  }
  const status = await followImport(context, id);
  console.log(report(status, terminal));
  return exitStatus(status);
}

type RedriveOptions = Pick<ImportOptions, 'apiKey' | 'customer' | 'map' | keyof FileOptions>;

const addRedriveCommand = (program: Command, run: Run) =>
  withFileOptions(
    program
      .command('redrive')
      .description('import the corrected rows of an import that has ended')
      .argument('<import_id>', 'the import whose errors were corrected')
      .argument(
        '<file>',
        'the corrected file of `millrace errors <import_id> --csv`; or with --customer and --map corrected lines of a table',
      )
      .option('--api-key <key>', "the SoR's key; by default fetched with MILLRACE_TOKEN"),
  ).action((id: string, file: string, options: RedriveOptions) =>
    run((context) => redrive(context, id, file, options)),
  );

async function redrive(
  context: CommandContext,
  parentId: string,
  file: string,
  options: RedriveOptions,
): Promise<number> {
  const { client, console, terminal } = context;
  const { sor } = await viewImport(client, parentId);
  if (!sor) return refuse(404, 'no_sor', `The System of Record of ${parentId} is gone.`);
  const id = await startImport(context, file, { ...options, sor: sor.identifier, redriveOf: parentId });
  console.log(`import ${id}`);
  const child = await followImport(context, id);
  console.log(
    `${report(child, terminal)}\n\nimport ${parentId}\n${report(await viewImport(client, parentId), terminal)}`,
  );
  context.setResult(child);
  return exitStatus(child);
}

type TemplateOptions = { sor: string; apiKey?: string };

const addTemplateCommand = (program: Command, run: Run) =>
  program
    .command('template')
    .description('print a CSV file to fill in: its header, and a row for each attribute')
    .requiredOption(...SOR)
    .option('--api-key <key>', "the SoR's key; by default fetched with MILLRACE_TOKEN")
    .action((options: TemplateOptions) => run((context) => printTemplate(context, options)));

async function printTemplate(context: CommandContext, { sor, apiKey }: TemplateOptions): Promise<number> {
  const id = await findSorId(context.client, sor);
  const query = { sor_id: id, api_key: apiKey ?? (await findSorKey(context, id)) };
  await writeOut(context, await context.client.stream.downloadImportTemplate({ query }), undefined);
  return 0;
}

const addStatusCommand = (program: Command, run: Run) =>
  program
    .command('status')
    .description('follow an import until it has ended; for an ended one, show the result of its rows')
    .argument('<import_id>')
    .action((id: string) => run((context) => printStatus(context, id)));

async function printStatus(context: CommandContext, id: string): Promise<number> {
  const now = await viewImport(context.client, id);
  const status = hasEnded(now) ? now : await followImport(context, id);
  context.console.log(report(status, context.terminal));
  return exitStatus(status);
}

function addErrorsCommand(program: Command, run: Run): void {
  const command = program
    .command('errors')
    .description('list the rows of an import that changed nothing, each with its line and reason')
    .argument('<import_id>', 'or the requestId of a JSON feed')
    .option('--open', 'without those that a re-drive has settled')
    .action((id: string, options: ErrorsOptions & { open?: boolean }) =>
      run((context) => printErrors(context, id, options)),
    );
  for (const option of errorOptions({
    json: 'one JSON object a line, with the row as it stood in the file',
    csv: 'the rows as a CSV file, to be corrected and given to `millrace redrive`',
  }))
    command.addOption(option);
}

async function printErrors(
  context: CommandContext,
  id: string,
  options: ErrorsOptions & { open?: boolean },
): Promise<number> {
  const { stream } = context.client;
  const query = { error_type: options.type };
  if (options.csv) {
    await writeOut(context, await stream.downloadImportErrors({ params: { import_id: id }, query }), options.output);
    return 0;
  }
  const isFeed = id.startsWith('req_');
  const isTable = !isFeed && !options.json && (await viewImport(context.client, id)).columns !== null;
  const reply = await stream.listImportErrors({ query: { ...query, open: options.open, import_id: id } });
  const heads = isTable ? TABLE_HEADS : IMPORT_HEADS;
  return printErrorList(
    context,
    { reply, member: 'attribute_errors', lineZero: isFeed ? '0' : 'file', heads },
    options,
  );
}

const addCancelCommand = (program: Command, run: Run) =>
  program
    .command('cancel')
    .description('cancel an import that has not ended; what it has imported stays')
    .argument('<import_id>')
    .action((id: string) => run((context) => cancel(context, id)));

async function cancel({ client, console, terminal }: CommandContext, id: string): Promise<number> {
  const status = await client.cancelImport({ params: { import_id: id } });
  if (hasEnded(status)) console.log(report(status, terminal));
  else console.log(`It ends within moments. To see how it ended: ${terminal.command} status ${id}`);
  return 0;
}

const COMMANDS = [
  addTemplateCommand,
  addImportCommand,
  addStatusCommand,
  addErrorsCommand,
  addRedriveCommand,
  addCancelCommand,
];

export function addImportCommands(program: Command, run: Run): void {
  for (const addCommand of COMMANDS) addCommand(program, run);
}

const ROWS = '{bar} {percentage}% | {rows} rows | {rate} rows/s | {left} left';
const WAITING = '{stage} | {rows} rows';
const FETCHING = 'fetching the file | {fetched} MiB';

function viewImport(client: Client, id: string): Promise<ImportProgress> {
  return client.viewImport({ params: { import_id: id } });
}

function followImport(context: CommandContext, id: string): Promise<ImportProgress> {
  return follow<ImportProgress>(context, {
    view: () => viewImport(context.client, id),
    hasEnded,
    shown,
    name: 'import',
    toFollow: `status ${id}`,
    toCancel: `cancel ${id}`,
  });
}

function shown(status: ImportProgress): Shown {
  const { decompressed_bytes: size } = status.source;
  return {
    phase: status.stage !== null ? WAITING : size === null && !hasEnded(status) ? FETCHING : ROWS,
    stage: status.stage ?? '',
    value: status.bytes_read,
    total: Math.max(size ?? 0, 1),
    fetched: ((status.fetched_bytes ?? 0) / 2 ** 20).toFixed(1),
    rows: status.rows.read,
    rate: Math.round(status.rate ?? 0),
    left: timeLeft(status),
  };
}

function timeLeft({ expected_end_at: end, ended_at: ended }: ImportProgress): string {
  if (ended !== null || end === null) return ended === null ? 'unknown' : '0 s';
  return `${Math.max(0, Math.round((Date.parse(end) - Date.now()) / 1000))} s`;
}

type FileOptions = {
  delimiter?: Delimiter | 'tab';
  encoding?: Encoding;
  decimal?: Decimal;
  sheet?: string;
  nullMarker?: string;
  dates?: DateRule;
};

type ImportOptions = FileOptions & {
  sor: string;
  apiKey?: string | undefined;
  dryRun?: boolean;
  redriveOf?: string;
  /** For a table: the customer's column, and the others, each as `column=attribute`. */
  customer?: string;
  map?: string[];
  header?: string[];
};

async function startImport(context: CommandContext, source: string, options: ImportOptions): Promise<string> {
  const isUrl = /^https?:\/\//i.test(source);
  const requestHeaders = parseHeaders(options.header ?? [], isUrl);
  const columns = mappingOf(options);
  const file = isUrl ? null : await openFile(source);
  const sor = await findSorId(context.client, options.sor);
  const fields = {
    sor_id: sor,
    api_key: options.apiKey ?? (await findSorKey(context, sor)),
    skip_email: true,
    dry_run: options.dryRun,
    redrive_of: options.redriveOf,
    delimiter: options.delimiter,
    encoding: options.encoding,
    decimal: options.decimal,
    sheet: options.sheet,
    null_marker: options.nullMarker,
    dates: options.dates,
    columns,
  };
  const { import_id: id } = await context.client.importAttributeValues(
    file
      ? { body: fields, file: new File([file], basename(source)) }
      : { body: { ...fields, file_url: source, request_headers: requestHeaders } },
  );
  return id;
}

/** Splits at the last =: names of columns may contain one, keys do not. */
function mappingOf({ customer, map = [] }: ImportOptions): ColumnMapping | undefined {
  if (customer === undefined && map.length === 0) return undefined;
  if (customer === undefined)
    return refuse(400, 'no_customer', '--map needs --customer: the column with the customer ids.');
  if (map.length === 0) return refuse(400, 'no_map', '--customer needs --map for each column that is to be imported.');
  const pairs = map.map((pair): [string, string] => {
    const [, column, key] = /^(.+)=([^=]+)$/s.exec(pair) ?? [pair, pair, pair];
    return [column!, key!];
  });
  const twice = pairs.find(([column], at) => pairs.findIndex(([other]) => other === column) !== at);
  if (twice) return refuse(400, 'bad_map', `--map names the column ${twice[0]} twice.`);
  return { customer, attributes: Object.fromEntries(pairs) };
}

async function openFile(path: string): Promise<Blob> {
  try {
    if ((await stat(path)).isFile()) return await openAsBlob(path);
  } catch (error) {
    return refuse(
      400,
      'unreadable',
      `${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unreadable'}).`,
    );
  }
  return refuse(400, 'unreadable', `${path} cannot be read: it is no file.`);
}

/** Never quotes a wrong header, which may be a secret. */
function parseHeaders(headers: string[], isUrl: boolean): Record<string, string> {
  if (headers.length > 0 && !isUrl) return refuse(400, 'bad_header', '--header is for an import by URL only.');
  return Object.fromEntries(
    headers.map((header) => {
      const [, name, value] =
        /^([^\s:]+):(.*)$/s.exec(header) ?? refuse(400, 'bad_header', "--header takes 'Name: value'.");
      return [name!, value!.trim()];
    }),
  );
}

/** Returns 0 if the whole file was read and no row failed, else 2. */
function exitStatus({ state, rows, defect }: ImportProgress): number {
  return state === 'finished' && rows.failed === 0 && defect === null ? 0 : 2;
}

function report(status: ImportProgress, terminal: Terminal): string {
  const { import_id: id, state, rows, failure, defect } = status;
  const lines = status.dry_run ? ['dry run: nothing was changed'] : [];
  const read = `${rows.read} ${rows.read === 1 ? 'row' : 'rows'} read`;
  lines.push(`${state}: ${read}, ${rows.ok} ok, ${rows.ignored} ignored, ${rows.failed} failed`);
  lines.push(...suspiciousIds(status.suspicious_ids, 'rows'));
  lines.push(...similarIds(status.similar_ids));
  if (status.file !== null) lines.push(...sayFormat(status.file));
  if (status.columns !== null) lines.push(...sayColumns(status.columns));
  if (status.parent_id) lines.push(`a re-drive of ${status.parent_id}`);
  if (state === 'canceled' && !status.dry_run) lines.push('what was imported before it was canceled stays');
  if (status.stage !== null) lines.push(status.stage);
  if (failure !== null) lines.push(failure);
  lines.push(...internalErrorLines(status.internal_error));
  if (defect !== null) lines.push(`the end of the file could not be read: ${defect}`);
  lines.push(...errorCounts(status.errors_by_type, 'rows', terminal, `errors ${id}`));
  if (status.redrives.length > 0) lines.push('', ...showRedrives(status, terminal));
  return lines.join('\n');
}

function similarIds(similar: ImportProgress['similar_ids']): string[] {
  if (similar === null || similar.count === 0) return [];
  const shown = similar.examples.map(
    ({ line, like }) => `line ${line} (like ${like === null ? 'a customer' : `line ${like}`})`,
  );
  const more = similar.count > shown.length ? ', …' : '';
  return [
    `similar ids: ${similar.count}, which differ from an earlier one or a customer's only in capitals or composed letters: ` +
      `${shown.join(', ')}${more}`,
    '  Each becomes a customer of its own: correct them before you import the file.',
  ];
}

function sayFormat({
  format,
  delimiter,
  encoding,
  decimal,
  sheet,
  null_marker: marker,
  dates,
}: NonNullable<ImportProgress['file']>): string[] {
  const marked = [
    ...(marker === null ? [] : [`cells that are ${printable(marker)} taken as empty`]),
    ...(dates === 'strict' ? [] : ['lenient dates']),
  ];
  if (format === 'xlsx') return [[`read from the sheet "${sheet}"`, ...marked].join(', ')];
  const found = [
    ...(delimiter === ',' ? [] : [`${NAMES[delimiter]} between fields`]),
    ...(encoding === 'utf-8' ? [] : [encoding]),
    ...(decimal === '.' ? [] : ['a comma before decimals']),
    ...marked,
  ];
  return found.length === 0 ? [] : [`read with ${found.join(', ')}`];
}

function sayColumns({
  ignored,
  ignored_count: count,
  empty_cells: empty,
  unnamed_cells: unnamed,
}: NonNullable<ImportProgress['columns']>): string[] {
  const more = (count ?? 0) > (ignored?.length ?? 0) ? ', …' : '';
  const names = (ignored ?? []).map(printable).join(', ');
  return [
    ...(names === '' ? [] : [`columns that no --map names: ${names}${more}`]),
    ...(empty === 0 ? [] : [`${empty} of the ignored rows are empty cells`]),
    ...(unnamed === 0 ? [] : [`cells not read since the header has no name above them: ${unnamed}`]),
  ];
}

const NAMES = { ',': 'a comma', ';': 'a semicolon', '\t': 'a tab', '|': 'a |' };

function showRedrives({ rows, redrives }: ImportProgress, { width }: Terminal): string[] {
  const shown = redrives.map(({ import_id: id, state, rows: { read, ok, ignored, failed } }) => [
    id,
    state,
    ...[read, ok, ignored, failed].map(String),
  ]);
  return [
    table(['re-drive', 'state', 'read', 'ok', 'ignored', 'failed'], shown, width),
    '',
    `still open: ${rows.open} (rows failed and ignored that no re-drive has brought)`,
  ];
}

async function findSorKey({ server, client }: Pick<CommandContext, 'server' | 'client'>, sor: string): Promise<string> {
  if (!server.token) {
    return refuse(
      401,
      'no_token',
      "Set MILLRACE_TOKEN, with which the SoR's key is fetched, or give the key by --api-key.",
    );
  }
  const { api_keys: keys = [] } = await client.viewSystemOfRecord({ params: { sor_identifier: sor } });
  return keys[0] ?? refuse(404, 'no_key', `The System of Record ${sor} has no API key: only custom ones take files.`);
}
