/** The file store in a folder. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, opendir, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, parse, relative, resolve, sep } from 'node:path';
import { HOUR_MS } from '../../domain/time/durations.ts';
import { FileStoreAway } from '../../domain/core/internal-error.ts';

const KEY = /^(?!.*\.\.)[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;
const UNFINISHED = '.unfinished';
/** Age at which an unfinished upload is dead: an idle body is given up much earlier. */
const UNFINISHED_FOR_MS = HOUR_MS;
const READ_BYTES = 256 * 1024;

/**
 * Stores files in a folder that only this user can read. `put` syncs before it renames, so a key survives power loss.
 * It never recreates a missing root folder, which may be an unmounted volume.
 */
export function folderFiles(folder: string, { onRenamed = () => {} }: { onRenamed?: (key: string) => void } = {}) {
  const root = resolve(folder);
  const path = (key: string) => join(root, checkedKey(key));
  const check = async () => {
    if ((await stat(root).catch(nullIfMissing)) === null)
      throw new FileStoreAway('the folder of the file store is not there');
  };
  return {
    async put(key: string, bytes: AsyncIterable<Uint8Array>) {
      const target = path(key);
      const unfinished = join(root, UNFINISHED, randomUUID());
      await check();
      await makeFolders(root, dirname(target));
      await makeFolders(root, dirname(unfinished));
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
    read: (key: string, start = 0, length = Infinity) =>
      createReadStream(path(key), { start, end: start + length - 1, highWaterMark: READ_BYTES }),
    readAll: (key: string) => readFile(path(key)).catch(nullIfMissing),
    size: (key: string) => stat(path(key)).then(({ size }) => size, nullIfMissing),
    delete: (key: string) => unlinkFile(path(key)),
    list: (prefix: string) => listFolder(root, prefix, onRenamed),
    deleteUnfinished: (now: Date) => deleteUnfinished(join(root, UNFINISHED), now.getTime() - UNFINISHED_FOR_MS),
    create: () => makeFolders(parse(root).root, root),
    check,
  };
}

export function isFileKey(text: string): boolean {
  return KEY.test(text);
}

export function checkedKey(key: string): string {
  if (!isFileKey(key)) throw new Error('a file key holds only letters, digits, ".", "_", "-" and "/"');
  return key;
}

/** Makes the folders between two paths one by one: Node's recursive mkdir never ends in /proc. */
async function makeFolders(from: string, to: string): Promise<void> {
  let path = from;
  for (const name of relative(from, to)
    .split(sep)
    .filter((part) => part !== '')) {
    path = join(path, name);
    await mkdir(path, { mode: 0o700 }).catch(async (error: unknown) => {
      if (!(await stat(path).catch(() => null))?.isDirectory()) throw error;
    });
  }
}

async function deleteUnfinished(folder: string, beforeMs: number): Promise<void> {
  for (const name of (await readdir(folder).catch(nullIfMissing)) ?? []) {
    const found = await stat(join(folder, name)).catch(nullIfMissing);
    if (found && found.mtimeMs < beforeMs) await unlinkFile(join(folder, name));
  }
}

/** Deletes a file as `rm` with `force` does; `rm` reports a file that cannot be deleted as ENOTDIR. */
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

/** Lists files; renames those whose name is no key, so that they are searched and deleted, too. */
async function* listFolder(
  root: string,
  prefix: string,
  onRenamed: (key: string) => void,
): AsyncGenerator<{ key: string; modifiedAt: Date }> {
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
  // Thrown after all others are listed: a file without a key can be neither searched nor deleted.
  if (failures.length > 0) throw failures[0];
}

/** Returns a new key without the file's name, which may name a person. */
function strayKey(area: string, name: string): string {
  return `${area}/stray-${randomUUID()}${/\.[A-Za-z0-9]+$/.exec(name)?.[0] ?? ''}`;
}

/** Returns false if another process has renamed it, or it is gone. */
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
