/** The command `millrace connections`. */
import type { Command } from 'commander';
import type { Client, Connection, ConnectionCheck } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { confirmDeletion, YES, type YesOption } from '../core/ask.ts';
import { recordTable } from '../core/group.ts';
import { readJsonObject } from '../core/read-input.ts';
import { printable, table } from '../core/table.ts';
import { resolveEnd } from './sync-ends.ts';

type Settings = { properties: Record<string, { writeOnly?: true }>; required?: string[] };
type AddOptions = { connector: string; settings: string };
type UpdateOptions = { name?: string; settings?: string };
type SideOptions = { as?: 'source' | 'destination' | 'alerts' };

const CONNECTION = ['<connection>', 'its name, or its identifier'] as const;
const FROM_FILE = 'a JSON file with the settings, secrets among them; - for standard input';
const AS = ['--as <side>', 'source, destination or alerts, if the connector can be several'] as const;
const DOES_NOT_WORK = 2;

export function addConnectionsCommand(program: Command, run: Run): void {
  const connections = program
    .command('connections')
    .description('settings and secrets of outside sources and destinations');

  connections
    .command('list', { isDefault: true })
    .description('list them')
    .action(() => run(list));

  connections
    .command('connectors')
    .description('list the kinds of connections, with the settings that each takes')
    .action(() => run(listConnectors));

  connections
    .command('view')
    .description('show the settings of a connection, without its secrets')
    .argument(...CONNECTION)
    .action((given: string) => run((context) => view(context, given)));

  connections
    .command('check-settings')
    .description('check whether settings work, and store nothing; exits with 2 if they do not')
    .requiredOption('--connector <connector>', 'as `millrace connections connectors` shows it')
    .requiredOption('--settings <file>', FROM_FILE)
    .option(...AS)
    .action((options: AddOptions & SideOptions) => run((context) => checkSettings(context, options)));

  connections
    .command('add')
    .description('store a connection, and print its identifier')
    .argument('<name>', 'its name')
    .requiredOption('--connector <connector>', 'as `millrace connections connectors` shows it')
    .requiredOption('--settings <file>', FROM_FILE)
    .action((name: string, options: AddOptions) => run((context) => add(context, name, options)));

  connections
    .command('check')
    .description('check whether a connection works; exits with 2 if it does not')
    .argument(...CONNECTION)
    .option(...AS)
    .action((given: string, options: SideOptions) => run((context) => check(context, given, options)));

  connections
    .command('streams')
    .description('list the streams of a source or destination')
    .argument(...CONNECTION)
    .option(...AS)
    .action((given: string, options: SideOptions) => run((context) => listStreams(context, given, options)));

  connections
    .command('update')
    .description('rename a connection, or change its settings; a secret that you leave out stays')
    .argument(...CONNECTION)
    .option('--name <name>')
    .option('--settings <file>', FROM_FILE)
    .action((given: string, options: UpdateOptions) => run((context) => update(context, given, options)));

  connections
    .command('remove')
    .description('delete a connection with its secrets, after asking')
    .argument(...CONNECTION)
    .option(...YES)
    .action((given: string, options: YesOption) => run((context) => remove(context, given, options)));
}

async function list(context: CommandContext): Promise<number> {
  return show(context, await Array.fromAsync(context.client.each.listConnections()));
}

async function listConnectors({ client, console, terminal: { width } }: CommandContext): Promise<number> {
  const connectors = await client.listConnectors();
  console.log(
    table(
      ['connector', 'title', 'is', 'settings'],
      connectors.map(({ name, title, source, destination, alerts, settings }) => [
        name,
        title,
        Object.entries({ source, destination, alerts })
          .filter(([, is]) => is)
          .map(([side]) => side)
          .join(', '),
        settingList(settings as Settings),
      ]),
      width,
    ),
  );
  return 0;
}

function settingList({ properties, required = [] }: Settings): string {
  return Object.entries(properties)
    .map(([name, { writeOnly }]) => {
      const shown = writeOnly ? `${name}*` : name;
      return required.includes(name) ? shown : `[${shown}]`;
    })
    .join(' ');
}

async function add(
  { client, stdin, console }: CommandContext,
  name: string,
  { connector, settings }: AddOptions,
): Promise<number> {
  const body = { name, connector, settings: await readJsonObject({ stdin }, settings) };
  const { identifier } = await client.createConnection({ body });
  console.log(identifier);
  return 0;
}

async function check({ client, console }: CommandContext, given: string, options: SideOptions): Promise<number> {
  const params = idOf(await findConnection(client, given));
  return sayCheck(console, await client.checkConnection({ params, body: options }));
}

async function checkSettings(
  { client, stdin, console }: CommandContext,
  { connector, settings, as }: AddOptions & SideOptions,
): Promise<number> {
  const body = { connector, as, settings: await readJsonObject({ stdin }, settings) };
  return sayCheck(console, await client.checkConnectionSettings({ body }));
}

function sayCheck(console: Console, { ok, message, retry_after: seconds }: ConnectionCheck): number {
  if (ok) console.log('works');
  else console.error(seconds === undefined ? message : `${message} (try again in ${seconds} s)`);
  return ok ? 0 : DOES_NOT_WORK;
}

async function view({ client, console, terminal: { width } }: CommandContext, given: string): Promise<number> {
  const found = await client.viewConnection({ params: idOf(await findConnection(client, given)) });
  console.log(recordTable(found, width));
  return 0;
}

async function listStreams(
  { client, console, terminal: { width } }: CommandContext,
  given: string,
  options: SideOptions,
): Promise<number> {
  const params = idOf(await findConnection(client, given));
  const { streams } = await client.listStreams({ params, query: options });
  console.log(
    streams === null
      ? 'takes anything'
      : table(
          ['stream', 'key', 'new by', 'fields'],
          streams.map((stream) => [
            stream.name,
            stream.key.join(', '),
            stream.incremental === 'own' ? 'its own state' : stream.incremental.fields.join(', '),
            stream.fields.map(({ name, type }) => `${name} ${type}`).join(', '),
          ]),
          width,
        ),
  );
  return 0;
}

async function update(context: CommandContext, given: string, { name, settings }: UpdateOptions): Promise<number> {
  const { client } = context;
  const body = { name, ...(settings === undefined ? {} : { settings: await readJsonObject(context, settings) }) };
  return show(context, [await client.updateConnection({ params: idOf(await findConnection(client, given)), body })]);
}

async function remove(context: CommandContext, given: string, { yes }: YesOption): Promise<number> {
  const { client } = context;
  const { identifier, name } = await findConnection(client, given);
  await confirmDeletion(context, `the connection ${printable(name)} (${identifier})`, yes);
  await client.deleteConnection({ params: idOf({ identifier }) });
  return 0;
}

/** Finds the connection with an identifier, or else with a unique name. */
async function findConnection(client: Client, given: string): Promise<Connection> {
  const connections = await Array.fromAsync(client.each.listConnections());
  const found = resolveEnd({ connection: connections, sor: [] }, 'connection', given);
  if ('error' in found) return refuse(404, 'no_connection', found.error);
  return connections.find(({ identifier }) => identifier === found.identifier)!;
}

function idOf({ identifier }: Pick<Connection, 'identifier'>): { connection_id: string } {
  return { connection_id: identifier };
}

function show({ console, terminal: { width } }: CommandContext, connections: Connection[]): number {
  console.log(
    table(
      ['identifier', 'name', 'connector', 'revision', 'changed'],
      connections.map((connection) => [
        connection.identifier,
        connection.name,
        connection.connector,
        String(connection.revision),
        connection.updated_at.slice(0, 16),
      ]),
      width,
    ),
  );
  return 0;
}
