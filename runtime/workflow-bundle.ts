import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = new URL('../', import.meta.url);
const BUNDLER = fileURLToPath(new URL('./bundle-workflows.ts', import.meta.url));

/** Everything that a workflow can import, and what bundles it. */
const SOURCES = ['workflows', 'domain'];
const LOCK = 'package-lock.json';

/**
 * The path of the workflow bundle, made when its sources have changed. A child process makes it: the
 * bundler takes 300 MB that the worker would keep. A traced one holds what traces workflows.
 */
export async function workflowBundle(cacheFolder: string, { traced = false }: { traced?: boolean } = {}): Promise<string> {
  const path = join(cacheFolder, `${traced ? 'traced-' : ''}workflows-${await sourcesHash()}.js`);
  if (existsSync(path)) return path;
  await mkdir(cacheFolder, { recursive: true, mode: 0o700 });
  await promisify(execFile)(process.execPath, [BUNDLER, path, ...(traced ? ['traced'] : [])]);
  return path;
}

async function sourcesHash(): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  const files = [LOCK];
  for (const folder of SOURCES) {
    files.push(...(await readdir(new URL(`${folder}/`, ROOT))).map((file) => `${folder}/${file}`).toSorted());
  }
  for (const file of files) hash.update(file).update(await readFile(new URL(file, ROOT)));
  return hash.digest('hex').slice(0, 32);
}
