/** Finds programs that Millrace runs beside itself: on PATH, in the cache, or downloaded. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { DAY_MS } from '../../domain/time/durations.ts';
import { makeFolder } from '../../store/core/make-folder.ts';
import { cacheFolder } from '../cache-folder.ts';
import { CannotStart } from '../cannot-start.ts';
import { withLock } from './cache-lock.ts';
import { type Say, seconds } from './say.ts';

const run = promisify(execFile);

export type Program = {
  name: string;
  version: string;
  /** Makes the program print a line with its name. */
  versionArguments: string[];
  /** Address of a .tar.gz, by Go's names of systems and processors. */
  archiveUrl: (system: string, processor: string) => string;
  /** SHA-256 by system and processor. Without one nothing is downloaded: `go install` verifies its sources itself. */
  checksums: Record<string, string>;
  archiveFolder?: (system: string, processor: string) => string;
  goModule: string;
  instead: string;
};

export type FindOptions = {
  say: Say;
  cacheFolder?: string;
  path?: string;
  /** For tests: default ANSWER_MS. */
  answerMs?: number;
};

type Found = { path: string; versionLine: string };
type Attempt = { what: string; note?: string; find: () => Promise<Found> };

/** Maximum time until a download answers, and until it is complete. */
export const ANSWER_MS = 5_000;
const ARRIVE_MS = 300_000;
const STILL_AT_IT_MS = 15_000;
const PROCESSORS: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Finds a program on PATH, in the cache, in its archive or by `go install`. The error lists all attempts. */
export async function findProgram(
  program: Program,
  { say, cacheFolder: cache = cacheFolder(), path = process.env.PATH ?? '', answerMs = ANSWER_MS }: FindOptions,
): Promise<string> {
  const cached = join(cache, `${program.name}-${program.version}`);
  const attempts: Attempt[] = [
    { what: 'on PATH', find: () => fromPath(program, path) },
    { what: `in ${cache}`, find: () => checked(program, cached) },
    {
      what: 'by download',
      note: ' …',
      find: () => intoCache(program, cached, (folder) => download(program, folder, answerMs)),
    },
    {
      what: 'by go install',
      note: ', which takes minutes the first time …',
      find: () => intoCache(program, cached, (folder) => goInstall(program, folder, path)),
    },
  ];
  const failures: string[] = [];
  for (const { what, note, find } of attempts) {
    if (note) say(`${program.name}: ${program.version} ${what}${note}`);
    const start = performance.now();
    const patience = setInterval(() => say(`${program.name}: ${what} … ${seconds(start)}`), STILL_AT_IT_MS);
    try {
      const found = await find();
      say(`${program.name}: ${what}: ${found.versionLine} (${seconds(start)})`);
      return found.path;
    } catch (error) {
      failures.push(`${what}: ${(error as Error).message}`);
      say(`${program.name}: ${failures.at(-1)} (${seconds(start)})`);
    } finally {
      clearInterval(patience);
    }
  }
  throw new CannotStart(
    [
      `${program.name} ${program.version} was not to be had:`,
      ...failures.map((failure) => `  ${failure}`),
      `Install it so that it is on PATH, or install Go, or ${program.instead}.`,
    ].join('\n'),
  );
}

/** Returns the first that works: a broken one must not hide a good one. */
async function fromPath(program: Program, path: string): Promise<Found> {
  let reason: unknown = new Error('not there');
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const candidate = join(folder, program.name);
    if (!existsSync(candidate)) continue;
    try {
      return await checked(program, candidate);
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}

async function checked(program: Program, path: string): Promise<Found> {
  if (!existsSync(path)) throw new Error('not there');
  const { stdout } = await run(path, program.versionArguments, { timeout: 10_000 }).catch(
    (error: { code?: unknown; signal?: unknown }) => {
      throw new Error(`${path} does not run (${String(error.code ?? error.signal)})`, { cause: error });
    },
  );
  if (!stdout.includes(program.name)) throw new Error(`${path} does not answer as ${program.name}`);
  return {
    path,
    versionLine: stdout
      .split('\n')
      .find((line) => line.includes(program.name))!
      .trim(),
  };
}

/** Makes a program in a separate folder and moves it into place. Of several first starts at once one makes it. */
async function intoCache(program: Program, cached: string, make: (folder: string) => Promise<Found>): Promise<Found> {
  const cache = join(cached, '..');
  await makeFolder(cache, { mode: 0o700 });
  return withLock(`${cached}.lock`, async () => {
    const made = await checked(program, cached).catch(() => null);
    if (made !== null) return made;
    await clearAbandoned(cache);
    const folder = await mkdtemp(join(cache, UNFINISHED));
    try {
      const { path, versionLine } = await make(folder);
      await rename(path, cached);
      return { path: cached, versionLine };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

const UNFINISHED = 'unfinished-';
/** Longer than any download or build takes. */
const ABANDONED_AFTER_MS = DAY_MS;

async function clearAbandoned(cache: string): Promise<void> {
  for (const entry of await readdir(cache)) {
    if (!entry.startsWith(UNFINISHED)) continue;
    const folder = join(cache, entry);
    const made = await stat(folder).catch(() => null);
    if (made && Date.now() - made.mtimeMs > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}

/** Downloads a program. Unpacks and runs nothing before its checksum matches the pinned one. */
async function download(program: Program, folder: string, answerMs: number): Promise<Found> {
  const machine = [platform(), PROCESSORS[arch()] ?? arch()] as const;
  const name = machine.join('_');
  const pinned = program.checksums[name];
  if (pinned === undefined)
    throw new Error(`no checksum of ${program.version} is pinned for ${name}, so nothing is downloaded`);
  const url = new URL(program.archiveUrl(...machine));
  const archive = join(folder, 'archive.tar.gz');
  const sha256 = await fetchInto(url, archive, answerMs);
  if (sha256 !== pinned)
    throw new Error(`what came from ${url.host} is not what is pinned: its SHA-256 is ${sha256}, not ${pinned}`);
  await run('tar', ['-xzof', archive, '-C', folder]).catch((error: { code?: unknown }) => {
    const reason =
      error.code === 'ENOENT' ? 'there is no tar to unpack it' : `what came from ${url.host} is no archive`;
    throw new Error(reason, { cause: error });
  });
  const file = join(folder, program.archiveFolder?.(...machine) ?? '', program.name);
  if (!existsSync(file)) throw new Error(`what came from ${url.host} holds no ${program.name}`);
  await chmod(file, 0o755);
  return checked(program, file);
}

/** Fetches into a file, and fails soon without an answer. Returns the SHA-256. */
async function fetchInto(url: URL, file: string, answerMs: number): Promise<string> {
  const unanswered = new AbortController();
  const timer = setTimeout(() => unanswered.abort(), answerMs);
  const signal = AbortSignal.any([unanswered.signal, AbortSignal.timeout(ARRIVE_MS)]);
  const reply = await fetch(url, { signal })
    .catch((error: Error & { cause?: { code?: string } }) => {
      const reason = unanswered.signal.aborted
        ? `does not answer within ${answerMs / 1000} s`
        : `can't be reached (${error.cause?.code ?? error.message})`;
      throw new Error(`${url.host} ${reason}`, { cause: error });
    })
    .finally(() => clearTimeout(timer));
  if (!reply.ok || !reply.body) throw new Error(`${url.host} answered ${reply.status}`);
  const hash = createHash('sha256');
  const measured = async function* (bytes: AsyncIterable<Uint8Array>) {
    for await (const piece of bytes) {
      hash.update(piece);
      yield piece;
    }
  };
  await pipeline(Readable.fromWeb(reply.body as never), measured, createWriteStream(file)).catch((error: Error) => {
    throw new Error(`${url.host} broke off (${error.message})`, { cause: error });
  });
  return hash.digest('hex');
}

async function goInstall(program: Program, folder: string, path: string): Promise<Found> {
  const env = { ...process.env, PATH: path, CGO_ENABLED: '0', GOBIN: folder, GOFLAGS: '' };
  await run('go', ['install', `${program.goModule}@v${program.version}`], { env, maxBuffer: 64 * 1024 * 1024 }).catch(
    (error: Error & { code?: unknown; stderr?: string }) => {
      if (error.code === 'ENOENT') throw new Error('Go is not installed', { cause: error });
      throw new Error(error.stderr?.trim().split('\n').at(-1) || error.message, { cause: error });
    },
  );
  return checked(program, join(folder, program.name));
}
