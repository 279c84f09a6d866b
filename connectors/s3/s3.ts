import { Refusal } from '../../domain/core/refusal.ts';
import { type Batch, connector, type ConnectorContext, type Field, type Reading } from '../core/contract.ts';
import { isAhead } from '../core/odd-cursors.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { batches } from '../files/batches.ts';
import { fieldsOf } from '../files/file-fields.ts';
import { type FileCursor, filePortions, openBehind, type Portion } from '../files/file-portions.ts';
import { readFile } from '../files/read-file.ts';
import { type Bucket, type BucketFile, openBucket } from './bucket.ts';
import { behind, FIRST_PASS, isDue, type Pass, passCursor, settled, unstuck } from './pass.ts';
import { type S3Settings, s3Settings } from './s3-settings.ts';

/** Files of CSV or JSON Lines in S3: one, or all whose keys begin alike. */
export const s3 = connector({
  name: 's3',
  title: 'Files in S3 (CSV, JSON Lines)',
  settings: s3Settings,
  source: {
    async check(settings, context) {
      await fieldsIn(settings, openBucket(settings, context));
    },
    async discover(settings, context) {
      return [
        {
          name: streamName(settings),
          fields: await fieldsIn(settings, openBucket(settings, context)),
          key: [],
          incremental: 'own',
        },
      ];
    },
    read: readBucket,
  },
});

/** Those of the first file; none while there is no file. */
async function fieldsIn(settings: S3Settings, bucket: Bucket): Promise<Field[]> {
  const key = settings.key ?? (await firstKey(bucket, settings.prefix!));
  return key === undefined ? [] : fieldsOf(settings, await bucket.open(key)());
}

async function firstKey(bucket: Bucket, prefix: string): Promise<string | undefined> {
  for await (const { key } of bucket.list(prefix, null)) return key;
  return undefined;
}

async function* readBucket(
  settings: S3Settings,
  reading: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch, void, undefined> {
  const bucket = openBucket(settings, context);
  if (settings.key !== undefined) return yield* readFile(settings, bucket.open(settings.key), reading);
  const pass = unstuck(passCursor.safeParse(reading.cursor).data ?? FIRST_PASS, Date.now());
  if (reading.mode === 'full' && pass.isDone) return;
  let ahead = 0;
  const counting: Bucket = {
    ...bucket,
    async *list(prefix, after) {
      for await (const file of bucket.list(prefix, after)) {
        if (isAhead(file.modifiedMs, Date.now())) ahead += 1;
        yield file;
      }
    },
  };
  yield* batches(prefixPortions(settings, counting, reading.mode, pass));
  if (ahead === 0 || reading.mode === 'full') return;
  context.log(`${ahead} files are dated over a day ahead: none of them counts as the newest`);
}

/** The items of all files under a prefix; in an incremental reading of those that are new or changed. */
async function* prefixPortions(
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

/** The last part of the key; of a prefix all, and of an empty one the bucket. */
function streamName({ key, prefix, bucket }: S3Settings): string {
  return (key === undefined ? prefix : key.split('/').findLast((part) => part !== '')) || bucket;
}
