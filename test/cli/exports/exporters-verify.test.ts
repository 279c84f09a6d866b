import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { signDocument } from '../../../domain/core/signed-document.ts';
import type { ExportManifest, UnsignedManifest } from '../../../domain/exports/export-manifest.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { codeOf, documented } from '../../harness/core/documented.ts';
import { pythonProgram } from '../../harness/core/python-program.ts';
import { s3Error, s3Proxy } from '../../harness/core/s3-proxy.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useServer } from '../../server/http/use-server.ts';
import { CRYPTOGRAPHY, runDocumented } from '../core/run-documented.ts';
import { type Outcome, runMillrace, startMillrace } from '../core/run-millrace.ts';

const { store, server } = useServer();
let s3: TestS3;
let folder: string;
let jwks: string;
/** Each test has a folder in the bucket of its own. */
let prefix: string;
let nth = 0;

beforeAll(async () => {
  s3 = await testS3();
  // The SDK reads the environment of its process, be it this one or one that is started.
  const { access_key_id, secret_access_key, endpoint, region } = s3.settings;
  for (const [variable, value] of Object.entries({
    AWS_ACCESS_KEY_ID: access_key_id,
    AWS_SECRET_ACCESS_KEY: secret_access_key,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: region,
    AWS_EC2_METADATA_DISABLED: 'true',
  }))
    vi.stubEnv(variable, value);
  folder = await mkdtemp(join(tmpdir(), 'millrace-verify-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  jwks = join(folder, 'jwks.json');
  await writeFile(jwks, (await server.call('GET', '/.well-known/jwks.json')).text);
});

const END = (day: number) => `2026-11-${day}T23:00:00Z`;
const name = (start: string | null, end: string) =>
  [start ?? 'beginning', end].map((time) => time.replaceAll(':', '-')).join('_');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const contentOf = (key: string) => `what stands in ${key}`;

type Change = (manifest: UnsignedManifest) => void;

/** Puts a window's files and its manifest into the bucket, as a run would; `change` is signed, too. */
async function putWindow(start: string | null, end: string, options: { path?: string; change?: Change } = {}) {
  const { path = name(start, end), change } = options;
  const at = `${prefix}/${path}`;
  const files = [1, 2].map((part) => `${at}/0001/logs-000${part}.csv.gz`);
  for (const key of files) await s3.put(key, contentOf(key));
  const manifest: UnsignedManifest = {
    version: 1,
    exporter: 'exp_1',
    exporter_name: 'Täglich "1"\n🪣',
    entity: 'ent_1',
    run: 'run_1',
    cause: 'schedule',
    window: { kind: path.startsWith('backfill') ? 'happened' : 'received', start, end },
    generation: 1,
    written_at: end,
    format: 'csv',
    compression: 'gzip',
    include_headers: false,
    encryption: null,
    types: [
      {
        type: 'logs',
        repeatable: true,
        columns: ['event_id'],
        rows: 8,
        expected: 8,
        files: files.map((key, index) => {
          const [bytes, hash] = [contentOf(key).length, sha256(contentOf(key))];
          return { key, part: index + 1, rows: 4, bytes, sha256: hash, content_bytes: bytes, content_sha256: hash };
        }),
      },
    ],
    rows: 8,
    bytes: files.reduce((sum, key) => sum + contentOf(key).length, 0),
  };
  change?.(manifest);
  await putManifest(at, signDocument(manifest, store.secrets.sign));
  return { at, files, manifest: `${at}/manifest.json` };
}

const putManifest = (at: string, manifest: object) => s3.put(`${at}/manifest.json`, JSON.stringify(manifest, null, 2));

type Window = Awaited<ReturnType<typeof putWindow>>;
let windows: [Window, Window, Window];

beforeEach(async () => {
  nth += 1;
  prefix = `t${nth}/exp_1`;
  windows = [await putWindow(null, END(20)), await putWindow(END(20), END(21)), await putWindow(END(21), END(22))];
});

const verify = (...args: string[]): Promise<Outcome> =>
  runMillrace(['exporters', 'verify', '--bucket', s3.settings.bucket, '--prefix', prefix, '--jwks', jwks, ...args], {
    url: 'http://127.0.0.1:1',
    token: '',
  });

/** As a process, in whose environment some of it is another. */
const verifyWith = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Outcome> =>
  startMillrace(['exporters', 'verify', '--bucket', s3.settings.bucket, ...args], { url: '', token: '', env }).ended;

type Report = {
  ok: boolean;
  signatures_checked: boolean;
  hashed: boolean;
  windows: {
    ok: boolean;
    manifest: string;
    files: { key: string; state: string }[];
    extra: string[];
    faults: string[];
  }[];
  gaps: object[];
  overlaps: object[];
};

async function reportOf(...args: string[]): Promise<Report & { status: number | null }> {
  const { status, out, err } = await verify(...args, '--json');
  expect(err).toBe('');
  return { status, ...(JSON.parse(out) as Report) };
}

/** The lines behind the table. */
const errorsOf = ({ out }: Outcome) => out.trim().split('\n\n').at(-1)!.split('\n').slice(0, -1);

describe('millrace exporters verify', () => {
  it('says that all is there', async () => {
    const { status, out, err } = await verify();
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toMatch(/^exp_1 +beginning_2026-11-20T23-00-00Z +run_1 +2 +8 +\d+ +valid +ok$/m);
    expect(out).toContain('All is there: 3 windows, 6 files (sizes only, signatures verified).');
    expect(await reportOf('--deep')).toMatchObject({
      status: 0,
      ok: true,
      signatures_checked: true,
      hashed: true,
      gaps: [],
      overlaps: [],
    });
  });

  it('needs no trailing slash nor an exporter, and takes no exporter for one that begins like it', async () => {
    expect((await verify('--prefix', `/${prefix}/`)).status).toBe(0);
    prefix = `t${nth}/exp_12`;
    await putWindow(null, END(20), {
      change: (manifest) => {
        manifest.exporter = 'exp_12';
      },
    });
    prefix = `t${nth}`;
    expect((await reportOf()).windows).toHaveLength(4);
    prefix = `t${nth}/exp_1`;
    expect((await reportOf()).windows).toHaveLength(3);
  });

  it('shows a file that is missing, and one of another size', async () => {
    await s3.delete(windows[0].files[0]!);
    await s3.put(windows[1].files[1]!, 'short');
    const verified = await verify();
    expect(verified.status).toBe(1);
    expect(errorsOf(verified)).toEqual([
      `${windows[0].files[0]} is missing`,
      `${windows[1].files[1]} has 5 bytes, not ${contentOf(windows[1].files[1]!).length}`,
    ]);
    expect(verified.out).toContain('2 windows with faults, 0 gaps and overlaps: 3 windows, 6 files');
  });

  it('shows a file that was changed and kept its size when it reads the files', async () => {
    const key = windows[1].files[1]!;
    await s3.put(key, contentOf(key).toUpperCase());
    expect((await reportOf()).ok).toBe(true);
    const verified = await verify('--deep');
    expect(verified.status).toBe(1);
    expect(errorsOf(verified)).toEqual([`${key} has another SHA-256`]);
  });

  it('shows a file, a manifest or an object besides that S3 refuses to give, and looks at all others', async () => {
    const proxy = await s3Proxy(s3.settings.endpoint);
    const [file, manifest, extra] = [
      windows[0].files[1]!,
      windows[1].manifest,
      `${windows[2].at}/0002/logs-0001.csv.gz`,
    ];
    await s3.put(extra, 'of a run that was broken off');
    await s3.delete(windows[2].files[0]!);
    proxy.meet({ key: new RegExp(file) }, s3Error(403, 'InvalidObjectState', 'The object lies in Glacier'), 9);
    proxy.meet({ key: new RegExp(manifest) }, s3Error(403, 'AccessDenied', 'Access Denied'), 9);
    proxy.meet({ key: new RegExp(extra) }, s3Error(403, 'AccessDenied', 'Access Denied'), 9);
    const refused = {
      file: `${file} is refused: InvalidObjectState (403): The object lies in Glacier`,
      manifest: `${manifest} is refused: AccessDenied (403): Access Denied`,
    };
    const verified = await verify('--deep', '--endpoint', proxy.endpoint);
    expect(verified).toMatchObject({ status: 1, err: '' });
    expect(errorsOf(verified)).toEqual([
      refused.file,
      refused.manifest,
      `${windows[2].files[0]} is missing`,
      `${extra} is extra: no manifest names it`,
    ]);
    expect(verified.out).toContain('3 windows with faults, 0 gaps and overlaps: 3 windows, 4 files (each hashed');
    const report = await reportOf('--deep', '--endpoint', proxy.endpoint);
    expect(report.windows[0]!.files[1]).toEqual({
      key: file,
      state: 'refused',
      reason: refused.file.slice(file.length + 1),
    });
    expect(report.windows[1]!.faults).toEqual([refused.manifest.slice(manifest.length + 1)]);
  });

  it('shows what no manifest names, and a window without a manifest', async () => {
    const extra = `${windows[1].at}/0002/logs-0001.csv.gz`;
    await s3.put(extra, 'of a run that was broken off');
    await s3.delete(windows[2].manifest);
    await s3.put(`${prefix}/readme.txt`, 'no export');
    const verified = await verify();
    expect(verified.status).toBe(1);
    expect(errorsOf(verified)).toEqual([
      `${extra} is extra: no manifest names it`,
      `${windows[2].manifest} is missing`,
      ...windows[2].files.map((key) => `${key} is extra: no manifest names it`),
    ]);
  });

  it('shows gaps and overlaps between windows, and at the ends that were asked for', async () => {
    for (const key of [...windows[1].files, windows[1].manifest]) await s3.delete(key);
    await putWindow('2026-11-22T22:00:00Z', END(23));
    const { status, gaps, overlaps } = await reportOf('--from', '2026-11-20', '--to', '2026-11-25T00:00:00+01:00');
    expect(status).toBe(1);
    expect(gaps).toEqual([
      { exporter: 'exp_1', start: '2026-11-20T23:00:00.000Z', end: '2026-11-21T23:00:00.000Z' },
      { exporter: 'exp_1', start: '2026-11-23T23:00:00.000Z', end: '2026-11-24T23:00:00.000Z' },
    ]);
    expect(overlaps).toEqual([
      { exporter: 'exp_1', start: '2026-11-22T22:00:00.000Z', end: '2026-11-22T23:00:00.000Z' },
    ]);
    expect(errorsOf(await verify())).toEqual([
      'exp_1: no window has 2026-11-20T23:00:00.000Z to 2026-11-21T23:00:00.000Z',
      'exp_1: more than one window has 2026-11-22T22:00:00.000Z to 2026-11-22T23:00:00.000Z',
    ]);
  });

  it('looks at the windows of the time that was asked for alone', async () => {
    await s3.delete(windows[0].files[0]!);
    expect(await reportOf('--from', END(20), '--to', END(21))).toMatchObject({
      status: 0,
      windows: [{ manifest: windows[1].manifest }],
    });
    const before = await reportOf('--from', '2026-11-20T22:59:59Z', '--to', END(20));
    expect(before).toMatchObject({ status: 1, windows: [{ manifest: windows[0].manifest }] });
  });

  it('takes a first window that begins between two seconds for what its folder is named', async () => {
    await s3.delete(windows[0].manifest);
    for (const key of windows[0].files) await s3.delete(key);
    await putWindow('2026-11-19T10:00:00.250Z', END(20), { path: name('2026-11-19T10:00:00Z', END(20)) });
    expect(await reportOf()).toMatchObject({ status: 0, gaps: [] });
  });

  it('looks at backfills, too, which are no part of the chain', async () => {
    const backfill = await putWindow('2026-10-31T23:00:00Z', '2026-11-02T23:00:00Z', {
      path: 'backfill/2026-11-01_2026-11-02',
    });
    expect(await reportOf()).toMatchObject({ status: 0, gaps: [], overlaps: [] });
    await s3.delete(backfill.files[1]!);
    expect(errorsOf(await verify())).toEqual([`${backfill.files[1]} is missing`]);
    expect((await reportOf('--from', '2026-11-20')).windows.map(({ manifest }) => manifest)).not.toContain(
      backfill.manifest,
    );
  });

  it('shows manifests that the server did not write as they are, or not there', async () => {
    const text = await manifestOf(windows[0]);
    await putManifest(windows[0].at, { ...text, rows: 9 });
    await putManifest(windows[1].at, await manifestOf(windows[2]));
    await putManifest(windows[2].at, {
      ...(await manifestOf(windows[2])),
      signature: { algorithm: 'Ed25519', key_id: 'x', value: '' },
    });
    const unsigned = { ...(await manifestOf(await putWindow(END(22), END(23)))), signature: undefined };
    await putManifest(`${prefix}/${name(END(22), END(23))}`, unsigned);
    const verified = await verify();
    expect(verified.status).toBe(1);
    expect(errorsOf(verified)).toEqual(
      expect.arrayContaining([
        `${prefix}/${name(END(22), END(23))}/manifest.json has no signature`,
        `${windows[0].manifest} was changed: its signature does not fit`,
        `${windows[0].manifest} says 9 rows, and its files have 8`,
        `${windows[1].manifest} tells of another window than its folder`,
        `${windows[2].manifest} is signed by a key that is not among those given`,
      ]),
    );
  });

  it("shows a manifest that can't be read, and one of another exporter", async () => {
    await s3.put(windows[0].manifest, '{"version": 1');
    await putWindow(END(20), END(21), {
      change: (manifest) => {
        manifest.exporter = 'exp_2';
      },
    });
    expect(errorsOf(await verify())).toEqual(
      expect.arrayContaining([
        `${windows[0].manifest} is not a manifest of version 1`,
        `${windows[1].manifest} is of the exporter exp_2`,
      ]),
    );
  });

  it('says when it verified no signatures', async () => {
    const { status, out } = await verifyWith(
      { AWS_ENDPOINT_URL: undefined },
      '--prefix',
      prefix,
      '--endpoint',
      s3.settings.endpoint,
    );
    expect(status).toBe(0);
    expect(out).toContain('no signatures verified: --jwks does');
    await putManifest(windows[0].at, { ...(await manifestOf(windows[0])), signature: null });
    expect(errorsOf(await verifyWith({}, '--prefix', prefix))).toEqual([`${windows[0].manifest} has no signature`]);
  });

  it("fails where there is nothing, and in S3's words where it may not look", async () => {
    expect(await verify('--prefix', 'elsewhere')).toMatchObject({
      status: 1,
      out: 'There are no exports here: are --bucket, --prefix, --from and --to right?\n',
    });
    expect(await verify('--bucket', 'unknown-bucket')).toMatchObject({
      status: 1,
      err: expect.stringMatching(/NoSuchBucket \(404\)/),
    });
    const refused = await verifyWith({ AWS_SECRET_ACCESS_KEY: 'x'.repeat(40) });
    expect(refused).toMatchObject({ status: 1, err: expect.stringMatching(/SignatureDoesNotMatch \(403\)/) });
    const asked = await verifyWith({ AWS_REGION: undefined, AWS_CONFIG_FILE: '/dev/null' });
    expect(asked.err).toMatch(/: Region is missing\. Name it by --region, or set AWS_REGION\.$/m);
  });

  it('refuses times and keys that are none', async () => {
    expect((await verify('--from', 'yesterday')).err).toMatch(/^--from is a date such as 2026-11-20/);
    expect((await verify('--to', '2026-13-01')).err).toMatch(/^--to is a date/);
    expect((await verify('--jwks', join(folder, 'none.json'))).err).toMatch(/none\.json cannot be read \(ENOENT\)/);
    expect((await verify('--jwks', 'http://127.0.0.1:1/jwks.json')).err).toMatch(/does not answer/);
    await writeFile(join(folder, 'empty.json'), '{"keys": []}');
    expect((await verify('--jwks', join(folder, 'empty.json'))).err).toMatch(/holds no set of Ed25519 keys/);
  });
});

async function manifestOf({ manifest }: Window): Promise<ExportManifest> {
  return JSON.parse(String(await s3.get(manifest))) as ExportManifest;
}

describe('a window that is exported again while it is verified', () => {
  it('is verified by its new manifest', async () => {
    const [window] = windows;
    const objects = new Map<string, string>();
    for (const key of [window.manifest, ...window.files]) objects.set(key, String(await s3.get(key)));
    const manifest = withoutSignature(JSON.parse(objects.get(window.manifest)!) as ExportManifest);
    for (const file of manifest.types[0]!.files) file.key = file.key.replace('/0001/', '/0002/');
    let asked = 0;
    // Once the first file is asked for, the run that exports the window again is done.
    const url = await playS3(objects, (method) => {
      asked += method === 'HEAD' ? 1 : 0;
      if (method !== 'HEAD' || asked > 1) return;
      for (const key of window.files) {
        objects.set(key.replace('/0001/', '/0002/'), objects.get(key)!);
        objects.delete(key);
      }
      objects.set(window.manifest, JSON.stringify(signDocument({ ...manifest, generation: 2 }, store.secrets.sign)));
    });
    const { status, out } = await runMillrace(
      ['exporters', 'verify', '--bucket', 'b', '--prefix', prefix, '--jwks', jwks, '--endpoint', url, '--json'],
      { url: '', token: '' },
    );
    expect({ status, report: JSON.parse(out) as Report }).toMatchObject({
      status: 0,
      report: { ok: true, windows: [{ generation: 2, files: [{ state: 'ok' }, { state: 'ok' }], extra: [] }] },
    });
    expect(asked).toBeGreaterThan(2);
  });
});

const withoutSignature = ({ signature: _, ...unsigned }: ExportManifest): UnsignedManifest => unsigned;

/** As much of S3 as a reader asks for, which tells of each request before it answers. */
async function playS3(objects: Map<string, string>, onRequest: (method: string) => void): Promise<string> {
  const playing = createServer(({ method, url }, reply) => {
    onRequest(method!);
    const key = decodeURIComponent(new URL(url!, 'http://s3').pathname).replace(/^\/b\/?/, '');
    const content = key === '' ? listed(objects) : objects.get(key);
    reply.writeHead(content === undefined ? 404 : 200, { 'content-length': Buffer.byteLength(content ?? '') });
    reply.end(method === 'HEAD' ? undefined : content);
  });
  await new Promise<void>((ready) => {
    playing.listen(0, '127.0.0.1', ready);
  });
  onFileEnd(async () => {
    playing.closeAllConnections();
    playing.close();
  });
  return `http://127.0.0.1:${(playing.address() as AddressInfo).port}`;
}

function listed(objects: Map<string, string>): string {
  const contents = [...objects.keys()].map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`);
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`;
}

describe('the docs', async () => {
  const pieces = await documented('exports.md');
  const python = await pythonProgram(CRYPTOGRAPHY);
  let url: string;

  beforeAll(async () => {
    url = await server.app.listen({ port: 0, host: '127.0.0.1' });
  });

  const sh = (code: string) =>
    runDocumented(code, folder, python, {
      MILLRACE_URL: url,
      BUCKET: s3.settings.bucket,
      PREFIX: prefix,
    });

  it("have a line that keeps the server's keys, and lines that verify an export by them", async () => {
    const lines = codeOf(pieces, 'sh', 'Verifying: By command');
    expect(lines).toHaveLength(2);
    await rm(jwks);
    await sh(codeOf(pieces, 'sh', 'Verifying').join('\n'));
    expect(await sh(lines[0]!)).toContain('signatures verified');
    await putWindow(END(22), END(23));
    await sh(lines[1]!);
    expect(JSON.parse(await readFile(join(folder, 'verified.json'), 'utf8'))).toMatchObject({ ok: true, hashed: true });
    await s3.delete(windows[1].files[0]!);
    await expect(sh(lines[0]!)).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`${windows[1].files[0]} is missing`),
    });
  });

  it.skipIf(python === null)(
    'have a recipe in Python that verifies a manifest, and fails for one that was changed',
    async () => {
      await writeFile(join(folder, 'verify.py'), codeOf(pieces, 'python', 'Verifying: With Python')[0]!);
      const [line] = codeOf(pieces, 'sh', 'Verifying: With Python');
      const manifest = await manifestOf(windows[1]);
      await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
      expect(await sh(line!)).toBe('run_1: 8 rows\n');
      await writeFile(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, rows: 9 }));
      await expect(sh(line!)).rejects.toThrow('InvalidSignature');
    },
  );
});
