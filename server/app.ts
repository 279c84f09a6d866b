import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import helmet from '@fastify/helmet';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import { refuse } from '../domain/core/refusal.ts';
import { SharedBudget } from '../domain/core/semaphore.ts';
import { upsertInternalError } from '../store/jobs/internal-errors.ts';
import { HeavyReads } from './analytics/heavy-reads.ts';
import {
  type Limits,
  LIMITS,
  type RouteDependencies,
  type ServerDependencies,
  type ServerSettings,
} from './dependencies.ts';
import { FeedInboxBudget } from './feed/feed-inbox-budget.ts';
import { feedIntake } from './feed/feed-intake.ts';
import { FeedWaker } from './feed/feed-waker.ts';
import { AdmissionLimit } from './http/admission-limit.ts';
import { readBodies } from './http/bodies.ts';
import { connectionOptions, endAnswered, limitConnections, limitSlowBodies } from './http/connection-limits.ts';
import { KeyRates } from './http/key-rates.ts';
import { openApiDocument } from './http/openapi.ts';
import { serveMetrics, serveOperations } from './http/operations.ts';
import { limitRates } from './http/rate-limit.ts';
import { sendError } from './http/refusal-reply.ts';
import { logRequests } from './http/request-log.ts';
import { traceRequests } from './http/request-trace.ts';
import type { Route } from './http/route.ts';
import { authenticate, authorise, serveRoute } from './http/serve-route.ts';
import { StreamedLists } from './http/streamed-lists.ts';
import { refuseUnknownPaths } from './http/unknown-path.ts';
import { boundUnverifiedBodies } from './http/unverified-bodies.ts';
import { uploadBudget } from './http/upload-budget.ts';
import { refuseWhileEnding } from './http/while-ending.ts';
import { KeptFileQuota } from './imports/kept-file-quota.ts';
import { routes as allRoutes } from './routes.ts';
import { ConnectorCalls } from './syncs/connector-calls.ts';
import { LiveCalls } from './tracking/live-calls.ts';
import { serveTracking } from './tracking/serve-tracking.ts';
import { callWriter } from './tracking/write-calls.ts';
import { WriteKeys } from './tracking/write-keys.ts';

/** The whole HTTP surface, ready to listen. `routes` is for tests of the surface itself. */
export async function buildServer(
  deps: ServerDependencies,
  routes: readonly Route[] = allRoutes,
): Promise<FastifyInstance> {
  const limits = { ...LIMITS, ...deps.settings.limits };
  const feedWaker = new FeedWaker(deps);
  const liveCalls = new LiveCalls(deps);
  const heavyReads = new HeavyReads(deps.cpuShare);
  const connectorCalls = new ConnectorCalls(deps.outside, deps.scratch);
  const routeDependencies: RouteDependencies = {
    ...deps,
    limits,
    unverified: uploadBudget(limits),
    feedIntake: feedIntake(deps.db, deps.secrets),
    feedAdmission: new AdmissionLimit(new FeedInboxBudget(deps.db, limits), { what: 'merged', retrySeconds: 5 }),
    feedWaker,
    figures: new Map(),
    heavyReads,
    streamedLists: new StreamedLists(limits.listWaitMs),
    connectorCalls,
    keptFiles: new KeptFileQuota(deps.db, {
      bytesPerSor: limits.keptBytesPerSor,
      bytesPerEntity: limits.keptBytesPerEntity,
    }),
    writeKeys: new WriteKeys(deps.db, deps.secrets),
    writeCalls: callWriter(deps.db, deps.secrets),
    liveCalls,
    keyRates: new KeyRates(deps.settings.ingestLimitPerMinute),
    trackingAdmission: new AdmissionLimit(new SharedBudget(limits.trackingBytes), {
      what: 'taken in',
      retrySeconds: 1,
    }),
  };
  const app = newApp(deps.log, limits, deps.settings.trustProxy);
  limitConnections(app, limits, Boolean(deps.settings.trustProxy));
  app.addHook('preClose', async () => connectorCalls.close());
  app.addHook('preClose', async () => heavyReads.close());
  app.addHook('onClose', async () => feedWaker.close());
  app.addHook('onClose', () => liveCalls.close());
  app.setErrorHandler(sendError);
  logRequests(app, deps);
  recordFailedRequests(app, deps);
  traceRequests(app, deps.traceRequest);
  refuseWhileEnding(app);
  limitSlowBodies(app, limits);
  endAnswered(app);
  await protectBrowsers(app);
  await readBodies(app, routeDependencies);
  authenticate(app, routeDependencies);
  authorise(app, routeDependencies);
  await limitRates(app, deps.settings.rateLimitPerMinute);
  boundUnverifiedBodies(app, routeDependencies);
  for (const route of routes.filter(({ auth }) => auth !== 'app_key')) serveRoute(app, route, routeDependencies);
  await serveTracking(
    app,
    routes.filter(({ auth }) => auth === 'app_key'),
    routeDependencies,
  );
  await serveOperations(app, deps, openApiDocument(routes, deps.settings));
  refuseUnknownPaths(app, routes);
  return app;
}

/** Metrics alone, for an address of their own: also of a process that serves nothing else. */
export function buildMetricsServer(
  { log, metrics }: Pick<ServerDependencies, 'log' | 'metrics'>,
  token?: string,
): FastifyInstance {
  const app = newApp(log, LIMITS);
  limitConnections(app, LIMITS, false);
  app.setErrorHandler(sendError);
  serveMetrics(app, metrics, token);
  app.setNotFoundHandler(() => refuse(404, 'not_found', 'Nothing but GET /metrics is served at this address'));
  return app;
}

function newApp(
  log: ServerDependencies['log'],
  limits: Limits,
  trustProxy: ServerSettings['trustProxy'] = false,
): FastifyInstance {
  // Fastify logs errors of its own accord, too: what they quote stays out.
  const quiet = log.child({}, { serializers: { err: internalErrorOf, req: () => undefined, res: () => undefined } });
  const app = fastify({
    ...connectionOptions(limits),
    loggerInstance: quiet as FastifyBaseLogger,
    requestIdHeader: false,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    trustProxy,
    return503OnClosing: false, // refuseWhileEnding
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
  }) as unknown as FastifyInstance;
  // Without a route for them they are refused like any other; Fastify itself would answer with an error of its own.
  for (const method of METHODS.filter((each) => !app.supportedMethods.includes(each)))
    app.addHttpMethod(method, { hasBody: true });
  return app;
}

async function protectBrowsers(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  });
}

/**
 * Counts requests that ended in an internal error, and records them for those who look for what needs attention (law
 * 11).
 */
function recordFailedRequests(app: FastifyInstance, { db, metrics }: Pick<ServerDependencies, 'db' | 'metrics'>): void {
  app.addHook('onResponse', async (request, reply) => {
    if (reply.statusCode !== 500) return;
    const step = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
    metrics.countInternalError({ kind: 'request', step });
    const entityId = request.caller?.entityId ?? request.trackingTarget?.entityId ?? null;
    await upsertInternalError(db, { entityId, kind: 'request', job: '', step }, request.id).catch((error: unknown) =>
      request.log.warn({ error: internalErrorOf(error) }, 'an internal error is not recorded'),
    );
  });
}
