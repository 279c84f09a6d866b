import { once } from 'node:events';
import { generateKeyPairSync } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ConnectorContext } from '../../../connectors/core/contract.ts';
import { download } from '../../../connectors/core/download.ts';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { jsonAnswer } from '../../../connectors/core/json-requests.ts';
import { requestPool } from '../../../connectors/core/guarded-request.ts';
import { AccessToken } from '../../../connectors/fcm/fcm.ts';
import { openByHttp } from '../../../connectors/http-file/http-file.ts';
import { openBucket } from '../../../connectors/s3/s3.ts';
import { roleCredentials } from '../../../connectors/s3/role-credentials.ts';
import { slack } from '../../../connectors/slack/slack.ts';
import { smtpDelivery } from '../../../connectors/smtp/mail.ts';
import { sendToWebhook } from '../../../connectors/webhook/webhook.ts';
import { type Answer, httpSource } from '../../harness/core/http-source.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { testContext } from './contract.ts';

const BOUND_MS = 1_000;
const source = await httpSource();
const allow = readFetchAllow('127.0.0.1') as FetchAllow;
const limits = { totalMs: BOUND_MS, leastRate: { leastBytes: 64 * 1024, withinMs: BOUND_MS } };
const context: ConnectorContext = {
  ...testContext(AbortSignal.timeout(HANGS_MS)),
  fetch: guardedFetch(allow, { limits }),
};

/** Sends a byte every few milliseconds, and does not end. */
const drip =
  (start: string, byte: string): Answer =>
  ({ socket }) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(byte), 5);
    socket.on('close', () => clearInterval(timer));
  };
const body = drip('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n', ' ');
const hints = drip('', 'HTTP/1.1 103 Early Hints\r\nX-A: a\r\n\r\n');
const headers = drip('HTTP/1.1 200 OK\r\nX-A: ', 'a');

async function readAll(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) expect(chunk.length).toBeGreaterThan(0);
}

async function throughPool(url: string, isStream = false): Promise<void> {
  const pool = requestPool({
    allow,
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    limits: { connectMs: BOUND_MS, idleMs: HANGS_MS, answerMs: BOUND_MS, leastRate: limits.leastRate },
  });
  try {
    await readAll(
      (await pool.request(new URL(url), { method: 'GET', path: new URL(url).pathname, headers: {}, isStream })).body,
    );
  } finally {
    await pool.close();
  }
}

const records = { idempotencyKey: 'k', batchId: 'b', stream: 's', isRemoval: false, records: ['{}'] };

const bucket = (url: string) =>
  openBucket(
    {
      bucket: 'b',
      endpoint: new URL(url).origin,
      region: 'us-east-1',
      access_key_id: 'a',
      secret_access_key: 's',
    } as Parameters<typeof openBucket>[0],
    context,
  );

/** The answer to the first request of a role, whose client goes by the environment alone. */
async function throughSts(url: string): Promise<unknown> {
  const env = {
    AWS_ENDPOINT_URL_STS: url,
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 's',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const role = { accountId: '123456789012', roleName: 'r', externalId: 'e' };
  const credentials = roleCredentials(role, 'us-east-1', context.signal, BOUND_MS);
  try {
    return await credentials.get();
  } finally {
    credentials.close();
    vi.unstubAllEnvs();
  }
}

const ended = /did not end within 1 s$/;
const slow = /came slower than 64 KiB in 1 s$/;

describe('an answer that drips a byte at a time ends', () => {
  it.for<[string, Answer, (url: string) => Promise<unknown>, string, RegExp]>([
    ['read as JSON', body, async (url) => jsonAnswer(await context.fetch.request(url)), 'transfer_broken', ended],
    ['to a webhook', body, (url) => sendToWebhook({ url, secret: 's' }, records, context), 'transfer_broken', ended],
    [
      'to a webhook, in its headers',
      headers,
      (url) => sendToWebhook({ url, secret: 's' }, records, context),
      'source_unavailable',
      ended,
    ],
    ['to Slack, in its headers', headers, (url) => slack.alerts!.check({ url }, context), 'source_unavailable', ended],
    ['through a pool', body, (url) => throughPool(url), 'transfer_broken', ended],
    ['in a file through a pool', body, (url) => throughPool(url, true), 'transfer_broken', slow],
    [
      'in a download',
      body,
      (url) => readAll(download(context.fetch, url, { maxBytes: 1e9, pauseMs: 1 })),
      'transfer_broken',
      /no version/,
    ],
    [
      'in a file of a sync',
      body,
      async (url) => readAll((await openByHttp({ url } as Parameters<typeof openByHttp>[0], context)).chunks),
      'transfer_broken',
      slow,
    ],
    [
      'in a file of a sync, before its headers',
      hints,
      async (url) => readAll((await openByHttp({ url } as Parameters<typeof openByHttp>[0], context)).chunks),
      'source_unavailable',
      ended,
    ],
    [
      'in a file of a bucket',
      body,
      async (url) => readAll((await bucket(url).open('k')()).chunks),
      'transfer_broken',
      slow,
    ],
    ['of STS', body, throughSts, 'source_unavailable', /in time/],
    ['of STS, in its headers', headers, throughSts, 'source_unavailable', /in time/],
    ['in a list of a bucket', body, (url) => Array.fromAsync(bucket(url).list('', null)), 'transfer_broken', ended],
  ])('%s', async ([, answer, ask, refused, says], { task }) => {
    // The paths that a client of a bucket asks for are its own.
    for (const path of ['/b', '/b/', '/b/k', `/${task.id}/`]) source.serve(path, answer);
    const asked = ask(source.serve(`/${task.id}`, answer));
    await expect(asked).rejects.toMatchObject({ status: refused, message: expect.stringMatching(says) as string });
  });
});

it.for([
  ['in its body', body],
  ['in its headers', headers],
] as const)('a token_uri of FCM that drips %s gives no token', async ([, answer]) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const account = {
    type: 'service_account',
    project_id: 'shop',
    client_email: 'push@shop.example.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    token_uri: source.serve('/token', answer),
  };
  const token = new AccessToken(account as never, { allow, now: Date.now, limits: { answerMs: BOUND_MS } });
  expect(await token.find()).toMatchObject({
    failed: { kind: 'not_sent', reason: expect.stringMatching(/no access token in time/) as string },
  });
});

it.for([
  ['in its greeting', '220-a\r\n'],
  ['in an answer that does not end', '220 here\r\n250-a'],
])('a mail server that drips %s is given up, and the mail is not sent', async ([, start]) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume();
    socket.write(start!);
    const timer = setInterval(() => socket.write('220-a\r\n'), 5);
    socket.on('close', () => clearInterval(timer));
  });
  onTestFinished(() => {
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const deliver = smtpDelivery(
    `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    'millrace@example.com',
    BOUND_MS,
  );
  const mail = { to: ['someone@example.com'], subject: 'Subject', text: 'Text', messageId: '<dripping@example.com>' };
  expect(await deliver(mail)).toMatchObject({
    outcome: 'not_sent',
    retryable: true,
    reason: expect.stringMatching(/did not answer in time/) as string,
  });
});

it('a stream that brings its least rate may take longer than any deadline', async () => {
  const url = source.serve('/steady', (_, response) => {
    let pieces = 0;
    const timer = setInterval(() => {
      pieces += 1;
      response.write(Buffer.alloc(64 * 1024));
      if (pieces === 8) response.end(() => clearInterval(timer));
    }, 150);
  });
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of download(context.fetch, url, { maxBytes: 1e9 })) bytes += chunk.length;
  expect(bytes).toBe(8 * 64 * 1024);
  expect(performance.now() - began).toBeGreaterThan(BOUND_MS);
});
