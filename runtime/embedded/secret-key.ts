import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { CannotStart } from '../cannot-start.ts';
import { keptSecret } from './kept-secret.ts';

const BYTES = 32;

/** Stands in for MILLRACE_SECRET_KEY beside an embedded Postgres: drawn at the first start, kept in base64. */
export async function keptSecretKey(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'secret-key');
  const key = Buffer.from(await keptSecret(path, () => randomBytes(BYTES).toString('base64')), 'base64');
  if (key.length !== BYTES) {
    throw new CannotStart(`${path} does not hold ${BYTES} bytes in base64: put the key of this data folder back.`);
  }
  return key;
}
