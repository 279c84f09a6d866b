/** The commands of `millrace apps`: list, show, change, keys, kinds of events and errors. */
import { type Command, Option } from 'commander';
import type { ApiKey, BodyOf, Crash, EventDefinition, ViewedApp } from '../../api/client.ts';
import { APP_TYPES } from '../../domain/apps/app.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { readJsonObject } from '../core/read-input.ts';
import { readPassword } from '../core/ask.ts';
import { addCallCommands } from './app-calls.ts';
import { addCertificateCommands } from './app-certificates.ts';
import { addGroupCommands } from './app-groups.ts';
import { addTokenKeyCommands } from './app-token-keys.ts';
import { addWalletCommands } from './app-wallet.ts';
import { APP, appParams, findApp } from './find-app.ts';

type AppOptions = {
  name?: string;
  package?: string;
  type?: ViewedApp['platform'];
  qa?: boolean;
  zone?: string;
  settings?: string;
};
type KeyOptions = { key?: true };

const ZONE = ['--zone <zone>', 'of the IANA database; Europe/Paris when left out'] as const;
const SETTINGS = [
  '--settings <file>',
  'a JSON file with other settings, as docs/apps.md lists them; - for standard input',
] as const;
/** Warning about an app whose key is enough to receive messages for any user. */
const NOT_VERIFIED =
  'Everybody who has the app has its key. With it they can read the in-app messages of a device whose id they know,\n' +
  'and receive messages for any user on a device that they make up. Before messages hold personal data, set verified_users\n' +
  '(docs/security.md).';
const typeOption = () => new Option('--type <type>').choices(APP_TYPES);

export function addAppsCommand(program: Command, run: Run): void {
  const apps = addGroup<Pick<ViewedApp, 'identifier' | 'name' | 'platform' | 'package_name' | 'is_qa'>>(program, run, {
    name: 'apps',
    description: 'apps, and the keys of their SDKs',
    columns: {
      identifier: (app) => app.identifier,
      name: (app) => app.name,
      type: (app) => app.platform,
      qa: (app) => (app.is_qa ? 'qa' : ''),
      package: (app) => app.package_name,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them',
        options: [['--unwanted', 'include apps removed from sale or inactive']],
        async does({ client, setResult }, { unwanted }: { unwanted?: true }) {
          const { apps: all } = await client.listApps({ query: { unwanted, secrets: false } });
          setResult(all);
          return all;
        },
      },
      {
        name: 'view',
        description: 'show all settings of one, without its fcm_key',
        args: [APP],
        options: [['--secrets', 'show also its fcm_key, which the audit log notes']],
        async does({ client, setResult }, { secrets }: { secrets?: true }, given: string) {
          const found = await findApp(client, given);
          const params = { app_identifier: found.identifier };
          const app = secrets ? (await client.viewApp({ params })).apps[0]! : found;
          setResult(app);
          return { record: app };
        },
      },
      {
        name: 'add',
        description: 'make one; its SDK can send once it has a key',
        args: [['<name>', 'its name']],
        options: [
          new Option('--package <name>', 'package name, such as com.example.shop').makeOptionMandatory(),
          typeOption().makeOptionMandatory(),
          ['--qa', 'for tests'],
          ZONE,
          SETTINGS,
        ],
        async does(context, options: AppOptions, name: string) {
          const app = await context.client.createApp({
            body: { ...(await bodyOf(context, options)), name } as BodyOf<'createApp'>,
          });
          if (!app.verified_users) context.console.error(NOT_VERIFIED);
          return app;
        },
      },
      {
        name: 'update',
        description: 'change one; settings that you leave out stay',
        args: [APP],
        options: [
          ['--name <name>'],
          ['--package <name>'],
          typeOption(),
          ['--qa', 'for tests'],
          ['--no-qa', 'for users'],
          ['--zone <zone>', 'of the IANA database'],
          SETTINGS,
        ],
        async does(context, options: AppOptions, given: string) {
          const { identifier, platform } = await findApp(context.client, given);
          const body = { app_type: platform, ...(await bodyOf(context, options)), name: options.name };
          return (await context.client.updateApp({ params: { app_identifier: identifier }, body })).apps;
        },
      },
    ],
  });
  addCallCommands(apps, run);
  addKeys(apps, run);
  addEvents(apps, run);
  addCrashes(apps, run);
  addCertificateCommands(apps, run);
  addTokenKeyCommands(apps, run);
  addGroupCommands(apps, run);
  addWalletCommands(apps, run);
}

async function bodyOf(
  context: CommandContext,
  { package: packageName, type, qa, zone, settings }: AppOptions,
): Promise<object> {
  const others = settings === undefined ? {} : await readJsonObject(context, settings);
  const named = { package_name: packageName, app_type: type, qa, default_tz: zone };
  return { ...others, ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)) };
}

const KEY = ['<key>', 'its identifier'] as const;

function addKeys(apps: Command, run: Run): void {
  addGroup<ApiKey>(apps, run, {
    name: 'keys',
    description: "the keys with which an app's SDK sends; they are secrets",
    columns: {
      identifier: (key) => key.identifier,
      state: (key) => (key.revoked ? 'revoked' : ''),
      made: (key) => new Date(key.created_at * 1000).toISOString().slice(0, 16),
      key: (key) => key.api_key,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const { api_keys: keys } = await client.listApiKeys({ params: await appParams(client, given) });
          setResult(keys);
          return keys;
        },
      },
      {
        name: 'add',
        description: 'add a random key',
        args: [APP],
        options: [['--key', 'read the key from standard input instead']],
        async does(context, { key }: KeyOptions, given: string) {
          const params = await appParams(context.client, given);
          const body = key ? { api_key: await readPassword(context, 'Key') } : {};
          return context.client.createApiKey({ params, body });
        },
      },
      ...(['revoke', 'restore'] as const).map((name) => ({
        name,
        description: name === 'revoke' ? 'refuse calls with one' : 'accept calls with one again',
        args: [APP, KEY],
        does: async ({ client }: CommandContext, _: unknown, given: string, key: string) =>
          client.updateApiKey({
            params: { ...(await appParams(client, given)), key_identifier: key },
            body: { revoked: name === 'revoke' },
          }),
      })),
    ],
  });
}

const PER_PAGE = 1_000;
const EVENT = ['<event>', 'its identifier'] as const;
const CRASH = ['<crash>', 'its identifier'] as const;

function addEvents(apps: Command, run: Run): void {
  addGroup<EventDefinition>(apps, run, {
    name: 'events',
    description: 'the kinds of events that an app has sent',
    columns: {
      identifier: (event) => String(event.identifier),
      type: (event) => String(event.log_type),
      name: (event) => event.name,
      shown: (event) => (event.display_name === event.name ? '' : event.display_name),
      goal: (event) => (event.goal ? 'goal' : ''),
      labels: (event) => event.labels.join(', '),
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const query = { per_page: PER_PAGE };
          const events = await Array.fromAsync(
            client.each.listEventDefinitions({ params: await appParams(client, given), query }),
          );
          setResult(events);
          return events;
        },
      },
      {
        name: 'name',
        description: 'give one a name for people, mark it as a key event, or label it; what you leave out stays',
        args: [APP, EVENT],
        options: [
          ['--name <name>', 'name for people; empty: the name of the event'],
          ['--goal', 'a key event, such as a purchase'],
          ['--no-goal', 'no key event'],
          ['--label <label...>', 'all its labels'],
        ],
        does: async (
          { client }: CommandContext,
          { name, goal, label }: { name?: string; goal?: boolean; label?: string[] },
          given: string,
          event: string,
        ) =>
          client.updateEventDefinition({
            params: { ...(await appParams(client, given)), event_id: event },
            body: {
              ...(name === undefined ? {} : { display_name: name === '' ? null : name }),
              ...(goal === undefined ? {} : { goal }),
              ...(label && { labels: label }),
            },
          }),
      },
      {
        name: 'remove',
        description: 'delete one, after asking; its events stay, and new ones make another one',
        args: [APP, EVENT],
        deletes: async (_, app, event) => `the event definition ${event} of ${app}`,
        does: async ({ client }: CommandContext, _: unknown, given: string, event: string) =>
          client.deleteEventDefinition({ params: { ...(await appParams(client, given)), event_id: event } }),
      },
    ],
  });
}

function addCrashes(apps: Command, run: Run): void {
  addGroup<Crash>(apps, run, {
    name: 'crashes',
    description: 'the kinds of errors that an app has sent',
    columns: {
      identifier: (crash) => crash.identifier,
      errors: (crash) => String(crash.occurrences),
      last: (crash) => crash.last_seen_at.slice(0, 16),
      title: (crash) => crash.title,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, the latest first',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const query = { per_page: PER_PAGE };
          const crashes = await Array.fromAsync(
            client.each.listCrashes({ params: await appParams(client, given), query }),
          );
          setResult(crashes);
          return crashes;
        },
      },
      {
        name: 'remove',
        description: 'delete one, after asking; its errors stay, and new ones make another one',
        args: [APP, CRASH],
        deletes: async (_, app, crash) => `the crash ${crash} of ${app}`,
        does: async ({ client }: CommandContext, _: unknown, given: string, crash: string) =>
          client.deleteCrash({ params: { ...(await appParams(client, given)), crash_identifier: crash } }),
      },
    ],
  });
}
