import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { openFiles } from './open-files.ts';
import { openTraces } from './open-traces.ts';
import { clearScratch } from './scratch.ts';
import { openTemporalClient, type TemporalSettings } from './temporal-client.ts';
import type { Traces } from './traces.ts';
import { type Database, openDatabase } from '../store/database.ts';
import type { Files } from '../store/files.ts';
import { migrate } from '../store/migrate.ts';
import { openSecrets, type Secrets } from '../store/secrets.ts';
import { faultOf } from '../domain/fault.ts';

/** Where the parts are that Millrace stands on, embedded or not. */
export type Grounds = { databaseUrl: string; temporal: TemporalSettings; secretKey: Buffer };

/** What server and workers share. */
export type House = {
  config: Config;
  log: Logger;
  db: Database;
  files: Files;
  secrets: Secrets;
  temporal: Client;
  temporalSettings: TemporalSettings;
  /** Null when they are off. */
  traces: Traces | null;
  /** What histories and pg_stat_activity show of this process. */
  identity: string;
  close(): Promise<void>;
};

/** Opens the house for as long as `live` takes. */
export async function withHouse(
  config: Config, grounds: Grounds, log: Logger, live: (house: House) => Promise<void>,
): Promise<void> {
  const house = await openHouse(config, grounds, log);
  try {
    await live(house);
  } finally {
    await house.close();
  }
}

/** Opens database (migrated), files, keys and the Temporal client. */
async function openHouse(config: Config, { databaseUrl, temporal, secretKey }: Grounds, log: Logger): Promise<House> {
  const identity = `millrace-${process.pid}`;
  const db = openDatabase({
    url: databaseUrl, name: identity, max: 20,
    onError: (error) => log.warn({ ...faultOf(error) }, 'a database session ended'),
  });
  try {
    return await furnish(config, db, { temporal, secretKey, identity, log });
  } catch (error) {
    await db.end();
    throw error;
  }
}

type Furnishing = Pick<Grounds, 'temporal' | 'secretKey'> & Pick<House, 'identity' | 'log'>;

async function furnish(config: Config, db: Database, { temporal, secretKey, identity, log }: Furnishing): Promise<House> {
  const files = await openFiles(config);
  const { applied } = await migrate(db);
  if (applied.length > 0) log.info({ applied }, 'database migrated');
  await clearScratch(config.MILLRACE_DATA_DIR);
  const secrets = await openSecrets(db, files, secretKey);
  const traces = await openTraces(config, log);
  const client = await openTemporalClient(temporal, identity, traces?.client);
  return {
    config, log, db, files, secrets, temporal: client, temporalSettings: temporal, traces, identity,
    async close() {
      await client.connection.close();
      await traces?.close();
      await db.end();
    },
  };
}
