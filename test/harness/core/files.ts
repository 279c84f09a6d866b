import type { TestStore } from './database.ts';

/** The keys of the stored files that begin so, in order. */
export async function listFiles({ files }: TestStore, prefix: string): Promise<string[]> {
  const keys = await Array.fromAsync(files.list(prefix), ({ key }) => key);
  return keys.toSorted();
}
