import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { trace } from '@opentelemetry/api';
import { expect, it, vi } from 'vitest';
import { openTraces } from '../../../runtime/telemetry/open-traces.ts';
import type { Traces } from '../../../runtime/telemetry/traces.ts';
import { otlpReceiver } from '../../harness/core/otlp-receiver.ts';
import { programEnv } from '../../harness/core/program-env.ts';

const PLANTED = 'planted.person@example.com';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Opens traces in a process of its own beside all else that a service loads; gives the modules of OpenTelemetry that
 * this took.
 */
async function modulesLoaded(env: Record<string, string>): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `
    import { createRequire } from 'node:module';
    import { readConfig } from './runtime/config.ts';
    import { openTraces } from './runtime/telemetry/open-traces.ts';
    await Promise.all([import('./runtime/service.ts'), import('./runtime/app-context.ts')]);
    await openTraces(readConfig(process.env), { warn() {} });
    const paths = Object.keys(createRequire(import.meta.url).cache);
    console.log(JSON.stringify(paths.map((path) => /(@opentelemetry|interceptors-opentelemetry)([/\\\\][\\w-]+)/.exec(path)?.[0])));
  `,
    ],
    { cwd: ROOT, env: { ...programEnv(), ...env } },
  );
  return [...new Set((JSON.parse(stdout) as (string | null)[]).filter((name) => name !== null))].toSorted();
}

it('without an address nothing of the SDK is loaded', async () => {
  const api = ['@opentelemetry/api']; // the metrics' own
  const [none, loaded] = await Promise.all([
    modulesLoaded({}),
    modulesLoaded({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }),
  ]);
  expect(none).toEqual(api);
  expect(loaded).toEqual(expect.arrayContaining(['@opentelemetry/sdk-trace-base', 'interceptors-opentelemetry/lib']));
});

async function traced(url: string, live: (traces: Traces) => void, warnings: string[] = []): Promise<void> {
  const log = {
    warn: (fields: object, message: string) => {
      warnings.push(JSON.stringify({ ...fields, message }));
    },
  };
  const traces = await openTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'test' }, log);
  live(traces!);
  await traces!.close();
}

/** A span with a value in every place that takes one. */
function plantSpan(): void {
  const link = {
    context: { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 },
    attributes: { query: PLANTED },
  };
  const span = trace
    .getTracer('test')
    .startSpan('a step', { links: [link], attributes: { query: PLANTED, 'http.route': PLANTED } });
  const error = Object.assign(new TypeError(`it was ${PLANTED}`, { cause: new Error(PLANTED) }), { detail: PLANTED });
  span
    .setStatus({ code: 2, message: PLANTED })
    .setAttribute('workflowId', 'import/imp_1')
    .setAttribute('memo', [PLANTED]);
  span.addEvent(PLANTED, { body: PLANTED }).addEvent('exception', { 'exception.type': PLANTED });
  span.recordException(error);
  span.end();
}

it('of a span there goes out what is known to hold no value, and of an error its class', async () => {
  const receiver = await otlpReceiver('planted');
  await traced(receiver.url, plantSpan);
  expect(receiver.received()).not.toContain('planted');
  expect(receiver.spans).toMatchObject([
    {
      name: 'a step',
      status: { code: 2 },
      attributes: { workflowId: 'import/imp_1' },
      links: [],
      exceptions: [{}, { 'exception.type': 'TypeError' }],
    },
  ]);
});

it("a request is a child of its caller's span, or a trace of its own where the caller's header makes no sense", async () => {
  const receiver = await otlpReceiver('callers');
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await traced(receiver.url, ({ traceRequest }) => {
    for (const traceparent of [
      `00-${traceId}-b7ad6b7169203331-01`,
      `00-${traceId}-b7ad6b7169203331-00`,
      PLANTED,
      undefined,
    ]) {
      traceRequest({ method: 'GET', requestId: 'id', traceparent }).end({ route: '/api/labels', status: 200 });
    }
  });
  expect(receiver.spans.map((span) => [span.traceId === traceId, span.parentSpanId ?? null])).toEqual([
    [true, 'b7ad6b7169203331'],
    [false, null],
    [false, null], // the second caller has its trace not sampled
  ]);
});

it.each([
  ['one whose caller hung up', null, 'hung_up', 2],
  ['a fault of ours', 503, '503', 2],
  ['a refusal', 404, undefined, 0],
])('a request counts as failed, or not: %s', async (_what, status, errorType, code) => {
  const receiver = await otlpReceiver(`status-${status}`);
  await traced(receiver.url, ({ traceRequest }) =>
    traceRequest({ method: 'GET', requestId: 'id', traceparent: undefined }).end({ route: null, status }),
  );
  expect(receiver.spans[0]).toMatchObject({ name: 'GET', status: { code } });
  expect(receiver.spans[0]!.attributes['error.type']).toBe(errorType);
});

it("that traces don't arrive is said once, without what the receiver answered", async () => {
  const receiver = await otlpReceiver('refusing');
  receiver.answer(400);
  const warnings: string[] = [];
  vi.stubEnv('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '1');
  await traced(
    receiver.url,
    () => {
      plantSpan();
      plantSpan();
    },
    warnings,
  ).finally(() => vi.unstubAllEnvs());
  expect(receiver.received().split('\n')).toHaveLength(2);
  expect(warnings).toEqual([expect.stringContaining('traces do not arrive')]);
});
