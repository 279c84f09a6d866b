import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keptSecretKeys } from '../../../runtime/embedded/secret-key.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();

test('a key of 32 bytes is drawn once and kept, for its owner alone', async () => {
  const { secretKey: key } = await keptSecretKeys(folder.path);
  expect(key).toHaveLength(32);
  expect((await keptSecretKeys(folder.path)).secretKey).toEqual(key);
  expect(readdirSync(folder.path)).toEqual(['secret-key']);
  expect(statSync(join(folder.path, 'secret-key')).mode & 0o777).toBe(0o600);
});

test('each data folder has its own', async () => {
  const { secretKey: key } = await keptSecretKeys(folder.path);
  writeFileSync(join(folder.path, 'secret-key'), Buffer.alloc(32).toString('base64'));
  expect((await keptSecretKeys(folder.path)).secretKey).not.toEqual(key);
});

test('a damaged key is refused, never replaced', async () => {
  writeFileSync(join(folder.path, 'secret-key'), 'c2hvcnQ=');
  await expect(keptSecretKeys(folder.path)).rejects.toThrow(
    `${join(folder.path, 'secret-key')} does not hold 32 bytes`,
  );
});
