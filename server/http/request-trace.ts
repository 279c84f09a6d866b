/** Traces requests (OpenTelemetry). */
import type { FastifyInstance, FastifyRequest } from 'fastify';

type RequestTrace = {
  run(handle: () => void): void;
  /** `status`: null if the caller hung up before the answer ended; `route`: null for an unknown path. */
  end(outcome: { route: string | null; status: number | null }): void;
};

/** Begins the trace of a request; `traceparent` is the caller's own. */
export type TraceRequest = (request: {
  method: string;
  requestId: string;
  traceparent: string | undefined;
}) => RequestTrace;

/** Traces requests but probes by the route's pattern: the address may contain a customer's id. */
export function traceRequests(app: FastifyInstance, traceRequest: TraceRequest | undefined): void {
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
