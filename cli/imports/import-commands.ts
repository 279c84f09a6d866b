import { type Command, Option } from 'commander';
import { DELIMITERS, ENCODINGS } from '../../domain/core/csv-bytes.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { DATE_RULES, DECIMALS } from '../../domain/core/table-format.ts';
import { findSorId } from '../attributes/find-sor.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { writeOut } from '../core/write-out.ts';
import { errorOptions, type ErrorsOptions, IMPORT_HEADS, printErrorList, TABLE_HEADS } from './error-list.ts';
import { followImport, viewImport } from './follow-import.ts';
import { exitStatus, hasEnded, report } from './import-status.ts';
import { findSorKey } from './sor-key.ts';
import { type FileOptions, type ImportOptions, startImport } from './start-import.ts';

/** How the file is read, where it does not tell by itself. */
const withFileOptions = (command: Command) =>
  command
    .addOption(new Option('--delimiter <delimiter>', 'what stands between its fields').choices([...DELIMITERS, 'tab']))
    .addOption(new Option('--encoding <encoding>', 'of a file without a byte order mark').choices(ENCODINGS))
    .addOption(new Option('--decimal <mark>', 'what stands before the decimals of a Number').choices(DECIMALS))
    .option('--sheet <name>', 'the sheet of an .xlsx file; the first one when left out')
    .option('--null-marker <text>', 'a cell that is exactly this text is an empty one, such as \\N')
    .addOption(
      new Option('--dates <rule>', 'lenient takes a midnight as a Date, and a day as a Datetime').choices(DATE_RULES),
    )
    .option('--customer <column>', 'of a table with a column for each attribute: the column with the customer ids')
    .option(
      '--map <column=attribute>',
      'of such a table: a column and its attribute, or one name for both; may be given again',
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
      .option('--api-key <key>', "the SoR's key; fetched by MILLRACE_TOKEN when left out")
      .option('--dry-run', 'report what the import would do, and change nothing')
      .option(
        '--header <name: value>',
        'a header for the fetching of the URL; may be given again',
        (header: string, others: string[] | undefined) => [...(others ?? []), header],
      ),
  ).action((source: string, options: ImportOptions) => run((context) => importFile(context, source, options)));

/** Starts an import, shows how far it is, and prints what became of the rows. */
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
        'what `millrace errors <import_id> --csv` gave, corrected; or with --customer and --map corrected lines of a table',
      )
      .option('--api-key <key>', "the SoR's key; fetched by MILLRACE_TOKEN when left out"),
  ).action((id: string, file: string, options: RedriveOptions) =>
    run((context) => redrive(context, id, file, options)),
  );

/** Imports the file as a child of the import, and prints what became of the rows of both. */
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
    .option('--api-key <key>', "the SoR's key; fetched by MILLRACE_TOKEN when left out")
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
    .description('follow an import until it has ended; of one that has, tell what became of its rows')
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
    .option('--open', 'without those that a re-drive has brought since')
    .action((id: string, options: ErrorsOptions & { open?: boolean }) =>
      run((context) => printErrors(context, id, options)),
    );
  for (const option of errorOptions({
    json: 'one JSON object a line, with the row as it stood in the file',
    csv: 'the rows as a CSV file, to be corrected and given to `millrace redrive`',
  }))
    command.addOption(option);
}

/** Prints what became of each row that changed nothing. */
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

/** The commands about imports. */
export function addImportCommands(program: Command, run: Run): void {
  for (const addCommand of COMMANDS) addCommand(program, run);
}
