import { once } from 'node:events';
import { type AddressInfo, createConnection } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { networkOf } from '../../../server/http/upload-budget.ts';
import { WriteKeys } from '../../../server/tracking/write-keys.ts';
import type { TestStore } from '../../harness/core/database.ts';
import { waitFor } from '../../harness/core/wait.ts';
import type { World } from '../../harness/core/world.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../tracking/sample-tracking.ts';
import { type TestServer, testServer, webForm } from './test-server.ts';
import { useServer } from './use-server.ts';

/** More than a body may have without credentials. */
const FILLING = 'x'.repeat(70_000);
const FEED = '/api/attribute_values';

let store: TestStore;
let world: World;
let server: TestServer;
let app: KeyedSampleApp;

const used = useServer();
beforeAll(async () => {
  ({ store, world, server } = used);
  app = await insertKeyedApp(store, world);
});

describe('a body of more than 64 KiB is not parsed before its credentials hold', () => {
  const json = { 'content-type': 'application/json' };
  const send = async (path: string, body: string | Buffer, headers: Record<string, string> = json) => {
    const { status, body: answer } = await server.call('POST', path, { body, headers });
    return [status, answer.error_message];
  };
  const sor = () => `"sor":"${world.sor.identifier}","api_key" : "${world.apiKey}"`;
  const notJson = 400;

  test('of a feed', async () => {
    const inside = expect.stringContaining('within its first or last 64 KiB');
    expect(await send(FEED, `{"customer_attribute_values":"${FILLING}`)).toEqual([413, inside]);
    expect(await send(FEED, `{"api_key":"${world.apiKey}","customer_attribute_values":"${FILLING}`)).toEqual([
      413,
      inside,
    ]);
    const wrong = `"sor":"${world.sor.identifier}","api_key":"Wrong-key-1"`;
    expect(await send(FEED, `{${wrong},"customer_attribute_values":"${FILLING}`)).toEqual([
      401,
      'Invalid sor_id or api_key',
    ]);
    for (const body of [`{${sor()},"v":"${FILLING}`, `{"v":"${FILLING}",${sor()}`])
      expect((await send(FEED, body))[0]).toBe(notJson);
    const hidden = `{"v":"${FILLING}",${sor()},"w":"${FILLING}`;
    expect(await send(FEED, hidden)).toEqual([413, inside]);
    expect(await send(FEED, `{"customer_attribute_values":"${'x'.repeat(10_000)}`)).toEqual([
      401,
      'Invalid sor_id or api_key',
    ]);
  });

  test('of a large feed, which shows its key at its beginning', async () => {
    const large = 'x'.repeat(300_000);
    const { identifier } = world.sor;
    expect(await send(FEED, `{"v":"${large}","sor":"${identifier}","api_key":"${world.apiKey}"`)).toEqual([
      413,
      'A body of more than 256 KiB needs api_key within its first 64 KiB',
    ]);
    expect(await send(FEED, `{"api_key":"Wrong-key-1","v":"${large}","sor":"${identifier}"`)).toEqual([
      401,
      'Invalid sor_id or api_key',
    ]);
    expect((await send(FEED, `{"api_key":"${world.apiKey}","v":"${large}","sor":"${identifier}"`))[0]).toBe(notJson);
    expect((await send(FEED, `{"api_key":"${world.apiKey}","v":"${large}","sor":"sor_of_nobody"`))[0]).toBe(401);
  });

  test('of a feed as a web form', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send(FEED, `customer_attribute_values=${FILLING}`, form))[0]).toBe(413);
    expect(
      (await send(FEED, `sor=${world.sor.identifier}&api_key=wrong&customer_attribute_values=${FILLING}`, form))[0],
    ).toBe(401);
    const good = `sor=${world.sor.identifier}&api_key=${world.apiKey}&customer_attribute_values=${FILLING}`;
    expect((await send(FEED, good, form))[0]).toBe(notJson);
  });

  test('of a feed as a form of parts', async () => {
    const parts = async (...pairs: [string, string][]) => {
      const { body, headers } = webForm(pairs);
      return send(FEED, body, headers);
    };
    const id: [string, string] = ['sor', world.sor.identifier];
    const key: [string, string] = ['api_key', world.apiKey];
    const values: [string, string] = ['customer_attribute_values', FILLING];
    expect(await parts(values, id, key)).toEqual([413, expect.stringContaining('before other fields')]);
    expect((await parts(id, ['api_key', 'wrong'], values))[0]).toBe(401);
    expect((await parts(id, key, values))[0]).toBe(notJson);
  });

  test('of SDKs, also unzipped', async () => {
    const inside = expect.stringContaining('within its first or last 64 KiB');
    for (const [body, expected] of [
      [`{"batch":"${FILLING}`, [413, inside]],
      [`{"writeKey":"Unknown-1","batch":"${FILLING}`, [401, 'Invalid or missing write key']],
    ] as const) {
      expect(await send('/v1/batch', body)).toEqual(expected);
      expect(await send('/v1/batch', gzipSync(body), { ...json, 'content-encoding': 'gzip' })).toEqual(expected);
    }
    expect((await send('/v1/batch', `{"batch":"${FILLING}","writeKey":"${app.apiKey}"`))[0]).toBe(notJson);
    expect(await send('/v1/batch', '{', basic('Unknown-2'))).toEqual([401, 'Invalid or missing write key']);
    expect((await send('/v1/batch', `{"batch":"${FILLING}`, basic(app.apiKey)))[0]).toBe(notJson);
  });

  test('of a login, which never has that much', async () => {
    expect((await send('/api/login', `{"email":"${FILLING}`))[0]).toBe(413);
    const { body, headers } = webForm([['email', FILLING]]);
    expect((await send('/api/login', body, headers))[0]).toBe(413);
  });
});

describe('an address that shows unknown write keys', () => {
  test('is refused after a while, but for keys that are known', async () => {
    const apps = new WriteKeys(store.db, store.secrets, 3);
    const at = '192.0.2.7';
    const [known, other] = [app.apiKey, (await insertKeyedApp(store, world)).apiKey];
    expect(await apps.find(known, '192.0.2.8')).not.toBeNull();
    for (const key of ['Unknown-1', 'Unknown-1', 'Unknown-2']) expect(await apps.find(key, at)).toBeNull();
    for (const key of ['Unknown-1', 'Unknown-3', other])
      await expect(apps.find(key, at)).rejects.toMatchObject({ http: 429 });
    expect(await apps.find(known, at)).not.toBeNull();
    expect(await apps.find(other, '192.0.2.8')).not.toBeNull();
  });

  test('is one with all addresses of its network', () => {
    expect(new Set(['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:DB8::'].map(networkOf)).size).toBe(1);
    expect(networkOf('2001:db8:0:1::1')).not.toBe(networkOf('2001:db8::1'));
    expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(networkOf('192.0.2.1')).not.toBe(networkOf('192.0.2.2'));
  });
});

describe('a request that takes its time', () => {
  test('is refused while its credentials are still to come, and not once they hold', async () => {
    const slow = await testServer(store, { settings: { limits: { unverifiedMs: 3_000 } } });
    await slow.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = slow.app.server.address() as AddressInfo;
    const open = (path: string, type: string, sent: string | Buffer, headers: string[] = []) => {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {});
      socket.write(
        [`POST ${path} HTTP/1.1`, 'Host: x', `Content-Type: ${type}`, 'Content-Length: 2000', ...headers, '', ''].join(
          '\r\n',
        ),
      );
      socket.write(sent);
      return socket;
    };
    const { body, headers } = webForm([
      ['sor_id', world.sor.identifier],
      ['api_key', world.apiKey],
      ['file', Buffer.alloc(400, 'a')],
    ]);
    const verified = [
      open('/api/attribute_values/batch_import', headers['content-type']!, body.subarray(0, body.length - 100)),
      open('/api/apps', 'application/json', '{', [`Authorization: Token ${world.token}`]),
      open('/v1/track', 'application/json', '{', [`Authorization: ${basic(app.apiKey)['authorization']}`]),
    ];
    const answered: unknown[] = [];
    for (const socket of verified) socket.on('data', (data: Buffer) => answered.push(String(data)));
    const unverified = [FEED, '/v1/track', '/api/login'].map((path) => open(path, 'application/json', '{'));
    const late = await Promise.all(unverified.map(async (socket) => String((await once(socket, 'data'))[0])));
    for (const answer of late) expect(answer).toMatch(/^HTTP\/1.1 408 [^]*No credentials came for 3 s/);
    for (const socket of [...verified, ...unverified]) socket.destroy();
    expect(answered).toEqual([]);
  });
});

describe('bodies whose credentials stand in them', () => {
  const KIB = 1024;

  test('end with their refusal: what still comes of a refused body is not received', async () => {
    const ending = await testServer(store);
    await ending.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = ending.app.server.address() as AddressInfo;
    const bodies: [string, string][] = [
      ['/v1/batch', `{"batch":[${'1,'.repeat(255 * KIB)}`],
      [FEED, `{"v":"${FILLING.repeat(4)}`],
      ['/api/login', `{"v":"${FILLING}`],
    ];
    for (const [path, sent] of bodies) {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {});
      const closed = once(socket, 'close');
      // The rest never comes.
      socket.write(
        [
          `POST ${path} HTTP/1.1`,
          'Host: x',
          'Content-Type: application/json',
          `Content-Length: ${sent.length + 1_000}`,
          '',
          sent,
        ].join('\r\n'),
      );
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(String(answer)).toMatch(/^HTTP\/1.1 4(?!08)\d\d /);
      socket.resume();
      await closed;
    }
  });

  test('are bounded together until these hold, and given back when they end', async () => {
    const limits = { unverifiedBytes: 100 * KIB, unverifiedBytesPerAddress: 100 * KIB };
    const bounded = await testServer(store, { settings: { limits } });
    await bounded.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = bounded.app.server.address() as AddressInfo;
    const open = (sent: Buffer, length: string) => {
      const socket = createConnection(port, '127.0.0.1').on('error', () => {});
      socket.write(
        ['POST /api/attribute_values HTTP/1.1', 'Host: x', 'Content-Type: application/json', length, '', ''].join(
          '\r\n',
        ),
      );
      socket.write(sent);
      return socket;
    };
    const answerOf = async (socket: ReturnType<typeof open>) => String((await once(socket, 'data'))[0]);
    const small = await Promise.all(
      Array.from({ length: 20 }, () =>
        answerOf(open(Buffer.from(`{"v":"${'x'.repeat(7 * KIB)}"}`.padEnd(8 * KIB)), `Content-Length: ${8 * KIB}`)),
      ),
    );
    for (const answer of small) expect(answer).toMatch(/^HTTP\/1.1 400 /); // read, and not counted
    const held = [
      open(Buffer.alloc(60 * KIB, '"'), 'Content-Length: 70000'),
      open(Buffer.from('F000\r\n'), 'Transfer-Encoding: chunked'),
    ];
    held[1]!.write(Buffer.alloc(60 * KIB, '"'));
    const refused = await Promise.race(held.map(answerOf));
    expect(refused).toMatch(/^HTTP\/1.1 429 [^]*retry-after: 1\r\n[^]*Too much waits for its credentials/i);
    for (const socket of held) socket.destroy();
    const good = JSON.stringify({ sor: world.sor.identifier, api_key: world.apiKey, v: 'x'.repeat(60 * KIB) });
    await waitFor('what was taken is given back', async () => {
      const answer = await answerOf(open(Buffer.from(good), `Content-Length: ${good.length}`));
      return /^HTTP\/1.1 400 /.test(answer);
    });
  });
});
