import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Download, download } from '../../../connectors/core/download.ts';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { filePart, fileVersion } from '../../../connectors/core/file-version.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import {
  type Answer,
  endless,
  file,
  hangUp,
  httpSource,
  inTurn,
  redirect,
  status,
} from '../../harness/core/http-source.ts';
import { waitFor } from '../../harness/core/wait.ts';

const source = await httpSource();
const elsewhere = await httpSource();
const allow = readFetchAllow('127.0.0.1') as FetchAllow;
const fetch = guardedFetch(allow);
const trickling = guardedFetch(allow, { limits: { leastRate: { leastBytes: 64 * 1024, withinMs: 20 } } });
const impatient = guardedFetch(allow, { limits: { idleMs: 500 } });

const SIZE = 300_000;
const [FIRST, SECOND] = [randomBytes(SIZE), randomBytes(SIZE)];
const ETAG = '"v1"';
const HOUR_AGO = new Date(Date.now() - 3_600_000);

type Outcome = { bytes: Buffer; refusal?: { status: string | number; message: string } };

/** What has come, and the refusal in which it ended. */
async function fetched(url: string, settings: Partial<Download> = {}, through = fetch): Promise<Outcome> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of download(through, url, { maxBytes: 1e9, pauseMs: 1, ...settings })) pieces.push(piece);
    return { bytes: Buffer.concat(pieces) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { bytes: Buffer.concat(pieces), refusal: { status: error.status, message: error.message } };
  }
}

/** Of a request for a part. */
const firstByte = ({ headers: { range } }: Parameters<Answer>[0]): number => Number(/\d+/.exec(range ?? 'none')![0]);

const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** A refusal after bytes of one version only. */
function expectUnspliced({ bytes, refusal }: Outcome, code: string, words: RegExp): void {
  expect(refusal).toEqual({ status: code, message: expect.stringMatching(words) as string });
  expect(bytes.equals(FIRST.subarray(0, bytes.length))).toBe(true);
}

describe('a file', () => {
  it('comes whole, its pieces counted', async () => {
    for (const isChunked of [false, true]) {
      let counted = 0;
      const { bytes } = await fetched(source.serve('/f', file(FIRST, { isChunked })), {
        onBytes: (length) => {
          counted += length;
        },
      });
      expect({ sha: sha(bytes), counted }).toEqual({ sha: sha(FIRST), counted: SIZE });
    }
    expect(await fetched(source.serve('/f', file(Buffer.alloc(0))))).toEqual({ bytes: Buffer.alloc(0) });
  });

  it('that broke off goes on where it broke, with exactly its bytes', async () => {
    for (const isChunked of [false, true]) {
      const broken = (breaksAfter: number) => file(FIRST, { etag: ETAG, isChunked, breaksAfter });
      const asked = source.asked.length;
      const url = source.serve('/f', inTurn(broken(100_000), broken(50_000), broken(0), file(FIRST, { etag: ETAG })));
      let counted = 0;
      const { bytes, refusal } = await fetched(url, {
        headers: { 'X-Key': 'k' },
        onBytes: (length) => {
          counted += length;
        },
      });
      expect({ refusal, sha: sha(bytes), counted }).toEqual({ refusal: undefined, sha: sha(FIRST), counted: SIZE });
      const [first, ...more] = source.asked.slice(asked).map(({ headers }) => headers);
      expect(first).not.toHaveProperty('range');
      expect(more).toHaveLength(3);
      for (const headers of more) {
        expect(headers).toMatchObject({
          range: expect.stringMatching(/^bytes=\d+-$/) as string,
          'if-range': ETAG,
          'x-key': 'k',
        });
      }
    }
  });

  it('that stopped coming goes on, too, and so does one known by its date only', async () => {
    const version = { modified: HOUR_AGO };
    const url = source.serve('/f', inTurn(file(FIRST, { ...version, stopsAfter: 100_000 }), file(FIRST, version)));
    const { bytes, refusal } = await fetched(url, {}, impatient);
    expect({ refusal, sha: sha(bytes) }).toEqual({ refusal: undefined, sha: sha(FIRST) });
    expect(source.asked.at(-1)!.headers).toMatchObject({ 'if-range': HOUR_AGO.toUTCString() });
  });

  it('goes on through failures of the source that pass', async () => {
    const url = source.serve(
      '/f',
      inTurn(
        file(FIRST, { etag: ETAG, breaksAfter: 100_000 }),
        status(503),
        hangUp,
        status(429),
        file(FIRST, { etag: ETAG }),
      ),
    );
    expect(sha((await fetched(url)).bytes)).toBe(sha(FIRST));
  });

  it('goes on through its redirect, since that may hold a signature for a while only', async () => {
    const target = elsewhere.serve(
      '/f',
      inTurn(file(FIRST, { etag: ETAG, breaksAfter: 100_000 }), file(FIRST, { etag: ETAG })),
    );
    const url = source.serve('/r', redirect(target));
    const asked = source.asked.length;
    expect(sha((await fetched(url, { headers: { 'X-Key': 'k' } })).bytes)).toBe(sha(FIRST));
    expect(source.asked.length - asked).toBe(2);
    expect(elsewhere.asked.at(-1)!.headers).toMatchObject({ 'if-range': ETAG });
    expect(elsewhere.asked.at(-1)!.headers).not.toHaveProperty('x-key');
  });

  it('comes in as many parts as it takes, as long as each brings something', async () => {
    const large = randomBytes(1_000_000);
    // A part may end before the file does (RFC 9110, 15.3.7), and what is missing is asked for again.
    const parts: Answer = (request, response) => {
      const start = firstByte(request);
      const part = large.subarray(start, start + 70_000);
      response
        .writeHead(206, { etag: ETAG, 'content-range': `bytes ${start}-${start + part.length - 1}/${large.length}` })
        .end(part);
    };
    const url = source.serve('/f', inTurn(file(large, { etag: ETAG, breaksAfter: 70_000 }), parts));
    const { bytes, refusal } = await fetched(url);
    expect({ refusal, sha: sha(bytes) }).toEqual({ refusal: undefined, sha: sha(large) });
  });

  it('that brings nothing any more is given up', async () => {
    const asked = source.asked.length;
    const broken = (breaksAfter: number) => file(FIRST, { etag: ETAG, breaksAfter });
    const soon = { pauseMs: 0.1 };
    const outcome = await fetched(source.serve('/f', inTurn(broken(100_000), broken(0))), soon);
    expectUnspliced(outcome, 'transfer_broken', /broke off in the middle/);
    expect(source.asked.length - asked).toBe(12);
    const away = await fetched(source.serve('/f', inTurn(broken(100_000), status(503))), soon);
    expectUnspliced(away, 'source_unavailable', /503/);
  });

  it('is not asked for again when the source says no in between', async () => {
    const url = source.serve(
      '/f',
      inTurn(file(FIRST, { etag: ETAG, breaksAfter: 100_000 }), status(403), file(FIRST, { etag: ETAG })),
    );
    expectUnspliced(await fetched(url), 'source_refused', /403/);
  });

  it('is not gone on with at an address that has become a forbidden one', async () => {
    let lookups = 0;
    const lookup = async () => {
      lookups += 1;
      return [{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    };
    source.serve('/f', file(FIRST, { etag: ETAG, breaksAfter: 100_000 }));
    const outcome = await fetched(`http://rebinding.example:${source.port}/f`, {}, guardedFetch(allow, { lookup }));
    expectUnspliced(outcome, 'address_refused', /not at a public address/);
    expect({ lookups, length: outcome.bytes.length }).toEqual({ lookups: 2, length: 100_000 });
  });
});

describe('bytes of two versions are not put together', () => {
  const first = file(FIRST, { etag: ETAG, breaksAfter: 100_000 });
  const dated = file(FIRST, { modified: HOUR_AGO, breaksAfter: 100_000 });
  const answer206 =
    (bytes: Buffer, headers: Record<string, string>): Answer =>
    (request, response) => {
      expect(firstByte(request)).toBe(100_000);
      response.writeHead(206, headers).end(bytes);
    };
  const rest = (bytes: Buffer, headers: Record<string, string>) =>
    answer206(bytes.subarray(100_000), {
      etag: ETAG,
      'content-range': `bytes 100000-${bytes.length - 1}/${bytes.length}`,
      ...headers,
    });
  const now = { date: HOUR_AGO.toUTCString(), 'last-modified': HOUR_AGO.toUTCString() };

  const twice = Buffer.concat([SECOND, SECOND]);
  const lastButOne = { 'content-range': `bytes 100000-${SIZE - 2}/${SIZE}`, 'content-length': String(SIZE - 100_000) };
  const weak = file(FIRST, { etag: 'W/"1"', modified: HOUR_AGO, breaksAfter: 100_000 });
  const [changed, broken] = ['source_changed', 'transfer_broken'];

  it.each([
    ['the source sends the new version whole', first, file(SECOND, { etag: '"v2"' }), changed, /changed the file/],
    ['it sends it whole by its date', dated, file(SECOND, { modified: new Date() }), changed, /changed the file/],
    [
      'it sends a part of it all the same',
      first,
      file(SECOND, { etag: '"v2"', parts: 'any' }),
      changed,
      /changed the file/,
    ],
    [
      'it sends a part by its date',
      dated,
      file(SECOND, { modified: new Date(), parts: 'any' }),
      changed,
      /changed the file/,
    ],
    ['the new version is shorter than what has come', first, status(416), changed, /changed the file/],
    ['the same ETag comes with another size', first, rest(twice, {}), changed, /changed the file/],
    ['the ETag has become a weak one', first, rest(SECOND, { etag: `W/${ETAG}` }), changed, /changed the file/],
    ['the source sends no parts', first, file(FIRST, { etag: ETAG, parts: 'none' }), broken, /only the whole/],
    ['the part is not said to be of any version', dated, rest(SECOND, {}), broken, /which version/],
    [
      'it sends another part',
      first,
      rest(SECOND, { 'content-range': `bytes 5-${SIZE - 1}/${SIZE}` }),
      broken,
      /another part/,
    ],
    ['it does not say which part', first, answer206(SECOND, { etag: ETAG }), broken, /another part/],
    [
      'it does not say of how many',
      first,
      rest(SECOND, { 'content-range': `bytes 100000-${SIZE - 1}/*` }),
      broken,
      /another part/,
    ],
    ['its length is not that of the part', first, rest(SECOND, lastButOne), broken, /another part/],
    ['there is no version', file(FIRST, { breaksAfter: 100_000 }), file(SECOND), broken, /names no version/],
    ['there is a weak ETag, and a date', weak, file(SECOND), broken, /names no version/],
    [
      'the file may change within the second',
      file(FIRST, { headers: now, breaksAfter: 100_000 }),
      file(SECOND, { headers: now }),
      broken,
      /names no version/,
    ],
  ] as [string, Answer, Answer, string, RegExp][])('when %s', async (_, before, after, code, words) => {
    const outcome = await fetched(source.serve('/f', inTurn(before, after)));
    expectUnspliced(outcome, code, words);
    expect(outcome.bytes.length).toBeLessThanOrEqual(100_000);
  });

  it('when a part brings more than it announces', async () => {
    const chunked: Answer = (request, response) => {
      const start = firstByte(request);
      const range = `bytes ${start}-${SIZE - 1}/${SIZE}`;
      response
        .writeHead(206, { etag: ETAG, 'content-range': range, 'transfer-encoding': 'chunked' })
        .end(Buffer.concat([FIRST.subarray(start), SECOND]));
    };
    expectUnspliced(
      await fetched(source.serve('/f', inTurn(first, chunked))),
      'source_changed',
      /more of the file than it announced/,
    );
  });
});

describe('a file is refused', () => {
  it('when it is too large, at once where its length is told', async () => {
    const told = await fetched(source.serve('/f', file(FIRST)), { maxBytes: SIZE - 1 });
    expectUnspliced(told, 'too_large', /over 299,999 bytes/);
    expect(told.bytes).toHaveLength(0);
    expect((await fetched(source.serve('/f', file(FIRST)), { maxBytes: SIZE })).refusal).toBeUndefined();
  });

  it('when it is too large, and comes without an end', async () => {
    let isGone = false;
    const url = source.serve('/f', (request, response, nth) => {
      request.socket.on('close', () => {
        isGone = true;
      });
      endless(request, response, nth);
    });
    const { bytes, refusal } = await fetched(url, { maxBytes: 2_000_000 });
    expect(refusal).toMatchObject({ status: 'too_large' });
    expect(bytes.length).toBeLessThanOrEqual(2_000_000);
    await waitFor('the connection to end', async () => isGone);
  });

  it('when its encoding is not gzip', async () => {
    for (const encoding of ['gzip', 'x-gzip', 'GZIP', 'identity']) {
      expect(
        sha((await fetched(source.serve('/f', file(FIRST, { headers: { 'content-encoding': encoding } })))).bytes),
      ).toBe(sha(FIRST));
    }
    for (const encoding of ['br', 'deflate', 'zstd', 'gzip, gzip']) {
      expect(
        (await fetched(source.serve('/f', file(FIRST, { headers: { 'content-encoding': encoding } })))).refusal,
      ).toMatchObject({ status: 'source_refused', message: expect.stringMatching(/Content-Encoding/) as string });
    }
  });

  it('when the answer is not a file', async () => {
    for (const code of [202, 204, 206]) {
      expect((await fetched(source.serve('/f', status(code)))).refusal).toMatchObject({ status: 'source_refused' });
    }
    expect((await fetched(source.serve('/f', status(403)))).refusal).toMatchObject({ status: 'source_refused' });
    expect((await fetched(source.serve('/f', status(500)))).refusal).toMatchObject({ status: 'source_unavailable' });
  });
});

describe('a reader that wants no more', () => {
  it('has the connection end, and while it waits to go on, its own reason', async () => {
    let isGone = false;
    const url = source.serve('/f', (request, response, nth) => {
      request.socket.on('close', () => {
        isGone = true;
      });
      endless(request, response, nth);
    });
    for await (const piece of download(fetch, url, { maxBytes: 1e9 })) {
      expect(piece.length).toBeGreaterThan(0);
      break;
    }
    await waitFor('the connection to end', async () => isGone);

    const unwanted = new AbortController();
    const reason = new Error('not wanted');
    const broken = source.serve(
      '/f',
      inTurn(file(FIRST, { etag: ETAG, breaksAfter: 100_000 }), (_, response) => {
        response.writeHead(503).end(() => unwanted.abort(reason));
      }),
    );
    await expect(fetched(broken, { signal: unwanted.signal, pauseMs: 20 })).rejects.toBe(reason);
  });
});

describe('a source that trickles', () => {
  it('is given up, since it would hold the place of others for days', async () => {
    const trickle = source.serve('/f', (_, response) => {
      response.writeHead(200, { 'content-length': '100000' });
      const drip = setInterval(() => response.write('x'), 2);
      response.on('close', () => clearInterval(drip));
    });
    const { refusal } = await fetched(trickle, {}, trickling);
    expect(refusal).toMatchObject({ status: 'transfer_broken', message: expect.stringContaining('no version') });
  });
});

describe('the version and the part that headers name', () => {
  const [modified, date] = ['Tue, 20 Jan 2026 10:00:00 GMT', 'Tue, 20 Jan 2026 10:00:01 GMT'];

  it('is a strong ETag, or without any ETag a date a second before the answer', () => {
    const named = (validator: string) => ({ header: 'etag', validator });
    for (const etag of ['""', '"a"', '"W/a"', '"ä"']) expect(fileVersion({ etag })).toEqual(named(etag));
    for (const etag of ['W/"a"', 'a', '"a', '"a", "b"', '"a"b"', '']) {
      expect(fileVersion({ etag, 'last-modified': modified, date })).toBeUndefined();
    }
    expect(fileVersion({ 'last-modified': modified, date })).toEqual({ header: 'last-modified', validator: modified });
    expect(fileVersion({ 'last-modified': modified, date: modified })).toBeUndefined();
    expect(fileVersion({ 'last-modified': modified })).toBeUndefined();
    expect(fileVersion({ 'last-modified': 'soon', date })).toBeUndefined();
  });

  it('is a part that fits into its file', () => {
    const size = fc.integer({ min: 0, max: 1e12 });
    fc.assert(
      fc.property(size, size, size, (first, last, total) => {
        const isPart = first <= last && last < total;
        expect(filePart({ 'content-range': `bytes ${first}-${last}/${total}` })).toEqual(
          isPart ? { start: first, end: last + 1, total } : undefined,
        );
      }),
    );
    for (const range of [
      '',
      'bytes 0-1',
      'bytes */10',
      'bytes 0-1/*',
      'bytes -1-1/2',
      'items 0-1/2',
      'bytes 0-1/2, 0-1/2',
    ]) {
      expect(filePart({ 'content-range': range })).toBeUndefined();
    }
    expect(filePart({})).toBeUndefined();
  });
});
