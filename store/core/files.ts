/** The file store: bytes by key, in a folder or in S3. */
import type { Readable } from 'node:stream';

/** Bytes by key, in a folder or in S3 (connectors/file-store/). Keys are paths of A-Z, a-z, 0-9, `.`, `_` and `-`. */
export type Files = {
  /** Stores the whole stream or nothing, also after a crash. */
  put(key: string, bytes: AsyncIterable<Uint8Array>): Promise<{ sizeBytes: number }>;
  /** Reads at most `length` bytes from `start` on; the stream of an unknown key fails. */
  read(key: string, start?: number, length?: number): Readable;
  /** Returns null for an unknown key. For small files only. */
  readAll(key: string): Promise<Buffer | null>;
  /** Returns null for an unknown key. */
  size(key: string): Promise<number | null>;
  /** Ignores an unknown key. */
  delete(key: string): Promise<void>;
  list(prefix: string): AsyncIterable<StoredFile>;
  /** Removes unfinished files of a crashed `put` that is certainly over. */
  deleteUnfinished(now: Date): Promise<void>;
  /** Makes an empty store unless it exists. Only for a database that has no file store yet. */
  create(): Promise<void>;
  /** Throws FileStoreAway if the store is not there, or not the one that belongs to the database. */
  check(): Promise<void>;
};

export type StoredFile = { key: string; modifiedAt: Date };

export async function* asBytes(text: string | Buffer): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

export function filesIn(files: Files, area: string): Files {
  const inside = (key: string) => `${area}/${key}`;
  return {
    put: (key, bytes) => files.put(inside(key), bytes),
    read: (key, start, length) => files.read(inside(key), start, length),
    readAll: (key) => files.readAll(inside(key)),
    size: (key) => files.size(inside(key)),
    delete: (key) => files.delete(inside(key)),
    async *list(prefix) {
      for await (const { key, modifiedAt } of files.list(inside(prefix)))
        yield { key: key.slice(area.length + 1), modifiedAt };
    },
    deleteUnfinished: (now) => files.deleteUnfinished(now),
    create: () => files.create(),
    check: () => files.check(),
  };
}

export function isMissingFile(error: unknown): boolean {
  const { code, name } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || name === 'NoSuchKey';
}
