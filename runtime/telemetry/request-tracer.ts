import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { TraceRequest } from '../../server/http/request-trace.ts';

/**
 * A span a request, by the names of OpenTelemetry's semantic conventions for HTTP servers. Of the caller's headers only
 * `traceparent` (W3C Trace Context) counts: `tracestate` and `baggage` may hold anything, and would reach Temporal.
 */
export function requestTracer(): TraceRequest {
  const tracer = trace.getTracer('millrace');
  return ({ method, requestId, traceparent }) => {
    const caller = traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
    const attributes = { 'http.request.method': method, 'millrace.request_id': requestId };
    const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, caller);
    const within = trace.setSpan(caller, span);
    return {
      run: (next) => context.with(within, next),
      end({ route, status }) {
        if (route !== null) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
        if (status !== null) span.setAttribute('http.response.status_code', status);
        if (status === null || status >= 500) {
          span
            .setStatus({ code: SpanStatusCode.ERROR })
            .setAttribute('error.type', status === null ? 'hung_up' : String(status));
        }
        span.end();
      },
    };
  };
}
