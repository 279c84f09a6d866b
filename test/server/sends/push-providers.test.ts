import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { newVapidKeys } from '../../../connectors/web-push/web-push.ts';
import type { App } from '../../../store/apps/apps.ts';
import { rotateDataKey } from '../../../store/core/rotate-keys.ts';
import { openSecrets } from '../../../store/core/secrets.ts';
import { findPushProvider, openStoredProvider } from '../../../store/sends/push-providers.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { certificate, trust } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { apnsServer } from '../../harness/sends/apns-server.ts';
import { fcmServer } from '../../harness/sends/fcm-server.ts';
import { newCertificate } from '../apps/sample-certificates.ts';
import { tokenWith } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer({ server: { allowed: 'localhost' } });

const tls = await certificate();
trust(tls);
const google = await fcmServer(tls);
const pems = await newCertificate({ days: 300 });
const apple = await apnsServer({ ...tls, certificates: [{ pem: pems.x509_pem, topic: 'com.example.shop' }] });
rememberSecret(google.serviceAccount.private_key!.split('\n')[3]!);
const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string;
rememberSecret(key.split('\n')[1]!);

let app: App;
beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.shop', 'iOS App');
});

const call = (method: 'GET' | 'PUT' | 'DELETE', platform: string, body?: object) =>
  server.call(method, `/api/apps/${app.identifier}/push_providers/${platform}`, {
    token: world.token,
    ...(body ? { body } : {}),
  });
const set = async (platform: string, provider: string, settings: object = {}) =>
  (await call('PUT', platform, { provider, settings })).body;
const refusal = async (platform: string, provider: string, settings: object = {}) => {
  const { status, body } = await call('PUT', platform, { provider, settings });
  return [
    status,
    body.messages.map(({ element, message }: { element: string; message: string }) => `${element}: ${message}`),
  ];
};
const check = async (platform?: string) =>
  (
    await server.call('POST', `/api/apps/${app.identifier}/push_check`, {
      token: world.token,
      body: platform === undefined ? {} : { platform },
    })
  ).body.result.platforms;
const rowOf = async (platform: string) =>
  (
    await store.db.query<{ row: string }>(
      'SELECT p::text AS row FROM push_providers p WHERE entity_id = $1 AND platform = $2',
      [world.entity.id, platform],
    )
  ).rows[0]?.row ?? '';

describe("what an app's pushes go through", () => {
  test('is the sandbox until another is set, and again once that is deleted', async () => {
    const shown = { platform: 'android', provider: 'sandbox', settings: {} };
    expect((await call('GET', 'android')).body.result).toEqual({ ...shown, updated_at: null });
    await set('android', 'fcm', { service_account: google.serviceAccount, endpoint: google.origin });
    expect((await call('DELETE', 'android')).body).toEqual({ success: true });
    expect((await call('GET', 'android')).body.result).toEqual({ ...shown, updated_at: expect.any(String) });
    expect(await rowOf('android')).not.toContain(google.project);
  });

  test('is another address only by who may decide about personal data: tokens and texts go there', async () => {
    const token = await tokenWith(store, world, ['push_certificates_manage']);
    const put = (settings: object) =>
      server.call('PUT', `/api/apps/${app.identifier}/push_providers/android`, {
        token,
        body: { provider: 'fcm', settings: { service_account: google.serviceAccount, ...settings } },
      });
    expect(await put({ endpoint: google.origin })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('gdpr_data_manage') as string },
    });
    expect((await put({})).status).toBe(200);
    await call('DELETE', 'android');
  });

  test('keeps its secrets sealed, never returns them, and keeps them where they are left out', async () => {
    const settings = { service_account: google.serviceAccount, endpoint: google.origin };
    const shown = { platform: 'android', provider: 'fcm', updated_at: expect.any(String) };
    const set1 = await set('android', 'fcm', settings);
    expect(set1.result).toEqual({ ...shown, settings: { endpoint: google.origin, service_account: { set: true } } });
    const set2 = await set('android', 'fcm', {
      endpoint: google.origin,
      service_account: { set: true },
      project_id: 'another-one',
    });
    expect(set2.result.settings).toEqual({
      endpoint: google.origin,
      project_id: 'another-one',
      service_account: { set: true },
    });
    const set3 = await set('android', 'fcm', { endpoint: google.origin });
    expect(set3.result.settings).toEqual({ endpoint: google.origin, service_account: { set: true } });
    const stored = (await findPushProvider(store.db, world.entity.id, app.id, 'android'))!;
    expect(openStoredProvider(store.secrets, world.entity.id, app.id, stored).secretSettings).toEqual({
      service_account: google.serviceAccount,
    });
    const row = await rowOf('android');
    expect(row).not.toMatch(/PRIVATE KEY|service_account@|firebase-adminsdk/);
    // To another address a stored key does not go.
    expect(await refusal('android', 'fcm', { endpoint: 'https://elsewhere.example.com' })).toEqual([
      400,
      [expect.stringMatching(/^settings\.service_account: must be given anew, since endpoint changed/)],
    ]);
  });

  test('of Web Push has a key pair that Millrace makes once, and keeps when another provider is chosen', async () => {
    const subject = 'mailto:push@example.com';
    const first = (await set('web', 'web_push', { subject })).result;
    expect(first.settings).toEqual({
      subject,
      vapid_private_key: { set: true },
      vapid_public_key: expect.stringMatching(/^B[\w-]{86}$/),
    });
    await set('web', 'sandbox');
    expect((await call('GET', 'web')).body.result.settings).toEqual({});
    await call('DELETE', 'web');
    expect(
      (await set('web', 'web_push', { subject: 'https://shop.example.com' })).result.settings.vapid_public_key,
    ).toBe(first.settings.vapid_public_key);
    const own = newVapidKeys();
    rememberSecret(own.vapid_private_key);
    expect((await set('web', 'web_push', { subject, ...own })).result.settings.vapid_public_key).toBe(
      own.vapid_public_key,
    );
    expect(
      (await set('web', 'web_push', (await call('GET', 'web')).body.result.settings)).result.settings.vapid_public_key,
    ).toBe(own.vapid_public_key);
    expect(await rowOf('web')).not.toContain(own.vapid_private_key);
    expect(await refusal('web', 'web_push', { subject, vapid_public_key: first.settings.vapid_public_key })).toEqual([
      400,
      ['settings.vapid_private_key: vapid_private_key must be a text'],
    ]);
  });

  test('is refused by name where it does not fit', async () => {
    expect(await refusal('android', 'apns')).toEqual([
      400,
      ['provider: must be one of sandbox, fcm: apns sends nothing to android'],
    ]);
    expect(await refusal('ios', 'apn')).toEqual([400, [expect.stringMatching(/^provider: .*apns/)]]);
    expect(await refusal('ios', 'apns', { key })).toEqual([
      400,
      ['settings.key_id: key_id is needed with key', 'settings.team_id: team_id is needed with key'],
    ]);
    expect(await refusal('android', 'fcm', { service_account: '{' })).toEqual([
      400,
      [expect.stringMatching(/^settings\.service_account: /)],
    ]);
    expect(await refusal('android', 'fcm', { server_key: 'AAAA' })).toEqual([
      400,
      [expect.stringMatching(/^settings\.server_key: /)],
    ]);
    const { status, body } = await call('GET', 'windows');
    expect([status, body.messages[0]]).toMatchObject([
      400,
      { element: 'platform', message: 'must be one of ios, android, web' },
    ]);
  });
});

describe("a check of an app's pushes", () => {
  const error = (field: string, message: RegExp) => ({
    severity: 'error',
    field,
    message: expect.stringMatching(message),
  });

  test('finds nothing wrong where each provider takes what it is shown, and leaves a line in the audit log', async () => {
    await set('android', 'fcm', { service_account: google.serviceAccount, endpoint: google.origin });
    await set('ios', 'apns', { endpoint: apple.origin });
    await set('web', 'web_push', { subject: 'mailto:push@example.com' });
    const certificates = `/api/apps/${app.identifier}/push_certificates`;
    const body = await newCertificate({ subject: '/UID=com.example.shop/CN=first' });
    const { identifier: first } = (await server.call('POST', certificates, { token: world.token, body })).body.result;
    await server.call('POST', certificates, { token: world.token, body: pems });
    // The first that is not revoked is the current one.
    expect(await check('ios')).toMatchObject([
      { ok: false, findings: [{}, error('push_certificates', /Apple does not take/)] },
    ]);
    await server.call('PUT', `${certificates}/${first}`, { token: world.token, body: { revoked: true } });
    expect(await check()).toEqual([
      { platform: 'ios', provider: 'apns', ok: true, findings: [] },
      { platform: 'android', provider: 'fcm', ok: true, findings: [] },
      { platform: 'web', provider: 'web_push', ok: true, findings: [] },
    ]);
    expect([google.sent.every((sent) => sent.validate_only), apple.sent]).toEqual([true, []]);
    const { rows } = await store.db.query(
      `SELECT subject, details FROM audit_log WHERE entity_id = $1 AND subject_kind = 'push_provider' AND action = 'check'`,
      [world.entity.id],
    );
    expect(rows.at(-1)).toEqual({
      subject: app.identifier,
      details: { ios: 'apns ok', android: 'fcm ok', web: 'web_push ok' },
    });
  });

  test('names what is wrong, and quotes no secret', async () => {
    google.permit(false);
    expect(await check('android')).toEqual([
      {
        platform: 'android',
        provider: 'fcm',
        ok: false,
        findings: [error('service_account', /may not send in project shop-1234: .*PERMISSION_DENIED/)],
      },
    ]);
    google.permit(true);
    await set('ios', 'apns', { endpoint: apple.origin, key, key_id: 'ABCDE12345', team_id: 'TEAM123456' });
    const [ios] = await check('ios');
    expect(ios).toMatchObject({ ok: false, findings: [error('key', /Apple does not take the key/)] });
    await set('ios', 'apns', { endpoint: apple.origin, topic: 'com.example.other', key: null });
    expect((await check('ios'))[0].findings).toEqual([
      error('topic', /is com\.example\.other, and .* is for com\.example\.shop/),
    ]);
    await set('ios', 'apns', { endpoint: 'https://127.0.0.2:9' });
    expect((await check('ios'))[0].findings).toEqual([error('endpoint', /not at a public address/)]);
  });

  test('says that the sandbox sends nothing, and that keys of the legacy API no longer work', async () => {
    await call('DELETE', 'android');
    await server.call('PUT', `/api/apps/${app.identifier}`, {
      token: world.token,
      body: { name: 'Shop', package_name: 'com.example.shop', app_type: 'iOS App', fcm_key: 'AAAA:legacy' },
    });
    expect(await check('android')).toEqual([
      {
        platform: 'android',
        provider: 'sandbox',
        ok: true,
        findings: [
          { severity: 'warning', field: 'provider', message: expect.stringMatching(/sends nothing/) },
          {
            severity: 'warning',
            field: 'fcm_key',
            message: expect.stringMatching(/legacy API, which Google has shut down/),
          },
        ],
      },
    ]);
  });
});

describe('the secrets of push providers', () => {
  test('are sealed anew when the data key is rotated', async () => {
    await set('web', 'web_push', { subject: 'mailto:push@example.com' });
    await set('android', 'fcm', { service_account: google.serviceAccount, endpoint: google.origin });
    const before = await Promise.all(['web', 'android'].map(rowOf));
    await rotateDataKey(store, store.secretKey);
    const secrets = await openSecrets(store.db, store.files, store.secretKey);
    expect(await Promise.all(['web', 'android'].map(rowOf))).not.toEqual(before);
    const [web, android] = await Promise.all(
      (['web', 'android'] as const).map((platform) => findPushProvider(store.db, world.entity.id, app.id, platform)),
    );
    expect(openStoredProvider(secrets, world.entity.id, app.id, web!).vapidKeys?.publicKey).toBe(web!.vapidPublicKey);
    expect(openStoredProvider(secrets, world.entity.id, app.id, android!).secretSettings).toEqual({
      service_account: google.serviceAccount,
    });
  });
});
