import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Batch, Cursor, Reading, SourceRecord } from '../../../connectors/core/contract.ts';
import { openBucket, s3, type S3Settings } from '../../../connectors/s3/s3.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { httpSource, status } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { type TestS3, testS3 } from '../../harness/core/s3.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { type PreparedSource, sourceContract, testContext } from '../core/contract.ts';

const people = (count: number, from = 0): SourceRecord[] =>
  Array.from({ length: count }, (_, nth) => ({
    customer_id: personId(from + nth),
    city: nth % 3 === 0 ? null : `City, ${nth}`,
  }));
const csv = (records: SourceRecord[]): string =>
  [
    'customer_id,city',
    ...records.map((record) =>
      Object.values(record)
        .map((value) => JSON.stringify(value ?? ''))
        .join(),
    ),
  ].join('\n');
const jsonl = (records: SourceRecord[]): string => records.map((record) => JSON.stringify(record)).join('\n');

let bucket: TestS3;
// It may have to be built first.
beforeAll(async () => {
  bucket = await testS3();
});

const wrong = () => ({ ...bucket.settings, secret_access_key: randomBytes(20).toString('hex') });

/** The server of the tests never asks for patience; a server that does is among the tests below. */
const WITHOUT = ['throttling', 'cursor field'] as const;

describe('one file', () => {
  sourceContract(
    s3,
    async (): Promise<PreparedSource> => {
      const records = people(12_345);
      const put = (text: string) => bucket.put('one/people.csv', text);
      await put(csv(records));
      return {
        settings: { ...bucket.settings, format: 'csv', key: 'one/people.csv' },
        wrong: {
          settings: { ...wrong(), format: 'csv', key: 'one/people.csv' },
          says: /403 SignatureDoesNotMatch: check secret_access_key/,
        },
        stream: 'people.csv',
        cursorField: null,
        records,
        async change() {
          const changed = people(40, 5).map((record) => ({ ...record, city: 'changed' }));
          await put(csv(changed));
          return changed;
        },
        async spoil() {
          await put(`${csv(records)}\na,b,c\n`);
          return /^Line 12347 has 3 fields, and the header 2$/;
        },
        async stop() {},
      };
    },
    WITHOUT,
  );
});

describe('a prefix', () => {
  sourceContract(s3, async (): Promise<PreparedSource> => {
    const records = people(13_000);
    const names = ['a.jsonl', 'b/c.jsonl', 'b/d.jsonl.gz', 'e', 'ä ö(1)+&.jsonl'];
    for (const [nth, name] of names.entries()) {
      const text = Buffer.from(jsonl(records.slice(nth * 2_600, (nth + 1) * 2_600)));
      await bucket.put(`many/${name}`, name.endsWith('gz') ? gzipSync(text) : text);
    }
    await bucket.put('many/empty', '');
    await bucket.put('manyother', jsonl(people(1, 99_999)));
    return {
      settings: { ...bucket.settings, format: 'jsonl', prefix: 'many/' },
      wrong: {
        settings: { ...wrong(), format: 'jsonl', prefix: 'many/' },
        says: /403 SignatureDoesNotMatch: check secret_access_key/,
      },
      stream: 'many/',
      cursorField: null,
      records,
      async change() {
        const changed = people(40, 5).map((record) => ({ ...record, city: 'changed' }));
        await bucket.put('many/a-new', jsonl(changed.slice(0, 20)));
        await bucket.put('many/e', jsonl(changed.slice(20)));
        return changed;
      },
      async spoil() {
        await bucket.put('many/e', jsonl(records.slice(7_800, 10_400)));
        await bucket.put('many/a-new', '{"customer_id"');
        return /^Line 1 is not JSON$/;
      },
      async stop() {},
    };
  }, [...WITHOUT, 'progress']);
});

const parse = (settings: Record<string, unknown>) =>
  s3.settings.parse({ format: 'jsonl', ...bucket.settings, ...settings });
const context = () => testContext(AbortSignal.timeout(HANGS_MS));
const reading = (mode: Reading['mode'], cursor: Cursor | null): Reading => ({
  stream: 'any',
  mode,
  cursorField: null,
  cursor,
  fields: null,
});
const read = (
  settings: Record<string, unknown>,
  mode: Reading['mode'] = 'full',
  cursor: Cursor | null = null,
): Promise<Batch[]> => Array.fromAsync(s3.source!.read(parse(settings), reading(mode, cursor), context()));
const recordsOf = (batches: Batch[]) =>
  batches.flatMap(({ items }) => items.flatMap((item) => (item.kind === 'record' ? [item.record] : [])));
const check = (settings: Record<string, unknown>) => s3.source!.check(parse(settings), context());

describe('a prefix from run to run', () => {
  it('brings each file once, whatever its place among the keys', async () => {
    let cursor: Cursor | null = null;
    const next = async () => {
      const batches = await read({ prefix: 'runs/' }, 'incremental', cursor);
      cursor = batches.at(-1)!.cursor;
      return recordsOf(batches).map(({ n }) => n);
    };
    expect(await next()).toEqual([]);
    await bucket.put('runs/m', '{"n":1}');
    expect(await next()).toEqual([1]);
    await bucket.put('runs/z', '{"n":2}');
    await bucket.put('runs/a', '{"n":3}');
    expect(await next()).toEqual([3, 2]);
    expect(await next()).toEqual([]);
    await bucket.put('runs/m', '{"n":1}');
    await bucket.put('runs/a', '{"n":4}');
    await bucket.delete('runs/z');
    expect(await next()).toEqual([4]);
  });

  it('takes a file that is removed while others are read for none', async () => {
    for (const name of ['a', 'b', 'c']) await bucket.put(`going/${name}`, jsonl(people(6_000)));
    const batches = s3
      .source!.read(parse({ prefix: 'going/' }), reading('full', null), context())
      [Symbol.asyncIterator]();
    let count = (await batches.next()).value!.items.length;
    await bucket.delete('going/b');
    for (let next = await batches.next(); !next.done; next = await batches.next()) count += next.value.items.length;
    expect(count).toBe(12_000);
  });

  it('fills batches across small files, and names the file that cannot be read', async () => {
    for (let nth = 0; nth < 30; nth += 1) await bucket.put(`small/${nth}`, `n\n${nth}`);
    expect((await read({ format: 'csv', prefix: 'small/' })).map(({ items }) => items.length)).toEqual([30]);
    const marked = recordsOf(await read({ format: 'csv', prefix: 'small/', null_marker: '7' }));
    expect(marked.filter(({ n }) => n === null)).toHaveLength(1);
    await bucket.put('small/5', 'n,n\n1,2');
    await expect(read({ format: 'csv', prefix: 'small/' })).rejects.toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/^small\/5: .*column 2 has the name of an earlier one/),
    });
  });

  it('of over a thousand files is listed to its end', async () => {
    const names = Array.from({ length: 1_005 }, (_, nth) => `page/${nth}`);
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name, nth) => bucket.put(name, `{"n":${at + nth}}`)));
    }
    const batches = await read({ prefix: 'page/' }, 'incremental');
    expect(new Set(recordsOf(batches).map(({ n }) => n)).size).toBe(1_005);
    expect(JSON.stringify(batches.at(-1)!.cursor).length).toBeLessThan(100_000);
    await bucket.put('page/0', '{"n":"new"}');
    expect(recordsOf(await read({ prefix: 'page/' }, 'incremental', batches.at(-1)!.cursor))).toContainEqual({
      n: 'new',
    });
  });
});

describe('going on in one file', () => {
  it.for([
    ['another version', 'changed'],
    ['a shorter one', 'short'],
    ['the same', null],
  ] as const)('with %s', async ([, now]) => {
    const records = people(12_000);
    await bucket.put('one/on', jsonl(records));
    const [first] = await read({ key: 'one/on' });
    const changed = now === 'short' ? people(2, 7) : people(12_000, 7);
    if (now !== null) await bucket.put('one/on', jsonl(changed));
    expect(recordsOf(await read({ key: 'one/on' }, 'full', first!.cursor))).toEqual(
      now === null ? records.slice(5_000) : changed,
    );
  });
});

it('the rest of a file is asked for alone, of the same version only', async () => {
  await bucket.put('one/part', 'abcdefghij');
  const open = openBucket(parse({ key: 'one/part' }) as S3Settings, context()).open('one/part');
  const { version, end } = await open();
  await end();
  for (const [part, from, text] of [
    [{ from: 4, version: version! }, 4, 'efghij'],
    [{ from: 4, version: '"other"' }, 0, 'abcdefghij'],
    [{ from: 10, version: version! }, 0, 'abcdefghij'],
  ] as const) {
    const file = await open(part);
    expect([file.from, file.version, Buffer.concat(await Array.fromAsync(file.chunks)).toString()]).toEqual([
      from,
      version,
      text,
    ]);
  }
});

describe('what S3 refuses', () => {
  it.for([
    [{ access_key_id: 'nobody', key: 'a' }, /it does not know this access_key_id/],
    [{ region: 'eu-west-1', key: 'a' }, /400 AuthorizationHeaderMalformed: check region/],
    [{ bucket: 'nothing-here', prefix: '' }, /404 NoSuchBucket: check bucket/],
    [{ key: 'nothing' }, /404 NoSuchKey: check key/],
  ] as const)('%# is told with what to do', async ([settings, says]) => {
    await expect(check(settings)).rejects.toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(says),
    });
  });

  it('an empty prefix is no fault, and has no fields yet', async () => {
    await expect(check({ prefix: 'no/such' })).resolves.toBeUndefined();
    const streams = await s3.source!.discover(parse({ prefix: 'no/such' }), context());
    expect(streams).toEqual([{ name: 'no/such', fields: [], key: [], incremental: 'own' }]);
  });

  it.for([
    ['with a time', { 'retry-after': '9' }, { retry_after: 9 }],
    ['without', {}, {}],
  ] as const)('a request to slow down is passed on, %s', async ([, headers, extra]) => {
    const web = await httpSource();
    web.serve('/people/slow', status(503, headers));
    const refusal = await check({ endpoint: `http://127.0.0.1:${web.port}`, key: 'slow' }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ status: 'source_unavailable', extra });
    expect(web.asked).toHaveLength(1);
  });

  it.for([
    ['a page', (size: number) => '<html>'.padEnd(size, 'x'), 1_000, /something that is not S3/],
    ['an endless one', (size: number) => 'x'.repeat(size), 9 * 1024 * 1024, /in more than S3 ever does/],
  ] as const)('%s is no S3', async ([, text, size, says]) => {
    const server = createServer((_, response) => response.end(text(size)));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onFileEnd(async () => {
      server.close();
    });
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(check({ endpoint, prefix: '' })).rejects.toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(says),
    });
  });

  it('nobody at the address is told so', async () => {
    await expect(check({ endpoint: 'http://127.0.0.1:9', key: 'a' })).rejects.toMatchObject({
      status: 'source_unavailable',
      message: expect.stringMatching(/refused the connection/),
    });
  });
});

describe('the guard', () => {
  const closed = ['http://169.254.169.254', 'http://[::1]:9000', 'http://10.0.0.1:9000'];
  it.for(closed)('lets no request through to %s', async (endpoint) => {
    await expect(check({ endpoint, key: 'a' })).rejects.toMatchObject({ status: 'address_refused' });
  });

  it('a redirect is not followed', async () => {
    const web = await httpSource();
    web.serve('/people/a', status(307, { location: 'http://127.0.0.1:1/' }));
    await expect(check({ endpoint: `http://127.0.0.1:${web.port}`, key: 'a' })).rejects.toMatchObject({
      status: 'source_refused',
    });
    expect(web.asked).toHaveLength(1);
  });

  it('ends with the run', async () => {
    await bucket.put('one/long', jsonl(people(30_000)));
    const run = new AbortController();
    const batches = s3
      .source!.read(parse({ key: 'one/long' }), reading('full', null), testContext(run.signal))
      [Symbol.asyncIterator]();
    await batches.next();
    run.abort(new Error('the run was canceled'));
    await expect(
      (async () => {
        while (!(await batches.next()).done);
      })(),
    ).rejects.toThrow('the run was canceled');
  });
});

describe('settings', () => {
  it.for([
    [{}, /^either key, for one file, or prefix/],
    [{ key: 'a', prefix: 'b' }, /^either key, for one file, or prefix/],
    [{ key: '' }, /^key must not be empty/],
    [{ key: 'a', bucket: 's3://people' }, /^bucket must be the name/],
    [{ key: 'a', region: 'EU!' }, /^region must be/],
    [{ key: 'a', endpoint: 'minio:9000' }, /^endpoint must be an http/],
    [{ key: 'a', endpoint: 'https://minio/?a' }, /^endpoint must have no \?/],
    [{ key: 'a', secret_access_key: '' }, /^secret_access_key must not be empty/],
    [{ key: 'k'.repeat(1_025) }, /^key must have at most 1,024/],
  ] as const)('%# that are wrong are refused with words', ([settings, says]) => {
    const parsed = s3.settings.safeParse({ format: 'csv', ...bucket.settings, ...settings });
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([expect.stringMatching(says)]);
  });

  it('of just the longest key are taken', () => {
    expect(s3.settings.safeParse({ format: 'csv', ...bucket.settings, key: 'k'.repeat(1_024) }).success).toBe(true);
  });
});
