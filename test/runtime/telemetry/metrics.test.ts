import { expect, test } from 'vitest';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';

test('requests, steps, rows and values are counted by what became of them', async () => {
  const metrics = createMetrics();
  metrics.observeRequest({ method: 'GET', route: '/api/labels/:name', status: 200, seconds: 0.02 });
  metrics.observeActivity({ activity: 'mergeBatches', outcome: 'failed', seconds: 3 });
  metrics.countRows('ok', 980);
  metrics.countRows('failed', 20);
  metrics.countRows('ok', 20);
  metrics.countValues('ok', 7);
  metrics.countValues('ignored', 2);
  metrics.countValues('ok', 3);
  metrics.countCalls('accepted', 5);
  const lines = (await metrics.text()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'millrace_http_request_seconds_count{method="GET",route="/api/labels/:name",status="200"} 1',
      'millrace_http_request_seconds_bucket{le="0.01",method="GET",route="/api/labels/:name",status="200"} 0',
      'millrace_http_request_seconds_bucket{le="0.025",method="GET",route="/api/labels/:name",status="200"} 1',
      'millrace_step_seconds_sum{step="mergeBatches",outcome="failed"} 3',
      'millrace_import_rows_total{outcome="ok"} 1000',
      'millrace_import_rows_total{outcome="failed"} 20',
      'millrace_feed_values_total{outcome="ok"} 10',
      'millrace_feed_values_total{outcome="ignored"} 2',
      'millrace_tracked_calls_total{outcome="accepted"} 5',
    ]),
  );
  expect(lines.some((line) => line.startsWith('process_resident_memory_bytes '))).toBe(true);
});

test('each has a registry of its own, so that a process may hold several', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.countRows('ignored', 1);
  expect(await other.text()).not.toContain('outcome="ignored"} 1');
});
