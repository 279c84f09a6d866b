import { setTimeout as delay } from 'node:timers/promises';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { bareExporter } from './bare-spans.ts';
import { requestTracer } from './request-tracer.ts';
import type { Traces } from './traces.ts';

/** Of one call to the receiver, its repetitions included. */
const SEND_WITHIN_MS = 5_000;
const CLOSE_WITHIN_MS = 6_000;

/** Temporal's interceptor tells the code of an error that has one, and else its name. */
const TELL_CLASS: ActivityInboundCallsInterceptor = {
  execute: (input, next) =>
    next(input).catch((error: unknown) => {
      trace.getActiveSpan()?.setAttribute('error.type', internalErrorOf(error).errorClass);
      throw error;
    }),
};

/**
 * Traces by OTLP over HTTP as JSON, to `endpoint` + /v1/traces. Once per process: OpenTelemetry's registry is global.
 */
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
      () => ({ inbound: TELL_CLASS }),
    ],
    sinks: { exporter: makeWorkflowExporter(processor, resource) },
    async close() {
      const sent = provider.shutdown().catch(() => {}); // said by the exporter
      await Promise.race([sent, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      for (const registry of [trace, context, propagation]) registry.disable();
    },
  };
}
