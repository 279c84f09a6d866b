import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Files } from './files.ts';

/** Opens a file, so that it can be read although it is deleted meanwhile. Null if there is none, or none any more. */
export async function openFile(files: Pick<Files, 'read'>, key: string): Promise<Readable | null> {
  const bytes = files.read(key);
  try {
    await once(bytes, 'readable');
    return bytes;
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || name === 'NoSuchKey') return null;
    throw error;
  }
}
