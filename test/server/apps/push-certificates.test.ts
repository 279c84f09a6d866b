import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../../store/apps/apps.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { type CallOptions, webForm } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { newCertificate, sampleCertificate } from './sample-certificates.ts';

const { store, server, world } = useServer();

let app: App;
let good: Awaited<ReturnType<typeof newCertificate>>;

beforeAll(async () => {
  app = await newApp();
  good = await sampleCertificate(0);
});

let apps = 0;
const newApp = (type: 'iOS App' | 'Web App' = 'iOS App') =>
  insertSampleApp(store.db, world.entity.id, `com.example.app${(apps += 1)}`, type);

const call = (method: 'GET' | 'POST' | 'PUT', path: string, options: CallOptions = {}, of = app) =>
  server.call(method, `/api/apps/${of.identifier}/push_certificates${path}`, { token: world.token, ...options });
const add = (body: object, of = app) => call('POST', '', { body }, of);
const refusalOf = async (body: object, of = app) => {
  const answer = await add(body, of);
  expect([answer.status, answer.body.status]).toEqual([400, 'bad_request']);
  return answer.body.messages as { element: string; message: string }[];
};
const lines = (pem: string) => pem.split('\n');

describe('a push certificate', () => {
  test('is added and viewed as the reference shows it, its key only where it alone is viewed', async () => {
    const of = await newApp();
    const added = await add(good, of);
    const { validFromDate, validToDate } = new X509Certificate(good.x509_pem);
    const shown = {
      identifier: expect.stringMatching(/^crt_\w{20}$/),
      x509_pem: good.x509_pem,
      revoked: false,
      not_after: validToDate.toISOString(),
      not_before: validFromDate.toISOString(),
      subject: 'C=FR,O=Example,OU=TEAM123456,CN=Apple Push Services: com.example.shop,UID=com.example.shop',
      pkey_pem: null,
      uid: 'com.example.shop',
    };
    expect([added.status, added.body]).toEqual([200, { success: true, result: shown }]);
    const listed = await call('GET', '', {}, of);
    expect(listed.body).toEqual({ success: true, result: { push_certificates: [added.body.result] } });
    const viewed = (await call('GET', `/${added.body.result.identifier}`, {}, of)).body.result;
    expect(viewed).toEqual({ ...shown, pkey_pem: expect.any(String) });
    expect(new X509Certificate(viewed.x509_pem).checkPrivateKey(createPrivateKey(viewed.pkey_pem))).toBe(true);
  });

  test('is revoked, and taken back', async () => {
    const of = await newApp();
    const { identifier } = (await add(good, of)).body.result;
    for (const revoked of [true, true, false]) {
      const changed = await call('PUT', `/${identifier}`, { body: { revoked } }, of);
      expect(changed.body.result).toMatchObject({ identifier, revoked, pkey_pem: null });
      expect((await call('GET', '', {}, of)).body.result.push_certificates[0].revoked).toBe(revoked);
    }
  });

  test('comes in a web form as well, of whatever line ends', async () => {
    const crlf = (pem: string) => pem.replaceAll('\n', '\r\n');
    const encoded = {
      body: new URLSearchParams({ x509_pem: crlf(good.x509_pem), pkey_pem: crlf(good.pkey_pem) }).toString(),
    };
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const sent of [{ ...encoded, headers }, webForm(Object.entries(good))]) {
      const of = await newApp();
      const added = await call('POST', '', sent, of);
      expect([added.status, added.body.result.x509_pem]).toEqual([200, good.x509_pem]);
      const viewed = await call('GET', `/${added.body.result.identifier}`, {}, of);
      expect(viewed.body.result.pkey_pem).toBe(
        createPrivateKey(good.pkey_pem).export({ type: 'pkcs8', format: 'pem' }),
      );
    }
  });

  test('of which a form that is not encoded lost the + signs is told so', async () => {
    const withPlus = lines(good.x509_pem)
      .map((line) => (line.startsWith('-') ? line : line.replace(/(?<=.{9})\w(?=.)/, '+')))
      .join('\n');
    const body = `x509_pem=${withPlus}&pkey_pem=${encodeURIComponent(good.pkey_pem)}`;
    const refused = await call('POST', '', { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    expect(refused.body.messages[0]).toMatchObject({
      element: 'x509_pem',
      message: expect.stringContaining('--data-urlencode'),
    });
  });

  test('may be in one file with its key, which is not shown with it', async () => {
    const file = `Bag Attributes\n    friendlyName: shop\n${good.x509_pem}Key Attributes: <No Attributes>\n${good.pkey_pem}`;
    const of = await newApp();
    const added = await add({ x509_pem: file, pkey_pem: file }, of);
    expect(added.body.result.x509_pem).toBe(good.x509_pem);
    expect(added.text).not.toContain(lines(good.pkey_pem)[2]);
  });

  test('has a key in any of the forms that OpenSSL writes, and it comes back in PKCS #8', async () => {
    const key = createPrivateKey(good.pkey_pem);
    const pkcs8 = key.export({ type: 'pkcs8', format: 'pem' });
    const of = await newApp();
    const added = await add({ ...good, pkey_pem: key.export({ type: 'pkcs1', format: 'pem' }) }, of);
    expect((await call('GET', `/${added.body.result.identifier}`, {}, of)).body.result.pkey_pem).toBe(pkcs8);
  });

  test('has a subject of any letters, in one line, with or without a UID', async () => {
    const given = await newCertificate({ subject: '/CN=a, b+OU=T\\+x/O=Société' });
    expect((await add(given, await newApp())).body.result).toMatchObject({
      subject: 'O=Société,OU=T\\+x+CN=a\\, b',
      uid: null,
    });
  });
});

describe('a push certificate is refused by name', () => {
  test('where there is none, or several', async () => {
    const other = await sampleCertificate(1);
    const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'];
    for (const x509_pem of ['x', good.pkey_pem, good.x509_pem.replace(end!, ''), begin!.repeat(1_000)]) {
      expect(await refusalOf({ ...good, x509_pem })).toEqual([
        { element: 'x509_pem', severity: 'error', message: expect.stringContaining('must be a certificate in PEM') },
      ]);
    }
    const message = expect.stringContaining('several certificates') as string;
    expect(await refusalOf({ ...good, x509_pem: good.x509_pem + other.x509_pem })).toMatchObject([
      { element: 'x509_pem', message },
    ]);
    const broken = lines(good.x509_pem).toSpliced(3, 1).join('\n');
    expect(await refusalOf({ ...good, x509_pem: broken })).toEqual([
      { element: 'x509_pem', severity: 'error', message: 'cannot be read as a certificate' },
    ]);
  });

  test.each([
    ['no key', () => good.x509_pem, /must be a private key in PEM/],
    [
      'a public key',
      () => String(createPublicKey(good.pkey_pem).export({ type: 'spki', format: 'pem' })),
      /must be a private key in PEM/,
    ],
    ['a broken one', () => lines(good.pkey_pem).toSpliced(3, 1).join('\n'), /cannot be read as a private key/],
    ['a key of OpenSSH', () => good.pkey_pem.replaceAll('PRIVATE', 'OPENSSH PRIVATE'), /must be a private key in PEM/],
    ['two keys', () => good.pkey_pem + good.pkey_pem, /several private keys/],
    ['an encrypted one', () => encrypted('pkcs8'), /is encrypted with a passphrase/],
    ['an encrypted one of old', () => encrypted('pkcs1'), /is encrypted with a passphrase/],
    ['another key', () => newKey('rsa'), /is the key of another certificate/],
    ['a key of another kind', () => newKey('ec'), /is the key of another certificate/],
  ])('where the key is %s', async (_, make, message) => {
    expect(await refusalOf({ ...good, pkey_pem: make() })).toEqual([
      { element: 'pkey_pem', severity: 'error', message: expect.stringMatching(message) },
    ]);
  });

  test('where it has expired', async () => {
    const refused = await refusalOf(await newCertificate({ days: -1 }));
    expect(refused).toMatchObject([
      { element: 'x509_pem', message: expect.stringMatching(/^expired on 20\d\d-.*Z: renew/) },
    ]);
  });

  test('where the app has it already, revoked or not, also of two that come at once', async () => {
    const of = await newApp();
    const answers = await Promise.all([1, 2, 3].map(() => add(good, of)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    const { identifier } = (await call('GET', '', {}, of)).body.result.push_certificates[0];
    await call('PUT', `/${identifier}`, { body: { revoked: true } }, of);
    expect(await refusalOf(good, of)).toMatchObject([
      { element: 'x509_pem', message: 'is a push certificate of this app already' },
    ]);
    expect((await add(good, await newApp())).status).toBe(200);
  });

  test('where the app is no iOS App', async () => {
    const refused = await refusalOf(good, await newApp('Web App'));
    expect(refused).toMatchObject([{ element: 'app_identifier', message: expect.stringContaining('Web App') }]);
  });
});

describe('an unknown one', () => {
  test('is not found, nor is that of another app or of an unknown app', async () => {
    const { identifier } = (await add(good, await newApp())).body.result;
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { revoked: true }],
    ] as const) {
      for (const asked of [identifier, 'crt_none']) {
        const answer = await call(method, `/${asked}`, body ? { body } : {});
        expect([answer.status, answer.body.status, answer.body.error_message]).toEqual([
          404,
          'not_found',
          'Push certificate not found',
        ]);
      }
    }
    const unknown = { ...app, identifier: 'app_none' };
    for (const answer of [
      await call('GET', '', {}, unknown),
      await call('GET', `/${identifier}`, {}, unknown),
      await add(good, unknown),
    ]) {
      expect([answer.status, answer.body.error_message]).toEqual([404, 'App not found']);
    }
  });
});

describe('a private key', () => {
  test('is sealed in the database, in no log and no kept reply, and who read it is written down', async () => {
    const own = await makeWorld(store);
    const of = await insertSampleApp(store.db, own.entity.id, 'com.example.sealed');
    const headers = { 'idempotency-key': 'certificate' };
    const post = () => call('POST', '', { token: own.token, body: good, headers }, of);
    const [added, repeat] = [await post(), await post()];
    expect(repeat.text).toBe(added.text);
    const { identifier } = added.body.result;
    await call('GET', `/${identifier}`, { token: own.token }, of);
    await call('GET', '', { token: own.token }, of);
    const { rows } = await store.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE entity_id = $1 AND subject_kind = 'push_certificate' AND subject = $2 ORDER BY id`,
      [own.entity.id, identifier],
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'read']);
    const { rows: stored } = await store.db.query('SELECT * FROM push_certificates WHERE entity_id = $1', [
      own.entity.id,
    ]);
    const { rows: kept } = await store.db.query('SELECT t::text FROM idempotent_requests t WHERE entity_id = $1', [
      own.entity.id,
    ]);
    const secret = lines(good.pkey_pem)[2]!;
    for (const place of [JSON.stringify(stored), JSON.stringify(kept), JSON.stringify(server.logs)]) {
      expect(place).not.toContain(secret);
      expect(place).not.toBe('[]');
    }
  });
});

function encrypted(type: 'pkcs1' | 'pkcs8'): string {
  return createPrivateKey(good.pkey_pem).export({
    type,
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'secret',
  } as never) as string;
}

function newKey(type: 'rsa' | 'ec'): string {
  const { privateKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}
