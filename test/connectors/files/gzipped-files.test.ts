import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { AnyConnector, Batch, ConnectorContext } from '../../../connectors/core/contract.ts';
import { httpFile } from '../../../connectors/http-file/http-file.ts';
import { s3 } from '../../../connectors/s3/s3.ts';
import { gunzip } from '../../../domain/core/gunzip.ts';
import { type Answer, endlessBytes, file, httpSource } from '../../harness/core/http-source.ts';
import { HANGS_MS, waitFor } from '../../harness/core/wait.ts';
import { inlineRows, workbook } from '../../harness/imports/workbooks.ts';
import { testContext } from '../core/contract.ts';

const MIB = 1024 ** 2;
const web = await httpSource();

type Kind = { connector: AnyConnector; settings(path: string): object };
const inBucket = {
  endpoint: `http://127.0.0.1:${web.port}`,
  region: 'eu-central-1',
  bucket: 'people',
  access_key_id: 'who',
  secret_access_key: 'what',
};
const KINDS: [string, Kind][] = [
  ['http-file', { connector: httpFile, settings: (path) => ({ url: `http://127.0.0.1:${web.port}${path}` }) }],
  ['s3', { connector: s3, settings: (path) => ({ ...inBucket, key: path.replace('/people/', '') }) }],
];

let files = 0;
function open({ connector, settings }: Kind, answer: Answer, more: Partial<ConnectorContext> = {}, format = 'jsonl') {
  const path = `/people/file-${files++}.jsonl`;
  web.serve(path, answer);
  const parsed = connector.settings.parse({ format, ...settings(path) });
  const context = { ...testContext(AbortSignal.timeout(HANGS_MS)), ...more };
  const reading = { stream: 'any', mode: 'full', cursorField: null, cursor: null, fields: null } as const;
  return {
    check: () => connector.source!.check(parsed, context),
    batches: connector.source!.read(parsed, reading, context)[Symbol.asyncIterator]() as AsyncGenerator<Batch>,
  };
}

const ROWS = '{"customer_id":"somebody","plan":"gold"}\n';
/** Rows of 4 MiB, in 5 KiB. */
const MEMBER = gzipSync(ROWS.repeat(100_000));
const isLeft = () => waitFor('the source to be left alone', async () => web.connections() === 0);

describe.for(KINDS)('an .xlsx file of %s', ([, kind]) => {
  it('is read as its rows, and leaves nothing behind, also where reading ends before it does', async () => {
    const sheet = inlineRows([['id'], ...Array.from({ length: 12_000 }, (_, nth) => [`n${nth}`])]);
    const whole = file(await workbook({ sheets: { One: sheet } }));
    const scratch = await mkdtemp(join(tmpdir(), 'scratch-'));
    const records = (await Array.fromAsync(open(kind, whole, { scratch }, 'csv').batches)).flatMap(
      ({ items }) => items,
    );
    expect([records.length, records.at(-1)]).toEqual([12_000, { kind: 'record', record: { id: 'n11999' } }]);
    const { batches, check } = open(kind, whole, { scratch }, 'csv');
    await check();
    await batches.next();
    await batches.return(undefined);
    expect(await readdir(scratch)).toEqual([]);
  });

  it("that expands beyond the limit is refused as the source's fault", async () => {
    const bomb = file(await workbook({ sheets: { One: `<!--${' '.repeat(10 * MIB)}-->` } }));
    const { check } = open(kind, bomb, { maxDecompressedBytes: 10 * MIB }, 'csv');
    await expect(check()).rejects.toMatchObject({
      status: 'too_large',
      message: expect.stringContaining('over 10,485,760 bytes'),
    });
  });
});

describe.for(KINDS)('a gzip file of %s', ([, kind]) => {
  it("that expands beyond the limit is refused as the source's fault, and read no further", async () => {
    const { batches } = open(kind, endlessBytes(MEMBER), { maxDecompressedBytes: 10 * MIB });
    const before = process.memoryUsage.rss();
    let bytes = 0;
    await expect(
      (async () => {
        for await (const batch of batches) bytes += batch.bytes;
      })(),
    ).rejects.toMatchObject({
      status: 'too_large',
      message: expect.stringMatching(/expands to over 10,485,760 bytes, the most that is taken: split it/),
    });
    expect(bytes).toBeLessThanOrEqual(10 * MIB);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MIB);
    await isLeft();
  });

  it('of empty lines alone keeps no check busy beyond its time', async () => {
    const late = new AbortController();
    const { check } = open(kind, endlessBytes(gzipSync(Buffer.alloc(10 * MIB, '\n'))), { signal: late.signal });
    const checked = check();
    setImmediate(() => late.abort(new Error('time is up')));
    await expect(checked).rejects.toThrow('time is up');
    await isLeft();
  });

  it('is read no further once the run is canceled, whatever the source still sends', async () => {
    const run = new AbortController();
    const { batches } = open(kind, endlessBytes(MEMBER), { signal: run.signal });
    await batches.next();
    run.abort(new Error('the run was canceled'));
    await expect(Array.fromAsync(batches)).rejects.toThrow('the run was canceled');
    await isLeft();
  });

  it('is decompressed no further once the run is canceled, whatever has come already', async () => {
    const run = new AbortController();
    const whole = gzipSync(Buffer.alloc(100 * MIB, ROWS));
    const { batches } = open(kind, file(whole), { signal: run.signal });
    await batches.next();
    run.abort(new Error('the run was canceled'));
    let bytes = 0;
    await expect(
      (async () => {
        for await (const batch of batches) bytes += batch.bytes;
      })(),
    ).rejects.toThrow('the run was canceled');
    expect(bytes).toBeLessThan(8 * MIB);
    await isLeft();
  });

  it('is left at once by a dry run that has read enough, even when the source sends no more', async () => {
    const stopsAfter = Math.floor(MEMBER.length / 2);
    const { batches } = open(kind, file(MEMBER, { stopsAfter }));
    await batches.next();
    await batches.return(undefined);
    expect(await isLeft()).toBe(true);
  });
});

it('a gzip file of many members, empty ones, small ones and larger ones, is read whole, however it is cut into pieces', async () => {
  const sizes = [0, 0, 1, 1_023, 1_024, 1_025, 40_000];
  const texts = Array.from({ length: 450 }, (_, nth) => 'x'.repeat(sizes[nth % 7]!) + (nth % 5 === 0 ? nth : ''));
  const whole = Buffer.concat(texts.map((text) => gzipSync(text)));
  const read = async (bytes: Buffer, cut: number, maxBytes = 100 * MIB) => {
    const pieces = Array.from({ length: Math.ceil(bytes.length / cut) }, (_, nth) =>
      bytes.subarray(nth * cut, (nth + 1) * cut),
    );
    const reading = gunzip(Readable.from(pieces), { maxBytes });
    const out: Buffer[] = [];
    for (let next = await reading.next(); ; next = await reading.next()) {
      if (next.done) return [Buffer.concat(out).toString(), next.value];
      out.push(next.value);
    }
  };
  for (const cut of [7, 1_000, MIB]) expect(await read(whole, cut)).toEqual([texts.join(''), null]);
  const bad = Buffer.concat([gzipSync('a'), gzipSync('b')]);
  bad[bad.length - 8]! ^= 1;
  expect(await read(bad, MIB)).toEqual(['ab', 'corrupt']);
  expect(await read(whole.subarray(0, -3), MIB)).toEqual([texts.join(''), 'cut_off']);
  expect(await read(Buffer.concat([gzipSync('ab'), gzipSync('cd')]), MIB, 3)).toEqual(['ab', 'too_large']);
});
