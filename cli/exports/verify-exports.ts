// `millrace exporters verify`: checks the manifests, signatures and files of exports in their bucket, without a server.
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import progress, { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import { type SignatureState, type SigningKey, verifyDocument } from '../../domain/core/signed-document.ts';
import { type ExportManifest, type UnsignedManifest, unsignedManifest } from '../../domain/exports/export-manifest.ts';
import { type WindowFault, windowFaults } from '../../domain/exports/window-faults.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { escapeControls } from '../core/write-out.ts';
import { printable, table } from '../core/table.ts';
import { readJwks } from '../gdpr/read-jwks.ts';
import type { BucketOptions, ExportsBucket } from './exports-bucket.ts';
import { ObjectRefused } from './object-refused.ts';

type Options = BucketOptions & { prefix: string; from?: string; to?: string; jwks?: string; deep?: true; json?: true };

type Bounds = { from?: Date; to?: Date };

export const addVerifyCommand = (exporters: Command, run: Run) =>
  exporters
    .command('verify')
    .description('check that the bucket contains all exports as they were written, without a server')
    .requiredOption('--bucket <name>', 'is read with the credentials that the AWS command line would use')
    .option('--prefix <prefix>', '<subfolder>/<exporter>; else all exporters of the bucket', '')
    .option('--region <region>', 'of the bucket')
    .option('--endpoint <url>', "of another S3 than Amazon's")
    .option('--from <time>', 'only windows that end after it: a date (UTC), or an instant such as 2026-11-20T23:00:00Z')
    .option('--to <time>', 'only windows that begin before it')
    .option('--jwks <file|url>', "the server's public keys, /.well-known/jwks.json, to verify signatures")
    .option('--deep', 'read each file and hash it, instead of asking for its size')
    .option('--json', 'print what was found as JSON')
    .action((options: Options) => run((context) => verify(context, options)));

async function verify({ stdin, stderr, console, terminal }: CommandContext, options: Options): Promise<number> {
  const bounds = boundsOf(options);
  const keys = options.jwks === undefined ? null : await readJwks({ stdin }, options.jwks);
  const { openExportsBucket } = await import('./exports-bucket.ts'); // takes long to load: not for each command
  const bucket = openExportsBucket(options);
  try {
    const folders = await foldersOf(bucket.list(listedPrefix(options.prefix)), bounds);
    const windows = await verifyAll({ stderr }, { bucket, keys, isDeep: options.deep === true }, folders);
    const faults = chainFaults(folders, bounds);
    const ok = windows.length > 0 && windows.every(isWhole) && faults.length === 0;
    const report = { ok, isSigned: keys !== null, isDeep: options.deep === true, windows, faults };
    console.log(sayVerified(report, options.json === true, terminal.width));
    return ok ? 0 : 1;
  } finally {
    bucket.close();
  }
}

async function verifyAll(
  { stderr }: Pick<ProcessIo, 'stderr'>,
  verification: Verification,
  folders: WindowFolder[],
): Promise<VerifiedWindow[]> {
  const bar = new SingleBar(
    { format: '{bar} {value} of {total} windows', gracefulExit: false, stream: stderr },
    progress.Presets.legacy,
  );
  bar.start(folders.length, 0);
  try {
    const windows: VerifiedWindow[] = [];
    for (const folder of folders) {
      windows.push(await verifyWindow(verification, folder));
      bar.increment();
    }
    return windows;
  } finally {
    bar.stop();
  }
}

async function foldersOf(keys: AsyncIterable<string>, { from, to }: Bounds): Promise<WindowFolder[]> {
  const isAsked = ({ span }: WindowFolder) =>
    span === null
      ? from === undefined && to === undefined // a backfill covers the time of events, which differs
      : (!from || span.end > from) && (!to || (span.start ?? -Infinity) < to);
  return (await windowFolders(keys))
    .filter(isAsked)
    .toSorted((a, b) => compare(a.exporter, b.exporter) || compareEnds(a, b) || compare(a.path, b.path));
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

const compareEnds = (a: WindowFolder, b: WindowFolder) => (a.span?.end.getTime() ?? 0) - (b.span?.end.getTime() ?? 0);

function chainFaults(folders: WindowFolder[], bounds: Bounds): (WindowFault & { exporter: string })[] {
  const chains = Object.entries(
    Object.groupBy(
      folders.filter(({ span }) => span !== null),
      ({ exporter }) => exporter,
    ),
  );
  return chains.flatMap(([exporter, chain = []]) =>
    windowFaults(
      chain.map(({ span }) => span!),
      bounds,
    ).map((fault) => ({ exporter, ...fault })),
  );
}

/** Ends a prefix so that `exp_1` does not match `exp_12`. */
function listedPrefix(prefix: string): string {
  const bare = prefix.replace(/^\/+|(?<!\/)\/+$/g, '');
  return bare === '' ? '' : `${bare}/`;
}

function boundsOf({ from, to }: Options): Bounds {
  return {
    ...(from === undefined ? {} : { from: readTime('--from', from) }),
    ...(to === undefined ? {} : { to: readTime('--to', to) }),
  };
}

function readTime(option: string, given: string): Date {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(given);
  const time = new Date(given);
  if (isTime && !Number.isNaN(time.getTime())) return time;
  return refuse(400, 'bad_time', `${option} is a date such as 2026-11-20, or an instant such as 2026-11-20T23:00:00Z.`);
}

type ManifestFile = ExportManifest['types'][number]['files'][number];
type VerifiedFile = { key: string; state: 'ok' | 'missing' | 'differs' | 'refused'; reason: string | null };

export type VerifiedWindow = {
  exporter: string;
  manifest: string;
  window: ExportManifest['window'] | null;
  run: string | null;
  generation: number | null;
  rows: number;
  bytes: number;
  signature: SignatureState | 'not_checked' | null;
  files: VerifiedFile[];
  extra: string[];
  /** Faults of the manifest itself; a missing one is a fault, too. */
  faults: string[];
};

/** `isDeep`: hashes files instead of comparing their sizes. Without `keys` no signature is checked. */
export type Verification = { bucket: ExportsBucket; keys: readonly SigningKey[] | null; isDeep: boolean };

/** Maximum number of checks: a rerun may replace the manifest during one. */
const MAX_LOOKS = 3;

async function verifyWindow(verification: Verification, folder: WindowFolder): Promise<VerifiedWindow> {
  const key = `${folder.path}/manifest.json`;
  for (let look = 1; ; look += 1) {
    const written = await unlessRefused(readText(verification.bucket, key));
    if (written instanceof ObjectRefused)
      return { ...nothingKnown(folder, key), faults: [`is refused: ${written.reason}`] };
    const verified =
      written === null
        ? { ...nothingKnown(folder, key), extra: await stillThere(verification, folder.keys), faults: ['is missing'] }
        : await verifyWritten(verification, folder, key, written);
    if (isWhole(verified) || look === MAX_LOOKS || (await readText(verification.bucket, key)) === written)
      return verified;
  }
}

function isWhole({ faults, extra, files }: VerifiedWindow): boolean {
  return faults.length === 0 && extra.length === 0 && files.every(({ state }) => state === 'ok');
}

async function verifyWritten(
  verification: Verification,
  folder: WindowFolder,
  key: string,
  written: string,
): Promise<VerifiedWindow> {
  const json = parse(written);
  const { data: manifest } = unsignedManifest.safeParse(json);
  if (!manifest) return { ...nothingKnown(folder, key), faults: ['is not a manifest of version 1'] };
  const state = verifyDocument(json as object, verification.keys ?? []);
  // Without keys, only the presence of a signature can be checked.
  const signature = verification.keys || state === 'unsigned' ? state : null;
  const named = manifest.types.flatMap(({ files }) => files);
  const names = new Set([key, ...named.map((file) => file.key)]);
  const files = await verifyFiles(verification, named);
  const { window, run, generation, rows, bytes } = manifest;
  return {
    exporter: folder.exporter,
    manifest: key,
    window,
    run,
    generation,
    rows,
    bytes,
    signature: signature ?? 'not_checked',
    files,
    extra: await stillThere(
      verification,
      folder.keys.filter((each) => !names.has(each)),
    ),
    faults: [...signatureFaults(signature), ...manifestFaults(manifest, folder)],
  };
}

const nothingKnown = ({ exporter }: WindowFolder, manifest: string): VerifiedWindow => ({
  exporter,
  manifest,
  window: null,
  run: null,
  generation: null,
  rows: 0,
  bytes: 0,
  signature: null,
  files: [],
  extra: [],
  faults: [],
});

async function verifyFiles(verification: Verification, named: ManifestFile[]): Promise<VerifiedFile[]> {
  if (!verification.isDeep) return Promise.all(named.map((file) => verifyFile(verification, file)));
  const files: VerifiedFile[] = [];
  for (const file of named) files.push(await verifyFile(verification, file));
  return files;
}

async function verifyFile(
  { bucket, isDeep }: Verification,
  { key, bytes, sha256 }: ManifestFile,
): Promise<VerifiedFile> {
  const found = await unlessRefused(
    isDeep ? hash(bucket, key) : bucket.size(key).then((size) => ({ bytes: size, sha256: null })),
  );
  if (found instanceof ObjectRefused) return { key, state: 'refused', reason: `is refused: ${found.reason}` };
  if (found.bytes === null) return { key, state: 'missing', reason: null };
  if (found.bytes !== bytes) return { key, state: 'differs', reason: `has ${found.bytes} bytes, not ${bytes}` };
  if (found.sha256 !== null && found.sha256 !== sha256) return { key, state: 'differs', reason: 'has another SHA-256' };
  return { key, state: 'ok', reason: null };
}

function unlessRefused<T>(answer: Promise<T>): Promise<T | ObjectRefused> {
  return answer.catch((error: unknown) => {
    if (error instanceof ObjectRefused) return error;
    throw error;
  });
}

async function hash(bucket: ExportsBucket, key: string): Promise<{ bytes: number | null; sha256: string | null }> {
  const content = await bucket.read(key);
  if (!content) return { bytes: null, sha256: null };
  const sha256 = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content) {
    sha256.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: sha256.digest('hex') };
}

function signatureFaults(signature: SignatureState | null): string[] {
  if (signature === 'invalid') return ['was changed: its signature does not fit'];
  if (signature === 'unknown_key') return ['is signed by a key that is not among those given'];
  return signature === 'unsigned' ? ['has no signature'] : [];
}

/** Checks that the manifest belongs to this folder: moved to another one, its signature would still be valid. */
function manifestFaults({ exporter, window, rows, types }: UnsignedManifest, folder: WindowFolder): string[] {
  const counted = types.flatMap(({ files }) => files).reduce((sum, file) => sum + file.rows, 0);
  const { span } = folder;
  const isOther =
    span && (span.end.getTime() !== wholeSeconds(window.end) || span.start?.getTime() !== wholeSeconds(window.start));
  return [
    ...(exporter === folder.exporter ? [] : [`is of the exporter ${exporter}`]),
    ...(isOther ? ['tells of another window than its folder'] : []),
    ...(counted === rows ? [] : [`says ${rows} rows, and its files have ${counted}`]),
  ];
}

/** Cuts to whole seconds, as folders are named; the first window may begin between two. */
const wholeSeconds = (time: string | null) =>
  time === null ? undefined : Math.floor(Date.parse(time) / 1_000) * 1_000;

/** Returns the keys that still exist: a rerun deletes the window's old files. */
async function stillThere({ bucket }: Verification, keys: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const key of keys) if ((await unlessRefused(bucket.size(key))) !== null) found.push(key);
  return found;
}

async function readText(bucket: ExportsBucket, key: string): Promise<string | null> {
  const content = await bucket.read(key);
  return content && text(content);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

type WindowFolder = {
  path: string;
  exporter: string;
  isBackfill: boolean;
  /** The times in the folder's name; null for a backfill, which has local days. */
  span: { start: Date | null; end: Date } | null;
  keys: string[];
};

const INSTANT = String.raw`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ`;

const WINDOW = new RegExp(`^(?<exporter>.*[^/])/(?<name>(?<start>beginning|${INSTANT})_(?<end>${INSTANT}))/`);

const BACKFILL = /^(?<exporter>.*[^/])\/backfill\/(?<name>\d{4}-\d\d-\d\d_\d{4}-\d\d-\d\d)\//;

/** Groups the keys by window. Other keys are not exports. */
async function windowFolders(keys: AsyncIterable<string>): Promise<WindowFolder[]> {
  const folders = new Map<string, WindowFolder>();
  for await (const key of keys) {
    const backfill = BACKFILL.exec(key);
    const match = backfill ?? WINDOW.exec(key);
    if (!match) continue;
    const path = match[0].slice(0, -1);
    const folder = folders.get(path) ?? { path, ...described(match, backfill !== null), keys: [] };
    folder.keys.push(key);
    folders.set(path, folder);
  }
  return [...folders.values()];
}

function described(
  { groups }: RegExpExecArray,
  isBackfill: boolean,
): Pick<WindowFolder, 'exporter' | 'isBackfill' | 'span'> {
  const { exporter, start, end } = groups as { exporter: string; start?: string; end?: string };
  const span = isBackfill ? null : { start: start === 'beginning' ? null : instant(start!), end: instant(end!) };
  return { exporter: exporter.split('/').at(-1)!, isBackfill, span };
}

/** Reads a time of a key, such as 2026-11-20T23-00-00Z: keys have no colons. */
const instant = (text: string) => new Date(text.replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:'));

type VerifiedReport = {
  ok: boolean;
  isSigned: boolean;
  isDeep: boolean;
  windows: VerifiedWindow[];
  faults: (WindowFault & { exporter: string })[];
};

function sayVerified(report: VerifiedReport, asJson: boolean, width: number | null): string {
  return asJson ? escapeControls(JSON.stringify(jsonOf(report), null, 2)) : textOf(report, width);
}

function jsonOf({ ok, isSigned, isDeep, windows, faults }: VerifiedReport): object {
  return {
    ok,
    signatures_checked: isSigned,
    hashed: isDeep,
    windows: windows.map((window) => ({ ok: isWhole(window), ...window })),
    gaps: faults.filter(({ kind }) => kind === 'gap').map(({ kind: _, ...gap }) => gap),
    overlaps: faults.filter(({ kind }) => kind === 'overlap').map(({ kind: _, ...overlap }) => overlap),
  };
}

function textOf(report: VerifiedReport, width: number | null): string {
  const { windows } = report;
  if (windows.length === 0) return 'There are no exports here: are --bucket, --prefix, --from and --to right?';
  const rows = windows.map((window) => [
    window.exporter,
    nameOf(window),
    window.run ?? '',
    `${window.files.length}`,
    `${window.rows}`,
    `${window.bytes}`,
    window.signature?.replace('_', ' ') ?? '',
    isWhole(window) ? 'ok' : 'FAULT',
  ]);
  const heads = ['exporter', 'window', 'run', 'files', 'rows', 'bytes', 'signature', 'state'];
  return [
    table(heads, rows, width),
    '',
    ...windows.flatMap(faultLines),
    ...report.faults.map(chainLine),
    summary(report),
  ].join('\n');
}

const nameOf = ({ manifest }: VerifiedWindow) => manifest.split('/').at(-2)!;

function faultLines({ manifest, faults, files, extra }: VerifiedWindow): string[] {
  return [
    ...faults.map((fault) => `${manifest} ${fault}`),
    ...files.filter(({ state }) => state !== 'ok').map(({ key, state, reason }) => `${key} ${reason ?? `is ${state}`}`),
    ...extra.map((key) => `${key} is extra: no manifest names it`),
  ].map(printable);
}

function chainLine({ exporter, kind, start, end }: VerifiedReport['faults'][number]): string {
  const span = `${start?.toISOString() ?? 'the beginning'} to ${end.toISOString()}`;
  return kind === 'gap' ? `${exporter}: no window has ${span}` : `${exporter}: more than one window has ${span}`;
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

function summary({ ok, isSigned, isDeep, windows, faults }: VerifiedReport): string {
  const files = windows.flatMap((window) => window.files);
  const bad = windows.filter((window) => !isWhole(window)).length;
  const how = [
    isDeep ? 'each hashed' : 'sizes only',
    isSigned ? 'signatures verified' : 'no signatures verified: --jwks does',
  ].join(', ');
  const verdict = ok ? 'All is there' : `${counted(bad, 'window')} with faults, ${faults.length} gaps and overlaps`;
  return `${verdict}: ${counted(windows.length, 'window')}, ${counted(files.length, 'file')} (${how}).`;
}
