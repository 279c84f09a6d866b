import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fcm } from '../../../connectors/fcm/fcm.ts';
import type { OpenPushProvider } from '../../../connectors/push/contract.ts';
import type { PushOutcome } from '../../../domain/sends/push.ts';
import { certificate, trust } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { type FcmFate, fcmServer } from '../../harness/sends/fcm-server.ts';
import { pushContext, pushMessage } from '../../harness/sends/push-messages.ts';
import { pushContract } from '../push/contract.ts';

const tls = await certificate();
trust(tls);
const server = await fcmServer(tls);
rememberSecret(server.serviceAccount.private_key!.split('\n')[3]!);

const tokenOf = (number: number) => `c${String(number).padStart(21, '0')}:APA91b${'zqfcmtoken'.repeat(8)}${number}`;
const settingsAt = (endpoint: string, changes: object = {}) => ({
  service_account: server.serviceAccount,
  endpoint,
  ...changes,
});

function openAt(changes: object = {}, options: Parameters<typeof pushContext>[0] = {}): OpenPushProvider {
  return fcm.open(fcm.settings.parse(settingsAt(server.origin, changes)), pushContext(options));
}

pushContract(fcm, async () => ({
  server,
  settings: (origin) => settingsAt(origin),
  target: (number) => ({ platform: 'android', token: tokenOf(number) }),
}));

describe('a message by FCM', () => {
  it('reaches Android, iOS and browsers with all that it says, under a name by FCM', async () => {
    const open = openAt();
    const message = pushMessage({
      subtitle: 'Parcel 7',
      deepLink: 'https://shop.example.com/orders/7',
      attachmentUrl: 'https://shop.example.com/7.png',
      category: 'ORDER',
      parameters: { order: '7', millrace_id: 'theirs' },
      collapseKey: 'orders',
      priority: 'normal',
      sound: 'bell.caf',
    });
    for (const platform of ['android', 'ios', 'web'] as const) {
      const outcome = await open.send({ platform, token: tokenOf(1) }, message);
      expect(outcome).toEqual({
        kind: 'sent',
        providerId: expect.stringMatching(/^projects\/shop-1234\/messages\/0:\d+%[\da-f]{16}$/),
      });
    }
    await open.close();
    const [android, ios, web] = server.sent.slice(-3).map((sent) => sent.message);
    const shared = {
      token: tokenOf(1),
      notification: { title: 'Your order', body: 'It is on its way', image: 'https://shop.example.com/7.png' },
      data: {
        order: '7',
        millrace_id: message.id,
        deep_linking_url: message.deepLink,
        push_attachment: message.attachmentUrl,
        push_category: 'ORDER',
        push_subtitle: 'Parcel 7',
      },
    };
    expect(android).toEqual({
      ...shared,
      android: {
        priority: 'NORMAL',
        ttl: '3600s',
        collapse_key: 'orders',
        notification: { tag: 'orders', sound: 'default' },
      },
    });
    expect(ios).toMatchObject({
      ...shared,
      apns: {
        headers: {
          'apns-priority': '5',
          'apns-collapse-id': 'orders',
          'apns-expiration': expect.stringMatching(/^\d{10}$/),
        },
        payload: {
          aps: { alert: { subtitle: 'Parcel 7' }, sound: 'bell.caf', category: 'ORDER', 'mutable-content': 1 },
        },
      },
    });
    expect(web).toMatchObject({
      ...shared,
      webpush: {
        headers: { TTL: '3600', Urgency: 'normal' },
        fcm_options: { link: 'https://shop.example.com/orders/7' },
      },
    });
  });

  const OUTCOMES: [FcmFate, PushOutcome][] = [
    ['UNREGISTERED', { kind: 'gone', since: null }],
    ['SENDER_ID_MISMATCH', { kind: 'refused', code: 'SENDER_ID_MISMATCH', reason: 'SenderId mismatch' }],
    [
      'THIRD_PARTY_AUTH_ERROR',
      { kind: 'refused', code: 'THIRD_PARTY_AUTH_ERROR', reason: 'Auth error from APNS or Web Push Service' },
    ],
    ['DEVICE_QUOTA', { kind: 'throttled', retryAfterMs: 60_000, scope: 'device' }],
    ['INTERNAL', { kind: 'throttled', retryAfterMs: 10_000, scope: 'device' }],
    ['GATEWAY_TIMEOUT', { kind: 'unknown', reason: 'FCM answered 504 without a word of its own' }],
  ];
  it.for(OUTCOMES)('that meets %s has its outcome, and others go on', async ([fate, outcome]) => {
    const open = openAt();
    server.fate(tokenOf(2), fate);
    await expect(open.send({ platform: 'android', token: tokenOf(2) }, pushMessage())).resolves.toEqual(outcome);
    server.fate(tokenOf(2), null);
    await expect(open.send({ platform: 'android', token: tokenOf(2) }, pushMessage())).resolves.toMatchObject({
      kind: 'sent',
    });
    await open.close();
  });

  it.for([
    ['QUOTA_EXCEEDED', 7_000],
    ['UNAVAILABLE', 30_000],
  ] as const)('that meets %s stops all for as long as FCM asks', async ([fate, ms]) => {
    let now = Date.now();
    const open = openAt({}, { now: () => now });
    server.fate(tokenOf(3), fate);
    const throttled = { kind: 'throttled', scope: 'provider' };
    await expect(open.send({ platform: 'android', token: tokenOf(3) }, pushMessage())).resolves.toEqual({
      ...throttled,
      retryAfterMs: ms,
    });
    server.fate(tokenOf(3), null);
    const before = server.sent.length;
    now += 2_000;
    await expect(open.send({ platform: 'android', token: tokenOf(4) }, pushMessage())).resolves.toEqual({
      ...throttled,
      retryAfterMs: ms - 2_000,
    });
    expect(server.sent.length).toBe(before);
    now += ms;
    await expect(open.send({ platform: 'android', token: tokenOf(4) }, pushMessage())).resolves.toMatchObject({
      kind: 'sent',
    });
    await open.close();
  });

  it('is too big from 4,097 bytes of names and values on, which FCM sees as well', async () => {
    const open = openAt();
    const target = { platform: 'android', token: tokenOf(5) } as const;
    const sized = (bytes: number) => {
      const rest = pushMessage({ title: null, body: '' });
      const own = 'body'.length + 'millrace_id'.length + rest.id.length;
      return { ...rest, body: `é${'x'.repeat(bytes - own - 2)}` };
    };
    await expect(open.send(target, sized(4_096))).resolves.toMatchObject({ kind: 'sent' });
    await expect(open.send(target, sized(4_097))).resolves.toEqual({ kind: 'too_big', bytes: 4_097, maxBytes: 4_096 });
    await open.close();
  });

  it('with a token that FCM cannot read is gone, and a parameter that FCM keeps to itself is left out', async () => {
    const open = openAt();
    await expect(open.send({ platform: 'android', token: 'nonsense' }, pushMessage())).resolves.toEqual({
      kind: 'gone',
      since: null,
    });
    await expect(
      open.send({ platform: 'android', token: tokenOf(6) }, pushMessage({ parameters: { from: 'us' } })),
    ).resolves.toMatchObject({ kind: 'sent' });
    await open.close();
  });

  it('goes out with a new access token when Google takes the old one no more, and one token serves many', async () => {
    const open = openAt();
    const before = server.tokensGiven();
    const sends = () =>
      Promise.all([7, 8, 9].map((number) => open.send({ platform: 'android', token: tokenOf(number) }, pushMessage())));
    expect((await sends()).map(({ kind }) => kind)).toEqual(['sent', 'sent', 'sent']);
    expect(server.tokensGiven() - before).toBe(1);
    server.expireTokens();
    expect((await sends()).map(({ kind }) => kind)).toEqual(['sent', 'sent', 'sent']);
    expect(server.tokensGiven() - before).toBe(2);
    await open.close();
  });
});

describe('a check of FCM', () => {
  const check = async (changes: object = {}) => {
    const open = openAt(changes);
    try {
      return await open.check();
    } finally {
      await open.close();
    }
  };

  it('finds nothing wrong where a message would go out, and sends none', async () => {
    const before = server.sent.length;
    expect(await check()).toEqual([]);
    expect(server.sent.slice(before)).toEqual([expect.objectContaining({ validate_only: true })]);
  });

  it('names a key that Google does not take, a project that the account may not send in, and an address where no FCM is', async () => {
    const another = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const error = (field: string, message: RegExp) => [
      { severity: 'error', field, message: expect.stringMatching(message) as string },
    ];
    expect(await check({ service_account: { ...server.serviceAccount, private_key: another } })).toEqual(
      error('service_account', /^is not taken by Google \(invalid_grant\): .*Invalid JWT Signature/),
    );
    expect(await check({ project_id: 'another-one' })).toEqual(
      error('service_account', /^may not send in project another-one: give the service account the role/),
    );
    expect(await check({ endpoint: 'https://localhost:47' })).toEqual(error('endpoint', /refused the connection/));
  });

  it.for([
    ['text that is no JSON', '{"type": "service_account"', /must be the JSON of the key file/],
    ['a key of the legacy API', 'AAAAlegacy:APA91b', /must be the JSON of the key file/],
    ['the file of an app instead', { project_info: {} }, /type must be service_account/],
    [
      'a key that is none',
      { ...server.serviceAccount, private_key: 'PEM' },
      /private_key cannot be read as an RSA private key/,
    ],
    ['no project', { ...server.serviceAccount, project_id: undefined }, /project_id is missing/],
    [
      'an unencrypted token endpoint',
      { ...server.serviceAccount, token_uri: 'http://oauth2.example.com' },
      /token_uri must be an https/,
    ],
  ] as const)('is not needed for %s: the settings are refused', ([, service_account, words]) => {
    const read = fcm.settings.safeParse({ service_account });
    expect(read.error?.issues.map(({ message }) => message).join('\n')).toMatch(words);
  });

  it('takes the key file as text, too', () => {
    expect(fcm.settings.safeParse({ service_account: JSON.stringify(server.serviceAccount) }).success).toBe(true);
  });
});
