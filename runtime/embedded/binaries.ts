import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, chmod, constants, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { arch, homedir, platform } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import type { Say } from './ports.ts';
import { seconds } from './postgres.ts';

const run = promisify(execFile);

/** A program that Millrace starts beside itself, and the ways to get it. */
export type Program = {
  name: string;
  version: string;
  /** Prints a line that holds the version. */
  versionArguments: string[];
  /** A .tar.gz that holds the program at its top; by Go's names of systems and processors. */
  archiveUrl: (system: string, processor: string) => string;
  goModule: string;
};

export type FindOptions = { say: Say; cacheFolder?: string; path?: string };

/** How long a download may take to answer, and to arrive. */
const ANSWER_MS = 5_000;
const ARRIVE_MS = 120_000;
const STILL_AT_IT_MS = 15_000;
const PROCESSORS: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Where programs are kept for all clones of this user: XDG_CACHE_HOME or ~/.cache, in `millrace`. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace');
}

/**
 * The path of a program: from PATH, the cache, its official archive, or `go install`, in this order. Each
 * attempt is said as it happens, with its time; when none succeeds the error lists why.
 */
export async function findProgram(
  program: Program, { say, cacheFolder: cache = cacheFolder(), path = process.env.PATH ?? '' }: FindOptions,
): Promise<string> {
  const cached = join(cache, `${program.name}-${program.version}`);
  const attempts: [what: string, attempt: () => Promise<string>][] = [
    ['PATH', () => fromPath(program, path)],
    ['cache', () => checked(program, cached)],
    ['download', () => intoCache(cache, cached, (folder) => download(program, folder))],
    ['go install', () => intoCache(cache, cached, (folder) => goInstall(program, folder))],
  ];
  const failures: string[] = [];
  for (const [what, attempt] of attempts) {
    const start = performance.now();
    const patience = setInterval(() => say(`${program.name}: ${what} … ${seconds(start)}`), STILL_AT_IT_MS);
    try {
      const found = await attempt();
      say(`${program.name}: ${program.version} from ${what} (${seconds(start)})`);
      return found;
    } catch (error) {
      failures.push(`${what}: ${(error as Error).message.split('\n')[0]}`);
      if (what !== 'PATH' && what !== 'cache') say(`${program.name}: ${failures.at(-1)} (${seconds(start)})`);
      if (what === 'download') say(`${program.name}: building it from its Go module, which takes some minutes once …`);
    } finally {
      clearInterval(patience);
    }
  }
  throw new Error(`${program.name} ${program.version} was not to be had:\n  ${failures.join('\n  ')}\nInstall it so that it is on PATH, or install Go.`);
}

async function fromPath(program: Program, path: string): Promise<string> {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const candidate = join(folder, program.name);
    if (existsSync(candidate)) return checked(program, candidate);
  }
  throw new Error('not there');
}

/** A program that runs and tells a version; one that does not is none. */
async function checked(program: Program, path: string): Promise<string> {
  await access(path, constants.X_OK).catch(() => { throw new Error('not there'); });
  const { stdout } = await run(path, program.versionArguments, { timeout: 10_000 });
  if (!stdout.includes(program.name)) throw new Error(`${path} does not answer as ${program.name}`);
  return path;
}

/** Made in a folder aside and checked, then moved into place whole: two that race both end with a good one. */
async function intoCache(cache: string, cached: string, make: (folder: string) => Promise<string>): Promise<string> {
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(cache, 'unfinished-'));
  try {
    await rename(await make(folder), cached);
    return cached;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function download(program: Program, folder: string): Promise<string> {
  const system = platform();
  const processor = PROCESSORS[arch()] ?? arch();
  const url = program.archiveUrl(system, processor);
  const answer = new AbortController();
  const timer = setTimeout(() => answer.abort(), ANSWER_MS);
  const reply = await fetch(url, { signal: AbortSignal.any([answer.signal, AbortSignal.timeout(ARRIVE_MS)]) })
    .catch(() => { throw new Error(`${new URL(url).host} does not answer`); });
  clearTimeout(timer);
  if (!reply.ok || !reply.body) throw new Error(`${new URL(url).host} answered ${reply.status}`);
  const archive = join(folder, 'archive.tar.gz');
  await writeFile(archive, Readable.fromWeb(reply.body as never));
  await run('tar', ['-xzf', archive, '-C', folder]);
  const file = join(folder, program.name);
  await chmod(file, 0o755);
  return checked(program, file);
}

async function goInstall(program: Program, folder: string): Promise<string> {
  await run('go', ['install', `${program.goModule}@v${program.version}`], {
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: folder, GOFLAGS: '' }, maxBuffer: 64 * 1024 * 1024,
  });
  return checked(program, join(folder, program.name));
}
