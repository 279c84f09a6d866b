/** Files in S3 as the source of a sync: its settings, the passes over a prefix, and the bucket. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { BUCKET_NAME, REGION_NAME } from '../../domain/exports/s3-names.ts';
import { DAY_MS, HOUR_MS } from '../../domain/time/durations.ts';
import { systemLookup } from '../core/address-guard.ts';
import {
  type Batch,
  connector,
  type ConnectorContext,
  type Field,
  type Reading,
  secret,
  refineBy,
} from '../core/contract.ts';
import { guardedRequest } from '../core/guarded-request.ts';
import { isAhead } from '../core/odd-cursors.ts';
import { sourceRefusal, refusalOfAnswer, refusalOfFailure } from '../core/source-refusal.ts';
import type { FileBytes, OpenFile } from '../files/file-bytes.ts';
import { fieldsOf } from '../files/file-fields.ts';
import { type FileCursor, fileCursor, filePortions, openBehind, type Portion } from '../files/file-portions.ts';
import { fileSettings } from '../files/file-settings.ts';
import { batches, readFile } from '../files/read-file.ts';
import { BucketObjects } from './bucket-objects.ts';
import { s3Address, s3Client } from './s3-client.ts';
import { isPassingStatus, s3Error, s3Requests } from './s3-requests.ts';

const text = (name: string, most: number) =>
  z
    .string({ error: `${name} must be a text` })
    .max(most, `${name} must have at most ${most.toLocaleString('en')} characters`);
const key = (name: string) =>
  text(name, 1_024).refine((value) => !/\p{Cc}/u.test(value), `${name} must have no control characters`);

const s3Settings = z
  .object({
    endpoint: text('endpoint', 2_048)
      .superRefine(
        refineBy(
          'endpoint',
          (value) => sourceUrlError(value) ?? (/[?#]/.test(value) ? 'must have no ? and no #' : undefined),
        ),
      )
      .optional()
      .describe(
        "The address of an S3 that is not Amazon's, such as https://minio.example.com; the bucket goes into the path",
      ),
    region: z
      .string({ error: 'region must be a text' })
      .regex(REGION_NAME, 'region must be a name such as eu-central-1')
      .default('us-east-1')
      .describe('The region of the bucket'),
    bucket: z
      .string({ error: 'bucket must be a text' })
      .regex(BUCKET_NAME, 'bucket must be the name of a bucket, without s3://')
      .describe('The name of the bucket'),
    access_key_id: text('access_key_id', 256)
      .min(1, 'access_key_id must not be empty')
      .describe('The id of an access key with the right s3:GetObject and, for a prefix, s3:ListBucket'),
    secret_access_key: secret(text('secret_access_key', 256).min(1, 'secret_access_key must not be empty')).describe(
      'The secret of the access key',
    ),
    key: key('key').min(1, 'key must not be empty').optional().describe('The key of one file'),
    prefix: key('prefix')
      .optional()
      .describe('How the keys of files begin, such as exports/people/; empty: all files of the bucket'),
    ...fileSettings,
  })
  .refine(({ key: one, prefix }) => (one === undefined) !== (prefix === undefined), {
    message: 'either key, for one file, or prefix, for many, must be set',
    path: ['key'],
  });

export type S3Settings = z.output<typeof s3Settings>;
type BucketSettings = Pick<S3Settings, 'endpoint' | 'region' | 'bucket' | 'access_key_id' | 'secret_access_key'>;

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

export type BucketFile = { key: string; etag: string; modifiedMs: number };

type Bucket = {
  /** Lists files whose keys begin with `prefix`, behind the key `after`, in order, without empty ones. */
  list(prefix: string, after: string | null): AsyncGenerator<BucketFile, void, undefined>;
  open(key: string): OpenFile;
};

/** A run of a sync retries by itself. */
const NO_RETRIES = { retryMs: 0 };

/** Opens a bucket with only these settings: the SDK reads neither the environment nor the machine's host. */
export function openBucket(settings: BucketSettings, context: ConnectorContext): Bucket {
  const { allow, fetch, signal } = context;
  const { region, endpoint = null } = settings;
  const { host } = new URL(s3Address({ region, endpoint }));
  const way = { allow, lookup: systemLookup, limits: fetch.limits };
  const client = s3Client({
    region,
    endpoint,
    credentials: { accessKeyId: settings.access_key_id, secretAccessKey: settings.secret_access_key },
    send: (url, asked) => guardedRequest(url, asked, way),
  });
  const ask = s3Requests(client, { signal, retry: NO_RETRIES, errorOf: (error) => refusalOfS3(host, error) });
  const objects = new BucketObjects(settings.bucket, ask);
  const open = async (key: string, part?: Parameters<OpenFile>[0]): Promise<FileBytes> => {
    const {
      etag,
      bytes = null,
      chunks,
      end,
      from,
    } = await objects.open(key, part && { from: part.from, etag: part.version });
    const file = { from, version: etag ?? null, mark: etag ?? null, bytes, chunks, context, end: async () => end() };
    if (from === 0 || from === part?.from) return file;
    end();
    throw sourceRefusal('transfer_broken', `${host} sends another part of the file than the rest`);
  };
  return {
    open: (key) => async (part) => {
      if (part === undefined) return open(key);
      const rest = await open(key, part).catch(nullIfChanged);
      if (rest !== null && rest.version === part.version) return rest;
      await rest?.end();
      return open(key);
    },
    async *list(prefix, after) {
      for await (const { key, bytes, etag, modifiedAt } of objects.list(prefix, after ?? undefined)) {
        if (bytes > 0 && !isMark(key, prefix)) yield { key, etag, modifiedMs: modifiedAt.getTime() };
      }
    },
  };
}

/** Returns null if the version has changed (412) or is shorter than what was read (416). */
function nullIfChanged(error: unknown): null {
  if (error instanceof Refusal && [412, 416].includes(error.extra['source_status'] as number)) return null;
  throw error;
}

/**
 * Returns whether a key is a marker or a log that tools such as Spark and Hive leave: `_SUCCESS`, `_delta_log/…`,
 * `.part-0.crc`. A folder such as `_day=1/` is a partition, and a part of the prefix itself is wanted.
 */
export function isMark(key: string, prefix: string): boolean {
  const folder = prefix.lastIndexOf('/') + 1;
  const parts = key.slice(folder).split('/');
  return (
    parts.some((part, at) => /^[._][^=]*$/.test(part) && !(at === 0 && folder < prefix.length)) || key.endsWith('.crc')
  );
}

/** By S3's error codes (Amazon S3 API reference: Error responses). */
const ADVICE: Record<string, string> = {
  InvalidAccessKeyId: 'it does not know this access_key_id',
  XAdminUserNotFound: 'it does not know this access_key_id', // versitygw's
  SignatureDoesNotMatch: 'check secret_access_key: it does not fit access_key_id',
  AccessDenied: 'access_key_id lacks a right: it needs s3:GetObject and, for a prefix, s3:ListBucket',
  NoSuchBucket: 'check bucket: there is none of this name',
  NoSuchKey: 'check key: there is no such file',
  InvalidObjectState: 'the file is archived: restore it first',
  PermanentRedirect: 'check region: the bucket is in another',
  AuthorizationHeaderMalformed: 'check region: the bucket is in another',
  RequestTimeTooSkewed: 'its clock and the one here are over 15 minutes apart: set them right',
};

/** Returns the refusal for a failed request, without S3's own messages, which quote keys. */
function refusalOfS3(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code: name, status, headers } = s3Error(error);
  if (status === undefined) return refusalOfFailure(host, error);
  if (isPassingStatus(status)) return refusalOfAnswer(host, status, headers['retry-after']);
  const code = name !== undefined && Object.hasOwn(ADVICE, name) ? name : undefined;
  const why = code === undefined ? 'check endpoint, bucket and key' : ADVICE[code]!;
  const answered = status < 300 ? 'in something that is not S3' : `${status}${code === undefined ? '' : ` ${code}`}`;
  return sourceRefusal('source_refused', `${host} answered ${answered}: ${why}`, {
    source_status: status,
    ...(code === undefined ? {} : { source_code: code }),
  });
}
