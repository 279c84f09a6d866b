/** Puts server and workers together, runs them until the process is asked to end, and checks what they need. */
import { setTimeout as delay } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { openAllPlaces } from '../activities/core/open-all-places.ts';
import { type Commands, readCommandsFile } from '../connectors/commands/commands-file.ts';
import type { WaysOut } from '../connectors/core/contract.ts';
import { type FetchAllow, readFetchAllow } from '../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../connectors/core/guarded-fetch.ts';
import { openMailer } from '../connectors/smtp/mail.ts';
import { type PushServices, readPushServices } from '../connectors/web-push/push-services.ts';
import { RIGHTS } from '../domain/accounts/rights.ts';
import { internalErrorOf, FileStoreAway } from '../domain/core/internal-error.ts';
import { Refusal } from '../domain/core/refusal.ts';
import type { KeptLimits } from '../domain/imports/kept-files.ts';
import { TASK_QUEUES, type TaskQueue } from '../domain/jobs/workflow-id.ts';
import { isTimeZone } from '../domain/time/time-zone.ts';
import { hashPassword } from '../server/accounts/passwords.ts';
import { buildMetricsServer, buildServer } from '../server/app.ts';
import type { Readiness } from '../server/dependencies.ts';
import { insertEntity } from '../store/accounts/entities.ts';
import { hasUsers, insertMembership, insertUser } from '../store/accounts/users.ts';
import { write } from '../store/core/database.ts';
import { type Files, filesIn } from '../store/core/files.ts';
import { impatient } from '../store/core/impatient-database.ts';
import { makeFolder } from '../store/core/make-folder.ts';
import { refuseMissingMigrations } from '../store/core/migrate.ts';
import { countRequestsUnderWay } from '../store/gdpr/across-entities.ts';
import { countRestoredPeople } from '../store/gdpr/reconcile-tombstones.ts';
import { flowsOver } from '../temporal/flows.ts';
import type { AppContext } from './app-context.ts';
import { ConfigError, readAddress } from './config.ts';
import { releaseUnusedMemory } from './memory.ts';
import { ensureTemporal, sayUnreachable, superviseTemporal } from './supervisor.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { installTemporalRuntime } from './telemetry/temporal-runtime.ts';
import { startWorkers, type Workers } from './workers.ts';
import { openConsole } from './console-build.ts';
import { workflowBundle } from './workflow-bundle.ts';

export type Service = { url: string | null; stop(): Promise<void> };

export type ServiceParts = { serves: boolean; works: boolean };

const SWEEP_SECONDS = 10;

/** Starts server, workers, or both. `stop` drains: no new work, then 30 s for running work. */
export async function startService(context: AppContext, { serves, works }: ServiceParts): Promise<Service> {
  const metrics = createMetrics();
  metrics.followGdprRequests(() => countRequestsUnderWay(context.db));
  const stopping = new AbortController();
  const supervisorOptions = { temporal: context.temporal, log: context.log, sweepSeconds: SWEEP_SECONDS };
  const isReachable = await ensureTemporal(supervisorOptions).then(
    () => true,
    (error: unknown) => {
      sayUnreachable(supervisorOptions, error);
      return false;
    },
  );
  const supervisor = superviseTemporal(supervisorOptions, stopping.signal, isReachable);
  const release = releaseUnusedMemory(stopping.signal).catch((error: unknown) =>
    context.log.warn({ error: internalErrorOf(error) }, 'unused memory is not given back any more'),
  );
  let app: FastifyInstance | null = null;
  let metricsApp: FastifyInstance | null = null;
  let workers: Workers | null = null;
  const stop = async () => {
    stopping.abort();
    await app?.close();
    await workers?.stop();
    await metricsApp?.close();
    await supervisor;
    await release;
  };
  try {
    metricsApp = await listenForMetrics(context, metrics);
    announce(await ensureFirstUser(context));
    if (works) workers = await startAllWorkers(context, metrics);
    if (serves) app = await listen(context, metrics, workers);
    return { url: app ? publicUrl(context) : null, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Ctrl-C arrives from the terminal and once more from npm, within this time. */
const SAME_WISH_MS = 5_000;

/** Resolves when this process is asked to end. A second request, some time later, ends it at once. */
export function askedToEnd(): Promise<null> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  return new Promise((resolve) => {
    const heard = () => {
      resolve(null);
      setTimeout(() => signals.forEach((signal) => process.off(signal, heard)), SAME_WISH_MS).unref();
    };
    for (const signal of signals) process.on(signal, heard);
  });
}

/** The first user, made by this start; `password` is set only if it was made here. */
type FirstUser = { email: string; password: string | null; passwordPath: string | null };

/** Shows a new password on the terminal, never in the log. */
function announce(firstUser: FirstUser | null): void {
  if (!firstUser?.password) return;
  const { email, password, passwordPath } = firstUser;
  process.stderr.write(`first user: ${email}, password ${password} (kept in ${passwordPath})\n`);
}

const FIRST_ENTITY = 'Millrace';

/** Lock that lets one of several starting processes make the first user. */
const FIRST_USER_LOCK = 5_717_023_442;

/** Makes an entity and a superadmin. Returns null if there is a user. */
async function ensureFirstUser({ config, db, secrets }: AppContext): Promise<FirstUser | null> {
  if (await hasUsers(db)) return null;
  const defaultTz = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const email = config.MILLRACE_ADMIN_EMAIL;
  const password = config.MILLRACE_ADMIN_PASSWORD ?? randomBytes(15).toString('base64url');
  const passwordHash = await hashPassword(password);
  const isMade = await write(db, async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [FIRST_USER_LOCK]);
    if (await hasUsers(tx)) return false;
    const entity = await insertEntity(
      tx,
      secrets,
      FIRST_ENTITY,
      isTimeZone(defaultTz) ? { defaultTz } : { defaultTz: 'UTC' },
    );
    const user = await insertUser(tx, { email, passwordHash, superadmin: true, preferedEntityId: entity.id });
    await insertMembership(tx, { userId: user.id, entityId: entity.id, rights: [...RIGHTS], admin: true });
    return true;
  });
  if (!isMade) return null;
  if (config.MILLRACE_ADMIN_PASSWORD) return { email, password: null, passwordPath: null };
  const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
  await makeFolder(dirname(passwordPath));
  await writeFile(passwordPath, `${password}\n`, { mode: 0o600 });
  await chmod(passwordPath, 0o600);
  return { email, password, passwordPath };
}

/** Chosen by measuring: docs/benchmarks.md. */
const IMPORT_BATCH_RECORDS = 40_000;

/** Area of the file store for mails without SMTP_URL. */
const OUTBOX = 'outbox';

async function startAllWorkers(context: AppContext, metrics: Metrics): Promise<Workers> {
  const { config, db, files, secrets, scratch, cpuShare, temporal, temporalSettings, traces, identity, log } = context;
  installTemporalRuntime(log);
  const url = publicUrl(context);
  const outbox = filesIn(files, OUTBOX);
  await takeOverOutbox(config.MILLRACE_DATA_DIR, outbox);
  const mailer = openMailer({ smtpUrl: config.SMTP_URL, outbox, from: sender(context) });
  const workers = startWorkers({
    temporal: temporalSettings,
    bundlePath: await workflowBundle(join(config.MILLRACE_DATA_DIR, 'cache'), { traced: traces !== null }),
    queues: TASK_QUEUES,
    identity,
    log,
    metrics,
    traces,
    maxStepDeaths: config.MILLRACE_STEP_DEATHS,
    deps: {
      db,
      files,
      secrets,
      log,
      temporal,
      countRows: metrics.countRows,
      countValues: metrics.countValues,
      countRecords: metrics.countRecords,
      countExportRuns: metrics.countExportRuns,
      countExportRows: metrics.countExportRows,
      ...openAllPlaces(cpuShare),
      batchRecords: IMPORT_BATCH_RECORDS,
      boundary: () => {},
      mailer,
      publicUrl: url,
      outbox,
      outside: outside(context),
      scratch,
      keptLimits: keptLimits(context),
      patienceMs: config.MILLRACE_PATIENCE_MINUTES * 60_000,
    },
  });
  return {
    ...workers,
    async stop() {
      await workers.stop();
      await mailer.close();
    },
  };
}

/** Moves mails of earlier versions from the data folder into the file store. */
export async function takeOverOutbox(dataDir: string, outbox: Pick<Files, 'put'>): Promise<void> {
  const folder = join(dataDir, 'outbox');
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names.filter((each) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*\.eml$/.test(each))) {
    await outbox.put(name, createReadStream(join(folder, name)));
    await rm(join(folder, name), { force: true });
  }
  await rmdir(folder).catch(() => {});
}

/** Returns the sender of mails; an IP address is no mail domain. */
function sender(context: AppContext): string {
  const { hostname } = new URL(publicUrl(context));
  return (
    context.config.MILLRACE_MAIL_FROM ??
    `millrace@${isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : 'localhost'}`
  );
}

/** Time for Temporal until a request leaves its start to the sweep. */
const START_WITHIN_MS = 3_000;

async function listen(context: AppContext, metrics: Metrics, workers: Workers | null): Promise<FastifyInstance> {
  const { config, db, files, secrets, scratch, cpuShare, log, traces } = context;
  const { bytesPerSor: keptBytesPerSor, bytesPerEntity: keptBytesPerEntity } = keptLimits(context);
  const app = await buildServer({
    db: impatient(db),
    files,
    secrets,
    log,
    metrics,
    traceRequest: traces?.traceRequest,
    flows: flowsOver(context, START_WITHIN_MS),
    outside: outside(context),
    cpuShare,
    scratch,
    ready: () => readiness(context, workers),
    console: openConsole(log),
    settings: {
      publicUrl: publicUrl(context),
      temporalUi: temporalUi(context),
      tokenTtlDays: config.MILLRACE_TOKEN_TTL_DAYS,
      rateLimitPerMinute: config.MILLRACE_RATE_LIMIT,
      ingestLimitPerMinute: config.MILLRACE_INGEST_LIMIT,
      trustProxy: config.MILLRACE_TRUST_PROXY,
      metricsToken: config.MILLRACE_METRICS_TOKEN,
      hasMetricsElsewhere: config.MILLRACE_METRICS_ADDRESS !== undefined,
      version: await version(),
      limits: { keptBytesPerSor, keptBytesPerEntity },
    },
  });
  await listenAt(
    app,
    { host: config.HOST, port: config.PORT },
    `PORT ${config.PORT} on ${config.HOST} is taken by another program: set PORT to a free one`,
  );
  return app;
}

async function listenForMetrics({ config, log }: AppContext, metrics: Metrics): Promise<FastifyInstance | null> {
  const address = config.MILLRACE_METRICS_ADDRESS;
  if (address === undefined) return null;
  const app = buildMetricsServer({ log, metrics }, config.MILLRACE_METRICS_TOKEN);
  await listenAt(
    app,
    readAddress(address),
    `MILLRACE_METRICS_ADDRESS ${address} is taken by another program: set it to a free one`,
  );
  return app;
}

async function listenAt(app: FastifyInstance, at: { host: string; port: number }, taken: string): Promise<void> {
  await app.listen(at).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE' ? new ConfigError(taken) : error;
  });
}

function outside({ config }: AppContext): WaysOut {
  const allow = readFetchAllow(config.MILLRACE_FETCH_ALLOW ?? '') as FetchAllow; // checked with the configuration
  const commands =
    config.MILLRACE_TAPS === undefined ? new Map() : (readCommandsFile(config.MILLRACE_TAPS) as Commands);
  const leastRate = { leastBytes: config.MILLRACE_LEAST_RATE * 1024, withinMs: 60_000 };
  const pushServices = readPushServices(config.MILLRACE_PUSH_SERVICES ?? '') as PushServices;
  return { fetch: guardedFetch(allow, { limits: { leastRate } }), allow, commands, pushServices };
}

function keptLimits({ config }: AppContext): KeptLimits {
  return {
    bytesPerSor: config.MILLRACE_KEPT_PER_SOR * 1024 ** 3,
    bytesPerEntity: config.MILLRACE_KEPT_PER_ENTITY * 1024 ** 3,
  };
}

function publicUrl({ config }: AppContext): string {
  return (config.MILLRACE_PUBLIC_URL ?? `http://${config.HOST}:${config.PORT}`).replace(/\/$/, '');
}

function temporalUi({ config }: AppContext): string | undefined {
  const { MILLRACE_TEMPORAL_UI: ui, TEMPORAL_NAMESPACE: namespace } = config;
  return ui && `${ui.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows`;
}

async function version(): Promise<string> {
  return (JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
    .version;
}

const PART_WITHIN_MS = 2_000;
/** A worker without work polls Temporal once a minute. */
const POLLED_WITHIN_MS = 90_000;
/** Task queue types of Temporal's protocol. Only `flows` has workflows. */
const [WORKFLOWS, ACTIVITIES] = [1, 2];

/** `workers`: those of this process, or null. */
async function readiness({ db, files, temporal }: AppContext, workers: Workers | null): Promise<Readiness[]> {
  const {
    connection,
    workflowService,
    options: { namespace },
  } = temporal;
  const fromTemporal = <T>(ask: () => Promise<T>) => connection.withDeadline(Date.now() + PART_WITHIN_MS, ask);
  const polledQueue = (queue: TaskQueue) =>
    fromTemporal(() =>
      workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: queue },
        taskQueueType: queue === 'flows' ? WORKFLOWS : ACTIVITIES,
      }),
    );
  const parts = await Promise.all([
    part('postgres', true, db.query<{ version: string }>(`SELECT current_setting('server_version') AS version`), {
      versionOf: ({ rows }) => rows[0]!.version,
    }),
    part('migrations', true, refuseMissingMigrations(db)),
    part('files', true, files.check()),
    part(
      'temporal',
      false,
      fromTemporal(async () => {
        await workflowService.describeNamespace({ namespace });
        return workflowService.getSystemInfo({});
      }),
      { versionOf: ({ serverVersion }) => serverVersion },
    ),
    ...TASK_QUEUES.map((queue) =>
      workers
        ? ownWorker(queue, workers)
        : part(`worker of ${queue}`, false, polledQueue(queue), { reasonOf: hasPoller }),
    ),
  ]);
  const restored = await Promise.race([restoredReadiness(db), rejectAfter(PART_WITHIN_MS)]).catch(() => []);
  return [...parts, ...restored];
}

async function part<T>(
  name: string,
  required: boolean,
  check: Promise<T>,
  {
    reasonOf = () => null,
    versionOf = () => null,
  }: { reasonOf?: (answer: T) => string | null; versionOf?: (answer: T) => string | null | undefined } = {},
): Promise<Readiness> {
  try {
    const answer = await Promise.race([check, rejectAfter(PART_WITHIN_MS)]);
    const [reason, version] = [reasonOf(answer), versionOf(answer)];
    return {
      name,
      required,
      ready: reason === null,
      ...(reason === null ? {} : { reason }),
      ...(version ? { version } : {}),
    };
  } catch (error) {
    const isNamed = error instanceof Refusal || error instanceof FileStoreAway;
    return { name, required, ready: false, reason: isNamed ? error.message : 'out of reach' };
  }
}

type Polled = { pollers?: { lastAccessTime?: { seconds?: { toString(): string } | null } | null }[] | null };

function hasPoller({ pollers }: Polled): string | null {
  const polledAt = (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000);
  return polledAt.some((at) => at > Date.now() - POLLED_WITHIN_MS)
    ? null
    : 'no worker has asked for work in the last 90 s';
}

async function rejectAfter(ms: number): Promise<never> {
  await delay(ms, undefined, { ref: false });
  throw new Error(`no answer within ${ms} ms`);
}

/** Names a running repeat of erasures, but is always ready: an absent bucket must not stop the service. */
async function restoredReadiness(db: AppContext['db']): Promise<Readiness[]> {
  const { people, requests } = await countRestoredPeople(db);
  return people === 0
    ? []
    : [
        {
          name: 'people of a restored backup',
          ready: true,
          required: false,
          reason: `${people} who had been erased came back with the database; ${requests} deletion requests erase them again`,
        },
      ];
}

function ownWorker(queue: TaskQueue, workers: Workers): Readiness {
  const ready = workers.polling().includes(queue);
  return {
    name: `worker of ${queue}`,
    ready,
    required: false,
    ...(ready ? {} : { reason: 'starting, or out of reach of Temporal' }),
  };
}
