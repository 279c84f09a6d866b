/** Starts embedded Postgres and Temporal, or takes the configured ones. */
import type { Backends } from './app-context.ts';
import { type Config, ConfigError } from './config.ts';
import { endChildrenLeftBehind } from './embedded/children.ts';
import { lockDataFolder, openDataFolder } from './embedded/data-folder.ts';
import { startPostgres } from './embedded/postgres.ts';
import type { Say } from './embedded/say.ts';
import { keptSecretKeys } from './embedded/secret-key.ts';
import { startTemporal } from './embedded/temporal.ts';
import type { TemporalSettings } from '../temporal/client.ts';

export type EmbeddedBackends = Backends & {
  temporalUi: string | null;
  /** Resolves with a message when a part ends by itself. */
  lost: Promise<string>;
  stop(): Promise<void>;
};

/** Locks the data folder, and starts each part that has no configured address. */
export async function openBackends(config: Config, say: Say): Promise<EmbeddedBackends> {
  const dataDir = config.MILLRACE_DATA_DIR;
  await openDataFolder(dataDir);
  const unlock = lockDataFolder(dataDir);
  for (const child of await endChildrenLeftBehind(dataDir))
    say(`${child}: one that an earlier run left behind was stopped`);
  const postgres = config.DATABASE_URL ? null : startPostgres({ dataDir, say });
  const temporal = config.TEMPORAL_ADDRESS
    ? null
    : startTemporal({ dataDir, say, namespace: config.TEMPORAL_NAMESPACE });
  const parts = [postgres, temporal].filter((part) => part !== null);
  const stop = async () => {
    for (const part of await Promise.allSettled(parts)) if (part.status === 'fulfilled') await part.value.stop();
    unlock();
  };
  try {
    const running = await Promise.all<{ lost: Promise<string> }>(parts);
    const server = await temporal;
    return {
      databaseUrl: config.DATABASE_URL ?? (await postgres)!.url,
      temporal: temporalSettings(config, server?.address),
      ...(await secretKeys(config)),
      temporalUi: server?.uiAddress ?? null,
      lost: Promise.race(running.map(({ lost }) => lost)),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns configured addresses. A process among several needs all. */
export function configuredBackends(config: Config): Backends {
  const missing = (['DATABASE_URL', 'TEMPORAL_ADDRESS'] as const).filter((name) => !config[name]);
  if (missing.length > 0) {
    throw new ConfigError(
      missing.map((name) => `${name} is required here: only npm start has parts of its own`).join('\n'),
    );
  }
  return { databaseUrl: config.DATABASE_URL!, temporal: temporalSettings(config), ...givenKeys(config) };
}

type SecretKeys = Pick<Backends, 'secretKey' | 'newSecretKey'>;

async function secretKeys(config: Config): Promise<SecretKeys> {
  return config.MILLRACE_SECRET_KEY ? givenKeys(config) : keptSecretKeys(config.MILLRACE_DATA_DIR);
}

function givenKeys(config: Config): SecretKeys {
  return { secretKey: config.MILLRACE_SECRET_KEY!, newSecretKey: config.MILLRACE_NEW_SECRET_KEY };
}

/** Opens only the database, with a locked data folder, for commands that run instead of the service. */
export async function withDatabase(
  config: Config,
  say: Say,
  work: (backends: SecretKeys & { databaseUrl: string }) => Promise<void>,
): Promise<void> {
  const dataDir = config.MILLRACE_DATA_DIR;
  await openDataFolder(dataDir);
  const unlock = lockDataFolder(dataDir);
  const postgres = config.DATABASE_URL
    ? null
    : await endChildrenLeftBehind(dataDir).then(() => startPostgres({ dataDir, say }));
  try {
    await work({ databaseUrl: config.DATABASE_URL ?? postgres!.url, ...(await secretKeys(config)) });
  } finally {
    await postgres?.stop();
    unlock();
  }
}

function temporalSettings(config: Config, embedded?: string): TemporalSettings {
  const { TEMPORAL_TLS_CERT: certPath, TEMPORAL_TLS_KEY: keyPath, TEMPORAL_TLS_CA: caPath } = config;
  return {
    address: embedded ?? config.TEMPORAL_ADDRESS!,
    namespace: config.TEMPORAL_NAMESPACE,
    apiKey: config.TEMPORAL_API_KEY,
    tls: certPath || caPath || config.TEMPORAL_API_KEY ? { certPath, keyPath, caPath } : undefined,
  };
}
