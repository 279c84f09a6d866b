import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { ZipFile } from 'yazl';
import { describe, expect, it } from 'vitest';
import { encryptionStream } from '../../domain/exports/file-encryption.ts';
import { asBytes } from '../../store/core/files.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { rememberSecret } from '../harness/core/people.ts';
import { useStack } from '../harness/core/stack.ts';
import { makeWorld } from '../harness/core/world.ts';
import { searchBytes, searchEverywhere } from '../harness/jobs/whole-search.ts';
import { sampledRuns } from '../harness/run/seed.ts';
import { ask } from '../harness/syncs/syncs.ts';

/**
 * The search by which it is proved that somebody is gone finds whatever is planted, wherever and however it is written.
 */

/** With what encodings have to escape. */
const PLANTED = 'zqplanted-Ünal "5" & <o\'neil+7>@example.com';
const SOUGHT = { planted: PLANTED };

const zipped = (name: string, content: Buffer): Promise<Buffer> => {
  const zip = new ZipFile();
  zip.addBuffer(content, name);
  zip.end();
  return buffer(zip.outputStream as Readable);
};
const quotedPrintable = (bytes: Buffer) =>
  Buffer.from(
    [...bytes]
      .map(
        (byte, nth) =>
          (byte > 0x7e || byte < 0x20 || byte === 0x3d
            ? `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
            : String.fromCharCode(byte)) + (nth % 70 === 69 ? '=\r\n' : ''),
      )
      .join(''),
  );
const mail = (body: string) =>
  Buffer.from(
    [
      'From: a@example.com',
      'Subject: hello',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=x',
      '',
      '--x',
      body,
      '--x--',
      '',
    ].join('\r\n'),
  );
const entities = (text: string) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

type Encode = (bytes: Buffer) => Buffer | Promise<Buffer>;

/** Each way to write some bytes. Those of texts take UTF-8. */
const WAYS: Record<string, Encode> = {
  gzip: (bytes) => Buffer.concat([Buffer.from('before '), gzipSync(bytes)]),
  zlib: (bytes) => deflateSync(bytes),
  zip: (bytes) => zipped('data.json', bytes),
  base64: (bytes) => Buffer.from(`{"file":"${bytes.toString('base64')}"}`),
  base64url: (bytes) => Buffer.from(`of/${bytes.toString('base64url')}.sig`),
  'base64 in lines': (bytes) => Buffer.from(bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n')),
  hex: (bytes) => Buffer.from(`\\x${bytes.toString('hex')}`),
  'quoted-printable': quotedPrintable,
  "a mail's part": (bytes) =>
    mail(
      `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${bytes.toString('base64')}`,
    ),
};
const TEXT_WAYS: Record<string, (text: string) => string | Buffer> = {
  percent: (text) => `GET /people?after=${encodeURIComponent(text)} 200`,
  form: (text) => new URLSearchParams({ after: text }).toString(),
  json: (text) => JSON.stringify({ message: text }),
  'json in ASCII': (text) =>
    JSON.stringify(text).replaceAll(
      /[^ -~]|[zq]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  csv: (text) => `1,"${text.replaceAll('"', '""')}",x`,
  html: (text) => `<p>${entities(text)}</p>`,
  utf16le: (text) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]),
  utf16be: (text) => Buffer.concat([Buffer.from([0]), Buffer.from(text, 'utf16le').swap16()]),
  'other letters': (text) => text.toUpperCase().replaceAll('Ü', 'ü').replaceAll('ü', 'Ü'),
};

describe('the search of bytes', () => {
  it.for(Object.keys(WAYS))('finds what is written as %s', async (way) => {
    expect(await searchBytes(await WAYS[way]!(Buffer.from(PLANTED)), SOUGHT)).toHaveLength(1);
  });

  it.for(Object.keys(TEXT_WAYS))('finds a text that is written as %s', async (way) => {
    expect(await searchBytes(Buffer.from(TEXT_WAYS[way]!(PLANTED)), SOUGHT)).toHaveLength(1);
  });

  it("finds a mail's subject and the name of a file with it", async () => {
    const word = `=?utf-8?B?${Buffer.from(PLANTED).toString('base64')}?=`;
    expect(
      await searchBytes(Buffer.from(`Subject: ${word}\r\nContent-Type: text/plain\r\n\r\nhello`), SOUGHT),
    ).toHaveLength(1);
    const named = mail(`Content-Type: text/csv\r\nContent-Disposition: attachment; filename="${word}"\r\n\r\na,b`);
    expect(await searchBytes(named, SOUGHT)).toHaveLength(1);
  });

  it('finds it beneath three encodings around each other, whichever they are', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(TEXT_WAYS)),
        fc.array(fc.constantFrom(...Object.keys(WAYS)), { minLength: 1, maxLength: 2 }),
        async (textWay, ways) => {
          let bytes: Buffer = Buffer.from(TEXT_WAYS[textWay]!(PLANTED));
          for (const way of ways) bytes = await WAYS[way]!(bytes);
          expect(await searchBytes(bytes, SOUGHT)).toHaveLength(1);
        },
      ),
      { numRuns: sampledRuns(100) },
    ));

  it('finds a hash of it that needs no key, and tells nothing of what is not there', async () => {
    expect(await searchBytes(Buffer.from(createHash('sha256').update(PLANTED).digest('hex')), SOUGHT)).toHaveLength(1);
    expect(await searchBytes(Buffer.from(`another${PLANTED.slice(1)}`), SOUGHT)).toEqual([]);
    expect(await searchBytes(randomBytes(100_000), SOUGHT)).toEqual([]);
  });
});

describe('the search of all that Millrace keeps', () => {
  const stack = useStack();
  const [planted, another] = [`zqplanted-"${randomBytes(4).toString('hex')}"\\é`, 'somebody else'];
  const search = (everywhere: Parameters<typeof searchEverywhere>[0]) => searchEverywhere(everywhere, { planted });

  it('finds it in columns of each kind, also of partitions, and says in which', async () => {
    const { db } = stack.store;
    expect(await search({ db })).toEqual([]);
    await db.query(
      `CREATE TABLE plain (id int, told text, as_json jsonb, json_text json, bytes bytea, words text[], many bytea[], named name, x xml)`,
    );
    await db.query('CREATE TABLE parted (at int, told text) PARTITION BY RANGE (at)');
    await db.query('CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)');
    const columns: [string, unknown][] = [
      ['told', `a tab\t and ${planted}`],
      ['as_json', JSON.stringify({ deep: [planted] })],
      ['json_text', JSON.stringify([planted])],
      ['bytes', Buffer.from(planted)],
      ['words', ['a', planted]],
      ['many', [Buffer.from('b'), gzipSync(planted)]],
      ['named', planted],
    ];
    for (const [column, value] of columns) await db.query(`INSERT INTO plain (id, ${column}) VALUES (1, $1)`, [value]);
    await db.query('INSERT INTO parted VALUES (1, $1), (2, $2)', [planted, another]);
    const found = (await search({ db })).map(({ where }) => where).toSorted((a, b) => (a < b ? -1 : 1));
    expect(found).toEqual(
      [...columns.map(([column]) => `plain.${column}`), 'parted.told'].toSorted((a, b) => (a < b ? -1 : 1)),
    );
    await db.query('DROP TABLE plain, parted');
  });

  it('finds it in what is sealed', async () => {
    const { db, secrets } = stack.store;
    const world = await makeWorld(stack.store);
    const secret = `a secret that names ${planted}`;
    rememberSecret(secret);
    await ask(stack.app, world, 'POST', '/api/connections', {
      name: 'Webhook',
      connector: 'webhook',
      settings: { url: 'https://example.com/', secret },
    });
    expect(await search({ db })).toEqual([]);
    expect(await search({ db, secrets })).toEqual([expect.objectContaining({ where: 'connections.sealed_secrets' })]);
  });

  it("finds it in a file and in a file's name, in one that an exporter encrypted, in a folder, and never quotes it", async () => {
    const { files } = stack.store;
    const folder = await mkdtemp(join(tmpdir(), 'millrace-search-'));
    onFileEnd(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'a.log'), gzipSync(JSON.stringify({ planted })));
    const fileKeys = ['AES-256-CBC', 'AES-192-CTR', 'AES-128-GCM'].map((type, nth) => ({
      type,
      key: 'k'.repeat([32, 24, 16][nth]!),
    }));
    for (const { type, key } of fileKeys) {
      await files.put(
        `exports/${type}.csv.gz.enc`,
        Readable.from([gzipSync(planted)]).pipe(encryptionStream(type, key)),
      );
    }
    await files.put(`access/${Buffer.from(planted).toString('base64url')}`, asBytes('nothing'));
    const findings = await search({ files, folders: { logs: folder }, fileKeys });
    expect(findings.map(({ where }) => where.split(/[/.]/)[0]).toSorted((a, b) => (a! < b! ? -1 : 1))).toEqual([
      'files: access',
      'files: exports',
      'files: exports',
      'files: exports',
      'logs: a',
    ]);
    expect(JSON.stringify(findings)).not.toContain('zqplanted');
  });

  it('finds it in the history of a workflow', async () => {
    const { temporal } = stack;
    const options = { taskQueue: 'nobody', args: [{ deep: [gzipSync(planted).toString('base64')] }] };
    const handle = await temporal.workflow.start('planted', { workflowId: 'planted/1', ...options });
    await handle.terminate();
    await expect
      .poll(() => search({ temporal }))
      .toEqual([expect.objectContaining({ where: 'history of planted/1', what: 'planted' })]);
  });
});
