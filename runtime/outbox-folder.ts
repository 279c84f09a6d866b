import { createReadStream } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Files } from '../store/core/files.ts';

/** Moves mails of earlier versions, which kept them in the data folder of each process, into the file store. */
export async function takeOverOutbox(dataDir: string, outbox: Pick<Files, 'put'>): Promise<void> {
  const folder = join(dataDir, 'outbox');
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names.filter((each) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*\.eml$/.test(each))) {
    await outbox.put(name, createReadStream(join(folder, name)));
    await rm(join(folder, name), { force: true });
  }
  // What is no mail stays, and the folder with it.
  await rmdir(folder).catch(() => {});
}
