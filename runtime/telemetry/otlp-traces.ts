/** Traces by OpenTelemetry's protocol, without values (law 1). */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import type { TraceRequest } from '../../server/http/request-trace.ts';
import type { Traces } from './traces.ts';

const SEND_WITHIN_MS = 5_000;
const CLOSE_WITHIN_MS = 6_000;

/** Records a code or name: all that Temporal's interceptor keeps. */
const RECORD_ERROR_CLASS: ActivityInboundCallsInterceptor = {
  execute: (input, next) =>
    next(input).catch((error: unknown) => {
      trace.getActiveSpan()?.setAttribute('error.type', internalErrorOf(error).errorClass);
      throw error;
    }),
};

/** Sends traces as JSON to `endpoint` + /v1/traces. Call it once a process: OpenTelemetry's registry is global. */
export function otlpTraces(
  { endpoint, serviceName }: { endpoint: string; serviceName: string },
  log: Pick<Log, 'warn'>,
): Traces {
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const processor = new BatchSpanProcessor(
    bareExporter(new OTLPTraceExporter({ url, timeoutMillis: SEND_WITHIN_MS }), log),
  );
  const resource = Resource.default().merge(new Resource({ 'service.name': serviceName }));
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  provider.register({ contextManager: new AsyncLocalStorageContextManager().enable() });
  return {
    traceRequest: requestTracer(),
    client: [new OpenTelemetryWorkflowClientInterceptor()],
    activities: [
      (step) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(step) }),
      () => ({ inbound: RECORD_ERROR_CLASS }),
    ],
    sinks: { exporter: makeWorkflowExporter(processor, resource) },
    async close() {
      const sent = provider.shutdown().catch(() => {}); // the exporter says so
      await Promise.race([sent, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      for (const registry of [trace, context, propagation]) registry.disable();
    },
  };
}

/** Attributes that are sent. Messages, stacks and others may quote values. */
const KEPT = new Set([
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'error.type',
  'exception.type',
  'millrace.request_id',
  'temporalWorkflowId',
  'temporalActivityId',
  'run_id',
  'workflowId',
  'runId',
  'workflowType',
  'taskQueue',
  'attempt',
]);

/** A number, or one word, such as a name, id, code or pattern. */
const WORD = /^[\w:/.*-]{1,200}$/;

const SUCCESS = 0;

/** Exports spans as law 1 allows. Says once that they don't arrive. */
function bareExporter(to: SpanExporter, log: Pick<Log, 'warn'>): SpanExporter {
  let isArriving = true;
  return {
    export(spans, done) {
      to.export(spans.map(bareSpan), (result) => {
        const hasArrived = result.code === SUCCESS;
        if (isArriving && !hasArrived)
          log.warn({ ...internalErrorOf(result.error) }, 'traces do not arrive, and are dropped');
        isArriving = hasArrived;
        done(result);
      });
    },
    shutdown: () => to.shutdown(),
  };
}

function bareSpan(span: ReadableSpan): ReadableSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const { name, kind, parentSpanId, startTime, endTime, duration, ended, resource, instrumentationLibrary } = span;
  return {
    name,
    kind,
    startTime,
    endTime,
    duration,
    ended,
    resource,
    instrumentationLibrary,
    ...(parentSpanId ? { parentSpanId } : {}),
    spanContext: () => ({ traceId, spanId, traceFlags }),
    status: { code: span.status.code },
    attributes: bareAttributes(span.attributes),
    events: span.events
      .filter((event) => event.name === 'exception')
      .map((event) => ({ name: event.name, time: event.time, attributes: bareAttributes(event.attributes ?? {}) })),
    links: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function bareAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name, value]) => KEPT.has(name) && isPlain(value)));
}

function isPlain(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && WORD.test(value));
}

/** Makes a span a request (semantic conventions, HTTP). Reads only `traceparent`: others would reach Temporal. */
function requestTracer(): TraceRequest {
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
