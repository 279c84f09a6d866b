import { execFile } from 'node:child_process';
import { chown, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CannotStart } from '../cannot-start.ts';
import type { SystemUser } from './postgres-folder.ts';
import type { Say } from './say.ts';

export const MAJOR = '18';
/** The superuser of the cluster. */
export const USER = 'millrace';
/** All that Postgres and initdb see of our environment. */
export const ENVIRONMENT = { LC_ALL: 'C', PATH: process.env.PATH ?? '' };

const UNFINISHED = 'unfinished-';

export type ClusterSettings = {
  initdb: string;
  /** Holds a folder per major version. */
  place: string;
  password: string;
  user: SystemUser;
  say: Say;
};

/** The folder of the database, made at the first start. Refuses one that another major version of Postgres made. */
export async function ensureCluster(settings: ClusterSettings): Promise<string> {
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

/** Made aside and complete before it gets its name: a kill in the middle leaves nothing half-made in the way. */
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
      // Sorts by code point, and knows the letters of all scripts; the same on every system.
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
