/** The commands of `millrace exporters` about settings: views, stores, changes and deletes them. */
import type { Command } from 'commander';
import type { ViewedDataExporter } from '../../api/client.ts';
import { confirmDeletion, YES, type YesOption } from '../core/ask.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { recordTable } from '../core/group.ts';
import { readJsonObject } from '../core/read-input.ts';
import { printable } from '../core/table.ts';
import { EXPORTER, findExporter, idOf, showExporters } from './find-exporter.ts';

type SettingsOption = { settings: string };

const FROM_FILE = 'a JSON file with fields of the API, secrets among them; - for standard input';
const HINT = 'write the settings as {"bucket_name": "lake", …}';
const SECRETS = ['aws_access_key_id', 'aws_secret_access_key', 'encryption_key', 'deletion_key'] as const;

export function addExporterSettings(exporters: Command, run: Run): void {
  exporters
    .command('view')
    .description('show the settings of an exporter, without its secrets')
    .argument(...EXPORTER)
    .action((given: string) => run((context) => view(context, given)));
  exporters
    .command('secrets')
    .description('print the secrets of an exporter, such as the key of its deletion lists; the audit log gets an entry')
    .argument(...EXPORTER)
    .action((given: string) => run((context) => printSecrets(context, given)));
  exporters
    .command('policy')
    .description('print the AWS policies that its access key or role needs, as JSON')
    .argument(...EXPORTER)
    .action((given: string) => run((context) => printPolicy(context, given)));
  exporters
    .command('add')
    .description('store an exporter, inactive at first')
    .argument('<name>', 'its name')
    .requiredOption('--settings <file>', FROM_FILE)
    .action((name: string, options: SettingsOption) => run((context) => add(context, name, options)));
  exporters
    .command('update')
    .description('rename an exporter, or change its settings; a field that you leave out stays')
    .argument(...EXPORTER)
    .option('--name <name>')
    .option('--settings <file>', FROM_FILE)
    .action((given: string, options: Partial<SettingsOption> & { name?: string }) =>
      run((context) => update(context, given, options)),
    );
  exporters
    .command('remove')
    .description('delete an exporter and cancel its runs, after asking; exported files stay')
    .argument(...EXPORTER)
    .option(...YES)
    .action((given: string, options: YesOption) => run((context) => remove(context, given, options)));
}

async function view(context: CommandContext, given: string): Promise<number> {
  const { client, console, terminal } = context;
  const exporter = await client.viewDataExporter({ params: await idOf(context, given), query: { secrets: false } });
  const { exports, apps, sors, ...settings } = exporter;
  const names = { apps: apps.map(({ name }) => name), sors: sors.map(({ name }) => name) };
  console.log(recordTable({ ...settings, ...names, exports: Object.values(exports).flat().length }, terminal.width));
  return 0;
}

async function printSecrets(context: CommandContext, given: string): Promise<number> {
  const { client, console, terminal, setResult } = context;
  const exporter = await client.viewDataExporter({ params: await idOf(context, given), query: { secrets: true } });
  const secrets = Object.fromEntries(SECRETS.map((name) => [name, exporter[name] ?? null]));
  setResult(secrets);
  console.log(recordTable(secrets, terminal.width));
  return 0;
}

async function printPolicy(context: CommandContext, given: string): Promise<number> {
  const policy = await context.client.viewDataExporterPolicy({ params: await idOf(context, given) });
  context.console.log(JSON.stringify(policy, null, 2));
  return 0;
}

async function add(context: CommandContext, name: string, { settings }: SettingsOption): Promise<number> {
  const body = { ...(await readJsonObject(context, settings, HINT)), name };
  return showStored(context, await context.client.createDataExporter({ body: body as never }));
}

async function update(
  context: CommandContext,
  given: string,
  { name, settings }: Partial<SettingsOption> & { name?: string },
): Promise<number> {
  const params = await idOf(context, given);
  const changes = settings === undefined ? {} : await readJsonObject(context, settings, HINT);
  return showStored(context, await context.client.updateDataExporter({ params, body: { ...changes, name } }));
}

async function remove(context: CommandContext, given: string, { yes }: YesOption): Promise<number> {
  const { identifier, name } = await findExporter(context.client, given);
  await confirmDeletion(context, printable(`the exporter ${name} (${identifier})`), yes);
  context.setResult(withoutSecrets(await context.client.deleteDataExporter({ params: { exporter_id: identifier } })));
  context.console.log('deleted');
  return 0;
}

function showStored(context: CommandContext, exporter: ViewedDataExporter): number {
  context.setResult(withoutSecrets(exporter));
  return showExporters(context, [exporter]);
}

function withoutSecrets(exporter: ViewedDataExporter): object {
  return Object.fromEntries(
    Object.entries(exporter).filter(([name]) => !(SECRETS as readonly string[]).includes(name)),
  );
}
