/** Tries whether an exporter's credentials suffice for its bucket. */
import { randomBytes } from 'node:crypto';
import { Refusal } from '../../domain/core/refusal.ts';
import { SERVER_SIDE_ENCRYPTIONS } from '../../domain/core/server-side-encryption.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { ExportBucket } from './export-bucket.ts';

const CONTENT = Buffer.from('Millrace looks whether it may write here, and removes this at once.\n');

/**
 * Tries everything that exports do in the bucket, below `folder`: writes, reads, lists, begins and aborts an upload,
 * deletes. Refuses with all missing rights at once (`missing_rights`), or with another failure; `setting` names the
 * exporter's setting that helps.
 */
export async function probeBucket(bucket: ExportBucket, folder: string): Promise<void> {
  const name = `.millrace-probe-${randomBytes(6).toString('hex')}`;
  const place = [folder.replace(/\/$/, ''), name].filter((part) => part !== '').join('/');
  const key = `${place}/file`;
  const denied: Refusal[] = [];
  const tried: Tried = async (act) =>
    act().then(
      () => true,
      (error: unknown) => {
        if (!isDenied(error)) throw error;
        denied.push(error);
        return false;
      },
    );
  try {
    const isWritten = await tried(() => bucket.put(key, CONTENT, 'text/plain'));
    if (!isWritten) await refuseMissingEncryption(bucket, key);
    await tried(() => readBack(bucket, key, isWritten));
    await tried(() => Array.fromAsync(bucket.list(place)));
    await upload(bucket, place, tried);
  } finally {
    await tried(() => bucket.delete([key]));
  }
  if (denied.length > 0) throw refusalOfAll(denied);
}

/**
 * Checks whether a denied upload succeeds with an encryption: a bucket policy that requires the header answers like a
 * missing right. If so, refuses with the setting.
 */
async function refuseMissingEncryption(bucket: ExportBucket, key: string): Promise<void> {
  for (const algorithm of SERVER_SIDE_ENCRYPTIONS) {
    const isTaken = await bucket.put(key, CONTENT, 'text/plain', { algorithm, kmsKeyId: null }).then(
      () => true,
      () => false,
    );
    if (!isTaken) continue;
    const header = `x-amz-server-side-encryption: ${algorithm}`;
    const message = `the bucket denies uploads without the header ${header}: set server_side_encryption to ${algorithm}`;
    throw sourceRefusal('source_refused', message, {
      source_status: 403,
      source_code: 'AccessDenied',
      setting: 'server_side_encryption',
    });
  }
}

async function readBack(bucket: ExportBucket, key: string, isWritten: boolean): Promise<void> {
  const found = await bucket.readAll(key);
  if (isWritten && !found?.equals(CONTENT)) {
    throw sourceRefusal(
      'source_refused',
      'what was written to the bucket is not what is read from it: check endpoint and bucket_name',
    );
  }
}

type Tried = (act: () => Promise<unknown>) => Promise<boolean>;

/** Tries to list only for the right: MinIO does not find uploads from before its start. */
async function upload(bucket: ExportBucket, place: string, tried: Tried): Promise<void> {
  let giveUp = async () => undefined as void;
  await tried(async () => {
    giveUp = await bucket.beginUnfinished(`${place}/upload`);
  });
  await tried(() => bucket.listUnfinished(place));
  await tried(giveUp);
}

function isDenied(error: unknown): error is Refusal {
  return error instanceof Refusal && error.extra['source_code'] === 'AccessDenied';
}

/** Returns the first refusal in its own words, with all missing rights. */
function refusalOfAll(denied: Refusal[]): Refusal {
  const rights = [...new Set(denied.map(({ extra }) => String(extra['missing_right'])))];
  const [first] = denied as [Refusal];
  const all = rights.length < 2 ? '' : `. Missing are in all ${rights.join(', ')}`;
  return sourceRefusal('source_refused', `${first.message}${all}`, { ...first.extra, missing_rights: rights });
}
