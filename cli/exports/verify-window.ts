/** Verifies an exported window: its manifest, signature and files. */
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { type SignatureState, type SigningKey, verifyDocument } from '../../domain/core/signed-document.ts';
import { type ExportManifest, type UnsignedManifest, unsignedManifest } from '../../domain/exports/export-manifest.ts';
import type { ExportsBucket } from './exports-bucket.ts';
import { ObjectRefused } from './object-refused.ts';
import type { WindowFolder } from './window-folders.ts';

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
  /** Objects in the window's folder that its manifest does not name. */
  extra: string[];
  /** Faults of the manifest itself; a missing one is a fault, too. */
  faults: string[];
};

/** Without `keys` no signature is checked. `isDeep`: reads and hashes files instead of asking for their sizes. */
export type Verification = { bucket: ExportsBucket; keys: readonly SigningKey[] | null; isDeep: boolean };

/** A rerun may replace the manifest while its files are checked; then everything is checked again. */
const MAX_LOOKS = 3;

export async function verifyWindow(verification: Verification, folder: WindowFolder): Promise<VerifiedWindow> {
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

export function isWhole({ faults, extra, files }: VerifiedWindow): boolean {
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

/** Asks for all sizes at once, but reads files one by one. */
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

/** Returns the answer, or S3's refusal, which becomes part of the report. */
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

/** Folders are named by whole seconds; the first window may begin between two. */
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
