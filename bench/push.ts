import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { createInterface } from 'node:readline';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { readFetchAllow } from '../connectors/core/fetch-allow.ts';
import { AccessToken } from '../connectors/fcm/fcm.ts';
import { fcm } from '../connectors/fcm/fcm.ts';
import type { ServiceAccount } from '../connectors/fcm/fcm.ts';
import type { PushContext } from '../connectors/push/contract.ts';
import { fcmMessage, type PushMessage } from '../domain/sends/push.ts';
import type { Line, Size } from './line.ts';
import { atLeast, type Figure, median } from './report.ts';

const MESSAGES: Record<Size, number> = { quick: 5_000, full: 50_000 };
/** Number that the local server accepts on a connection. */
const AT_ONCE = 100;
const MAIN = fileURLToPath(new URL('../test/harness/sends/fcm-main.ts', import.meta.url));

type FcmProcess = { origin: string; serviceAccount: Record<string, string>; cert: string };

const titleOf = (size: Size) =>
  `${MESSAGES[size].toLocaleString('en')} messages through the FCM provider to its local server`;

/** The provider against a bare client that posts bodies made beforehand, with as many at once, to the same server. */
export const push: Line = {
  key: 'push',
  titles: (size) => [titleOf(size)],
  async *measure({ size, rounds }) {
    const child = spawn(process.execPath, [MAIN], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const server = await announced(child);
      setDefaultCACertificates([...getCACertificates('default'), server.cert]);
      const messages = Array.from({ length: MESSAGES[size] }, messageOf);
      const runs: Figure[] = [];
      const posting = await openBare(server, messages);
      await throughProvider(server, messages.slice(0, 1_000));
      for (let round = 0; round < rounds; round += 1) {
        const bare = await perSecond(messages, () => postAll(posting));
        const ours = await perSecond(messages, () => throughProvider(server, messages));
        runs.push(atLeast(titleOf(size), 'messages/s', ours, bare, 0.6));
      }
      posting.session.close();
      yield median(runs);
    } finally {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    }
  },
};

async function announced(child: ChildProcess): Promise<FcmProcess> {
  for await (const line of createInterface({ input: child.stdout! })) return JSON.parse(line) as FcmProcess;
  throw new Error('the local FCM server did not start');
}

async function perSecond(messages: readonly PushMessage[], work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return messages.length / ((performance.now() - start) / 1_000);
}

function messageOf(_: unknown, number: number): PushMessage {
  return {
    id: randomUUID(),
    title: 'Your order is on its way',
    subtitle: null,
    body: `Parcel ${number} arrives tomorrow between 9 and 11`,
    deepLink: `https://shop.example.com/orders/${number}`,
    attachmentUrl: null,
    category: null,
    sound: 'default',
    parameters: { order: String(number), campaign: 'delivery' },
    ttlSeconds: 86_400,
    collapseKey: null,
    priority: 'high',
  };
}

const tokenOf = (number: number) => `c${String(number).padStart(21, '0')}:APA91b${'Ab3_'.repeat(32)}`;

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

function contextOf(): PushContext {
  const allow = readFetchAllow('localhost');
  if (typeof allow === 'string') throw new Error(allow);
  return { app: { packageName: 'com.example.shop', certificate: null }, platform: 'android', allow, now: Date.now };
}

async function throughProvider(
  { origin, serviceAccount }: FcmProcess,
  messages: readonly PushMessage[],
): Promise<void> {
  const open = fcm.open(fcm.settings.parse({ service_account: serviceAccount, endpoint: origin }), contextOf());
  await inLanes(messages.length, async (index) => {
    const outcome = await open.send({ platform: 'android', token: tokenOf(index) }, messages[index]!);
    if (outcome.kind !== 'sent') throw new Error(`a message was not sent: ${JSON.stringify(outcome)}`);
  });
  await open.close();
}

type Bare = { session: ClientHttp2Session; headers: Record<string, string>; bodies: string[] };

async function openBare({ origin, serviceAccount }: FcmProcess, messages: readonly PushMessage[]): Promise<Bare> {
  const found = await new AccessToken(serviceAccount as ServiceAccount, contextOf()).find();
  if (!('token' in found)) throw new Error(`no access token: ${JSON.stringify(found.failed)}`);
  const session = connect(origin);
  await once(session, 'remoteSettings');
  const headers = {
    ':method': 'POST',
    ':path': `/v1/projects/${serviceAccount['project_id']}/messages:send`,
    'content-type': 'application/json',
    authorization: `Bearer ${found.token}`,
  };
  const bodies = messages.map((message, index) =>
    JSON.stringify({ message: fcmMessage(message, 'android', tokenOf(index), Date.now()) }),
  );
  return { session, headers, bodies };
}

function postAll({ session, headers, bodies }: Bare): Promise<void> {
  return inLanes(
    bodies.length,
    (index) =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers);
        stream.on('response', ({ ':status': status }) => {
          if (status !== 200) reject(new Error(`the server answered ${status}`));
        });
        stream.resume().on('error', reject).on('end', resolve).end(bodies[index]);
      }),
  );
}
