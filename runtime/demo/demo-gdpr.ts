import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, FeedRequest } from '../../api/client.ts';
import { millrace } from './demo-command.ts';
import { errorTable, outcome } from './demo-outcome.ts';
import type { DemoServer } from './demo-server.ts';
import type { DemoSor } from './demo-sor.ts';

type Say = (text: string) => void;

/** Values of a customer who leaves the shop; one is not a number. */
const VALUES = [
  ['plan', 'gold'],
  ['newsletter', true],
  ['orders', 'ten'],
];

/**
 * Shows the rights of a person: the archive of their data, their erasure with its receipt, verified with the public
 * key, and that new values of them are refused.
 */
export async function demoGdpr(
  { url, token, client }: DemoServer,
  sor: DemoSor,
  dataDir: string,
  say: Say,
): Promise<void> {
  const person = `leaver-of-${sor.identifier}@example.com`;
  const env = { MILLRACE_URL: url, MILLRACE_TOKEN: token };
  const folder = join(dataDir, 'gdpr');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  say(`\n${person} is known by ${counts(await feed(client, sor, person))}, and asks for it`);
  const access = requestOf(await millrace(env, ['gdpr', 'access', person, '--no-email', '--wait']));
  say(`Request ${access} is treated; its archive, a page to read and JSON for machines in a zip:`);
  say(await millrace(env, ['gdpr', 'download', access, '--to', folder]));
  const deletion = requestOf(await millrace(env, ['gdpr', 'delete', person, '--no-email', '--wait', '--yes']));
  say(`\nThey ask for their deletion: request ${deletion} is treated. Its receipt, verified by the published key:`);
  const receipt = join(folder, `${deletion}.receipt.json`);
  await millrace(env, ['gdpr', 'receipt', deletion, '--out', receipt]);
  const verify = ['verify', receipt, '--jwks', `${url}/.well-known/jwks.json`];
  say(await millrace({}, verify));
  const again = await feed(client, sor, person);
  say(`\nThe same values come in again: ${counts(again)}\n\n${await errorTable(client, again.id)}`);
  say(`\nTo verify the receipt again: npx --no-install millrace ${verify.join(' ')}`);
}

async function feed(client: Client, sor: DemoSor, person: string): Promise<FeedRequest & { id: string }> {
  const values = VALUES.map(([key, value]) => ({ customer_id: person, attribute_key: key, attribute_value: value }));
  const { requestId: id } = await client.feedAttributeValues({
    body: { sor: sor.identifier, api_key: sor.apiKey, customer_attribute_values: values },
  });
  const view = () => client.viewFeedRequest({ params: { request_id: id } });
  return { id, ...(await outcome(view, (status) => status.done_at !== null)) };
}

function counts({ values: { ok, ignored, failed } }: FeedRequest): string {
  return `${VALUES.length} values = ${ok} ok + ${ignored} ignored + ${failed} failed`;
}

/** Returns the request's id from the command's first line. */
function requestOf(said: string): string {
  return /^request (\S+)/m.exec(said)![1]!;
}
