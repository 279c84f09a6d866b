/** The metrics that Prometheus reads: requests, steps, records, privacy requests. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { GdprFigures } from '../../store/gdpr/across-entities.ts';

type RequestSample = { method: string; route: string; status: number; seconds: number };
type ActivitySample = { activity: string; outcome: 'ok' | 'refused' | 'failed'; seconds: number };

export type Metrics = {
  observeRequest(sample: RequestSample): void;
  observeActivity(sample: ActivitySample): void;
  /** Counts an error in a step of a job or flow, or (kind `request`) in a route. */
  countInternalError(labels: { kind: string; step: string }): void;
  countRows(outcome: 'ok' | 'ignored' | 'failed', rows: number): void;
  countValues(outcome: 'ok' | 'ignored' | 'failed', values: number): void;
  countRecords(outcome: 'written' | 'unchanged' | 'ignored' | 'failed', records: number): void;
  countExportRuns(outcome: 'finished' | 'failed' | 'canceled'): void;
  countExportRows(rows: number): void;
  countCalls(outcome: 'accepted' | 'duplicate' | 'refused', calls: number): void;
  /** Counts running requests of people whenever metrics are read; each process reports the same. */
  followGdprRequests(count: () => Promise<GdprFigures>): void;
  text(): Promise<string>;
  contentType: string;
};

const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
const STEP_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'millrace_http_request_seconds',
    help: 'Time to answer, by route',
    registers: [registry],
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
  });
  const activities = new Histogram({
    name: 'millrace_step_seconds',
    help: 'Time of a step of a flow, by outcome',
    registers: [registry],
    labelNames: ['step', 'outcome'],
    buckets: STEP_BUCKETS,
  });
  const internalErrors = new Counter({
    name: 'millrace_internal_errors_total',
    help: 'Errors of Millrace itself, by kind of job or flow and step; of requests by route',
    registers: [registry],
    labelNames: ['kind', 'step'],
  });
  const rows = new Counter({
    name: 'millrace_import_rows_total',
    help: 'Rows of imports by what became of them',
    registers: [registry],
    labelNames: ['outcome'],
  });
  const values = new Counter({
    name: 'millrace_feed_values_total',
    help: 'Values of the JSON feed by what became of them',
    registers: [registry],
    labelNames: ['outcome'],
  });
  const records = new Counter({
    name: 'millrace_sync_records_total',
    help: 'Records of syncs by what became of them',
    registers: [registry],
    labelNames: ['outcome'],
  });
  const exportRuns = new Counter({
    name: 'millrace_export_runs_total',
    help: 'Runs of exporters by how they ended',
    registers: [registry],
    labelNames: ['outcome'],
  });
  const exportRows = new Counter({
    name: 'millrace_export_rows_total',
    help: 'Rows in the files of runs of exporters that finished',
    registers: [registry],
  });
  const calls = new Counter({
    name: 'millrace_tracked_calls_total',
    help: 'Calls of SDKs by what became of them',
    registers: [registry],
    labelNames: ['outcome'],
  });
  return {
    observeRequest: ({ seconds, ...labels }) => requests.observe(labels, seconds),
    observeActivity: ({ activity, outcome, seconds }) => activities.observe({ step: activity, outcome }, seconds),
    countInternalError: (labels) => internalErrors.inc(labels),
    countRows: (outcome, count) => rows.inc({ outcome }, count),
    countValues: (outcome, count) => values.inc({ outcome }, count),
    countRecords: (outcome, count) => records.inc({ outcome }, count),
    countExportRuns: (outcome) => exportRuns.inc({ outcome }),
    countExportRows: (count) => exportRows.inc(count),
    countCalls: (outcome, count) => calls.inc({ outcome }, count),
    followGdprRequests: (count) => followGdprRequests(registry, count),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

type Figure = GdprFigures[number];

function followGdprRequests(registry: Registry, count: () => Promise<GdprFigures>): void {
  const follow = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    sampleOf: (figure: Figure) => [labels: Record<Label, string>, requests: number],
  ) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames,
        registers: [],
        async collect() {
          const figures = await count().catch(() => []);
          this.reset();
          for (const figure of figures) this.inc(...sampleOf(figure));
        },
      }),
    );
  follow(
    'millrace_gdpr_requests',
    'Requests of people for their data or its deletion that are under way',
    ['type', 'state'],
    ({ type, state, requests }) => [{ type, state }, requests],
  );
  follow(
    'millrace_gdpr_requests_near_deadline',
    'Those of them that were received more than 25 days ago, of 30',
    ['type'],
    ({ type, nearDeadline }) => [{ type }, nearDeadline],
  );
  follow(
    'millrace_gdpr_requests_from_devices',
    'Those of them that devices asked for',
    ['type', 'state'],
    ({ type, state, fromDevices }) => [{ type, state }, fromDevices],
  );
}
