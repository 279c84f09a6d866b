import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bodyFlag, text } from '../../../api/core/input.ts';
import { operation } from '../../../api/core/operation.ts';
import { bare, streamedList } from '../../../server/http/reply.ts';
import { type Route, route } from '../../../server/http/route.ts';
import { healthRoutes } from '../../../server/jobs/health.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { testServer, webForm } from './test-server.ts';
import { useServer } from './use-server.ts';

const SHARED = { summary: 'A test', tag: 'Test' };
const SECRET = 'zqsecret-in-an-error';

const routes: Route[] = [
  route(
    operation({
      ...SHARED,
      id: 'echo',
      method: 'POST',
      path: '/echo',
      auth: 'none',
      body: z.object({ name: text(), inner: z.object({ count: z.number() }).optional(), flag: bodyFlag.optional() }),
      result: z.unknown(),
    }),
    async ({ body }) => body,
  ),
  route(
    operation({
      ...SHARED,
      id: 'param',
      method: 'GET',
      path: '/param/:id',
      auth: 'none',
      params: z.object({ id: text() }),
      result: z.string(),
    }),
    async ({ params }) => params.id,
  ),
  route(
    operation({ ...SHARED, id: 'version', method: 'GET', path: '/version', auth: 'none', result: z.int() }),
    async ({ version }) => version,
  ),
  route(operation({ ...SHARED, id: 'broken', method: 'GET', path: '/broken', auth: 'none' }), async () => {
    throw new Error(SECRET);
  }),
  route(operation({ ...SHARED, id: 'streamed', method: 'GET', path: '/streamed', auth: 'none' }), async () =>
    streamedList(
      (async function* () {
        yield await turns(3);
      })(),
    ),
  ),
  route(operation({ ...SHARED, id: 'bare', method: 'GET', path: '/bare', auth: 'none' }), async () =>
    bare({ plain: true }, 202),
  ),
  route(
    operation({ ...SHARED, id: 'mine', method: 'GET', path: '/mine', result: z.int() }),
    async ({ caller }) => caller.entityId,
  ),
  route(
    operation({
      ...SHARED,
      id: 'rightful',
      method: 'GET',
      path: '/rightful',
      right: ['sor_manage', 'usage_analytics_view'],
      result: z.boolean(),
    }),
    async () => true,
  ),
  ...healthRoutes,
];

const { store, server, world } = useServer({ world: { rights: ['sor_manage'] }, server: { routes } });

const JSON_BODY = { 'content-type': 'application/json' };

describe('a body', () => {
  test.each([['application/json'], ['application/json; charset=utf-8'], ['application/vnd.api+json']])(
    'is read as %s',
    async (type) => {
      const { body } = await server.call('POST', '/echo', { body: '{"name":"é"}', headers: { 'content-type': type } });
      expect(body).toEqual({ success: true, result: { name: 'é' } });
    },
  );

  test('may be a web form', async () => {
    const asked = { body: 'name=a+b&flag=true', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expect((await server.call('POST', '/echo', asked)).body.result).toEqual({ name: 'a b', flag: true });
    expect(
      (
        await server.call(
          'POST',
          '/echo',
          webForm([
            ['name', 'x'],
            ['flag', '0'],
          ]),
        )
      ).body.result,
    ).toEqual({ name: 'x', flag: false });
  });

  test('that is empty counts as none, and the missing field is named', async () => {
    const { status, body } = await server.call('POST', '/echo', { headers: JSON_BODY });
    expect(status).toBe(400);
    expect(body).toEqual({
      success: false,
      status: 'bad_request',
      error_message: 'name: is required',
      message: 'name: is required',
      messages: [{ element: 'name', severity: 'error', message: 'is required' }],
      errors: ['name: is required'],
    });
  });

  test.each([
    [{ name: 5 }, 'name', 'must be a string'],
    [{ name: '' }, 'name', 'must not be empty'],
    [{ name: 'a\u0000' }, 'name', 'must not hold NUL or half a surrogate pair'],
    [{ name: 'a\ud800' }, 'name', 'must not hold NUL or half a surrogate pair'],
    [{ name: 'x'.repeat(257) }, 'name', 'must have at most 256 characters'],
    [{ name: 'a', inner: { count: 'x' } }, 'inner.count', 'must be a number'],
    [{ name: 'a', flag: 'maybe' }, 'flag', 'must be true or false'],
    [[1], 'body', 'must be an object'],
  ])('with something wrong is refused by the name of the field: %j', async (sent, element, message) => {
    const { status, body } = await server.call('POST', '/echo', { body: JSON.stringify(sent), headers: JSON_BODY });
    expect(status).toBe(400);
    expect(body.messages).toEqual([{ element, severity: 'error', message }]);
  });

  test('may have unknown fields and members named like prototypes', async () => {
    const sent = '{"name":"a","constructor":{"prototype":{}},"other":1}';
    expect((await server.call('POST', '/echo', { body: sent, headers: JSON_BODY })).body.result).toEqual({ name: 'a' });
    const polluting = await server.call('POST', '/echo', {
      body: '{"name":"a","__proto__":{"polluted":1}}',
      headers: JSON_BODY,
    });
    expect([polluting.status, polluting.body.error_message]).toEqual([
      400,
      'body: must not have a member named __proto__',
    ]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('of 256 astral characters is not too long', async () => {
    const name = '😀'.repeat(256);
    expect((await server.call('POST', '/echo', { body: { name } })).body.result).toEqual({ name });
  });

  test.each([
    ['{"a":x}', 400, 'body: is not valid JSON at position 5 (line 1, column 6)'],
    ['[['.repeat(40), 400, 'body: must not nest deeper than 64 levels'],
    [`{"name":"${'['.repeat(500)}"}`, 400, 'name: must have at most 256 characters'],
    [Buffer.from([0x22, 0xff, 0x22]), 400, 'body: must be UTF-8'],
    [`"${'x'.repeat(11 * 1024 ** 2)}"`, 413, 'The body is too large'],
  ])('that cannot be read is refused with its fault (%#)', async (sent, status, message) => {
    const refused = await server.call('POST', '/echo', { body: sent, headers: JSON_BODY });
    expect(refused.status).toBe(status);
    expect(refused.body.error_message).toBe(message);
  });

  test.each([['text/plain'], ['application/json; charset=latin1'], ['nonsense']])(
    'of type %s is refused',
    async (type) => {
      const refused = await server.call('POST', '/echo', { body: 'name', headers: { 'content-type': type } });
      expect([refused.status, refused.body.status]).toEqual([415, 'unsupported_media_type']);
    },
  );

  test('with a file where none is taken is refused', async () => {
    const refused = await server.call(
      'POST',
      '/echo',
      webForm([
        ['name', 'a'],
        ['photo', Buffer.from('x')],
      ]),
    );
    expect(refused.body.errors).toEqual(['photo: takes no file']);
  });

  test.each([
    ['without a boundary', ''],
    ['cut off', '; boundary=b'],
  ])('that is a form %s is refused', async (_what, boundary) => {
    const refused = await server.call('POST', '/echo', {
      body: '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nx',
      headers: { 'content-type': `multipart/form-data${boundary}` },
    });
    expect([refused.status, refused.body.success]).toEqual([400, false]);
  });
});

describe('a path', () => {
  test('parameter may be 256 percent-encoded characters', async () => {
    const id = '😀'.repeat(256);
    expect((await server.call('GET', `/param/${encodeURIComponent(id)}`)).body.result).toBe(id);
    expect((await server.call('GET', `/param/${encodeURIComponent('a/b@c.d')}`)).body.result).toBe('a/b@c.d');
    expect((await server.call('GET', `/param/${'x'.repeat(257)}`)).body.messages[0].element).toBe('id');
    expect((await server.call('GET', `/param/${'x'.repeat(4_096)}`)).body).toMatchObject({
      status: 'bad_request',
      error_message: expect.stringContaining('more than 256 characters') as string,
    });
  });

  test.each(['/param/%zz', '/param/%ff'])('with a broken escape is refused: %s', async (url) => {
    const refused = await server.call('GET', url);
    expect([refused.status, refused.body.status]).toEqual([400, 'bad_request']);
  });

  test('of any method that HTTP knows is refused alike, and HEAD answers where GET does', async () => {
    const over = (method: string, path: string) => server.app.inject({ method: method as 'GET', url: path });
    expect((await over('QUERY', '/param/1')).statusCode).toBe(405);
    for (const method of ['PROPFIND', 'PURGE', 'M-SEARCH', 'LINK']) {
      expect({
        method,
        known: (await over(method, '/param/1')).statusCode,
        unknown: (await over(method, '/nowhere')).statusCode,
      }).toEqual({ method, known: 405, unknown: 404 });
    }
    const [got, head] = [await over('GET', '/param/1'), await over('HEAD', '/param/1')];
    expect([head.statusCode, head.body, head.headers['content-length']]).toEqual([
      got.statusCode,
      '',
      got.headers['content-length'],
    ]);
    expect((await over('HEAD', '/nowhere')).statusCode).toBe(404);
  });

  test('that is unknown is a 404 in the envelope, another method a 405 that tells which there are', async () => {
    const unknown = await server.call('GET', '/nowhere');
    expect([unknown.status, unknown.body.success, unknown.body.status]).toEqual([404, false, 'not_found']);
    const other = await server.call('PUT', '/param/x');
    expect([other.status, other.body.status, other.headers['allow']]).toEqual([405, 'method_not_allowed', 'GET, HEAD']);
  });
});

describe('a caller', () => {
  test.each([[undefined], ['Token nonsense'], ['Token'], ['Bearer abc'], ['Token a b']])(
    'with the header %j gets the 401 of a bad token',
    async (authorization) => {
      const refused = await server.call('GET', '/mine', { headers: authorization ? { authorization } : {} });
      expect(refused.status).toBe(401);
      expect(refused.body).toEqual({
        success: false,
        status: 'unauthorized',
        error_message: 'Invalid or missing token',
        message: 'Invalid or missing token',
      });
    },
  );

  test('acts in the entity of the token', async () => {
    expect((await server.call('GET', '/mine', { token: world.token })).body.result).toBe(world.entity.id);
  });

  test('without a right is told which one, before the body is looked at', async () => {
    const refused = await server.call('GET', '/rightful', { token: world.token });
    expect([refused.status, refused.body.status]).toEqual([403, 'forbidden']);
    expect(refused.body.error_message).toContain('usage_analytics_view');
  });

  test('who is a superadmin has every right', async () => {
    const other = await makeWorld(store, { rights: [] });
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [other.user.id]);
    expect((await server.call('GET', '/rightful', { token: other.token })).body.result).toBe(true);
  });

  test('beyond the rate is told when to come back, and each token has its own share', async () => {
    const limited = await testServer(store, { routes, settings: { rateLimitPerMinute: 2 } });
    const other = await makeWorld(store);
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await limited.call('GET', '/mine', { token: world.token })).status);
    expect(statuses).toEqual([200, 200, 429]);
    const refused = await limited.call('GET', '/mine', { token: world.token });
    expect(refused.body).toMatchObject({ success: false, status: 'too_many_requests' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '0' });
    expect((await limited.call('GET', '/mine', { token: other.token })).status).toBe(200);
    const strangers = [];
    for (const token of ['made', 'up', 'tokens']) {
      strangers.push((await limited.call('GET', '/mine', { token })).status);
    }
    expect(strangers).toEqual([401, 401, 429]);
    expect((await limited.call('GET', '/nowhere')).status).toBe(429);
    expect((await limited.call('GET', '/health/live')).status).toBe(200);
  });
});

describe('an answer', () => {
  test.each([
    ['application/vnd.svc.v3', 3],
    ['application/json, application/vnd.svc.v3+json;q=0.5', 3],
    ['application/json', 2],
    ['*/*', 2],
    ['application/*', 2],
    ['application/vnd.svc.v30', 2],
    ['', 2],
  ])('to Accept: %s is of version %i', async (accept, version) => {
    expect((await server.call('GET', '/version', { headers: { accept } })).body.result).toBe(version);
  });

  test('may be without the envelope, with a status of its own', async () => {
    const answer = await server.call('GET', '/bare');
    expect([answer.status, answer.body]).toEqual([202, { plain: true }]);
  });

  test('to an error of ours is an id, which the log has, and nothing of the error', async () => {
    expectFault('GET /broken');
    const answer = await server.call('GET', '/broken');
    expect([answer.status, answer.body.status]).toEqual([500, 'internal_error']);
    expect(answer.body.id).toBe(answer.headers['x-request-id']);
    expect(answer.text).not.toContain(SECRET);
    expect(server.logs).toContainEqual(expect.objectContaining({ requestId: answer.body.id, msg: 'a request failed' }));
    expect(JSON.stringify(server.logs)).not.toContain(SECRET);
    await expect
      .poll(async () => (await store.db.query(`SELECT id, step FROM internal_errors WHERE kind = 'request'`)).rows)
      .toContainEqual({ id: answer.body.id, step: 'GET /broken' });
  });

  test('carries headers that protect browsers', async () => {
    const { headers } = await server.call('GET', '/version');
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });

  test('is logged and measured by its pattern, never by what the path held', async () => {
    const { headers } = await server.call('GET', '/param/zqperson-7?secret=zqsecret');
    const line = server.logs.find(({ requestId, msg }) => requestId === headers['x-request-id'] && msg === 'request');
    expect(line).toMatchObject({ method: 'GET', route: '/param/:id', status: 200, ms: expect.any(Number) });
    expect(server.observed.at(-1)).toMatchObject({ method: 'GET', route: '/param/:id', status: 200 });
    expect(JSON.stringify(server.logs)).not.toMatch(/zqperson|zqsecret/);
  });
});

describe('an operator', () => {
  test('learns what is not ready', async () => {
    expect((await server.call('GET', '/health/live')).status).toBe(200);
    expect((await server.call('GET', '/health/ready')).body.ready).toBe(true);
    const parts = (isDatabaseThere: boolean) => [
      { name: 'postgres', required: true, ready: isDatabaseThere },
      { name: 'temporal', required: false, ready: false, reason: 'no connection' },
    ];
    for (const isThere of [true, false]) {
      const half = await testServer(store, { routes, ready: async () => parts(isThere) });
      const answer = await half.call('GET', '/health/ready');
      expect([answer.status, answer.body]).toEqual([isThere ? 200 : 503, { ready: isThere, parts: parts(isThere) }]);
      const all = await half.call('GET', '/health/ready?parts=all');
      expect([all.status, all.body]).toEqual([503, { ready: false, parts: parts(isThere) }]);
      expect((await half.call('GET', '/health/ready?parts=some')).status).toBe(400);
    }
  });

  test('reads versions as a superadmin alone, also while the service is not ready', async () => {
    const parts = [
      { name: 'postgres', required: true, ready: true, version: '18.1' },
      { name: 'temporal', required: false, ready: false, reason: 'out of reach' },
    ];
    const half = await testServer(store, { routes, ready: async () => parts, settings: { version: '1.2.3' } });
    expect((await half.call('GET', '/health/ready')).text).not.toContain('18.1');
    expect((await half.call('GET', '/api/system', { token: world.token })).status).toBe(403);
    const { token, user } = await makeWorld(store);
    await store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [user.id]);
    expect((await half.call('GET', '/api/system', { token })).body.result).toEqual({
      version: '1.2.3',
      ready: false,
      parts: [
        { ...parts[0], reason: null },
        { ...parts[1], version: null },
      ],
    });
  });

  test('gets the answer of a second ago when asking very often', async () => {
    let asked = 0;
    const counted = await testServer(store, {
      routes,
      ready: async () => [{ name: `asked ${(asked += 1)}`, required: true, ready: true }],
    });
    await Promise.all(Array.from({ length: 50 }, () => counted.call('GET', '/health/ready')));
    const before = asked;
    expect(before).toBeLessThan(10);
    await waitFor('another look', async () => {
      const { body } = await counted.call('GET', '/health/ready');
      return asked > before && body.parts[0].name === `asked ${asked}`;
    });
  });

  test('reads metrics with their token alone, and not where they have an address of their own', async () => {
    const token = 'metrics-token-of-this-test';
    rememberSecret(token);
    const guarded = await testServer(store, { routes, settings: { metricsToken: token } });
    for (const authorization of [undefined, `Bearer ${token}x`, 'Bearer', `Token ${token}`, token]) {
      const refused = await guarded.call('GET', '/metrics', {
        headers: authorization === undefined ? {} : { authorization },
      });
      expect(refused).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer' },
        body: { status: 'unauthorized' },
      });
    }
    expect((await guarded.call('GET', '/metrics', { headers: { authorization: `bearer ${token}` } })).text).toBe(
      'up 1\n',
    );
    const elsewhere = await testServer(store, { routes, settings: { hasMetricsElsewhere: true } });
    expect((await elsewhere.call('GET', '/metrics')).status).toBe(404);
    expect((await elsewhere.call('GET', '/health/live')).status).toBe(200);
  });

  test('finds metrics, the API document and its page, which needs nothing from elsewhere', async () => {
    expect((await server.call('GET', '/metrics')).text).toBe('up 1\n');
    const { body: document } = await server.call('GET', '/openapi.json');
    expect(document.openapi).toBe('3.1.0');
    expect(document.paths['/param/{id}'].get.parameters).toEqual([
      { name: 'id', in: 'path', required: true, schema: { type: 'string', minLength: 1, maxLength: 256 } },
    ]);
    const page = await server.call('GET', '/docs/');
    expect(page.status).toBe(200);
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) {
      expect((await server.call('GET', new URL(link, 'http://x/docs/').pathname)).status).toBe(200);
    }
    expect(page.headers['content-security-policy']).not.toContain('https:');
    expect(page.text).toContain('<title>Millrace API</title>');
    expect(document.info.description).toContain('curl -sS http://millrace.test/api/login');
  });

  test('finds at / the way to documentation, API page and health; each link of each page leads to something that is there', async () => {
    const seen = new Map<string, string>();
    const toRead = ['/'];
    for (let path = toRead.pop(); path !== undefined; path = toRead.pop()) {
      const { status, text, headers } = await server.call('GET', path);
      expect([path, status]).toEqual([path, 200]);
      seen.set(path, text);
      if (path !== '/' && !path.startsWith('/manual/')) continue;
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
      if (path.endsWith('.png')) continue;
      const links = [...text.matchAll(/(?:href|src)="([^"#]+)[^"]*"/g)].map(
        ([, link]) => new URL(link!, `http://millrace.test${path}`),
      );
      for (const { origin, pathname } of links) {
        if (origin === 'http://millrace.test' && !seen.has(pathname) && !toRead.includes(pathname))
          toRead.push(pathname);
      }
    }
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining([
        '/docs/',
        '/openapi.json',
        '/health/ready',
        '/manual/first-import.md',
        '/manual/pictures/home.png',
      ]),
    );
    const anchors = [...seen.entries()].flatMap(([path, text]) =>
      [...text.matchAll(/href="([a-z-]*\.md)?#([^"]+)"/g)].map(
        ([, file, anchor]) => [file === undefined ? path : `/manual/${file}`, decodeURIComponent(anchor!)] as const,
      ),
    );
    expect(anchors.length).toBeGreaterThan(50);
    expect(anchors.filter(([path, anchor]) => !seen.get(path)?.includes(`id="${anchor}"`))).toEqual([]);
    for (const name of [
      'no-such-page.md',
      '..%2Fpackage.json',
      '%2e%2e%2fREADME.md',
      'pictures/no-such.png',
      'pictures/..%2frights.md',
    ]) {
      expect((await server.call('GET', `/manual/${name}`)).status).toBe(404);
    }
  });
});

describe('over a socket', () => {
  async function talk(port: number, ...sent: string[]): Promise<string> {
    const socket = createConnection(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (bytes) => {
      heard += String(bytes);
    });
    socket.on('error', () => {});
    for (const text of sent) socket.write(text);
    await once(socket, 'close');
    return heard;
  }

  test('an idle body, slow headers and what is not HTTP are refused in the envelope', async () => {
    const { app } = await testServer(store, { routes, settings: { limits: { idleBodyMs: 200, headersMs: 300 } } });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const head = (type: string) =>
      `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n\r\n`;
    const answers = await Promise.all([
      talk(port, head('application/json'), '{"na'),
      talk(port, head('multipart/form-data; boundary=b'), '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx'),
      talk(port, 'GET /version HTTP/1.1\r\nHo'),
      talk(port, 'nonsense\r\n\r\n'),
    ]);
    expect(answers.map((answer) => /^HTTP\/1.1 (\d+)/.exec(answer)?.[1])).toEqual(['408', '408', '408', '400']);
    for (const answer of answers) expect(answer).toContain('{"success":false,"status":"');
  });

  test.each([
    ['one more from an address is closed, and one that ends makes room', undefined, 'closed'],
    ['behind a proxy all come from its address, and none is closed', '127.0.0.1', 'answered'],
  ])('of many connections %s', async (_, trustProxy, third) => {
    const { app } = await testServer(store, { routes, settings: { trustProxy, limits: { connectionsPerAddress: 2 } } });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const connect = async () => {
      const socket = createConnection(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write('GET /bare HTTP/1.1\r\nHost: x\r\n\r\n');
      const outcome = await Promise.race([
        once(socket, 'data').then(() => 'answered'),
        once(socket, 'close').then(() => 'closed'),
      ]);
      return { socket, outcome };
    };
    const open = [await connect(), await connect(), await connect()];
    expect(open.map(({ outcome }) => outcome)).toEqual(['answered', 'answered', third]);
    open[0]!.socket.destroy();
    await waitFor('room for another', async () => (await connect()).outcome === 'answered');
    for (const { socket } of open) socket.destroy();
  });
});

/** Waits for so many turns of the event loop. */
async function turns(count: number): Promise<number> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  return count;
}

test.each(['/streamed', '/console/assets/part.js'])(
  'callers of %s who leave before its first bytes make no internal error',
  async (path) => {
    const built = await mkdtemp(join(tmpdir(), 'millrace-console-'));
    onFileEnd(() => rm(built, { recursive: true }));
    await mkdir(join(built, 'assets'));
    await writeFile(join(built, 'assets', 'part.js'), 'x'.repeat(1_000_000));
    const served = await testServer(store, {
      routes,
      console: { built: () => ({ folders: [built], problem: null }), whenBuilt: async () => {} },
    });
    await served.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = served.app.server.address() as AddressInfo;
    for (let each = 0; each < 100; each += 1) {
      const asked = once(served.app.server, 'request');
      const socket = createConnection(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`));
      await asked;
      await turns(each % 8);
      socket.destroy();
      await once(socket, 'close');
    }
    await served.app.close();
    expect(served.logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
);

test('a server that ends refuses what still comes, and says when to come back', async () => {
  const { app } = await testServer(store, { routes });
  const late: Response[] = [];
  app.addHook('preClose', async () => {
    late.push(await fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/bare`));
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  await app.close();
  expect([late[0]!.status, late[0]!.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await late[0]!.json()).toMatchObject({ success: false, status: 'service_unavailable', retry_after: 1 });
});
