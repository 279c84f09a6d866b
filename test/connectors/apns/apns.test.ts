import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { apns } from '../../../connectors/apns/apns.ts';
import type { PushOutcome } from '../../../domain/sends/push.ts';
import { certificate, trust } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { type ApnsReason, apnsServer } from '../../harness/sends/apns-server.ts';
import { pushContext, pushMessage } from '../../harness/sends/push-messages.ts';
import { pushContract } from '../push/contract.ts';

const TOPIC = 'com.example.shop';
const SUBJECT = `/UID=${TOPIC}/CN=Apple Push Services: ${TOPIC}/O=Example/C=FR`;
const DEVELOPMENT = '1.2.840.113635.100.6.3.1=ASN1:NULL';

const tls = await certificate();
trust(tls);
const [own, another, expired, development] = await Promise.all([
  certificate({ subject: SUBJECT, days: 365 }),
  certificate({ subject: SUBJECT, days: 20 }),
  certificate({ subject: SUBJECT, days: -1 }),
  certificate({ subject: SUBJECT, days: 365, extensions: [DEVELOPMENT] }),
]);

function teamKey(keyId: string, topics = [TOPIC]) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  rememberSecret(pem.split('\n')[1]!);
  return { pem, keyId, teamId: 'TEAM123456', topics };
}

const team = teamKey('KEY1234567');
const renewing = teamKey('KEY7654321');
const elsewhere = teamKey('KEY0000000', ['com.example.other']);
let clock = () => Date.now();
const server = await apnsServer({
  ...tls,
  keys: [team, renewing, elsewhere],
  certificates: [own!, development!].map(({ cert }) => ({ pem: cert, topic: TOPIC })),
  now: () => clock(),
});

const appWith = (pems: { cert: string; key: string } | null, packageName = TOPIC) => ({
  packageName,
  certificate: pems && { x509Pem: pems.cert, pkeyPem: pems.key },
});
const tokenOf = (number: number) => number.toString(16).padStart(4, '0').repeat(16).replace(/^0/, 'a');
const byKey = ({ pem, keyId, teamId }: ReturnType<typeof teamKey>) => ({ key: pem, key_id: keyId, team_id: teamId });

function openApns(settings: object, app = appWith(null), options: Parameters<typeof pushContext>[0] = {}) {
  return apns.open(
    apns.settings.parse({ endpoint: server.origin, ...settings }),
    pushContext({ app, platform: 'ios', ...options }),
  );
}

pushContract(apns, async () => ({
  server,
  settings: (endpoint) => ({ endpoint }),
  context: { app: appWith(own!) },
  target: (number) => ({ platform: 'ios', token: tokenOf(number) }),
}));

describe('a message by APNs', () => {
  it.for([
    ["the app's push certificate", {}, appWith(own!)],
    ['a key of the team', byKey(team), appWith(null)],
  ] as const)('reaches the device with all that it says, by %s', async ([, settings, app]) => {
    const open = openApns(settings, app);
    const message = pushMessage({
      subtitle: 'Parcel 7',
      deepLink: 'shop://orders/7',
      attachmentUrl: 'https://shop.example.com/7.png',
      category: 'ORDER',
      parameters: { order: '7', aps: 'theirs' },
      collapseKey: 'orders',
      priority: 'normal',
    });
    const before = Math.floor(Date.now() / 1_000);
    await expect(open.send({ platform: 'ios', token: tokenOf(1).toUpperCase() }, message)).resolves.toEqual({
      kind: 'sent',
      providerId: message.id,
    });
    await open.close();
    const { token, headers, payload } = server.sent.at(-1)!;
    expect(token).toBe(tokenOf(1));
    expect(headers).toMatchObject({
      'apns-topic': TOPIC,
      'apns-push-type': 'alert',
      'apns-priority': '5',
      'apns-id': message.id,
      'apns-collapse-id': 'orders',
    });
    expect(Number(headers['apns-expiration']) - before - 3_600).toBeLessThanOrEqual(60);
    expect(payload).toEqual({
      order: '7',
      millrace_id: message.id,
      deep_linking_url: 'shop://orders/7',
      push_attachment: 'https://shop.example.com/7.png',
      aps: {
        alert: { title: 'Your order', subtitle: 'Parcel 7', body: 'It is on its way' },
        sound: 'default',
        category: 'ORDER',
        'mutable-content': 1,
      },
    });
  });

  const gone = new Date('2026-11-01T12:00:00Z');
  const OUTCOMES: [ApnsReason, PushOutcome][] = [
    ['Unregistered', { kind: 'gone', since: gone }],
    ['ExpiredToken', { kind: 'gone', since: gone }],
    ['PayloadTooLarge', { kind: 'too_big', bytes: null, maxBytes: 4_096 }],
    ['TooManyRequests', { kind: 'throttled', retryAfterMs: 60_000, scope: 'device' }],
    ['InternalServerError', { kind: 'throttled', retryAfterMs: 10_000, scope: 'device' }],
    [
      'BadDeviceToken',
      { kind: 'refused', code: 'BadDeviceToken', reason: 'The device token is invalid, or of the other environment' },
    ],
    [
      'DeviceTokenNotForTopic',
      { kind: 'refused', code: 'DeviceTokenNotForTopic', reason: expect.any(String) as string },
    ],
  ];
  it.for(OUTCOMES)('that meets %s has its outcome, and others go on', async ([reason, outcome]) => {
    const open = openApns({}, appWith(own!));
    server.fate(tokenOf(2), reason, gone.getTime());
    await expect(open.send({ platform: 'ios', token: tokenOf(2) }, pushMessage())).resolves.toEqual(outcome);
    server.fate(tokenOf(2), null);
    await expect(open.send({ platform: 'ios', token: tokenOf(2) }, pushMessage())).resolves.toMatchObject({
      kind: 'sent',
    });
    await open.close();
  });

  it.for(['ServiceUnavailable', 'Shutdown'] as const)('that meets %s stops all for a while', async (reason) => {
    let now = Date.now();
    const open = openApns({}, appWith(own!), { now: () => now });
    server.fate(tokenOf(3), reason);
    const throttled = { kind: 'throttled', retryAfterMs: 10_000, scope: 'provider' };
    await expect(open.send({ platform: 'ios', token: tokenOf(3) }, pushMessage())).resolves.toEqual(throttled);
    server.fate(tokenOf(3), null);
    await expect(open.send({ platform: 'ios', token: tokenOf(4) }, pushMessage())).resolves.toEqual(throttled);
    now += 10_001;
    await expect(open.send({ platform: 'ios', token: tokenOf(4) }, pushMessage())).resolves.toMatchObject({
      kind: 'sent',
    });
    await open.close();
  });

  it('is too big from 4,097 bytes on, and is not sent then', async () => {
    const open = openApns({}, appWith(own!));
    const empty = pushMessage({ body: '' });
    const rest =
      4_096 -
      Buffer.byteLength(
        JSON.stringify({
          millrace_id: empty.id,
          aps: { alert: { title: 'Your order', body: '' }, sound: 'default' },
        }),
      );
    const target = { platform: 'ios', token: tokenOf(5) } as const;
    await expect(open.send(target, { ...empty, body: 'x'.repeat(rest) })).resolves.toMatchObject({ kind: 'sent' });
    await expect(open.send(target, { ...empty, body: `é${'x'.repeat(rest - 1)}` })).resolves.toEqual({
      kind: 'too_big',
      bytes: 4_097,
      maxBytes: 4_096,
    });
    await open.close();
  });

  it('is refused with a token that is none, and without credentials', async () => {
    const open = openApns({}, appWith(null));
    await expect(open.send({ platform: 'ios', token: '../3/device' }, pushMessage())).resolves.toMatchObject({
      kind: 'refused',
      code: 'BadDeviceToken',
    });
    await expect(open.send({ platform: 'ios', token: tokenOf(1) }, pushMessage())).resolves.toMatchObject({
      kind: 'refused',
      code: 'MissingProviderToken',
    });
    await open.close();
  });

  it('goes out under one provider token for all of a process, renewed after 40 minutes, and when Apple calls it too old', async () => {
    let now = Date.now();
    clock = () => now;
    const opens = [1, 2].map(() => openApns(byKey(renewing), appWith(null), { now: () => now }));
    const shown = server.providerTokens();
    const sends = async () => {
      const outcomes = await Promise.all(
        opens.flatMap((open) =>
          [6, 7].map((number) => open.send({ platform: 'ios', token: tokenOf(number) }, pushMessage())),
        ),
      );
      expect(outcomes.map(({ kind }) => kind)).toEqual(['sent', 'sent', 'sent', 'sent']);
      return server.providerTokens() - shown;
    };
    expect(await sends()).toBe(1);
    now += 39 * 60_000;
    expect(await sends()).toBe(1);
    now += 2 * 60_000;
    expect(await sends()).toBe(2);
    // Apple's clock is ahead of ours: the token is an hour old there, and 25 minutes here.
    now += 25 * 60_000;
    clock = () => now + 36 * 60_000;
    expect(await sends()).toBe(3);
    clock = () => now + 120 * 60_000;
    const late = await opens[0]!.send({ platform: 'ios', token: tokenOf(6) }, pushMessage());
    expect(late).toMatchObject({
      kind: 'refused',
      code: 'ExpiredProviderToken',
      reason: expect.stringMatching(/check the clock/),
    });
    clock = () => Date.now();
    await Promise.all(opens.map((open) => open.close()));
  });

  it('goes on over a new connection after APNs has ended one that was idle', async () => {
    const open = openApns({}, appWith(own!));
    await open.send({ platform: 'ios', token: tokenOf(8) }, pushMessage());
    server.goAway('IdleTimeout');
    await expect
      .poll(() => open.send({ platform: 'ios', token: tokenOf(8) }, pushMessage()))
      .toMatchObject({ kind: 'sent' });
    await open.close();
  });
});

describe('a check of APNs', () => {
  const check = async (settings: object, app = appWith(null)) => {
    const open = openApns(settings, app);
    try {
      return await open.check();
    } finally {
      await open.close();
    }
  };
  const error = (field: string, message: RegExp) => [
    { severity: 'error', field, message: expect.stringMatching(message) as string },
  ];

  it('finds nothing wrong where a message would go out, and sends none', async () => {
    const before = server.sent.length;
    expect(await check({}, appWith(own!))).toEqual([]);
    expect(await check(byKey(team))).toEqual([]);
    expect(server.sent.length).toBe(before);
  });

  it('names what is wrong with the certificate', async () => {
    expect(await check({})).toEqual(error('push_certificates', /none that is not revoked, and no key is set/));
    expect(await check({}, appWith(expired!))).toEqual(error('push_certificates', /expired on/));
    expect(await check({}, appWith(own!, 'com.example.other'))).toEqual(
      error('topic', /is com\.example\.other, and .* is for com\.example\.shop/),
    );
    expect(await check({}, appWith(development!))).toEqual(
      error('environment', /is production, and .* is for sandbox alone/),
    );
    expect(await check({ environment: 'sandbox' }, appWith(development!))).toEqual([]);
    expect(await check({}, appWith(another!))).toEqual([
      { severity: 'warning', field: 'push_certificates', message: expect.stringMatching(/expires on/) },
      ...error('push_certificates', /Apple does not take the push certificate/),
    ]);
  });

  it('names what is wrong with the key', async () => {
    expect(await check({ ...byKey(team), key: teamKey('KEY9999999').pem })).toEqual(
      error('key', /key, key_id and team_id do not belong together/),
    );
    expect(await check({ ...byKey(team), team_id: 'ANOTHER123' })).toEqual(error('key', /do not belong together/));
    expect(await check(byKey(elsewhere))).toEqual(error('topic', /may not send for this topic \(com\.example\.shop\)/));
    expect(await check({ ...byKey(team), endpoint: 'https://localhost:47' })).toEqual(
      error('endpoint', /refused the connection/),
    );
  });

  it.for([
    ['a key without its ids', { key: team.pem }, /key_id is needed with key/],
    ['a key that is none', { ...byKey(team), key: 'PEM' }, /key must be the private key of a \.p8 file/],
    [
      'an id in small letters',
      { ...byKey(team), key_id: 'key1234567' },
      /key_id must be 10 capital letters and digits/,
    ],
    ['an unknown environment', { environment: 'test' }, /environment must be production or sandbox/],
    ['an address that is not encrypted', { endpoint: 'http://localhost' }, /endpoint must be an https:/],
  ] as const)('is not needed for %s: the settings are refused', ([, settings, words]) => {
    expect(
      apns.settings
        .safeParse(settings)
        .error?.issues.map(({ message }) => message)
        .join('\n'),
    ).toMatch(words);
  });
});
