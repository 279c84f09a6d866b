/** The commands of `millrace apps certificates`: list, add, revoke and restore push certificates of an iOS app. */
import { type Command, Option } from 'commander';
import type { PushCertificate } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { readText } from '../core/read-input.ts';
import { APP, appParams } from './find-app.ts';

const CERTIFICATE = ['<certificate>', 'its identifier'] as const;

export function addCertificateCommands(apps: Command, run: Run): void {
  addGroup<PushCertificate>(apps, run, {
    name: 'certificates',
    description: 'the push certificates of an iOS app',
    columns: {
      identifier: (each) => each.identifier,
      state: (each) => (each.revoked ? 'revoked' : ''),
      begins: (each) => each.not_before.slice(0, 10),
      ends: (each) => each.not_after.slice(0, 10),
      for: (each) => each.uid ?? each.subject,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, without their private keys',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const { push_certificates: all } = await client.listPushCertificates({
            params: await appParams(client, given),
          });
          setResult(all);
          return all;
        },
      },
      {
        name: 'add',
        description: 'add one with its private key',
        args: [APP],
        options: [
          new Option('--cert <file>', 'the certificate in PEM').makeOptionMandatory(),
          new Option(
            '--key <file>',
            'its private key in PEM, without a passphrase; - for standard input',
          ).makeOptionMandatory(),
        ],
        async does(context, { cert, key }: { cert: string; key: string }, given: string) {
          const body = { x509_pem: await readText(context, cert), pkey_pem: await readText(context, key) };
          return context.client.createPushCertificate({ params: await appParams(context.client, given), body });
        },
      },
      ...(['revoke', 'restore'] as const).map((name) => ({
        name,
        description: name === 'revoke' ? 'send no push with one' : 'send pushes with one again',
        args: [APP, CERTIFICATE],
        does: async ({ client }: CommandContext, _: unknown, given: string, id: string) =>
          client.updatePushCertificate({
            params: { ...(await appParams(client, given)), cert_identifier: id },
            body: { revoked: name === 'revoke' },
          }),
      })),
    ],
  });
}
