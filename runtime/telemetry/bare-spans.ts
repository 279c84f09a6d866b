import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';

/**
 * What may be told of a span. All else stays here, since it may quote a value: messages, stacks, unknown attributes.
 */
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

/** A number, or one word: a name, an id, a code, a route's pattern. */
const WORD = /^[\w:/.*-]{1,200}$/;

/** OpenTelemetry's ExportResultCode.SUCCESS. */
const SUCCESS = 0;

/** Hands over spans without what law 1 keeps in. Says once that they don't arrive, until they do again. */
export function bareExporter(to: SpanExporter, log: Pick<Log, 'warn'>): SpanExporter {
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
