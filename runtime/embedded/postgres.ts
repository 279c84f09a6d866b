import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Child, startChild } from './children.ts';
import { rememberedPort, type Say } from './ports.ts';
import { openPlace, postgresBinaries, postgresUser, type SystemUser } from './postgres-place.ts';

export type EmbeddedPostgres = { url: string; stop(): Promise<void> };

const MAJOR = '18';
const USER = 'millrace';
const DATABASE = 'postgres';
const READY_WITHIN_MS = 60_000;

/**
 * For a machine that it shares with everything else of Millrace. Durable, and its log quotes no value: no
 * statement, parameter, DETAIL or CONTEXT is written to it.
 */
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
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

/**
 * Postgres from the npm package, with its data under `dataDir`. It listens on the loopback only, for a
 * password that lies in the data folder. Started as root, it runs as another user.
 */
export async function startPostgres({ dataDir, say }: { dataDir: string; say: Say }): Promise<EmbeddedPostgres> {
  const start = performance.now();
  const user = await postgresUser();
  const binaries = await postgresBinaries(user, say);
  const cluster = join(await openPlace(dataDir, 'postgres', user, say), MAJOR);
  const password = await keptPassword(join(dataDir, 'postgres.password'));
  if (!existsSync(join(cluster, 'PG_VERSION'))) {
    say('postgres: making the database …');
    await initialise(binaries.initdb, cluster, password, user);
  }
  const port = await rememberedPort(dataDir, 'postgres', say);
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
  const settings = Object.entries({ ...SETTINGS, port: String(port) }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = startChild({
    dataDir, name: 'postgres', command: binaries.postgres, args: ['-D', cluster, ...settings], stopSignal: 'SIGINT',
    options: { ...user, env: ENVIRONMENT, cwd: '/' },
  });
  await ready(url, child);
  say(`postgres: embedded ${MAJOR}, ready in ${seconds(start)}`);
  return { url, stop: child.stop };
}

const ENVIRONMENT = { LC_ALL: 'C', PATH: process.env.PATH ?? '' };

export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}

/** Made aside and complete before it gets its name: a kill in the middle leaves nothing half-made in the way. */
async function initialise(initdb: string, cluster: string, password: string, user: SystemUser): Promise<void> {
  const passwordFile = `${cluster}.password`;
  await rm(cluster, { recursive: true, force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined) await chown(passwordFile, user.uid, user.gid!);
  try {
    await promisify(execFile)(initdb, [
      '-D', cluster, '-U', USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8', '--locale=C',
      '--data-checksums',
    ], { ...user, env: ENVIRONMENT, cwd: '/' });
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function keptPassword(path: string): Promise<string> {
  if (existsSync(path)) return readFile(path, 'utf8');
  const password = randomBytes(24).toString('hex');
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, password, { mode: 0o600 });
  await chmod(path, 0o600);
  return password;
}

async function ready(url: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      await client.end().catch(() => {});
      const hasEnded = child.process.exitCode !== null || child.process.pid === undefined;
      if (hasEnded || performance.now() > deadline) {
        throw new Error(`The embedded Postgres did not start; its log is ${child.logPath}.`, { cause: error });
      }
    }
    await delay(50);
  }
}
