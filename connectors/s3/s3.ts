import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { DAY_MS, HOUR_MS } from '../../domain/time/durations.ts';
import { type Batch, connector, type ConnectorContext, type Field, type Reading } from '../core/contract.ts';
import { isAhead } from '../core/odd-cursors.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { batches } from '../files/batches.ts';
import { fieldsOf } from '../files/file-fields.ts';
import { type FileCursor, fileCursor, filePortions, openBehind, type Portion } from '../files/file-portions.ts';
import { readFile } from '../files/read-file.ts';
import { type Bucket, type BucketFile, openBucket } from './bucket.ts';
import { type S3Settings, s3Settings } from './s3-settings.ts';

/** Reads files of CSV or JSON Lines in S3: one, or all with a common prefix. */
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

/** Returns the fields of the first file; none without files. */
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

/** Yields the items of all files under a prefix; in an incremental reading only of new or changed ones. */
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

/** Yields the items of a file; none if it was removed since it was listed. A refusal names the file. */
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

/** Returns the last part of the key, the whole prefix, or for an empty one the bucket. */
function streamName({ key, prefix, bucket }: S3Settings): string {
  return (key === undefined ? prefix : key.split('/').findLast((part) => part !== '')) || bucket;
}

/** A file that was read: a hash of its key and entity tag, and its modification time in ms. */
const seen = z.tuple([z.string(), z.number()]);

/** One reading of all files under a prefix, in the order of their keys, and what is known of those before it. */
const passCursor = z.object({
  isDone: z.boolean(),
  /** Files modified before this time, in ms, are done; later ones if they are in `done`. Null: none is. */
  since: z.number().nullable(),
  done: z.array(seen),
  /** Latest files of this pass and earlier ones, and the modification time of the last file that did not fit. */
  next: z.array(seen),
  dropped: z.number().nullable(),
  /** The last completed key, and the position in the file after it. */
  after: z.string().nullable(),
  key: z.string().nullable(),
  file: fileCursor.nullable(),
});

export type Pass = z.output<typeof passCursor>;

export const FIRST_PASS: Pass = {
  isDone: false,
  since: null,
  done: [],
  next: [],
  dropped: null,
  after: null,
  key: null,
  file: null,
};

/** Files in the cursor, at most. */
const MAX_SEEN = 1_000;
/** Maximum delay between a file's modification time and its appearance: a multipart upload reports when it began. */
const LATE_MS = DAY_MS;
/** Time after which no other file of the same second appears. */
const SETTLED_MS = HOUR_MS;

export function isDue({ since, done }: Pass, file: BucketFile): boolean {
  if (since === null) return true;
  const hash = hashOf(file);
  return file.modifiedMs >= since && !done.some(([known]) => known === hash);
}

/** Returns the pass after a file, which later passes remember. */
export function behind(pass: Pass, file: BucketFile): Pass {
  const hash = hashOf(file);
  const known: Pass['next'] = [...pass.next.filter(([other]) => other !== hash), [hash, file.modifiedMs]];
  const next = known.length > MAX_SEEN ? known.toSorted(([, a], [, b]) => b - a) : known;
  const dropped = next.slice(MAX_SEEN).map(([, modifiedMs]) => modifiedMs);
  return {
    ...pass,
    after: file.key,
    key: null,
    file: null,
    next: next.slice(0, MAX_SEEN),
    dropped: dropped.length === 0 ? pass.dropped : Math.max(pass.dropped ?? 0, ...dropped),
  };
}

/** Restarts a pass whose `since` is ahead of the clock: it would find nothing new. */
export const unstuck = (pass: Pass, nowMs: number): Pass =>
  isAhead(pass.since ?? 0, nowMs) ? { ...pass, since: null } : pass;

/**
 * Ends a pass and returns the beginning of the next. Files with a time in the future are remembered, and move nothing.
 */
export function settled({ since: before, next, dropped }: Pass, nowMs: number): Pass {
  const newest = Math.max(
    0,
    ...next.map(([, modifiedMs]) => modifiedMs).filter((modifiedMs) => !isAhead(modifiedMs, nowMs)),
  );
  const full = dropped === null || isAhead(dropped, nowMs) ? 0 : dropped + (dropped < nowMs - SETTLED_MS ? 1 : 0);
  const since = Math.max(before ?? 0, newest - LATE_MS, full);
  const kept = next.filter(([, modifiedMs]) => modifiedMs >= since);
  return { ...FIRST_PASS, isDone: true, since, done: kept, next: kept };
}

function hashOf({ key, etag }: BucketFile): string {
  return createHash('sha256').update(`${key}\n${etag}`).digest('base64url').slice(0, 12);
}
