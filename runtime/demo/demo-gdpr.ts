/** The demo's privacy requests: a person's archive and erasure, and a deletion that waits for approval. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, FeedRequest } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { errorTable, outcome } from './demo-outcome.ts';
import { type DemoServer, type DemoSor, millrace } from './demo-server.ts';
import { type DemoApp, deviceOf } from './demo-tracking.ts';

type Say = (text: string) => void;

const VALUES = [
  ['plan', 'gold'],
  ['newsletter', true],
  ['orders', 'ten'],
];

/** Shows a person's archive, their erasure with a verified receipt, and the refusal of new values. */
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

function requestOf(said: string): string {
  return /^request (\S+)/m.exec(said)![1]!;
}

const PERSON = 9;

/** Has a device ask for the deletion of its data, which waits until somebody approves it. */
export async function demoDeviceRequest({ url }: DemoServer, { key }: DemoApp, say: Say): Promise<void> {
  const device = deviceOf(PERSON);
  const reply = await fetch(new URL('/v1/privacy', url), {
    method: 'POST',
    body: JSON.stringify({ type: 'delete', deviceId: device }),
    headers: {
      authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      'content-type': 'application/json',
    },
  });
  if (!reply.ok) refuse(reply.status, reply.status, `The request was not taken: ${await reply.text()}`);
  const { result } = (await reply.json()) as { result: { identifier: string; state: string } };
  say(
    `\nThe device ${device} asks for the deletion of its data: request ${result.identifier} is ${result.state} for approval`,
  );
}
