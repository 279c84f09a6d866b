/** Builds the HTTP server: limits, bodies, callers, routes and errors, in the order in which a request meets them. */
import { randomUUID } from 'node:crypto';
import { maxHeaderSize, METHODS, type Server, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type FastifyReply,
  type FastifyRequest,
  type FastifyHttpOptions,
} from 'fastify';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import { Refusal, refuse } from '../domain/core/refusal.ts';
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
import { serveConsole } from './http/console.ts';
import { KeyRates } from './http/key-rates.ts';
import { openApiDocument } from './http/openapi.ts';
import { KEPT_MS, keptFor, serveMetrics, serveOperations } from './http/operations.ts';
import { refusalBody, sendError } from './http/refusal-reply.ts';
import type { RequestTrace, TraceRequest } from './http/request-trace.ts';
import type { Route } from './http/route.ts';
import { authenticate, authorise, serveRoute } from './http/serve-route.ts';
import { StreamedLists } from './http/streamed-lists.ts';
import { networkOf, uploadBudget } from './http/upload-budget.ts';
import { boundUnverifiedBodies } from './http/verify-body.ts';
import { KeptFileQuota } from './imports/kept-file-quota.ts';
import { routes as allRoutes } from './routes.ts';
import { PICTURES_PER_MINUTE } from '../api/campaigns/preview.ts';
import { ConnectorCalls } from './syncs/connector-calls.ts';
import { LiveCalls } from './tracking/live-calls.ts';
import { serveTracking } from './tracking/serve-tracking.ts';
import { callWriter } from './tracking/write-calls.ts';
import { WriteKeys } from './tracking/write-keys.ts';

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
    ready: keptFor(KEPT_MS, () => deps.ready()),
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
    pictureRates: new KeyRates(PICTURES_PER_MINUTE),
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
  await serveConsole(app, deps.console);
  refuseUnknownPaths(app, routes);
  return app;
}

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
  // Fastify itself logs errors, too, and their texts may quote values.
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
  // Refuses other methods like unknown paths: Fastify's own answer has another form.
  for (const method of METHODS.filter((each) => !app.supportedMethods.includes(each)))
    app.addHttpMethod(method, { hasBody: true });
  return app;
}

async function protectBrowsers(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  });
}

/** Counts and records requests that ended in an internal error (law 11). */
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

/** Refuses with 429 a token's requests beyond `perMinute`, or an address's (IPv6: a /64) without a valid token. */
async function limitRates(app: FastifyInstance, perMinute: number): Promise<void> {
  if (perMinute === 0) return;
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: '1 minute',
    enableDraftSpec: true,
    keyGenerator: ({ caller, ip }) => (caller ? `token ${caller.tokenName}` : `address ${networkOf(ip)}`),
    errorResponseBuilder: (_request, { max, after }) =>
      new Refusal(429, 'too_many_requests', `More than ${max} requests in a minute: try again in ${after}`),
  });
}

/** Logs and measures each request by the route's pattern, because the address may contain a customer's id. */
function logRequests(app: FastifyInstance, { metrics }: Pick<ServerDependencies, 'metrics'>): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  app.addHook('onResponse', async (request, reply) => {
    const line = lineOf(request, reply);
    metrics.observeRequest({ ...line, seconds: reply.elapsedTime / 1000 });
    request.log.info({ ...line, ms: Math.round(reply.elapsedTime) }, 'request');
  });
  app.addHook('onRequestAbort', async (request) => {
    request.log.info({ method: request.method, route: patternOf(request) }, 'the caller hung up');
  });
}

function lineOf(request: FastifyRequest, reply: FastifyReply) {
  return { method: request.method, route: patternOf(request), status: reply.statusCode };
}

function patternOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? 'unknown';
}

function refuseUnknownPaths(app: FastifyInstance, routes: readonly Route[]): void {
  const limited = app.hasDecorator('rateLimit') ? { preHandler: app.rateLimit() } : {};
  app.setNotFoundHandler(limited, async (request, reply) => {
    const path = request.url.replace(/[?#].*/s, '');
    const allowed = routes
      .filter((route) => matches(route.path, path))
      .flatMap(({ method }) => (method === 'GET' ? [method, 'HEAD'] : [method]));
    if (allowed.length === 0) return refuse(404, 'not_found', 'Unknown path: /docs lists those there are');
    reply.header('allow', allowed.join(', '));
    return refuse(405, 'method_not_allowed', `This path takes ${allowed.join(', ')}`);
  });
}

function matches(pattern: string, path: string): boolean {
  const parts = path.split('/');
  const expected = pattern.split('/');
  return parts.length === expected.length && expected.every((part, at) => part.startsWith(':') || part === parts[at]);
}

/** Seconds until another server, or this one after its restart, takes the request. */
const RETRY_AFTER = 1;

/** Refuses requests on open connections while the server ends. Fastify's own answer has no Retry-After. */
function refuseWhileEnding(app: FastifyInstance): void {
  let isEnding = false;
  app.addHook('preClose', async () => {
    isEnding = true;
  });
  app.addHook('onRequest', async () => {
    if (isEnding)
      refuse(503, 'service_unavailable', 'This server is ending. Please try again', { retry_after: RETRY_AFTER });
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Call it once the credentials hold: the body is then no longer counted, and may take its time. */
    verified(): void;
    isVerified: boolean;
  }
}

/** 256 characters, each of at most four bytes, each byte written as %XX. */
const PARAMETER_LENGTH = 256 * 4 * 3;

/** Returns the limits of headers and path parameters. The whole time of a body is not limited. */
function connectionOptions({ headersMs, bodyBytes }: Limits): FastifyHttpOptions<Server> {
  return {
    bodyLimit: bodyBytes,
    routerOptions: { maxParamLength: PARAMETER_LENGTH },
    http: { headersTimeout: headersMs, requestTimeout: 0, connectionsCheckingInterval: Math.min(headersMs, 2_000) },
    requestTimeout: 0,
    clientErrorHandler: (error, socket) => answerClientError(error, socket as Socket),
  };
}

/** Closes connections beyond the maximum, without an answer. Behind a proxy, which limits callers, only in total. */
function limitConnections({ server }: FastifyInstance, limits: Limits, isBehindProxy: boolean): void {
  const { connections, connectionsPerAddress } = limits;
  server.maxConnections = connections;
  if (isBehindProxy) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) return void socket.destroy(); // it has ended already
    const network = networkOf(socket.remoteAddress);
    const count = (open.get(network) ?? 0) + 1;
    if (count > connectionsPerAddress) return void socket.destroy();
    open.set(network, count);
    socket.once('close', () => {
      const left = open.get(network)! - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}

/** Refuses with 408 a body that stalls, and one whose credentials do not come in time. */
function limitSlowBodies(app: FastifyInstance, { idleBodyMs, unverifiedMs }: Limits): void {
  app.decorateRequest('isVerified', false);
  app.decorateRequest('verified', function verified() {
    this.isVerified = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    const { raw } = request;
    if (!(raw.socket instanceof Socket)) return; // injected: without a connection
    if (raw.headers['content-length'] === undefined && raw.headers['transfer-encoding'] === undefined) return;
    const refuseLate = (message: string) => {
      if (raw.complete) return;
      // The reader of the body gets the refusal as an error; the connection stays for the answer.
      if (raw.listenerCount('error') > 0) raw.emit('error', new Refusal(408, 'request_timeout', message));
      else raw.destroy(); // it was answered before
    };
    raw.setTimeout(idleBodyMs, () => refuseLate(`Nothing of the body came for ${idleBodyMs / 1000} s`));
    const late = setTimeout(
      refuseLate,
      unverifiedMs,
      `No credentials came for ${unverifiedMs / 1000} s: send them first`,
    );
    request.verified = () => {
      request.isVerified = true;
      clearTimeout(late);
    };
    raw.once('end', () => raw.setTimeout(0));
    reply.raw.once('close', () => clearTimeout(late));
  });
}

function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = clientRefusal(error.code);
  const body = JSON.stringify(refusalBody(refusal));
  socket.end(
    [
      `HTTP/1.1 ${refusal.http} ${STATUS_CODES[refusal.http]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

function clientRefusal(code: string | undefined): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal(408, 'request_timeout', 'The headers took too long');
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new Refusal(
      431,
      'headers_too_large',
      `The address and the headers are larger than ${maxHeaderSize / 1024} KiB: ask for fewer values at once`,
    );
  }
  return new Refusal(400, 'bad_request', 'This is not a valid HTTP request');
}

/** Ends connections once they are answered while the server closes: Node itself ends only those that are idle then. */
function endAnswered(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onResponse', async () => {
    if (isClosing) setImmediate(() => app.server.closeIdleConnections());
  });
}

/** Traces requests but probes by the route's pattern: the address may contain a customer's id. */
function traceRequests(app: FastifyInstance, traceRequest: TraceRequest | undefined): void {
  if (!traceRequest) return;
  const traces = new WeakMap<FastifyRequest, RequestTrace>();
  app.addHook('onRequest', async (request, { raw }) => {
    const {
      id,
      method,
      headers: { traceparent },
      routeOptions: { url: route = null, config },
    } = request;
    if (config.isProbe) return;
    const trace = traceRequest({
      method,
      requestId: id,
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    });
    traces.set(request, trace);
    raw.once('close', () => trace.end({ route, status: raw.writableFinished ? raw.statusCode : null }));
  });
  // Not earlier: reading the body loses the trace.
  app.addHook('preHandler', (request, _reply, done) => {
    const trace = traces.get(request);
    if (trace) trace.run(done);
    else done();
  });
}
