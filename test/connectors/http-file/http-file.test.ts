import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Batch, Cursor, Json, Reading, SourceRecord } from '../../../connectors/core/contract.ts';
import { httpFile } from '../../../connectors/http-file/http-file.ts';
import { type Answer, file, httpSource, status } from '../../harness/core/http-source.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { inlineRows, workbook, zipOf } from '../../harness/imports/workbooks.ts';
import { type PreparedSource, sourceContract, testContext } from '../core/contract.ts';

type Served = Awaited<ReturnType<typeof httpSource>>;

const people = (count: number): SourceRecord[] =>
  Array.from({ length: count }, (_, nth) => ({
    customer_id: personId(nth),
    name: nth % 3 === 0 ? null : `Name "${nth}", the ${nth}th`,
    note: nth % 5 === 0 ? 'two\nlines' : 'plain',
  }));
const csv = (records: SourceRecord[], delimiter = ','): string => {
  const quoted = (value: Json) => (typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : '');
  return [Object.keys(records[0]!), ...records.map(Object.values)]
    .map((row) => row.map(quoted).join(delimiter))
    .join('\r\n');
};
const jsonl = (records: SourceRecord[]): string => records.map((record) => JSON.stringify(record)).join('\n');

const TOKEN = `Bearer ${randomBytes(12).toString('hex')}`;
const WRONG_TOKEN = `Bearer ${randomBytes(12).toString('hex')}`;
const onlyWith =
  (token: string, answer: Answer): Answer =>
  (request, response, nth) =>
    (request.headers.authorization === token ? answer : status(401))(request, response, nth);

type Kind = {
  settings: Record<string, unknown>;
  write(records: SourceRecord[]): string;
  broken: string;
  says: RegExp;
  pack?(bytes: Buffer): Buffer;
};

function prepared({ settings, write, broken, says, pack = (bytes) => bytes }: Kind): () => Promise<PreparedSource> {
  return async () => {
    rememberSecret(TOKEN);
    rememberSecret(WRONG_TOKEN);
    const web = await httpSource();
    const records = people(12_345);
    let version = 0;
    const put = (text: string) => {
      version += 1;
      return web.serve('/people', onlyWith(TOKEN, file(pack(Buffer.from(text)), { etag: `"v${version}"` })));
    };
    const url = put(write(records));
    return {
      settings: { ...settings, url, request_headers: { Authorization: TOKEN } },
      wrong: {
        settings: { ...settings, url, request_headers: { Authorization: WRONG_TOKEN } },
        says: /401.*request_headers/,
      },
      stream: 'people',
      cursorField: null,
      records,
      async change() {
        const changed = people(40).map((record) => ({ ...record, note: 'changed' }));
        put(write(changed));
        return changed;
      },
      async spoil() {
        put(`${write(records)}\n${broken}\n`);
        return says;
      },
      async throttle() {
        web.serve('/people', status(429, { 'retry-after': '17' }));
        return 17;
      },
    };
  };
}

const CSV = {
  settings: { format: 'csv' },
  write: csv,
  broken: 'too,few',
  says: /^Line \d+ has 2 fields, and the header 3$/,
};
const WITHOUT = ['cursor field'] as const;

describe('csv', () => {
  sourceContract(httpFile, prepared(CSV), WITHOUT);
});
describe('jsonl', () => {
  const broken = { broken: '{"customer_id":', says: /^Line 12346 is not JSON$/ };
  sourceContract(httpFile, prepared({ settings: { format: 'jsonl' }, write: jsonl, ...broken }), WITHOUT);
});
describe('csv, gzipped', () => {
  sourceContract(httpFile, prepared({ ...CSV, pack: gzipSync }), WITHOUT);
});
describe('csv with semicolons', () => {
  const settings = { format: 'csv', delimiter: ';' };
  sourceContract(
    httpFile,
    prepared({ ...CSV, settings, write: (records) => csv(records, ';'), broken: 'too;few' }),
    WITHOUT,
  );
});

let web: Served;
beforeAll(async () => {
  web = await httpSource();
});

const serve = (bytes: Buffer | string, how: Parameters<typeof file>[1] = {}) =>
  web.serve('/file.txt', file(Buffer.from(bytes), how));
const parse = (settings: Record<string, unknown>) => httpFile.settings.parse({ format: 'csv', ...settings });
const context = (signal = AbortSignal.timeout(HANGS_MS)) => testContext(signal);
const reading = (mode: Reading['mode'], cursor: Cursor | null): Reading => ({
  stream: 'file.txt',
  mode,
  cursorField: null,
  cursor,
  fields: null,
});
const read = (
  settings: Record<string, unknown>,
  mode: Reading['mode'] = 'full',
  cursor: Cursor | null = null,
): Promise<Batch[]> => Array.fromAsync(httpFile.source!.read(parse(settings), reading(mode, cursor), context()));
const itemsOf = (batches: Batch[]) => batches.flatMap(({ items }) => items);
const recordsOf = (batches: Batch[]) =>
  itemsOf(batches).flatMap((item) => (item.kind === 'record' ? [item.record] : []));
const malformedOf = (batches: Batch[]) => itemsOf(batches).flatMap((item) => (item.kind === 'malformed' ? [item] : []));
const discover = (settings: Record<string, unknown>) => httpFile.source!.discover(parse(settings), context());

describe('going on', () => {
  const records = people(12_000);

  it('asks for the rest alone, and not at all once all was read', async () => {
    const url = serve(csv(records), { etag: '"one"' });
    const batches = await read({ url });
    const asked = web.asked.length;
    const rest = await read({ url }, 'full', batches[1]!.cursor);
    expect(recordsOf(rest)).toEqual(records.slice(10_000));
    expect(web.asked.slice(asked).map(({ headers }) => headers.range)).toEqual([
      expect.stringMatching(/^bytes=\d{4,}-$/),
    ]);
    expect(await read({ url }, 'full', batches.at(-1)!.cursor)).toEqual([]);
    expect(web.asked.length).toBe(asked + 1);
  });

  it.for([
    ['of gzip, the whole is read again and what was done is left out', { etag: '"one"' }, gzipSync, 2_000],
    ['without parts, too', { etag: '"one"', parts: 'none' }, Buffer.from, 2_000],
    ['by the date of a file, where it has no tag', { modified: new Date('2026-01-01') }, Buffer.from, 2_000],
    ['without a version, all is read again', {}, Buffer.from, 12_000],
    ['with a weak tag, all is read again', { etag: 'W/"one"' }, Buffer.from, 12_000],
  ] as const)('%s', async ([, how, pack, brought]) => {
    const url = serve(pack(Buffer.from(csv(records))), { ...how });
    const { cursor } = (await read({ url }))[1]!;
    expect(recordsOf(await read({ url }, 'full', cursor))).toEqual(records.slice(-brought));
  });

  it.for([
    ['another', 12_000],
    ['a shorter', 3],
  ] as const)('starts again on %s version of the file', async ([, count]) => {
    const { cursor } = (await read({ url: serve(csv(records), { etag: '"one"' }) }))[1]!;
    const url = serve(csv(people(count)), { etag: '"two"' });
    expect(recordsOf(await read({ url }, 'full', cursor))).toHaveLength(count);
  });

  it('starts again where the server answers with another part, or has none any more', async () => {
    const { cursor } = (await read({ url: serve(csv(records), { etag: '"one"' }) }))[1]!;
    const url = serve(csv(records), { etag: '"two"', parts: 'any' });
    expect(recordsOf(await read({ url }, 'full', cursor))).toEqual(records);
    serve(csv(people(3)), { etag: '"two"', parts: 'any' });
    expect(recordsOf(await read({ url }, 'full', cursor))).toHaveLength(3);
  });

  it('brings an unchanged file to no incremental reading again, unless nothing tells whether it changed', async () => {
    // A date counts once it is a second old: tomorrow's is none, however long the test takes.
    const tomorrow = new Date(Date.now() + 86_400_000);
    const kinds = [
      [{ etag: 'W/"one"' }, 0],
      [{ modified: new Date('2026-01-01') }, 0],
      [{ modified: tomorrow }, 9],
      [{}, 9],
    ] as const;
    for (const [how, brought] of kinds) {
      const url = serve(csv(people(9)), { ...how });
      const { cursor } = (await read({ url }, 'incremental')).at(-1)!;
      expect(recordsOf(await read({ url }, 'incremental', cursor))).toHaveLength(brought);
    }
  });

  it('refuses a transfer that breaks, after the batches that came', async () => {
    const text = csv(records);
    const url = serve(text, { etag: '"one"', breaksAfter: Math.floor(text.length * 0.9) });
    const batches: Batch[] = [];
    await expect(
      (async () => {
        for await (const batch of httpFile.source!.read(parse({ url }), reading('full', null), context()))
          batches.push(batch);
      })(),
    ).rejects.toMatchObject({ status: 'transfer_broken' });
    serve(text, { etag: '"one"' });
    expect(recordsOf([...batches, ...(await read({ url }, 'full', batches.at(-1)!.cursor))])).toEqual(records);
  });
});

describe('records', () => {
  it('come without a BOM, from CRLF and LF, with or without a last line end', async () => {
    for (const text of ['\uFEFFa,b\r\n1,\r\n', 'a,b\n1,', '"a",b\n\n"1",""\n']) {
      expect(recordsOf(await read({ url: serve(text) }))).toEqual([{ a: '1', b: null }]);
    }
    for (const text of ['\uFEFF{"a":1}\r\n', '{"a":1}', '\n\n{"a":1}\n\n']) {
      expect(recordsOf(await read({ format: 'jsonl', url: serve(text) }))).toEqual([{ a: 1 }]);
    }
  });

  it('come from a file in UTF-16, of another encoding that is set, and with the delimiter of its header', async () => {
    const text = 'näme;b\n€,1;2\n';
    const utf16 = serve(Buffer.from(`\uFEFF${text}`, 'utf16le'));
    expect(recordsOf(await read({ url: utf16 }))).toEqual([{ näme: '€,1', b: '2' }]);
    const single = serve(Buffer.from(text.replace('€', '\u0080'), 'latin1'));
    expect(recordsOf(await read({ url: single, encoding: 'windows-1252' }))).toEqual([{ näme: '€,1', b: '2' }]);
    expect(recordsOf(await read({ url: serve(text), delimiter: '|' }))).toEqual([{ 'näme;b': '€,1;2' }]);
  });

  it('have no value where a cell is the null marker', async () => {
    const url = serve('a,b\n\\N,"\\N"\n\\n,x\\N\n');
    expect(recordsOf(await read({ url, null_marker: '\\N' }))).toEqual([
      { a: null, b: null },
      { a: '\\n', b: 'x\\N' },
    ]);
    const sheet = await workbook({
      sheets: {
        One: inlineRows([
          ['a', 'b'],
          ['NULL', 'null'],
          ['', 'NULL '],
        ]),
      },
    });
    expect(recordsOf(await read({ url: serve(sheet), null_marker: 'NULL' }))).toEqual([
      { a: null, b: 'null' },
      { a: null, b: 'NULL ' },
    ]);
    const long = serve(`a,b\n${'x,-\n'.repeat(12_000)}`, { etag: '"one"' });
    const { cursor } = (await read({ url: long, null_marker: '-' }))[1]!;
    expect(recordsOf(await read({ url: long, null_marker: '-' }, 'full', cursor)).at(-1)).toEqual({ a: 'x', b: null });
  });

  it('go on behind a batch with the delimiter that was found', async () => {
    const all = people(12_000);
    const text = csv(all, ';');
    for (const bytes of [Buffer.from(text), Buffer.from(`\uFEFF${text}`, 'utf16le')]) {
      const url = serve(bytes, { etag: '"one"' });
      const { cursor } = (await read({ url }))[1]!;
      expect(recordsOf(await read({ url }, 'full', cursor))).toEqual(all.slice(-2_000));
    }
  });

  it('come from a sheet of an .xlsx file, also zipped, and go on behind a batch', async () => {
    const rows = [
      ['id', 'note'],
      ...Array.from({ length: 12_000 }, (_, nth) => [`n${nth}`, nth === 1 ? 'two\nlines' : '']),
    ];
    const sheet = `${inlineRows(rows)}<row><c/><c/><c><v>1</v></c></row>`;
    const excel = await workbook({ sheets: { Other: inlineRows([['x']]), People: sheet } });
    for (const bytes of [excel, await zipOf({ 'people.xlsx': excel })]) {
      const url = serve(bytes, { etag: '"one"' });
      const batches = await read({ url, sheet: 'People' });
      expect(recordsOf(batches).slice(0, 2)).toEqual([
        { id: 'n0', note: null },
        { id: 'n1', note: 'two\nlines' },
      ]);
      expect(malformedOf(batches)).toMatchObject([{ message: 'Line 12002 has 3 fields, and the header 2' }]);
      expect(recordsOf(await read({ url, sheet: 'People' }, 'full', batches[1]!.cursor))).toHaveLength(2_000);
    }
    await expect(read({ url: serve(excel), sheet: 'None' })).rejects.toThrow(/no sheet "None"/);
    await expect(discover({ url: serve(await zipOf({ a: '', b: '' })) })).rejects.toThrow(/holds 2 files \("a", "b"\)/);
  });

  it('keep the digits of numbers', async () => {
    const url = serve('{"a":9007199254740993,"b":[1.50,1e3,{"c":0.1234567890123456789}],"d":-0.0,"e":1e400}');
    const record = { a: '9007199254740993', b: [1.5, 1000, { c: '0.1234567890123456789' }], d: -0, e: '1e400' };
    expect(recordsOf(await read({ format: 'jsonl', url }))).toEqual([record]);
  });

  it.for([
    ['csv', 'x'.repeat(1024 * 1024 + 1), /^Line 3 is over 1 MiB long$/],
    ['csv', `"${'x\n'.repeat(530_000)}victim,gold\n"`, /^Line 3 is over 1 MiB long$/],
    ['csv', Buffer.from([0x78, 0xff, 0xfe]), /^Line 3 is not UTF-8: .*, or set encoding, such as windows-1252$/],
    ['csv', '1,2', /^Line 3 has 2 fields, and the header 1$/],
    ['csv', '"1', /^Line 3 opens a quote/],
    ['csv', '"1"2', /^Line 3: a closing quote/],
    ['jsonl', `{"a":"${'x'.repeat(1024 * 1024)}"}`, /^Line 3 is over 1 MiB long$/],
    ['jsonl', Buffer.from([0x22, 0xff, 0x22]), /^Line 3 is not UTF-8$/],
    ['jsonl', '[1]', /^Line 3 is not a JSON object$/],
    ['jsonl', '12345678901234567890', /^Line 3 is not a JSON object$/],
    ['jsonl', '{"email":"a@example.com","__proto__":1}', /^Line 3 has a member named __proto__$/],
    ['jsonl', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, /^Line 3 has arrays or objects more than 100 deep$/],
    [
      'jsonl',
      `{"a":${'['.repeat(10_000)}1.50${']'.repeat(10_000)}}`,
      /^Line 3 has arrays or objects more than 100 deep$/,
    ],
    ['jsonl', 'null', /^Line 3 is not a JSON object$/],
  ] as const)('%s: one that is malformed is told, and the others come', async ([format, broken, says]) => {
    const [head, tail] =
      format === 'csv' ? ['a\nfirst\n', '\nlast'] : ['{"a":"head"}\n{"a":"first"}\n', '\n{"a":"last"}'];
    const url = serve(Buffer.concat([Buffer.from(head), Buffer.from(broken), Buffer.from(tail)]));
    const batches = await read({ format, url });
    expect(malformedOf(batches)).toEqual([
      { kind: 'malformed', raw: expect.anything(), message: expect.stringMatching(says) },
    ]);
    expect(Buffer.byteLength(malformedOf(batches)[0]!.raw)).toBeLessThanOrEqual(2048);
    expect(recordsOf(batches).slice(-2)).toEqual([{ a: 'first' }, { a: 'last' }]);
  });

  it('are none behind a quote that opens a field and is never closed', async () => {
    const batches = await read({ url: serve(`a\nfirst\n"${'x\n'.repeat(530_000)}victim\nlast\n`) });
    expect(recordsOf(batches)).toEqual([{ a: 'first' }]);
    const message = expect.stringMatching(/^Line 3 opens a quote .* no record from here to the end/);
    expect(malformedOf(batches)).toMatchObject([{ message }]);
  });

  it('of just 1 MiB and 100 levels come', async () => {
    const deep = `{"a":${'['.repeat(99)}${']'.repeat(99)}}`;
    const long = `{"a":"${'x'.repeat(1024 * 1024 - 8)}"}`;
    expect(recordsOf(await read({ format: 'jsonl', url: serve(`${deep}\n${long}\r\n`) }))).toHaveLength(2);
  });

  it('are none where a spreadsheet left separators alone, and have no fields behind its last name', async () => {
    const batches = await read({ url: serve('a,b,,\n1,2,,\n,,,\n3,4\n5,6,,x\n,,\n') });
    expect(recordsOf(batches)).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
    expect(malformedOf(batches)).toMatchObject([{ message: 'Line 5 has 4 fields, and the header 2' }]);
  });

  it('come in batches of bounded bytes', async () => {
    const url = serve(`a\n${`${'x'.repeat(1024 * 1024)}\n`.repeat(9)}`);
    expect((await read({ url })).map(({ items }) => items.length)).toEqual([3, 3, 3]);
  });
});

describe('fields', () => {
  it('are the names of the header', async () => {
    const url = serve('customer_id,  b \n1,2');
    const fields = ['customer_id', '  b '].map((name) => ({ name, type: 'string', nullable: true }));
    expect(await discover({ url })).toEqual([{ name: 'file.txt', fields, key: [], incremental: 'own' }]);
  });

  it('of JSON Lines are what the first thousand records hold', async () => {
    const first = ['{"n":1,"i":2,"o":{},"l":[],"b":true,"x":null,"m":"a"}', 'broken'];
    const second = '{"n":1.5,"i":null,"m":2,"late":99999999999999999999}';
    const url = serve([...first, second, ...Array.from({ length: 998 }, () => '{"s":"a"}'), '{"beyond":1}'].join('\n'));
    const [stream] = await discover({ format: 'jsonl', url });
    expect(Object.fromEntries(stream!.fields.map(({ name, type }) => [name, type]))).toEqual({
      n: 'number',
      i: 'integer',
      o: 'object',
      l: 'array',
      b: 'boolean',
      x: 'string',
      m: 'string',
      late: 'string',
      s: 'string',
    });
  });

  it.for([
    ['', /empty: CSV needs a header/],
    ['a,,b\n', /column 2 has no name/],
    ['a,b,a\n', /column 3 has the name of an earlier one/],
    ['__proto__\n', /__proto__/],
    ['"a\n', /opens a quote/],
    [Buffer.from('n\u00E4me,b\n', 'latin1'), /is not UTF-8: .* set encoding/],
    [Array.from({ length: 1_001 }, (_, nth) => `c${nth}`).join(), /over 1,000 columns/],
    [`a${'b'.repeat(32 * 1024)}`, /over 32,768 characters/],
    [Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from('no gzip at all')]), /begins as gzip and is none/],
  ] as const)('%# of a wrong header are refused', async ([text, says]) => {
    const refused = { status: 'source_refused', message: expect.stringMatching(says) };
    await expect(discover({ url: serve(text) })).rejects.toMatchObject(refused);
  });

  it('of a thousand columns are taken', async () => {
    const url = serve(Array.from({ length: 1_000 }, (_, nth) => `c${nth}`).join());
    expect((await discover({ url }))[0]!.fields).toHaveLength(1_000);
  });

  it('an empty file brings no records', async () => {
    for (const text of ['', 'a,b', 'a,b\n']) expect(recordsOf(await read({ url: serve(text) }))).toEqual([]);
  });

  it('gzip that ends in the middle is a broken transfer', async () => {
    const url = serve(gzipSync(csv(people(1_000))).subarray(0, 500));
    await expect(read({ url })).rejects.toMatchObject({ status: 'transfer_broken' });
  });

  it('gzip with a wrong checksum is refused, and names the records that came before that was known', async () => {
    const damaged = (text: string) => {
      const gzip = Buffer.from(gzipSync(text));
      gzip[gzip.length - 8]! ^= 1;
      return { url: serve(gzip) };
    };
    await expect(read(damaged(csv(people(10))))).rejects.toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/checksum/),
    });
    await expect(read(damaged(csv(people(6_000))))).rejects.toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/checksum.* Records before line \d+ were read/),
    });
  });

  it('gzip with bytes behind its end brings all records, and one that says so', async () => {
    const batches = await read({ url: serve(Buffer.concat([gzipSync(csv(people(10))), Buffer.from('more')])) });
    expect(recordsOf(batches)).toHaveLength(10);
    expect(batches.flatMap(({ items }) => items).at(-1)).toMatchObject({
      kind: 'malformed',
      message: expect.stringMatching(/no gzip/),
    });
  });
});

describe('settings', () => {
  it.for([
    [{ url: 'ftp://example.com/a.csv' }, /^url must be an http/],
    [{ url: 'https://user:word@example.com/a.csv' }, /^url must not hold a user/],
    [{ request_headers: { Range: 'bytes=0-' } }, /^request_headers must not have the header Range/],
    [{ request_headers: 'x' }, /^request_headers must be an object/],
    [{ url_query: '?a=b' }, /^url_query must be/],
    [{ format: 'xml' }, /^format must be csv or jsonl/],
    [{ delimiter: 'ab' }, /^delimiter must be a comma/],
  ] as const)('%# that are wrong are refused with words', ([settings, says]) => {
    const parsed = httpFile.settings.safeParse({ url: 'https://example.com/a.csv', format: 'csv', ...settings });
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([expect.stringMatching(says)]);
  });

  it('the secret query goes with the request, and into no message', async () => {
    const url = `${web.serve('/gone', status(403))}?a=1`;
    const url_query = `sig=${randomBytes(12).toString('hex')}`;
    rememberSecret(url_query);
    const refusal = await discover({ url, url_query }).then(
      () => null,
      (error: unknown) => error as Error,
    );
    expect(web.asked.at(-1)!.path).toBe(`/gone?a=1&${url_query}`);
    expect(refusal!.message).toMatch(/403/);
    expect(refusal!.message).not.toContain(url_query);
  });

  it('an address that is not public is refused', async () => {
    const url = 'http://169.254.169.254/latest/meta-data';
    await expect(discover({ url })).rejects.toMatchObject({ status: 'address_refused' });
  });
});
