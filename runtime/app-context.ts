/** Context that server and workers share: configuration, database, files, keys, Temporal. */
import { availableParallelism } from 'node:os';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { CpuShare } from '../domain/core/cpu-share.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import { type Database, openDatabase } from '../store/core/database.ts';
import { checkFileStore } from '../store/core/file-store-marker.ts';
import type { Files } from '../store/core/files.ts';
import { migrate } from '../store/core/migrate.ts';
import { sayRunning } from '../store/core/running.ts';
import { openScratch, type Scratch } from '../store/core/scratch.ts';
import { openSecrets, type Secrets } from '../store/core/secrets.ts';
import { chooseSecretKey } from '../store/core/server-keys.ts';
import { reconcileTombstones } from '../store/gdpr/reconcile-tombstones.ts';
import { openTemporalClient, type TemporalSettings } from '../temporal/client.ts';
import type { Config } from './config.ts';
import { area } from './embedded/data-folder.ts';
import { identify } from './embedded/children.ts';
import { openFiles } from './open-files.ts';
import { reachDatabase } from './start-errors.ts';
import { openTraces } from './telemetry/open-traces.ts';
import type { Traces } from './telemetry/traces.ts';

export type Backends = {
  databaseUrl: string;
  temporal: TemporalSettings;
  secretKey: Buffer;
  /** The key that replaces `secretKey` while a change runs or was interrupted. */
  newSecretKey: Buffer | undefined;
};

export type AppContext = {
  config: Config;
  log: Logger;
  db: Database;
  files: Files;
  secrets: Secrets;
  scratch: Scratch;
  cpuShare: CpuShare;
  temporal: Client;
  temporalSettings: TemporalSettings;
  traces: Traces | null;
  /** The process in histories and pg_stat_activity. */
  identity: string;
  close(): Promise<void>;
};

export async function withAppContext(
  config: Config,
  backends: Backends,
  log: Logger,
  live: (context: AppContext) => Promise<void>,
): Promise<void> {
  const context = await openAppContext(config, backends, log);
  try {
    await live(context);
  } finally {
    await context.close();
  }
}

/** Opens database (migrated), files, keys and the Temporal client. */
async function openAppContext(
  config: Config,
  { databaseUrl, ...backends }: Backends,
  log: Logger,
): Promise<AppContext> {
  const identity = `millrace-${process.pid}`;
  const db = openDatabase({
    url: databaseUrl,
    name: identity,
    max: 21, // one marks this process as alive
    onError: (error) => log.warn({ ...internalErrorOf(error) }, 'a database session ended'),
  });
  let ended = () => {};
  try {
    await reachDatabase(db, databaseUrl);
    ended = await sayRunning(db);
    return await openParts(config, db, { ...backends, identity, log, ended });
  } catch (error) {
    ended();
    await db.end();
    throw error;
  }
}

type Parts = Omit<Backends, 'databaseUrl'> & Pick<AppContext, 'identity' | 'log'> & { ended(): void };

async function openParts(
  config: Config,
  db: Database,
  { temporal, secretKey, newSecretKey, identity, log, ended }: Parts,
): Promise<AppContext> {
  const opened = await openFiles(config, log);
  const { applied } = await migrate(db);
  if (applied.length > 0) log.info({ applied }, 'database migrated');
  const files = await checkFileStore(db, opened);
  const scratch = await openScratchOf(config.MILLRACE_DATA_DIR, log);
  const secrets = await openSecrets(db, files, await rightSecretKey(db, { secretKey, newSecretKey, log }));
  await keepErased({ db, files, secrets, log });
  const traces = await openTraces(config, log);
  const client = await openTemporalClient(temporal, identity, traces?.client);
  return {
    config,
    log,
    db,
    files,
    secrets,
    scratch,
    cpuShare: openCpuShare(),
    temporal: client,
    temporalSettings: temporal,
    traces,
    identity,
    async close() {
      await client.connection.close();
      await traces?.close();
      await scratch.close();
      ended();
      await db.end();
    },
  };
}

/** Returns the new key once the database has it, even after an interrupted change. */
async function rightSecretKey(
  db: Database,
  { secretKey, newSecretKey, log }: Pick<Parts, 'secretKey' | 'newSecretKey' | 'log'>,
): Promise<Buffer> {
  if (!newSecretKey) return secretKey;
  const right = await chooseSecretKey(db, [secretKey, newSecretKey]);
  log.warn(
    { right: right === newSecretKey ? 'the new one' : 'the old one' },
    'there are an old and a new secret key: npm run keys -- rotate --wrapping ends the change',
  );
  return right;
}

/** Keeps erased people erased after a restore of the database or the file store. */
async function keepErased({
  db,
  files,
  secrets,
  log,
}: Pick<AppContext, 'db' | 'files' | 'secrets' | 'log'>): Promise<void> {
  const { restored, written, unknown, unreadable, people } = await reconcileTombstones({ db, files, secrets });
  if (restored + written > 0)
    log.info({ restored, written }, 'tombstones that database or file store lacked were put back');
  if (people > 0) log.warn({ people }, 'people who had been erased came back with the database, and are erased again');
  if (unknown > 0)
    log.warn({ files: unknown }, 'tombstones of entities that the database does not know were left alone');
  if (unreadable > 0)
    log.error(
      { files: unreadable },
      'files under tombstones/ can not be read: restore them from a backup of the files',
    );
}

/** Opens the share of the cores, once a process. */
export function openCpuShare(): CpuShare {
  return new CpuShare(availableParallelism(), {
    now: () => performance.now(),
    later: (ms, callback) => void setTimeout(callback, ms).unref(),
  });
}

/** Opens the scratch area, which processes may share, and removes what dead processes left. */
function openScratchOf(dataDir: string, log: Logger): Promise<Scratch> {
  const startedAt = identify(process.pid)?.startedAt ?? new Date().toISOString();
  return openScratch(area(dataDir, 'scratch'), {
    process: `${process.pid}-${startedAt.replaceAll(/[^A-Za-z0-9]+/g, '-')}`,
    onError: (error) => log.warn({ ...internalErrorOf(error) }, 'a scratch folder could not be removed'),
  });
}
