/** The secret key in the data folder. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { CannotStart } from '../cannot-start.ts';
import { flushFolder, keptSecret } from './kept-secret.ts';

const BYTES = 32;
const NAME = 'secret-key';

/**
 * Returns the key that replaces MILLRACE_SECRET_KEY with an embedded Postgres: made at the first start, kept in base64.
 */
export async function keptSecretKey(dataDir: string): Promise<Buffer> {
  return readKey(join(dataDir, NAME));
}

/** Returns the key that is to replace it, if one was made. */
export async function drawnSecretKey(dataDir: string): Promise<Buffer | undefined> {
  return existsSync(newPath(dataDir)) ? readKey(newPath(dataDir)) : undefined;
}

export async function drawSecretKey(dataDir: string): Promise<Buffer> {
  return readKey(newPath(dataDir));
}

/** Replaces the key by the new one. Older backups need the old key; returns its path. */
export async function replaceSecretKey(dataDir: string): Promise<string> {
  const path = join(dataDir, NAME);
  const before = `${path}.before`;
  await copyFile(path, before);
  const copy = await open(before);
  await copy.sync();
  await copy.close();
  await rename(newPath(dataDir), path);
  await flushFolder(dataDir);
  return before;
}

const newPath = (dataDir: string) => join(dataDir, `${NAME}.new`);

async function readKey(path: string): Promise<Buffer> {
  const key = Buffer.from(await keptSecret(path, () => randomBytes(BYTES).toString('base64')), 'base64');
  if (key.length !== BYTES) {
    throw new CannotStart(`${path} does not hold ${BYTES} bytes in base64: put the key of this data folder back.`);
  }
  return key;
}
