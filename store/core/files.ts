import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, opendir, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { FileStoreAway } from '../../domain/core/internal-error.ts';
import { makeFolder } from './make-folder.ts';

/** Bytes by key. Keys are relative paths of letters, digits, `.`, `_`, `-` and `/`. */
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
  /** Takes away what a crash left of a `put`, once nobody can be at it any more. */
  deleteUnfinished(now: Date): Promise<void>;
  /** Makes an empty store, unless it is there. Only a database without a file store may: nothing else makes one. */
  create(): Promise<void>;
  /** Throws FileStoreAway if the store is not there, or not the one that belongs to the database. */
  check(): Promise<void>;
};

export type StoredFile = { key: string; modifiedAt: Date };

const KEY = /^(?!.*\.\.)[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;
const UNFINISHED = '.unfinished';
/** An upload that nobody has written to for so long is dead: an idle body is given up much earlier. */
const UNFINISHED_FOR_MS = 3_600_000;
const READ_BYTES = 256 * 1024;

/** A text, or bytes that are at hand, as `put` takes them. */
export async function* asBytes(text: string | Buffer): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/**
 * Files in a folder, readable by this user alone. `put` syncs before it renames, so a key survives power loss. It makes
 * no folder anew that is gone: it may be a volume that is not mounted.
 */
export function folderFiles(
  folder: string,
  { onRenamed = () => {} }: { onRenamed?: (key: string) => void } = {},
): Files {
  const root = resolve(folder);
  const path = (key: string) => join(root, checkedKey(key));
  const check = async () => {
    if ((await stat(root).catch(nullIfMissing)) === null)
      throw new FileStoreAway('the folder of the file store is not there');
  };
  return {
    async put(key, bytes) {
      const target = path(key);
      const unfinished = join(root, UNFINISHED, randomUUID());
      await check();
      await makeFolder(dirname(target), { mode: 0o700, within: root });
      await makeFolder(dirname(unfinished), { mode: 0o700, within: root });
      try {
        const sizeBytes = await writeSynced(unfinished, bytes);
        await rename(unfinished, target);
        await syncFolder(dirname(target));
        return { sizeBytes };
      } catch (error) {
        await unlinkFile(unfinished);
        throw error;
      }
    },
    read: (key, start = 0, length = Infinity) =>
      createReadStream(path(key), { start, end: start + length - 1, highWaterMark: READ_BYTES }),
    readAll: (key) => readFile(path(key)).catch(nullIfMissing),
    size: (key) => stat(path(key)).then(({ size }) => size, nullIfMissing),
    delete: (key) => unlinkFile(path(key)),
    list: (prefix) => listFolder(root, prefix, onRenamed),
    deleteUnfinished: (now) => deleteUnfinished(join(root, UNFINISHED), now.getTime() - UNFINISHED_FOR_MS),
    create: () => makeFolder(root, { mode: 0o700 }),
    check,
  };
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

export function isFileKey(text: string): boolean {
  return KEY.test(text);
}

export function checkedKey(key: string): string {
  if (!isFileKey(key)) throw new Error('a file key holds only letters, digits, ".", "_", "-" and "/"');
  return key;
}

async function deleteUnfinished(folder: string, beforeMs: number): Promise<void> {
  for (const name of (await readdir(folder).catch(nullIfMissing)) ?? []) {
    const found = await stat(join(folder, name)).catch(nullIfMissing);
    if (found && found.mtimeMs < beforeMs) await unlinkFile(join(folder, name));
  }
}

/** As `rm` with `force`, which reports a file that can't be deleted as ENOTDIR. */
async function unlinkFile(path: string): Promise<void> {
  await unlink(path).catch(nullIfMissing);
}

async function writeSynced(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Also files that others put there: one whose name is no key gets one, so that it is searched and deleted as all others
 * are.
 */
async function* listFolder(root: string, prefix: string, onRenamed: (key: string) => void): AsyncGenerator<StoredFile> {
  const area = dirname(`${prefix}x`);
  const start = join(root, area);
  const renamed = new Set<string>();
  const failures: unknown[] = [];
  const folder = await opendir(start, { recursive: true }).catch(nullIfMissing);
  if (!folder) return;
  for await (const entry of folder) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path).split(sep).join('/');
    if (!name.startsWith(prefix) || name.startsWith(`${UNFINISHED}/`) || renamed.has(name)) continue;
    const found = await stat(path).catch(nullIfMissing);
    if (!found) continue;
    const key = isFileKey(name) ? name : strayKey(area, name);
    if (key !== name) {
      if (
        area === '.' ||
        !(await renameStray(path, join(root, key)).catch((error: unknown) => {
          failures.push(error);
        }))
      )
        continue;
      renamed.add(key);
      onRenamed(key);
    }
    if (key.startsWith(prefix)) yield { key, modifiedAt: found.mtime };
  }
  // Once all others are listed: a file without a key can be neither searched nor deleted.
  if (failures.length > 0) throw failures[0];
}

/** A key of its own, which says nothing of the name: that may tell of a person. */
function strayKey(area: string, name: string): string {
  return `${area}/stray-${randomUUID()}${/\.[A-Za-z0-9]+$/.exec(name)?.[0] ?? ''}`;
}

/** False: another process has renamed it, or it is gone. */
function renameStray(path: string, to: string): Promise<boolean> {
  return rename(path, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => nullIfMissing(error) !== null,
  );
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Whether reading a stream of `read` failed since there is no file of this key. */
export function isMissingFile(error: unknown): boolean {
  const { code, name } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || name === 'NoSuchKey';
}
