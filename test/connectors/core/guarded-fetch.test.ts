import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { NOTHING_ALLOWED, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import {
  type FetchSettings,
  type GuardedFetch,
  guardedFetch,
  type GuardedRequest,
  MAX_ERROR_BYTES,
} from '../../../connectors/core/guarded-fetch.ts';
import { errorJson } from '../../../connectors/core/json-requests.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import {
  certificate,
  endless,
  file,
  hangUp,
  httpSource,
  inTurn,
  raw,
  redirect,
  silence,
  status,
  trust,
} from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';

const SECRET = 'zqsourcesecret';
rememberSecret(SECRET);
const HEADERS = { Authorization: `Bearer ${SECRET}`, 'X-Tenant': 't1' };

/** An address with a signature in its query. */
const signed = (url: string) => `${url}?signature=${SECRET}`;

const trusted = await certificate();
trust(trusted);

const source = await httpSource();
const other = await httpSource();
const v6 = await httpSource({ address: '::1' });
/** At the same port, where nobody is allowed to go. */
const same = await httpSource({ address: '127.0.0.1', port: v6.port });
const secure = await httpSource({ tls: trusted });

function through(allow: string, settings?: FetchSettings): GuardedFetch {
  const read = readFetchAllow(allow);
  if (typeof read === 'string') throw new Error(read);
  return guardedFetch(read, settings);
}

const open = through('127.0.0.1,::1');
const closed = guardedFetch(NOTHING_ALLOWED);
const resolvingTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

async function read(fetch: GuardedFetch, url: string, request?: GuardedRequest): Promise<string> {
  const { body } = await fetch.request(url, request);
  return (await buffer(body)).toString();
}

/** The refusal of a request or its body; what it says quotes neither headers nor the query. */
async function refusal(
  fetch: GuardedFetch,
  url: string,
  request?: GuardedRequest,
): Promise<Pick<Refusal, 'status' | 'message' | 'extra'>> {
  const error: unknown = await read(fetch, url, request).then(
    () => 'no refusal',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error('expected a refusal', { cause: error });
  const { status: code, message, extra } = error;
  expect(JSON.stringify({ message, extra })).not.toContain(SECRET);
  return { status: code, message, extra };
}

it('takes addresses with long queries, and refuses those that vendors refuse', async () => {
  const url = source.serve('/a', file(Buffer.from('fine')));
  expect(await read(open, `${url}?q=${'x'.repeat(15_000)}`)).toBe('fine');
  expect(await refusal(open, `${url}?q=${'x'.repeat(16_384)}`)).toMatchObject({
    status: 'address_refused',
    message: 'The address must have at most 16384 characters',
  });
});

describe('a source that is allowed', () => {
  it('gives status, headers and bytes, over HTTP and HTTPS, IPv4 and IPv6', async () => {
    for (const [server, host] of [
      [source, undefined],
      [v6, undefined],
      [secure, 'localhost'],
    ] as const) {
      const url = server.serve('/a.csv', file(Buffer.from('a,b\n'), { etag: '"1"' }), host);
      const answer = await through('127.0.0.1,::1').request(signed(url));
      expect(answer).toMatchObject({ status: 200, url: signed(url), headers: { etag: '"1"', 'content-length': '4' } });
      expect((await buffer(answer.body)).toString()).toBe('a,b\n');
      expect(server.asked.at(-1)!.path).toBe(`/a.csv?signature=${SECRET}`);
    }
  });

  it('is asked as Millrace, for bytes as they are, with the headers of the user, and the connection ends with it', async () => {
    await read(open, source.serve('/a', file(Buffer.from('a'))), { headers: { ...HEADERS, Accept: 'text/csv' } });
    const { headers } = source.asked.at(-1)!;
    expect(headers).toEqual({
      host: `127.0.0.1:${source.port}`,
      connection: 'close',
      'user-agent': 'Millrace',
      accept: 'text/csv',
      'accept-encoding': 'identity',
      authorization: HEADERS.Authorization,
      'x-tenant': 't1',
    });
  });

  it('gets what is sent to it', async () => {
    const url = source.serve('/hook', (request, response) => {
      request.pipe(response);
    });
    expect(
      await read(open, url, { method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } }),
    ).toBe('{"a":1}');
  });

  it('may hang up while its answer is still unread, and nothing of that is lost', async () => {
    const own = await httpSource();
    const bytes = 'abcd'.repeat(16 * 1024);
    const url = own.serve(
      '/unread',
      raw(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\nConnection: close\r\n\r\n${bytes}`),
    );
    const { body } = await open.request(url);
    await waitFor('the source to hang up', async () => own.connections() === 0);
    expect((await buffer(body)).toString()).toBe(bytes);
  });

  it('can be left early, before and in the middle of the body, and sends no more', async () => {
    let gone = 0;
    const url = source.serve('/endless', (request, response, nth) => {
      request.socket.on('close', () => {
        gone += 1;
      });
      endless(request, response, nth);
    });
    const answer = await open.request(url);
    await answer.end();
    await waitFor('the first connection to end', async () => gone === 1);
    for await (const chunk of (await open.request(url)).body) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await waitFor('the second connection to end', async () => gone === 2);
  });

  it("is left when the caller wants it no more, with the caller's own reason", async () => {
    const reason = new Error('not wanted');
    const before = new AbortController();
    before.abort(reason);
    const url = source.serve('/endless', endless);
    await expect(read(open, url, { signal: before.signal })).rejects.toBe(reason);

    const within = new AbortController();
    const reading = (async () => {
      for await (const chunk of (await open.request(url, { signal: within.signal })).body) {
        if (chunk.length > 0) within.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);

    const waiting = new AbortController();
    const asking = read(
      open,
      source.serve('/silence', (...request) => {
        silence(...request);
        waiting.abort(reason);
      }),
      { signal: waiting.signal },
    );
    await expect(asking).rejects.toBe(reason);
  });
});

describe('an address that is not public', () => {
  const [a, b, port] = ['127.0.0.1', '[::1]', source.port];
  const spellings = [
    a,
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '127.1.',
    '１２７.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    'localhost',
    'LOCALHOST',
    '0.0.0.0',
    '0',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[::]',
    b,
    '[0000:0000:0000:0000:0000:0000:0000:0001]',
  ];

  it.each(spellings)('is not reached as http://%s', async (host) => {
    source.serve('/a', file(Buffer.from('secret')));
    v6.serve('/a', file(Buffer.from('secret')));
    const asked = source.asked.length + v6.asked.length;
    for (const at of [source.port, v6.port]) {
      expect(await refusal(closed, signed(`http://${host}:${at}/a`), { headers: HEADERS })).toMatchObject({
        status: 'address_refused',
        message: expect.stringMatching(/MILLRACE_FETCH_ALLOW$/) as string,
      });
    }
    expect(source.asked.length + v6.asked.length).toBe(asked);
  });

  it.each(spellings.slice(0, 13))('and http://%s leads there, once it is allowed', async (host) => {
    source.serve('/a', file(Buffer.from('fine')));
    expect(await read(open, `http://${host}:${port}/a`)).toBe('fine');
  });

  it('is not reached by another name, nor on another port, than the operator vouched for', async () => {
    source.serve('/a', file(Buffer.from('fine')));
    const lookup = resolvingTo('127.0.0.1');
    const fetch = through(`minio.internal:${port}`, { lookup });
    expect(await read(fetch, `http://minio.internal:${port}/a`)).toBe('fine');
    for (const url of [
      `http://minio.internal:${other.port}/a`,
      `http://x.minio.internal:${port}/a`,
      `http://127.0.0.1:${port}/a`,
    ]) {
      expect(await refusal(fetch, url)).toMatchObject({ status: 'address_refused' });
    }
  });

  it('is not told to the user', async () => {
    const { message } = await refusal(through('', { lookup: resolvingTo('10.1.2.3') }), 'http://files.internal/a');
    expect(message).toMatch(/^files\.internal is not at a public address/);
    expect(message).not.toContain('10.1.2.3');
  });
});

describe('a name', () => {
  it('with several addresses is reached at those that are allowed, and at no other', async () => {
    same.serve('/a', file(Buffer.from('forbidden')));
    v6.serve('/a', file(Buffer.from('allowed')));
    const url = `http://two.example:${v6.port}/a`;
    expect(await read(through('::1', { lookup: resolvingTo('127.0.0.1', '::1') }), url)).toBe('allowed');
    expect(await refusal(through('10.0.0.0/8', { lookup: resolvingTo('127.0.0.1', '::1') }), url)).toMatchObject({
      status: 'address_refused',
    });

    // The one that is allowed does not listen: that is no reason to try the other one.
    const lookup = resolvingTo('::1', '127.0.0.1');
    source.serve('/a', file(Buffer.from('forbidden')));
    expect(await refusal(through('::1', { lookup }), `http://two.example:${source.port}/a`)).toMatchObject({
      status: 'source_unavailable',
    });
    expect(same.asked).toEqual([]);
  });

  it('that resolves to something else the next time is not reached there', async () => {
    const url = `http://rebinding.example:${v6.port}/a`;
    v6.serve('/a', redirect(url));
    same.serve('/a', file(Buffer.from('forbidden')));
    let lookups = 0;
    const lookup = async () => {
      lookups += 1;
      return lookups === 1 ? [{ address: '::1', family: 6 }] : [{ address: '127.0.0.1', family: 4 }];
    };
    expect(await refusal(through('::1', { lookup }), url)).toMatchObject({ status: 'address_refused' });
    // One look-up for each connection: what is looked at is what is connected to.
    expect({ lookups, asked: same.asked }).toEqual({ lookups: 2, asked: [] });
  });

  it('is sent nothing when the connection turns out to be another one than was looked up', async () => {
    let looks = 0;
    const allows = () => {
      looks += 1;
      return looks === 1;
    };
    const asked = source.asked.length;
    const url = source.serve('/a', file(Buffer.from('forbidden')), 'moving.example');
    expect(await refusal(guardedFetch({ allows }, { lookup: resolvingTo('127.0.0.1') }), url)).toMatchObject({
      status: 'address_refused',
    });
    expect({ looks, asked: source.asked.length }).toEqual({ looks: 2, asked });
  });

  it('is not reached at what a resolver says that is no address', async () => {
    for (const address of ['127.1', 'localhost', '0x7f.0.0.1', '']) {
      expect(
        await refusal(through('', { lookup: resolvingTo(address) }), `http://odd.example:${source.port}/a`),
      ).toMatchObject({ status: 'address_refused' });
    }
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('by %i is followed, and the last address told', async (code) => {
    const last = other.serve('/b', file(Buffer.from('there')));
    const answer = await open.request(source.serve('/a', redirect(last, code)));
    expect(answer.url).toBe(last);
    expect((await buffer(answer.body)).toString()).toBe('there');
  });

  it('is not followed to an address that the request may not ask', async () => {
    const last = other.serve('/b', file(Buffer.from('there')));
    const mayAsk = ({ port }: URL) => port === String(source.port);
    const before = other.asked.length;
    await expect(read(open, source.serve('/a', redirect(last)), { mayAsk })).rejects.toThrow('may not be asked');
    expect(other.asked).toHaveLength(before);
  });

  it('may be relative, and keeps the headers within the origin', async () => {
    source.serve('/x/b', file(Buffer.from('there')));
    expect(await read(open, source.serve('/x/a', redirect('b')), { headers: HEADERS })).toBe('there');
    expect(source.asked.at(-1)!.headers).toMatchObject({ authorization: HEADERS.Authorization, 'x-tenant': 't1' });
  });

  it('drops the headers to another origin, and has them again only on the first one', async () => {
    source.serve('/c', file(Buffer.from('back')));
    other.serve('/b', redirect(`http://127.0.0.1:${source.port}/c`));
    const url = source.serve('/a', redirect(`http://127.0.0.1:${other.port}/b`));
    expect(await read(open, url, { headers: { ...HEADERS, 'User-Agent': SECRET } })).toBe('back');
    expect(other.asked.at(-1)!.headers).toEqual({
      host: `127.0.0.1:${other.port}`,
      connection: 'close',
      'user-agent': 'Millrace',
      accept: '*/*',
      'accept-encoding': 'identity',
    });
    expect(source.asked.at(-1)!.headers).toMatchObject({ authorization: HEADERS.Authorization });
  });

  it('drops the headers to the same machine under another name', async () => {
    source.serve('/b', file(Buffer.from('there')));
    await read(open, source.serve('/a', redirect(`http://localhost:${source.port}/b`)), { headers: HEADERS });
    expect(source.asked.at(-1)!.headers).not.toHaveProperty('authorization');
    expect(source.asked.at(-1)!.headers).not.toHaveProperty('x-tenant');
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data/', 'address_refused', /not at a public address/],
    ['http://[::ffff:169.254.169.254]/', 'address_refused', /not at a public address/],
    ['ftp://files.example.com/a', 'address_refused', /http:\/\/ or https:/],
    ['file:///etc/passwd', 'address_refused', /http:\/\/ or https:/],
    [`http://user:${SECRET}@files.example.com/a`, 'address_refused', /password/],
    ['http://[', 'source_refused', /does not say where to/],
  ])('to %s is refused', async (location, code, words) => {
    expect(await refusal(open, signed(source.serve('/a', redirect(location))), { headers: HEADERS })).toMatchObject({
      status: code,
      message: expect.stringMatching(words) as string,
    });
  });

  it('to an address that is forbidden is refused without a request', async () => {
    const fetch = through(`127.0.0.1:${source.port}`);
    const asked = other.asked.length;
    const url = source.serve('/a', redirect(other.serve('/b', file(Buffer.from('forbidden')))));
    expect(await refusal(fetch, url)).toMatchObject({ status: 'address_refused' });
    expect(other.asked).toHaveLength(asked);
  });

  it('from https to http is refused, from http to https followed', async () => {
    const plain = source.serve('/b', file(Buffer.from('plain')));
    expect(await refusal(open, secure.serve('/a', redirect(plain), 'localhost'))).toMatchObject({
      status: 'address_refused',
      message: expect.stringMatching(/from https:\/\/ to http:/) as string,
    });
    const safe = secure.serve('/b', file(Buffer.from('safe')), 'localhost');
    expect(await read(open, source.serve('/a', redirect(safe)))).toBe('safe');
  });

  it('may lead through five addresses, and no more', async () => {
    const chain = (length: number) => {
      for (let left = 1; left <= length; left += 1) source.serve(`/${left}`, redirect(`/${left - 1}`));
      source.serve('/0', file(Buffer.from('there')));
      return `http://127.0.0.1:${source.port}/${length}`;
    };
    expect(await read(open, chain(5))).toBe('there');
    expect(await refusal(open, chain(6))).toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/more than 5/) as string,
    });
    const asked = source.asked.length;
    expect(await refusal(open, source.serve('/loop', redirect('/loop')))).toMatchObject({ status: 'source_refused' });
    expect(source.asked.length - asked).toBe(6);
  });

  it('without a place is refused, and so is a 3xx that is no redirect', async () => {
    expect(await refusal(open, source.serve('/a', status(302)))).toMatchObject({ status: 'source_refused' });
    expect(await refusal(open, source.serve('/a', status(304)))).toMatchObject({
      status: 'source_refused',
      extra: { source_status: 304 },
    });
  });

  it('turns what is sent into a question, or sends it on within the origin only', async () => {
    source.serve('/b', (request, response) => {
      response.write(`${request.method} `);
      request.pipe(response);
    });
    const sent: GuardedRequest = { method: 'POST', body: 'words', headers: { 'Content-Type': 'text/plain' } };
    for (const code of [301, 302, 303])
      expect(await read(open, source.serve('/a', redirect('/b', code)), sent)).toBe('GET ');
    expect(source.asked.at(-1)!.headers).not.toHaveProperty('content-type');
    for (const code of [307, 308])
      expect(await read(open, source.serve('/a', redirect('/b', code)), sent)).toBe('POST words');
    const away = source.serve('/a', redirect(other.serve('/b', status(200)), 307));
    const asked = other.asked.length;
    expect(await refusal(open, away, sent)).toMatchObject({ status: 'source_refused' });
    expect(other.asked).toHaveLength(asked);
  });
});

describe('a request that is not made', () => {
  it.each([
    ['ftp://files.example.com/a', {}, 'address_refused', /http:\/\/ or https:/],
    [`http://user:${SECRET}@127.0.0.1/a`, {}, 'address_refused', /request_headers/],
    ['http://127.0.0.1/a', { Host: 'x' }, 'source_refused', /header Host/],
    ['http://127.0.0.1/a', { 'X-A': `a\r\nX-B: ${SECRET}` }, 'source_refused', /line break.*X-A$/],
    ['http://127.0.0.1/a', { [`X-A: ${SECRET}\r\nX-B`]: 'b' }, 'source_refused', /header 1 /],
  ])('to %s with %j', async (url, headers, code, words) => {
    expect(await refusal(open, url, { headers: headers as Record<string, string> })).toMatchObject({
      status: code,
      message: expect.stringMatching(words) as string,
    });
  });
});

describe('a source that says no', () => {
  const answering = (code: number, headers?: Record<string, string>) =>
    refusal(open, signed(source.serve('/a', status(code, headers))), { headers: HEADERS });

  it.each([
    [400, /answered 400 Bad Request: check the address/],
    [401, /answered 401 Unauthorized: check request_headers/],
    [403, /answered 403 Forbidden: check request_headers, or whether the signature of the URL has expired$/],
    [404, /answered 404 Not Found: nothing is at this address/],
    [410, /answered 410 Gone/],
    [499, /answered 499:/],
  ])('by %i: the same request would get it again', async (code, words) => {
    expect(await answering(code)).toEqual({
      status: 'source_refused',
      message: expect.stringMatching(words) as string,
      extra: { source_status: code },
    });
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 599])('by %i: it may go better later', async (code) => {
    expect(await answering(code)).toMatchObject({ status: 'source_unavailable', extra: { source_status: code } });
  });

  it('and when to come back, which is passed on in seconds', async () => {
    expect((await answering(429, { 'retry-after': '120' })).extra).toMatchObject({ retry_after: 120 });
    const soon = await answering(503, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() });
    expect(soon.extra.retry_after).toSatisfy((seconds: number) => seconds > 50 && seconds <= 60);
    expect((await answering(503, { 'retry-after': 'Thu, 01 Jan 1998 00:00:00 GMT' })).extra).toMatchObject({
      retry_after: 0,
    });
    expect((await answering(503, { 'retry-after': SECRET })).extra).not.toHaveProperty('retry_after');
  });
});

describe('a source that cannot be reached', () => {
  const unavailable = (words: RegExp) => ({
    status: 'source_unavailable',
    message: expect.stringMatching(words) as string,
  });

  it('because its name is unknown, or DNS does not answer', async () => {
    const failing = (code: string) =>
      through('', {
        lookup: () => Promise.reject(Object.assign(new Error(`${code} ${SECRET}`), { code })),
      });
    expect(await refusal(failing('ENOTFOUND'), signed('https://files.example.com/a'))).toMatchObject(
      unavailable(/^files\.example\.com is a name that DNS does not know/),
    );
    expect(await refusal(failing('EAI_AGAIN'), signed('https://files.example.com/a'))).toMatchObject(
      unavailable(/DNS did not answer/),
    );
    const hanging = through('', { lookup: () => new Promise(() => undefined), limits: { connectMs: 100 } });
    expect(await refusal(hanging, 'https://files.example.com/a')).toMatchObject(
      unavailable(/did not take the connection in time/),
    );
  });

  it('because nobody listens there', async () => {
    const gone = await httpSource();
    gone.serve('/a', hangUp);
    await refusal(open, `http://127.0.0.1:${gone.port}/a`);
    // Port 1 is nobody's: it takes a superuser to listen there.
    expect(await refusal(open, signed('http://127.0.0.1:1/a'))).toMatchObject(
      unavailable(/^127\.0\.0\.1:1 refused the connection/),
    );
    expect(await refusal(through('localhost'), signed('http://localhost:1/a'))).toMatchObject(
      unavailable(/refused the connection/),
    );
  });

  it('because it hangs up, says nothing in time, or does not speak HTTP', async () => {
    expect(await refusal(open, source.serve('/a', hangUp))).toMatchObject(
      unavailable(/broke off the connection before it answered/),
    );
    const impatient = through('127.0.0.1', { limits: { headersMs: 200 } });
    expect(await refusal(impatient, source.serve('/a', silence))).toMatchObject(unavailable(/did not answer in time/));
    const dripping = source.serve('/a', (request) => {
      request.socket.write('HTTP/1.1 200 OK\r\nX-A: 1\r\n');
    });
    expect(await refusal(impatient, dripping)).toMatchObject(unavailable(/did not answer in time/));
    expect(await refusal(open, source.serve('/a', raw('220 smtp.example.com ESMTP\r\n')))).toMatchObject(
      unavailable(/not HTTP/),
    );
    expect(
      await refusal(open, source.serve('/a', raw(`HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(100_000)}\r\n\r\n`))),
    ).toMatchObject(unavailable(/headers that are too long/));
  });

  it('because of its TLS', async () => {
    const [unknown, expired, foreign] = await Promise.all([
      certificate(),
      certificate({ days: -1 }),
      certificate({ name: 'other.example' }),
    ]);
    trust(expired, foreign);
    const at = async (tls: typeof unknown) => signed((await httpSource({ tls })).serve('/a', status(200), 'localhost'));
    expect(await refusal(open, await at(unknown))).toMatchObject(
      unavailable(/no trusted authority.*NODE_EXTRA_CA_CERTS/),
    );
    expect(await refusal(open, await at(expired))).toMatchObject(unavailable(/has a certificate that has expired/));
    expect(await refusal(open, await at(foreign))).toMatchObject(unavailable(/has a certificate for another name/));
    expect(await refusal(open, signed(`https://127.0.0.1:${source.port}/a`))).toMatchObject(
      unavailable(/does not speak TLS/),
    );
  });

  it('because it breaks off or stops in the middle of the body', async () => {
    const broken = (words: RegExp) => ({ status: 'transfer_broken', message: expect.stringMatching(words) as string });
    const bytes = Buffer.alloc(100_000, 'x');
    expect(await refusal(open, source.serve('/a', file(bytes, { breaksAfter: 50_000 })))).toMatchObject(
      broken(/broke off in the middle/),
    );
    expect(
      await refusal(open, source.serve('/a', file(bytes, { breaksAfter: 50_000, isChunked: true }))),
    ).toMatchObject(broken(/broke off in the middle/));
    for (const body of ['Content-Length: 10\r\n\r\nabc', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n']) {
      expect(await refusal(open, source.serve('/a', raw(`HTTP/1.1 200 OK\r\n${body}`)))).toMatchObject(
        broken(/broke off/),
      );
    }
    const impatient = through('127.0.0.1', { limits: { idleMs: 200 } });
    expect(await refusal(impatient, source.serve('/a', file(bytes, { stopsAfter: 50_000 })))).toMatchObject(
      broken(/stopped sending/),
    );
  });

  it('and is asked once only', async () => {
    const asked = source.asked.length;
    await refusal(open, source.serve('/a', inTurn(hangUp, status(200))));
    expect(source.asked.length - asked).toBe(1);
  });
});

describe('an answer beyond 2xx that the caller takes', () => {
  const taken = { answers: [400, 409] };
  const json = { 'content-type': 'application/json' };

  it('comes with its headers and its JSON', async () => {
    const url = source.serve('/no', (_, response) => {
      response.writeHead(409, { ...json, 'retry-after': '7' }).end('{"code":"CONFLICT","id":9007199254740993}');
    });
    const answer = await open.request(url, taken);
    expect(answer).toMatchObject({ status: 409, headers: { 'retry-after': '7' } });
    expect(JSON.stringify(await errorJson(answer))).toContain('"CONFLICT"');
  });

  it('has at most 64 KiB of body, and no JSON if that is cut, broken or another type', async () => {
    const long = `{"a":"${'x'.repeat(MAX_ERROR_BYTES)}"}`;
    for (const [body, headers] of [
      [long, json],
      ['{"a":', json],
      ['<p>', { 'content-type': 'text/html' }],
      ['', {}],
    ] as const) {
      const url = source.serve('/no', (_, response) => {
        response.writeHead(400, headers).end(body);
      });
      const { body: bytes } = await open.request(url, taken);
      expect((await buffer(bytes)).length).toBe(Math.min(body.length, MAX_ERROR_BYTES));
      expect(await errorJson(await open.request(url, taken))).toBeUndefined();
    }
    const { body } = await open.request(
      source.serve('/no', (request, response, nth) => {
        response.statusCode = 400;
        endless(request, response, nth);
      }),
      taken,
    );
    expect((await buffer(body)).length).toBe(MAX_ERROR_BYTES);
  });

  it('is refused as before with any other status', async () => {
    expect(await refusal(open, source.serve('/no', status(403)), taken)).toMatchObject({
      status: 'source_refused',
      extra: { source_status: 403 },
    });
    expect(await refusal(open, source.serve('/no', status(429)), taken)).toMatchObject({
      status: 'source_unavailable',
    });
  });
});

describe('kept connections', () => {
  const takes = (fetch: GuardedFetch, url: string) => read(fetch, url, { method: 'POST', body: '{}' });

  it('are used again until they are closed, each by one request at a time', async () => {
    const own = await httpSource({ tls: trusted });
    const url = own.serve('/a', status(200), 'localhost');
    const ports = new Set<number>();
    const counted = own.serve(
      '/b',
      (request, response) => {
        ports.add(request.socket.remotePort!);
        response.end('{}');
      },
      'localhost',
    );
    const fetch = through('127.0.0.1,::1').kept();
    for (let count = 0; count < 5; count += 1) await takes(fetch, counted);
    // One may still be about to become free.
    expect(ports.size).toBeLessThanOrEqual(2);
    await Promise.all([1, 2, 3].map(() => takes(fetch, counted)));
    expect(ports.size).toBeLessThanOrEqual(4);
    expect(own.connections()).toBeGreaterThan(0);
    await fetch.close();
    await waitFor('the connections to end', async () => own.connections() === 0);
    await takes(open, counted);
    await takes(open, url);
    await waitFor('single connections to end', async () => own.connections() === 0);
  });

  it('end alone with an answer that is left early', async () => {
    const own = await httpSource();
    const fetch = open.kept();
    const answer = await fetch.request(own.serve('/endless', endless), { isStream: true });
    await answer.end();
    await waitFor('its connection to end', async () => own.connections() === 0);
    expect(await takes(fetch, own.serve('/a', status(200)))).toContain('words');
    await fetch.close();
  });

  it('that the source has closed are replaced for a GET, and no POST is sent twice', async () => {
    const own = await httpSource();
    const fetch = open.kept();
    const url = own.serve('/a', inTurn(status(200), hangUp, status(200), hangUp, status(200)));
    await read(fetch, url);
    expect(await read(fetch, url)).toContain('words');
    const asked = own.asked.length;
    await expect(takes(fetch, url)).rejects.toMatchObject({ status: 'source_unavailable' });
    expect(own.asked.length - asked).toBe(1);
    await fetch.close();
  });

  it('are guarded as others', async () => {
    const fetch = closed.kept();
    expect(await refusal(fetch, source.serve('/a', status(200)))).toMatchObject({ status: 'address_refused' });
    await fetch.close();
  });

  it('say before each request that it leaves, and not if no connection comes', async () => {
    const fetch = open.kept();
    let left = 0;
    const onSending = () => {
      left += 1;
    };
    const url = source.serve('/a', status(200));
    for (let count = 0; count < 2; count += 1) await read(fetch, url, { onSending });
    expect(left).toBe(2);
    await refusal(fetch, `http://127.0.0.1:1/a`, { onSending });
    expect(left).toBe(2);
    await fetch.close();
  });
});
