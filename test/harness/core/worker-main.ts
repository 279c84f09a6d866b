import { openAllPlaces } from '../../../activities/core/open-all-places.ts';
import type { Command } from '../../../connectors/commands/commands-file.ts';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import { type PushServices, readPushServices } from '../../../connectors/web-push/push-services.ts';
import type { KeptLimits } from '../../../domain/imports/kept-files.ts';
import { TASK_QUEUES } from '../../../domain/jobs/workflow-id.ts';
import { superviseTemporal } from '../../../runtime/supervisor.ts';
import { createLog } from '../../../runtime/telemetry/log.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { installTemporalRuntime } from '../../../runtime/telemetry/temporal-runtime.ts';
import { type Patience, startWorkers } from '../../../runtime/workers.ts';
import { openDatabase } from '../../../store/core/database.ts';
import { filesIn } from '../../../store/core/files.ts';
import { openSecrets } from '../../../store/core/secrets.ts';
import { openTemporalClient } from '../../../temporal/client.ts';
import { openTestFiles, openTestScratch, type S3Settings } from './open-test-files.ts';

/** A worker as `npm run work` runs it, but for its boundaries: there it can be ended by SIGKILL, or stopped. */
export type WorkerSettings = {
  databaseUrl: string;
  filesFolder: string;
  /** Where files are instead. */
  s3: S3Settings | null;
  secretKey: string;
  temporalAddress: string;
  namespace: string;
  bundlePath: string;
  /** Default: that of the service. */
  patience?: Patience;
  sweepSeconds: number;
  /** After so many deaths a step is given up; default one that no test comes to, since its kills come from outside. */
  maxStepDeaths?: number;
  /** Where files may be fetched from; default the loopback. */
  fetchAllow?: string;
  /** MILLRACE_PUSH_SERVICES. */
  pushServices?: string;
  /** What syncs may run, by its name; default nothing. */
  commands?: [string, Command][];
  /** Default: mails go to the folder `outbox` beside the files. */
  smtpUrl?: string;
  /** About so many records of an import are merged together. */
  batchRecords?: number;
  /** How long outside systems are waited for; default an hour. */
  keptLimits?: KeptLimits;
  patienceMs?: number;
  /**
   * Ends this process at the `hit`-th time that it comes to a boundary of that name; or stops it, until it is
   * continued.
   */
  kill?: { boundary: string; hit: number; signal?: 'SIGKILL' | 'SIGSTOP' };
};

/**
 * What the tests tell this process: to be a worker, and to be none any more. Once it is none it says so, and may be one
 * again.
 */
export type WorkerOrder = { start: WorkerSettings } | 'drain';
export type WorkerReport = 'drained';

const identity = `test-worker-${process.pid}`;
const log = createLog({ level: 'info' });
installTemporalRuntime(log);

let drain: Promise<() => Promise<void>> | undefined;
process.on('message', (order: WorkerOrder) => {
  if (order !== 'drain') drain = startWorker(order.start);
  else void drain!.then((end) => end()).then(() => process.send!('drained' satisfies WorkerReport));
});
// The tests have ended, in whatever way.
process.on('disconnect', () => process.exit());

/** Resolves with how it is ended. */
async function startWorker(settings: WorkerSettings): Promise<() => Promise<void>> {
  const db = openDatabase({ url: settings.databaseUrl, name: identity });
  const files = openTestFiles(settings);
  const secrets = await openSecrets(db, files, Buffer.from(settings.secretKey, 'base64'));
  const temporal = { address: settings.temporalAddress, namespace: settings.namespace };
  const client = await openTemporalClient(temporal, identity);
  const stopping = new AbortController();
  const supervisor = superviseTemporal({ temporal: client, log, sweepSeconds: settings.sweepSeconds }, stopping.signal);
  const allow = readFetchAllow(settings.fetchAllow ?? '127.0.0.1') as FetchAllow;
  const scratch = await openTestScratch(settings.filesFolder);
  const workers = startWorkers({
    temporal,
    bundlePath: settings.bundlePath,
    queues: TASK_QUEUES,
    identity,
    log,
    metrics: createMetrics(),
    maxStepDeaths: settings.maxStepDeaths ?? 1_000,
    ...(settings.patience ? { patience: settings.patience } : {}),
    deps: {
      db,
      files,
      secrets,
      log,
      temporal: client,
      countRows: () => {},
      countValues: () => {},
      countRecords: () => {},
      countExportRuns: () => {},
      countExportRows: () => {},
      batchRecords: settings.batchRecords ?? 1_000,
      ...openAllPlaces(),
      outside: {
        allow,
        fetch: guardedFetch(allow),
        commands: new Map(settings.commands),
        pushServices: readPushServices(settings.pushServices ?? '') as PushServices,
      },
      scratch,
      mailer: openMailer({ smtpUrl: settings.smtpUrl, outbox: filesIn(files, 'outbox'), from: 'millrace@example.com' }),
      outbox: filesIn(files, 'outbox'),
      publicUrl: 'http://millrace.test',
      keptLimits: settings.keptLimits ?? { bytesPerSor: Infinity, bytesPerEntity: Infinity },
      patienceMs: settings.patienceMs ?? 3_600_000,
      boundary: killedAt(settings.kill),
    },
  });
  return async () => {
    stopping.abort();
    await workers.stop();
    await supervisor;
    await client.connection.close();
    await scratch.close();
    await db.end();
  };
}

function killedAt(kill: WorkerSettings['kill']): (name: string) => void {
  let hits = 0;
  return (name) => {
    if (name !== kill?.boundary) return;
    hits += 1;
    if (hits === kill.hit) process.kill(process.pid, kill.signal ?? 'SIGKILL');
  };
}
