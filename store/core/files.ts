import type { Readable } from 'node:stream';

/** Bytes by key, in a folder or in S3 (connectors/file-store/). Keys are paths of A-Z, a-z, 0-9, `.`, `_` and `-`. */
export type Files = {
  /** Stores the stream whole or not at all: a reader never sees half of it, nor does one after a crash. */
  put(key: string, bytes: AsyncIterable<Uint8Array>): Promise<{ sizeBytes: number }>;
  /** The bytes from `start` on, at most `length` of them; an unknown key is an error when the stream is read. */
  read(key: string, start?: number, length?: number): Readable;
  /** Null for an unknown key. For small files only. */
  readAll(key: string): Promise<Buffer | null>;
  /** Null for an unknown key. */
  size(key: string): Promise<number | null>;
  /** Nothing happens for an unknown key. */
  delete(key: string): Promise<void>;
  /** The files whose keys begin with `prefix`, in no order. */
  list(prefix: string): AsyncIterable<StoredFile>;
  /** Removes what a crash left of a `put`, once no process can still be writing it. */
  deleteUnfinished(now: Date): Promise<void>;
  /** Makes an empty store, unless it is there. Only a database without a file store may: nothing else makes one. */
  create(): Promise<void>;
  /** Throws FileStoreAway if the store is not there, or not the one that belongs to the database. */
  check(): Promise<void>;
};

export type StoredFile = { key: string; modifiedAt: Date };

/** A text, or bytes that are at hand, as `put` takes them. */
export async function* asBytes(text: string | Buffer): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** One area of a file store, by keys without the area's name. */
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

/** Whether reading a stream of `read` failed since there is no file of this key. */
export function isMissingFile(error: unknown): boolean {
  const { code, name } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || name === 'NoSuchKey';
}
