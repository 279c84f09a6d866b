import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KNOWN_PUSH_SERVICES, readPushServices } from '../../../connectors/web-push/push-services.ts';
import { newVapidKeys, webPush } from '../../../connectors/web-push/web-push.ts';
import type { PushOutcome, PushTarget, WebPushSubscription } from '../../../domain/sends/push.ts';
import { certificate, trust } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { pushContext, pushMessage } from '../../harness/sends/push-messages.ts';
import { type WebPushFate, webPushServer } from '../../harness/sends/web-push-server.ts';
import { pushContract } from '../push/contract.ts';

const tls = await certificate();
trust(tls);
const keys = newVapidKeys();
rememberSecret(keys.vapid_private_key);
const settings = { subject: 'mailto:push@example.com', ...keys };
const server = await webPushServer({ ...tls, vapidPublicKey: keys.vapid_public_key });
const plain = await webPushServer({ ...tls, vapidPublicKey: keys.vapid_public_key, http1Only: true });

const to = (subscription: WebPushSubscription): PushTarget => ({ platform: 'web', subscription });

function openWebPush(changes: object = {}, options: Parameters<typeof pushContext>[0] = {}) {
  return webPush.open(
    webPush.settings.parse({ ...settings, ...changes }),
    pushContext({ platform: 'web', ...options }),
  );
}

pushContract(webPush, async () => ({
  server,
  settings: () => settings,
  target: (number, origin) => to(server.subscribe(`zqbrowser-${number}`, origin)),
}));

describe('a message by Web Push', () => {
  it.for([
    ['HTTP/2', server],
    ['HTTP/1.1', plain],
  ] as const)('reaches the browser, which alone can read it, over %s', async ([, service]) => {
    const open = openWebPush();
    const message = pushMessage({
      subtitle: 'Parcel 7',
      deepLink: 'https://shop.example.com/orders/7',
      attachmentUrl: 'https://shop.example.com/7.png',
      category: 'ORDER',
      parameters: { order: '7', title: 'theirs' },
      ttlSeconds: 60,
    });
    const outcomes = await Promise.all(
      [1, 2, 3].map((number) => open.send(to(service.subscribe(`browser-${number}`)), message)),
    );
    expect(outcomes).toEqual(outcomes.map(() => ({ kind: 'sent', providerId: null })));
    await open.close();
    expect(
      service.got
        .slice(-3)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['browser-1', 'browser-2', 'browser-3']);
    const { headers, message: got } = service.got.at(-1)!;
    expect(headers).toMatchObject({ ttl: '60', urgency: 'high', topic: message.id.replaceAll('-', '') });
    expect(got).toEqual({
      title: 'Your order',
      subtitle: 'Parcel 7',
      body: 'It is on its way',
      millrace_id: message.id,
      sound: 'default',
      deep_linking_url: 'https://shop.example.com/orders/7',
      push_attachment: 'https://shop.example.com/7.png',
      push_category: 'ORDER',
      parameters: { order: '7', title: 'theirs' },
    });
  });

  const { host } = new URL(server.origin);
  const OUTCOMES: [WebPushFate, PushOutcome][] = [
    [{ status: 404 }, { kind: 'gone', since: null }],
    [{ status: 410 }, { kind: 'gone', since: null }],
    [{ status: 413 }, { kind: 'too_big', bytes: null, maxBytes: 4_096 }],
    [
      { status: 429, headers: { 'retry-after': '90' } },
      { kind: 'throttled', retryAfterMs: 90_000, scope: 'device' },
    ],
    [{ status: 429 }, { kind: 'throttled', retryAfterMs: 60_000, scope: 'device' }],
    [
      { status: 503, headers: { 'retry-after': '999999999' } },
      { kind: 'throttled', retryAfterMs: 3_600_000, scope: 'device' },
    ],
    [{ status: 502 }, { kind: 'unknown', reason: `${host} answered 502` }],
    [
      { status: 301, headers: { location: 'https://10.0.0.1/' } },
      { kind: 'refused', code: 'HTTP_301', reason: `${host} answered 301` },
    ],
    [
      { status: 400, body: '{"errno": 110, "message": "bad <b>/push/played</b>"}' },
      { kind: 'refused', code: 'HTTP_400', reason: `${host} answered 400: bad  b *** /b` },
    ],
  ];
  it.for(OUTCOMES)('that is answered by %j has its outcome, and others go on', async ([fate, outcome]) => {
    const open = openWebPush();
    const target = to(server.subscribe('played'));
    server.fate('played', fate);
    await expect(open.send(target, pushMessage())).resolves.toEqual(outcome);
    server.fate('played', null);
    await expect(open.send(target, pushMessage())).resolves.toMatchObject({ kind: 'sent' });
    await open.close();
  });

  it('is too big from 4,097 bytes on as it is encrypted, which the service sees as well', async () => {
    const open = openWebPush();
    const target = to(server.subscribe('browser'));
    const empty = pushMessage({ title: null, body: '', sound: null });
    const rest = 4_096 - 103 - Buffer.byteLength(JSON.stringify({ body: '', millrace_id: empty.id, parameters: {} }));
    await expect(open.send(target, { ...empty, body: 'x'.repeat(rest) })).resolves.toMatchObject({ kind: 'sent' });
    expect(server.got.at(-1)!.headers['content-length']).toBe('4096');
    await expect(open.send(target, { ...empty, body: 'x'.repeat(rest + 1) })).resolves.toEqual({
      kind: 'too_big',
      bytes: 4_097,
      maxBytes: 4_096,
    });
    await open.close();
  });

  it('goes to no subscription that is none', async () => {
    const open = openWebPush();
    const sound = server.subscribe('browser');
    const bad: [Partial<WebPushSubscription>, RegExp][] = [
      [{ endpoint: sound.endpoint.replace('https', 'http') }, /no https/],
      [{ endpoint: 'nonsense' }, /no https/],
      [{ p256dh: 'AAAA' }, /keys/],
      [{ p256dh: Buffer.alloc(65, 4).toString('base64url') }, /keys/],
      [{ auth: '' }, /keys/],
    ];
    for (const [change, words] of bad) {
      await expect(open.send(to({ ...sound, ...change }), pushMessage())).resolves.toEqual({
        kind: 'refused',
        code: 'BAD_SUBSCRIPTION',
        reason: expect.stringMatching(words),
      });
    }
    await open.close();
  });

  it('leaves for the push services of known browsers alone, unless the operator allows another', async () => {
    const requests = server.got.length;
    for (const [pushServices, kind] of [
      ['', 'refused'],
      ['push.example.com, localhost:1', 'refused'],
      ['localhost', 'sent'],
    ] as const) {
      const open = openWebPush({}, { pushServices });
      const outcome = await open.send(to(server.subscribe('browser')), pushMessage());
      expect(outcome).toMatchObject({ kind });
      const refusal = { code: 'PUSH_SERVICE', reason: expect.stringMatching(/MILLRACE_PUSH_SERVICES$/) as string };
      expect(outcome).toMatchObject(kind === 'refused' ? refusal : {});
      await open.close();
    }
    expect(server.got.length).toBe(requests + 1);
    const known = [
      'fcm.googleapis.com',
      'updates.push.services.mozilla.com',
      'web.push.apple.com',
      'db5p.notify.windows.com',
    ];
    const unknown = [
      'evilnotify.windows.com.example.com',
      'push.services.mozilla.com.',
      'xfcm.googleapis.com',
      'push.apple.com.evil.org',
    ];
    expect(known.map((host) => KNOWN_PUSH_SERVICES.allows(host, 443))).toEqual(known.map(() => true));
    expect(unknown.map((host) => KNOWN_PUSH_SERVICES.allows(host, 443))).toEqual(unknown.map(() => false));
    expect(KNOWN_PUSH_SERVICES.allows('fcm.googleapis.com', 8443)).toBe(false);
    expect(readPushServices('push.example.com,https://x')).toMatch(/^has a wrong entry: https:\/\/x\. Write hosts/);
  });

  it('is refused by the service when the subscription was made with another key', async () => {
    const open = openWebPush(newVapidKeys());
    await expect(open.send(to(server.subscribe('browser')), pushMessage())).resolves.toMatchObject({
      kind: 'refused',
      code: 'HTTP_403',
      reason: expect.stringMatching(/do not correspond to the credentials/),
    });
    await open.close();
  });

  it('over HTTP/1.1 that breaks off is unknown', async () => {
    const open = openWebPush();
    const target = to(plain.subscribe('browser'));
    await open.send(target, pushMessage());
    plain.disrupt('drop');
    await expect(open.send(target, pushMessage())).resolves.toMatchObject({
      kind: 'unknown',
      reason: expect.stringMatching(/broke off/),
    });
    await expect(open.send(target, pushMessage())).resolves.toMatchObject({ kind: 'sent' });
    await open.close();
  });

  it('over HTTP/1.1 is sent once the status line has come, although the body drips without an end', async () => {
    const dripping = createServer(tls, (request, response) => {
      request.resume();
      response.writeHead(201);
      const drip = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(drip));
    });
    onTestFinished(() => {
      dripping.closeAllConnections();
      dripping.close();
    });
    await once(dripping.listen(0, '127.0.0.1'), 'listening');
    const open = openWebPush({}, { limits: { answerMs: 500 } });
    const { port } = dripping.address() as AddressInfo;
    const target = to(server.subscribe('dripping', `https://localhost:${port}`));
    await expect(open.send(target, pushMessage())).resolves.toMatchObject({ kind: 'sent' });
    await open.close();
  });

  it.for([
    ['one stream', 1, ['sent', 'not_sent', 'not_sent']],
    ['no stream any more', 0, ['sent', 'not_sent', 'not_sent']],
  ] as const)('over HTTP/2 is not sent if the service has %s and drips', async ([, streams, kinds]) => {
    const dripping = createSecureServer({ ...tls, settings: { maxConcurrentStreams: 1 } });
    let requests = 0;
    dripping.on('stream', (stream) => {
      requests += 1;
      stream.on('error', () => undefined).resume();
      stream.respond({ ':status': 201 });
      stream.session!.settings({ maxConcurrentStreams: streams });
      const drip = setInterval(() => stream.write('x'), 20);
      stream.on('close', () => clearInterval(drip));
    });
    const sessions = new Set<{ destroy(): void }>();
    dripping.on('session', (session) => sessions.add(session));
    onTestFinished(() => {
      for (const session of sessions) session.destroy();
      dripping.close();
    });
    await once(dripping.listen(0, '127.0.0.1'), 'listening');
    const open = openWebPush({}, { limits: { waitMs: 250, answerMs: 2_000, connections: 1 } });
    const target = to(server.subscribe('dripping', `https://localhost:${(dripping.address() as AddressInfo).port}`));
    const outcomes = await Promise.all([1, 2, 3].map(() => open.send(target, pushMessage())));
    expect(outcomes.map(({ kind }) => kind)).toEqual(kinds);
    expect(outcomes[1]).toMatchObject({
      reason: expect.stringMatching(/^localhost:\d+ took no further request in time$/),
    });
    expect(requests).toBe(1);
    await open.close();
  });

  it('over HTTP/1.1 is not sent if all connections to the service are taken for too long', async () => {
    const silent = createServer(tls, (request) => void request.resume());
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const open = openWebPush({}, { limits: { waitMs: 3_000, answerMs: 60_000 } });
    const target = to(server.subscribe('silent', `https://localhost:${(silent.address() as AddressInfo).port}`));
    const kinds: PushOutcome['kind'][] = [];
    const sends = Array.from({ length: 20 }, async () => {
      const { kind } = await open.send(target, pushMessage());
      kinds.push(kind);
      // All connections are taken until those who wait for one have given up.
      if (kinds.length === 4) silent.closeAllConnections();
    });
    await Promise.all(sends);
    expect(kinds).toEqual([...Array(4).fill('not_sent'), ...Array(16).fill('unknown')]);
    await open.close();
  });

  it('takes the place of an earlier one with the same key that still waits for the browser', async () => {
    const open = openWebPush();
    const topics = [];
    for (const collapseKey of [
      'Ihre Bestellungen für heute, und mehr',
      'Ihre Bestellungen für heute, und mehr',
      'other',
    ]) {
      await open.send(to(server.subscribe('browser')), pushMessage({ collapseKey }));
      topics.push(server.got.at(-1)!.headers['topic']);
    }
    expect(topics).toEqual([expect.stringMatching(/^[\w-]{32}$/), topics[0], expect.stringMatching(/^[\w-]{32}$/)]);
    expect(topics[2]).not.toBe(topics[0]);
    await open.close();
  });

  it('is signed once for the messages of half a day', async () => {
    let now = Date.now();
    const open = openWebPush({}, { now: () => now });
    const target = to(server.subscribe('browser'));
    const authorizations = new Set<unknown>();
    for (const hours of [0, 10, 1.5]) {
      now += hours * 3_600_000;
      await open.send(target, pushMessage());
      authorizations.add(server.got.at(-1)!.headers.authorization);
    }
    expect(authorizations.size).toBe(2);
    await open.close();
  });
});

describe('settings of Web Push', () => {
  const another = newVapidKeys();
  it.for([
    ['no address to reach you at', { subject: 'push@example.com' }, /subject must be a mailto: or https:/],
    [
      'a public key that is none',
      { vapid_public_key: 'AAAA' },
      /vapid_public_key must be an uncompressed point of P-256/,
    ],
    ['a private key that is none', { vapid_private_key: 'AAAA' }, /vapid_private_key must be 32 bytes/],
    [
      'a key of another pair',
      { vapid_private_key: another.vapid_private_key },
      /must be the key that vapid_public_key belongs to/,
    ],
  ] as const)('are refused with %s', ([, changes, words]) => {
    expect(
      webPush.settings
        .safeParse({ ...settings, ...changes })
        .error?.issues.map(({ message }) => message)
        .join('\n'),
    ).toMatch(words);
  });
});
