import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keptSecretKey } from '../../../runtime/embedded/secret-key.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();

test('a key of 32 bytes is drawn once and kept, for its owner alone', async () => {
  const key = await keptSecretKey(folder.path);
  expect(key).toHaveLength(32);
  expect(await keptSecretKey(folder.path)).toEqual(key);
  expect(readdirSync(folder.path)).toEqual(['secret-key']);
  expect(statSync(join(folder.path, 'secret-key')).mode & 0o777).toBe(0o600);
});

test('each data folder has its own', async () => {
  const key = await keptSecretKey(folder.path);
  writeFileSync(join(folder.path, 'secret-key'), Buffer.alloc(32).toString('base64'));
  expect(await keptSecretKey(folder.path)).not.toEqual(key);
});

test('a damaged key is refused, never replaced', async () => {
  writeFileSync(join(folder.path, 'secret-key'), 'c2hvcnQ=');
  await expect(keptSecretKey(folder.path)).rejects.toThrow(`${join(folder.path, 'secret-key')} does not hold 32 bytes`);
});
