import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { openDataFolder } from '../../../runtime/embedded/data-folder.ts';
import { startPostgres } from '../../../runtime/embedded/postgres.ts';
import { startTemporal } from '../../../runtime/embedded/temporal.ts';
import { workflowBundle } from '../../../runtime/workflow-bundle.ts';
import { openDatabase } from '../../../store/core/database.ts';
import { migrate } from '../../../store/core/migrate.ts';
import { BUNDLES } from './bundles.ts';
import { TEMPORAL } from './temporal-settings.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { adminUrl: string; template: string };
    temporal: { address: string };
    bundlePath: string;
    /** Of workflows that soon miss a worker. */
    impatientBundlePath: string;
    /** Everything that this run's processes log, searched at its end. */
    runFolder: string;
  }
}

const IMPATIENCE = fileURLToPath(new URL('./impatience.ts', import.meta.url));

type Services = ProvidedContext & { stop(): Promise<void> };

const TEMPLATE = 'millrace_template';

/**
 * A run outlives no power cut, has many workers at once, and a database for each file, which a vacuum would look into
 * one by one.
 */
const POSTGRES = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '500',
  autovacuum_naptime: '5min',
  file_copy_method: 'clone',
};
const RUNNING = Symbol.for('millrace.test.services');
const registry = globalThis as { [RUNNING]?: { services: Promise<Services>; projects: number } };

/** Real Postgres and Temporal, started by the first project that asks and stopped by the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = (registry[RUNNING] ??= { services: startServices(), projects: 0 });
  running.projects += 1;
  const services = await running.services;
  project.provide('postgres', services.postgres);
  project.provide('temporal', services.temporal);
  project.provide('bundlePath', services.bundlePath);
  project.provide('impatientBundlePath', services.impatientBundlePath);
  project.provide('runFolder', services.runFolder);
  return async () => {
    running.projects -= 1;
    if (running.projects > 0) return;
    delete registry[RUNNING];
    await services.stop();
  };
}

async function startServices(): Promise<Services> {
  const runFolder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  await openDataFolder(runFolder);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const [postgres, temporal, bundlePath, impatientBundlePath] = await Promise.all([
    startPostgres({ dataDir: runFolder, say, settings: POSTGRES }),
    startTemporal({ dataDir: runFolder, say, headless: true, synchronous: 'off', settings: TEMPORAL }),
    workflowBundle(BUNDLES),
    workflowBundle(BUNDLES, { patience: IMPATIENCE }),
  ]);
  // A run that a signal ends gets no teardown. Both are asked to end before this process does.
  const endWithUs = () => void Promise.all([temporal.stop(), postgres.stop()]);
  process.once('exit', endWithUs);
  await makeTemplate(postgres.url);
  return {
    postgres: { adminUrl: postgres.url, template: TEMPLATE },
    temporal: { address: temporal.address },
    bundlePath,
    impatientBundlePath,
    runFolder,
    async stop() {
      await Promise.all([temporal.stop(), postgres.stop()]);
      process.off('exit', endWithUs);
      if (process.env.KEEP_RUN_FOLDER) say(`the run's logs lie in ${runFolder}`);
      else await rm(runFolder, { recursive: true, force: true });
    },
  };
}

async function makeTemplate(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${TEMPLATE}`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${TEMPLATE}`;
  const db = openDatabase({ url: url.href, max: 2 });
  await migrate(db);
  await db.end();
}
