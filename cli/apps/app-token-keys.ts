/** The commands of `millrace apps token-keys`: list, add and remove the keys that sign an app's user tokens. */
import type { Command } from 'commander';
import type { UserTokenKey } from '../../api/client.ts';
import type { Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { APP, appParams } from './find-app.ts';

export function addTokenKeyCommands(apps: Command, run: Run): void {
  addGroup<UserTokenKey>(apps, run, {
    name: 'token-keys',
    description: "the keys by which an app's server signs user tokens; they are secrets",
    columns: {
      identifier: (key) => key.identifier,
      made: (key) => key.created_at.slice(0, 16),
      secret: (key) => key.secret,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, with their secrets',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const { user_token_keys: keys } = await client.listUserTokenKeys({ params: await appParams(client, given) });
          setResult(keys);
          return keys;
        },
      },
      {
        name: 'add',
        description: 'make one; an app has at most two',
        args: [APP],
        does: async ({ client }, _, given: string) =>
          client.createUserTokenKey({ params: await appParams(client, given) }),
      },
      {
        name: 'remove',
        description: 'delete one, after asking; the server then refuses tokens that are signed with it',
        args: [APP, ['<key>', 'its identifier']],
        deletes: async (_, app, key) => `the user token key ${key} of ${app}`,
        async does({ client }, _, given: string, key: string) {
          await client.deleteUserTokenKey({ params: { ...(await appParams(client, given)), key_identifier: key } });
        },
      },
    ],
  });
}
