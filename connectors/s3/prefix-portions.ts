import { Refusal } from '../../domain/core/refusal.ts';
import type { Reading } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { type FileCursor, filePortions, openBehind, type Portion } from '../files/file-portions.ts';
import type { Bucket, BucketFile } from './bucket.ts';
import { behind, isDue, type Pass, settled } from './pass.ts';
import type { S3Settings } from './s3-settings.ts';

/** The items of all files under a prefix; in an incremental reading of those that are new or changed. */
export async function* prefixPortions(
  settings: S3Settings,
  bucket: Bucket,
  mode: Reading['mode'],
  begin: Pass,
): AsyncGenerator<Portion, void, undefined> {
  let pass: Pass = { ...begin, isDone: false };
  const isWanted = (file: BucketFile) => mode === 'full' || isDue(pass, file);
  const finished = (at: Pass, file: BucketFile): Pass =>
    mode === 'full' ? { ...at, after: file.key, key: null, file: null } : behind(at, file);
  for await (const file of bucket.list(settings.prefix!, pass.after)) {
    if (!isWanted(file)) continue;
    const cursor = pass.key === file.key ? pass.file : null;
    const at = pass;
    for await (const portion of portionsOf(settings, bucket, file, cursor)) {
      yield {
        items: portion.items,
        cursorAfter: (index) => {
          const within = portion.cursorAfter(index);
          return within.isDone ? finished(at, file) : { ...at, key: file.key, file: within };
        },
      };
    }
    pass = finished(pass, file);
  }
  const end = mode === 'full' ? { ...pass, isDone: true } : settled(pass, Date.now());
  yield { items: [], cursorAfter: () => end };
}

/** None of a file that has been removed since it was listed. What is refused names the file. */
async function* portionsOf(settings: S3Settings, bucket: Bucket, { key }: BucketFile, cursor: FileCursor | null) {
  const opened = await openBehind(bucket.open(key), cursor).catch((error: unknown) => {
    if (error instanceof Refusal && error.extra['source_code'] === 'NoSuchKey') return null;
    throw error;
  });
  if (opened === null) return;
  try {
    yield* filePortions(settings, opened, cursor);
  } catch (error) {
    if (!(error instanceof Refusal) || (error.status !== 'source_refused' && error.status !== 'too_large')) throw error;
    throw sourceRefusal(error.status, `${key}: ${error.message}`, error.extra);
  } finally {
    await opened.end();
  }
}
