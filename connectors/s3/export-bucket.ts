import type { ServerSideEncryption } from '../../domain/core/server-side-encryption.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { BucketAccess } from './bucket-access.ts';
import { bucketChanges } from './bucket-changes.ts';
import { exportClient, type Patience, PATIENCE } from './export-client.ts';
import { type ListedFile, type StoredFile, storedFiles } from './stored-files.ts';
import { uploadParts } from './upload-parts.ts';

export type { BucketAccess } from './bucket-access.ts';

/**
 * What exports do with a bucket. What it refuses for a while is tried again for about a minute. All refuse in the
 * provider's own words: with `source_refused`, `address_refused` and `too_large` where the same would fail again, else
 * with
 * `source_unavailable` (and `retry_after` in seconds where it was told) or `transfer_broken`. Of a refused request
 * `source_code` is the provider's code, and `missing_right` the right it lacks. A `folder` is what lies below it: `a`
 * and `a/` are the same, and without `ab`; an empty one is the whole bucket.
 */
export type ExportBucket = {
  /** Holds at most 32 MiB, for files of up to 156 GiB. `maxBytes`: what there may be at most; unless told, 64 GiB. */
  upload(key: string, bytes: AsyncIterable<Uint8Array>, maxBytes?: number): Promise<StoredFile>;
  /** `encryption`: instead of that of the access. */
  put(key: string, body: Buffer, contentType: string, encryption?: ServerSideEncryption): Promise<StoredFile>;
  /** Null: there is none. Refuses with too_large what has over 64 MiB. */
  readAll(key: string): Promise<Buffer | null>;
  /** Refuses with `source_code` NoSuchKey where there is none. */
  read(key: string): AsyncIterable<Uint8Array>;
  head(key: string): Promise<StoredFile | null>;
  /** In the order of their keys. */
  list(folder: string): AsyncGenerator<ListedFile, void, undefined>;
  /** Also those that are not there. */
  delete(keys: string[]): Promise<void>;
  /** The keys of uploads that have not ended. */
  listUnfinished(folder: string): Promise<string[]>;
  /** Removes the parts of uploads that never ended; how many uploads there were. */
  abortUnfinished(folder: string): Promise<number>;
  /** Begins an upload that has no parts, to be given up by what it returns. */
  beginUnfinished(key: string): Promise<() => Promise<void>>;
  /** Ends what is under way. */
  close(): void;
};

const FILE_BYTES = 64 * 1024 ** 3;

/**
 * Opens no connection yet. The address guard holds for `endpoint` only: Amazon's own hosts may have private addresses.
 */
export function openExportBucket(
  access: BucketAccess,
  context: Pick<ConnectorContext, 'allow' | 'fetch' | 'signal'>,
  patience: Patience = PATIENCE,
): ExportBucket {
  const client = exportClient(access, context, patience);
  const stored = storedFiles(access.bucket, client);
  const changes = bucketChanges(access, client, stored);
  const uploadsBelow = async (folder: string) => {
    const found = await Array.fromAsync(stored.listUploads(below(folder)));
    if (found.length > 0 || access.endpoint === null) return found;
    // MinIO takes a prefix for a whole key, and tells all uploads without one.
    return Array.fromAsync(stored.listUploads('')).then((all) =>
      all.filter(({ key }) => key.startsWith(below(folder))),
    );
  };
  return {
    upload: (key, bytes, maxBytes = FILE_BYTES) => uploadParts(bytes, maxBytes, changes.uploadOf(key)),
    async put(key, body, contentType, encryption) {
      return { bytes: body.length, checksum: await changes.put(key, body, contentType, encryption) };
    },
    readAll: stored.readAll,
    async *read(key) {
      yield* await stored.read(key);
    },
    head: stored.head,
    list: (folder) => stored.list(below(folder)),
    delete: changes.delete,
    async listUnfinished(folder) {
      return (await uploadsBelow(folder)).map(({ key }) => key);
    },
    async abortUnfinished(folder) {
      const uploads = await uploadsBelow(folder);
      for (const { key, uploadId } of uploads) await changes.abort(key, uploadId);
      return uploads.length;
    },
    async beginUnfinished(key) {
      const uploadId = await changes.uploadOf(key).begin();
      return () => changes.abort(key, uploadId);
    },
    close: client.close,
  };
}

function below(folder: string): string {
  return folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
}
