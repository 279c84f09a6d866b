import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { insertTokenKey, signUserToken, type TokenKey } from '../../harness/apps/user-tokens.ts';
import { codeOf, documented } from '../../harness/core/documented.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../tracking/sample-tracking.ts';

/** The keys of an app's server, and what is asked for in the name of the users for whom it vouches. */

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const { store, server, world } = useServer({ server: { startJob: async () => {} } });
let people = 10;
let ada: string;
let app: KeyedSampleApp;

const keysOf = (of = app) => `/api/apps/${of.app.identifier}/user_token_keys`;
const call = (method: 'GET' | 'POST' | 'DELETE', path: string, own: World = world) =>
  server.call(method, path, { token: own.token });
const makeKey = async () => {
  const {
    body: { result },
  } = await call('POST', keysOf());
  rememberSecret(result.secret);
  return result as TokenKey & { created_at: string };
};
const post = (path: string, body: object) =>
  server.call('POST', path, { body: JSON.stringify(body), headers: basic(app.apiKey) });
const ask = (userToken: unknown, more: object = {}) =>
  post('/v1/privacy', { type: 'access', deviceId: 'phone', userToken, ...more });
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
const expectUser = async (token: string, userId = ada) => {
  expect((await ask(token)).body).toMatchObject({ success: true, result: { covers: 'user' } });
  const [newest] = (await call('GET', `/api/apps/${app.app.identifier}/privacy_requests`)).body.result.items;
  expect(newest).toMatchObject({ device_id: 'phone', user_id: userId });
};
const expectRefused = async (token: unknown, message: string) => {
  const { status, body } = await ask(token);
  expect([status, body.status, body.message]).toEqual([401, 'unauthorized', `userToken: ${message}`]);
  expect(body.messages).toEqual([{ element: 'userToken', severity: 'error', message }]);
};

beforeEach(async () => {
  app = await insertKeyedApp(store, world);
  ada = personId((people += 1));
  await post('/v1/track', { event: 'Seen', anonymousId: 'phone', userId: personId(2) });
});

describe('a key', () => {
  test('is random, is listed with its secret, and there are two of an app at most', async () => {
    const first = await makeKey();
    expect(first).toEqual({
      identifier: expect.stringMatching(/^utk_/),
      secret: expect.stringMatching(/^[\w-]{43}$/),
      created_at: expect.any(String),
    });
    const answers = await Promise.all([call('POST', keysOf()), call('POST', keysOf())]);
    for (const { body } of answers) if (body.result) rememberSecret(body.result.secret);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const {
      body: { result },
    } = await call('GET', keysOf());
    expect(result.user_token_keys).toEqual([first, answers.find(({ status }) => status === 200)!.body.result]);
    expect((await call('DELETE', `${keysOf()}/${first.identifier}`)).body).toEqual({ success: true });
    expect((await call('DELETE', `${keysOf()}/${first.identifier}`)).body.message).toBe('User token key not found');
    const third = await makeKey();
    const { rows } = await store.db.query(
      `SELECT action, subject_kind FROM audit_log WHERE entity_id = $1 AND subject = ANY ($2) ORDER BY id`,
      [world.entity.id, [first.identifier, third.identifier, app.app.identifier]],
    );
    expect(rows).toEqual([
      { action: 'create', subject_kind: 'user_token_key' },
      { action: 'read', subject_kind: 'app' },
      { action: 'delete', subject_kind: 'user_token_key' },
      { action: 'create', subject_kind: 'user_token_key' },
    ]);
  });

  test('is sealed, and opened to those with gdpr_data_manage alone', async () => {
    const { secret } = await makeKey();
    const { rows } = await store.db.query('SELECT secret FROM app_token_keys WHERE app_id = $1', [app.app.id]);
    expect(rows).toEqual([{ secret: expect.not.stringContaining(secret) }]);
    const others = await makeWorld(store, { rights: ['apps', 'apps_manage', 'api_keys_manage'], admin: false });
    for (const method of ['GET', 'POST'] as const) {
      const { status, body } = await call(method, keysOf(), others);
      expect([status, body.message]).toEqual([403, 'This needs the right gdpr_data_manage']);
    }
  });

  test("another app's can neither be seen nor deleted", async () => {
    const key = await makeKey();
    const another = await insertKeyedApp(store, world);
    expect((await call('GET', keysOf(another))).body.result).toEqual({ user_token_keys: [] });
    expect((await call('DELETE', `${keysOf(another)}/${key.identifier}`)).status).toBe(404);
    expect((await call('GET', keysOf(), await makeWorld(store))).body.message).toBe('App not found');
  });
});

describe('a user token', () => {
  let key: TokenKey;
  const sign = (claims: JWTPayload = {}, header: Partial<JWTHeaderParameters> = {}) =>
    signUserToken(key, { sub: ada, ...claims }, header);

  beforeEach(async () => {
    key = await insertTokenKey(store, world.entity.id, app.app.id);
  });

  test.each([
    ['of five minutes', () => sign()],
    ['of an hour, by a clock that is ahead a little', () => sign({ exp: inSeconds(3_630) })],
    ['that ended just now, by a clock that is behind a little', () => sign({ exp: inSeconds(-20) })],
    ['with more than is needed', () => sign({ iss: 'shop', aud: 'x' })],
  ])('%s vouches for its user, whoever was last seen on the device', async (_, make) => {
    await expectUser(await make());
  });

  test('may name its key, and has to name the right one', async () => {
    await expectUser(await sign({}, { kid: key.identifier }));
    await expectRefused(await sign({}, { kid: 'utk_unknown' }), 'is signed by no key that the app has now');
  });

  test('is taken by both keys while they are changed, and by a deleted one no more', async () => {
    const next = await insertTokenKey(store, world.entity.id, app.app.id);
    const [before, after] = [await sign({ sub: personId(3) }), await signUserToken(next, { sub: personId(4) })];
    await expectUser(before, personId(3));
    await expectUser(after, personId(4));
    await call('DELETE', `${keysOf()}/${key.identifier}`);
    await expectRefused(before, 'is signed by no key that the app has now');
    expect((await ask(after)).status).toBe(200);
  });

  test.each([
    [
      'that has expired',
      () => sign({ exp: inSeconds(-120) }),
      "has expired (exp): the app's server has to make a new one",
    ],
    ['for longer than an hour', () => sign({ exp: inSeconds(3_700) }), 'its exp must be at most an hour away'],
    ['for a later time', () => sign({ nbf: inSeconds(120) }), 'its nbf is missing, or not as it must be'],
    ['without an end', () => sign({ exp: undefined }), 'its exp is missing, or not as it must be'],
    ['with an end that is none', () => sign({ exp: 'soon' as never }), 'its exp is missing, or not as it must be'],
    ['without a user', () => sign({ sub: undefined }), 'its sub is missing, or not as it must be'],
    ['of a user that is a number', () => sign({ sub: 7 as never }), 'its sub must be a user id: it is no text'],
    ['of nobody', () => sign({ sub: '' }), 'its sub must be a user id: the customer id is empty'],
    [
      'of another key',
      () => signUserToken({ secret: 'x'.repeat(43) }, { sub: ada }),
      'is signed by no key that the app has now',
    ],
    ['signed in another way', () => sign({}, { alg: 'HS512' }), 'must be signed with HS256'],
    ['that nobody signed', () => unsigned(), 'must be signed with HS256'],
    ['that is too long', () => sign({ more: 'x'.repeat(8_192) }), 'must have at most 8192 characters'],
    ['that is none', () => 'a.b.c', 'must be a JWT in its compact form'],
    ['that is empty', () => '', 'must be a JWT in its compact form'],
    ['that is no text', () => ({ sub: ada }), 'must be a text, a JWT'],
  ])('%s is refused, and nothing is asked for', async (_, make, message) => {
    const token = await make();
    await expectRefused(token, message);
    expect((await call('GET', `/api/apps/${app.app.identifier}/privacy_requests`)).body.result.items).toEqual([]);
  });

  test("of another app's server is refused", async () => {
    const another = await insertKeyedApp(store, world);
    const foreign = await insertTokenKey(store, world.entity.id, another.app.id);
    await expectRefused(await signUserToken(foreign, { sub: ada }), 'is signed by no key that the app has now');
  });

  test('has to name whom userId names, where that stands beside it', async () => {
    const token = await sign();
    const { status, body } = await ask(token, { userId: personId(2) });
    expect([status, body.message]).toEqual([400, 'userId: is not whom the userToken names as sub']);
    expect((await ask(token, { userId: ada })).body.result).toMatchObject({ covers: 'user' });
  });

  test.each([
    ['js', 'Signing: Node'],
    ['python', 'Signing: Python'],
  ])('made as the docs tell is taken: %s', async (language, chapter) => {
    const [code = ''] = codeOf(await documented('user-tokens.md'), language, chapter);
    const [program, args] =
      language === 'js'
        ? ([process.execPath, ['--input-type=module', '-e', code]] as const)
        : (['python3', ['-c', code]] as const);
    const env = { ...process.env, MILLRACE_USER_TOKEN_SECRET: key.secret };
    const token = (await execute(program, args, { cwd: ROOT, env })).stdout.trim();
    rememberSecret(token);
    await expectUser(token, 'ada@example.com');
  });
});

/** As whoever hopes that the token itself says how it is checked. */
function unsigned(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ sub: ada, exp: inSeconds(300) })}.`;
}
