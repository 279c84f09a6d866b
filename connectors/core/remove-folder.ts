import { rm } from 'node:fs/promises';

/**
 * Removes the scratch folder of a call that has ended. A failure must not hide how the call ended: what is left goes
 * with the process's folder.
 */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}
