import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { type Files, isMissingFile } from './files.ts';

/** Opens a file, which stays readable if it is deleted meanwhile. Returns null if it does not exist. */
export async function openFile(files: Pick<Files, 'read'>, key: string): Promise<Readable | null> {
  const bytes = files.read(key);
  try {
    await once(bytes, 'readable');
    return bytes;
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}
