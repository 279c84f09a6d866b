import { createHash } from 'node:crypto';
import type * as api from '../../api/exports/export-reconciliation.ts';
import type { ExportBucket } from '../../connectors/s3/export-bucket.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { verifyDocument } from '../../domain/core/signed-document.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { ExportFile } from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';

export type FileState = (typeof api.FILE_STATES)[number];

export type ManifestState = (typeof api.MANIFEST_STATES)[number];

const AT_ONCE = 16;
/** Each is a request to the bucket. */
const MAX_FILES = 5_000;

/** By their keys. Sizes and the bucket's own checksums are compared; nothing is downloaded. */
export async function verifyFiles(bucket: ExportBucket, files: readonly ExportFile[]): Promise<Map<string, FileState>> {
  const states = new Map<string, FileState>(files.map(({ key }) => [key, 'unchecked']));
  const waiting = files.slice(0, MAX_FILES).values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const file of waiting) states.set(file.key, await stateOf(bucket, file));
    }),
  );
  return states;
}

async function stateOf(bucket: ExportBucket, { key, bytes, bucketChecksum }: ExportFile): Promise<FileState> {
  const found = await bucket.head(key);
  if (!found) return 'missing';
  return found.bytes === bytes && (bucketChecksum === null || found.checksum === bucketChecksum) ? 'ok' : 'differs';
}

/** Of a run that has published one. */
export async function checkManifest(
  bucket: ExportBucket,
  secrets: Secrets,
  { manifestKey, manifestSha256 }: ExportRun,
): Promise<ManifestState> {
  const body = await bucket.readAll(manifestKey!).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 'too_large') return 'differs' as const;
    throw error;
  });
  if (body === null) return 'missing';
  if (body === 'differs') return body;
  if (createHash('sha256').update(body).digest('hex') !== manifestSha256) return 'differs';
  return verifyDocument(JSON.parse(body.toString()) as object, secrets.signingKeys()) === 'valid' ? 'ok' : 'not_signed';
}
