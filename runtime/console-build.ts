/** The console as it is served: built in a child process on the first start, then kept. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DAY_MS } from '../domain/time/durations.ts';
import { makeFolder } from '../store/core/make-folder.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import type { ConsoleFiles } from '../server/dependencies.ts';
import { cacheFolder } from './cache-folder.ts';
import type { Logger } from 'pino';

const ROOT = new URL('../', import.meta.url);
const BUILDER = fileURLToPath(new URL('./build-console.ts', import.meta.url));
/** Where `npm run console` builds, for an image or another machine. */
const SHIPPED = fileURLToPath(new URL('../web/built/', import.meta.url));
const SOURCES = ['web', 'api', 'domain'];
const LOCK = 'package-lock.json';
const SOURCE_NAME = /\.(?:tsx?|css|html|svg)$/;
/** Number of builds that a server serves, older ones for tabs that are open. */
const SERVED = 3;
/** Servers of other versions may share the folder: a build goes once no start has used it for these days. */
const KEPT_DAYS = 30;
const NAME = /^console-[0-9a-f]{32}$/;

/** Builds the console in the background, unless this version of it is there; pages wait for it meanwhile. */
export function openConsole(log: Logger): ConsoleFiles {
  let shown: ReturnType<ConsoleFiles['built']> = { folders: [], problem: null };
  const building = buildConsole().then(
    (folders) => {
      shown = { folders, problem: null };
    },
    (error: unknown) => {
      log.warn({ error: internalErrorOf(error) }, 'the console is not built: run npm run console');
      shown = { folders: [], problem: 'The console is not built on this server: run `npm run console` there' };
    },
  );
  return { built: () => shown, whenBuilt: () => building };
}

/** Returns the folders of builds, the current one first. */
async function buildConsole(): Promise<string[]> {
  const name = `console-${await hashOfSources()}`;
  const shipped = join(SHIPPED, name);
  if (existsSync(shipped)) return [shipped];
  const parent = join(cacheFolder(), 'console');
  await makeFolder(parent, { mode: 0o700 });
  if (!existsSync(join(parent, name))) await runBuilder(join(parent, name));
  await utimes(join(parent, name), new Date(), new Date());
  return [join(parent, name), ...(await olderBuilds(parent, name))];
}

/** Builds into `web/built`, and returns the folder. */
export async function shipConsole(): Promise<string> {
  await rm(SHIPPED, { recursive: true, force: true });
  await makeFolder(SHIPPED);
  const folder = join(SHIPPED, `console-${await hashOfSources()}`);
  await runBuilder(folder);
  return folder;
}

/** Builds for production whatever this process runs for: React for development mounts each part twice. */
async function runBuilder(out: string): Promise<void> {
  await promisify(execFile)(process.execPath, [BUILDER, out], { env: { ...process.env, NODE_ENV: 'production' } });
}

/** Returns older builds, the last used first, and deletes those that no server uses any more. */
async function olderBuilds(parent: string, current: string): Promise<string[]> {
  const names = (await readdir(parent)).filter((name) => NAME.test(name) && name !== current);
  const dated = await Promise.all(
    names.map(async (name) => ({ path: join(parent, name), at: (await stat(join(parent, name))).mtimeMs })),
  );
  const sorted = dated.toSorted((one, other) => other.at - one.at).map(({ path }) => path);
  const kept = sorted.slice(0, SERVED - 1);
  const unused = dated.filter(({ path, at }) => !kept.includes(path) && at < Date.now() - KEPT_DAYS * DAY_MS);
  await Promise.all(unused.map(({ path }) => rm(path, { recursive: true, force: true })));
  return kept;
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const perFolder = await Promise.all(
    SOURCES.map(async (folder) =>
      (await readdir(new URL(`${folder}/`, ROOT), { recursive: true }))
        .filter((file) => SOURCE_NAME.test(file) && !file.startsWith('built'))
        .map((file) => `${folder}/${file}`),
    ),
  );
  for (const path of [LOCK, ...perFolder.flat().toSorted()]) {
    hash.update(path).update(await readFile(new URL(path, ROOT)));
  }
  return hash.digest('hex').slice(0, 32);
}
