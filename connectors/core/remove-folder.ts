import { rm } from 'node:fs/promises';

/** Removes the scratch folder of an ended call; a failure must not hide how the call ended. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}
