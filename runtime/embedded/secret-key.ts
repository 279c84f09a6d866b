/** The secret key in the data folder. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, open, rename, readFile, writeFile } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { CannotStart } from '../cannot-start.ts';

const BYTES = 32;
const NAME = 'secret-key';

/** Returns the key without MILLRACE_SECRET_KEY, drawn at the first start, and the one drawn to replace it, if any. */
export async function keptSecretKeys(
  dataDir: string,
): Promise<{ secretKey: Buffer; newSecretKey: Buffer | undefined }> {
  return {
    secretKey: await readKey(join(dataDir, NAME)),
    newSecretKey: existsSync(newPath(dataDir)) ? await readKey(newPath(dataDir)) : undefined,
  };
}

export async function drawSecretKey(dataDir: string): Promise<Buffer> {
  return readKey(newPath(dataDir));
}

/** Replaces the key, and returns the path of the old one, which older backups need. */
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

/** Returns the secret in `path` (mode 0600), on disk before its use: a crash can't lose the key of what it wrote. */
export async function keptSecret(path: string, draw: () => string): Promise<string> {
  if (!existsSync(path)) {
    const draft = `${path}.draft`;
    await writeFile(draft, draw(), { mode: 0o600, flush: true });
    await rename(draft, path);
    await flushFolder(dirname(path));
  }
  return readFile(path, 'utf8');
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
