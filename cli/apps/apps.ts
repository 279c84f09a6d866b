import { type Command, Option } from 'commander';
import type { App, ApiKey, BodyOf } from '../../api/client.ts';
import { APP_TYPES } from '../../domain/apps/app.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { readJsonObject } from '../core/read-json.ts';
import { readPassword } from '../core/read-password.ts';
import { APP, appParams, findApp } from './find-app.ts';
import { addCrashes, addEvents } from './sdk-kinds.ts';
import { tail } from './tail.ts';

type AppOptions = {
  name?: string;
  package?: string;
  type?: App['platform'];
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
/** Warns of an app whose key is enough to receive messages for any user. */
const NOT_VERIFIED =
  'Everybody who has the app has its key. With it they can read the in-app messages of a device whose id they know,\n' +
  'and receive messages for any user on a device that they make up. Before messages hold personal data, set verified_users\n' +
  '(docs/security.md).';
const TAIL =
  'show the calls of its SDK as they come in: accepted, repeated, or refused and why, traits that failed, and keys ' +
  'whose attribute became a String; until Ctrl-C';
const typeOption = () => new Option('--type <type>').choices(APP_TYPES);

export function addAppsCommand(program: Command, run: Run): void {
  const apps = addGroup<Pick<App, 'identifier' | 'name' | 'platform' | 'package_name' | 'is_qa'>>(program, run, {
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
        options: [['--unwanted', 'also those removed from sale or inactive']],
        async does({ client, setResult }, { unwanted }: { unwanted?: true }) {
          const { apps: all } = await client.listApps({ query: { unwanted } });
          setResult(all);
          return all;
        },
      },
      {
        name: 'view',
        description: 'show all settings of one',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const app = await findApp(client, given);
          setResult(app);
          return { record: app };
        },
      },
      {
        name: 'add',
        description: 'make one; its SDK can send once it has a key',
        args: [['<name>', 'what it is called']],
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
        description: 'change one: what is left out stays',
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
      {
        name: 'tail',
        description: TAIL,
        args: [APP],
        options: [['--once', 'only the last ones']],
        does: tail,
      },
    ],
  });
  addKeys(apps, run);
  addEvents(apps, run);
  addCrashes(apps, run);
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
    description: 'the keys by which the SDK of an app sends: they are secrets',
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
        description: 'make a random one',
        args: [APP],
        options: [['--key', 'the key given on standard input instead']],
        async does(context, { key }: KeyOptions, given: string) {
          const params = await appParams(context.client, given);
          const body = key ? { api_key: await readPassword(context, 'Key') } : {};
          return context.client.createApiKey({ params, body });
        },
      },
      ...(['revoke', 'restore'] as const).map((name) => ({
        name,
        description: name === 'revoke' ? 'refuse what is sent by one' : 'take what is sent by one again',
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
