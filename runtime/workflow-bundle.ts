/** Bundles the workflows, and caches the bundle. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeFolder } from '../store/core/make-folder.ts';

const ROOT = new URL('../', import.meta.url);
const BUNDLER = fileURLToPath(new URL('./bundle-workflows.ts', import.meta.url));

/** Everything that a workflow can import, and the bundler. */
const SOURCES = ['workflows', 'domain'];
const LOCK = 'package-lock.json';

export type BundleOptions = {
  traced?: boolean;
  /** Path of a module that replaces `workflows/patience.ts`. */
  patience?: string;
};

/** Returns the bundle's path, made anew in a child process: the bundler takes 300 MB that the worker would keep. */
export async function workflowBundle(
  cacheFolder: string,
  { traced = false, patience }: BundleOptions = {},
): Promise<string> {
  const sources = [LOCK, ...(await files()), ...(patience ? [patience] : [])];
  const path = join(cacheFolder, `${traced ? 'traced-' : ''}workflows-${await hashOf(sources)}.js`);
  if (existsSync(path)) return path;
  await makeFolder(cacheFolder, { mode: 0o700 });
  const options = [...(traced ? ['--traced'] : []), ...(patience ? ['--patience', patience] : [])];
  await promisify(execFile)(process.execPath, [BUNDLER, path, ...options]);
  return path;
}

async function files(): Promise<string[]> {
  const perFolder = await Promise.all(
    SOURCES.map(async (folder) =>
      (await readdir(new URL(`${folder}/`, ROOT), { recursive: true })).map((file) => `${folder}/${file}`).toSorted(),
    ),
  );
  return perFolder.flat().filter((path) => path.endsWith('.ts'));
}

async function hashOf(paths: string[]): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  for (const path of paths) hash.update(path).update(await readFile(new URL(path, ROOT)));
  return hash.digest('hex').slice(0, 32);
}
