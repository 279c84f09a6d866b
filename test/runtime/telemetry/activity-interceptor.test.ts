import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { refuse } from '../../../domain/core/refusal.ts';
import { activityInterceptor } from '../../../runtime/telemetry/activity-interceptor.ts';
import { createLog } from '../../../runtime/telemetry/log.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';

const PERSON = 'Planted.Person@example.com';
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const WHERE = { workflowId: 'import/imp_1', runId: 'run-1' };

type Outcome = { result?: unknown; failure: ApplicationFailure; log: Record<string, unknown>[]; metrics: string };

/** What becomes of a step under the interceptor: to Temporal, in the log and in the metrics. */
async function execute(step: () => Promise<unknown>): Promise<Outcome> {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => { lines.push(line); } } });
  const metrics = createMetrics();
  const context = { info: { activityType: 'mergeBatch', attempt: 2, workflowExecution: WHERE } } as Context;
  const { inbound } = activityInterceptor(log, metrics)(context);
  const outcome = await inbound!.execute!({ args: [], headers: {} }, step)
    .then((result) => ({ result }), (failure: ApplicationFailure) => ({ failure }));
  return {
    failure: null as never, ...outcome, metrics: await metrics.text(),
    log: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test('a step that succeeds gives its result, is counted, and is silent', async () => {
  const { result, log, metrics } = await execute(async () => ({ rows: 7 }));
  expect(result).toEqual({ rows: 7 });
  expect(log).toEqual([]);
  expect(metrics).toContain('millrace_step_seconds_count{step="mergeBatch",outcome="ok"} 1');
});

test('a refusal ends the step for good, and tells Temporal and the log no more than its code', async () => {
  const { failure, log, metrics } = await execute(async () => refuse(400, 'not_a_csv', `line 3 holds ${PERSON}`, { raw: PERSON }));
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ message: 'not_a_csv', type: 'Refusal', nonRetryable: true });
  expect(failure.cause).toBeUndefined();
  expect(failure.details ?? []).toEqual([]);
  expect(log).toMatchObject([{ level: 'warn', code: 'not_a_csv', activity: 'mergeBatch', attempt: 2, ...WHERE }]);
  expect(metrics).toContain('outcome="refused"} 1');
  expect(JSON.stringify([failure, failure.stack, log]).toLowerCase()).not.toContain('planted');
});

test('a fault is tried again under an id that leads to the log, where class, code and frames stand and no text', async () => {
  const { failure, log, metrics } = await execute(async () => {
    const error = new RangeError(`invalid input "${PERSON}"`, { cause: new Error(PERSON) });
    throw Object.assign(error, { code: '22P02', detail: `Key (${PERSON})` });
  });
  expect(failure).toMatchObject({ message: expect.stringMatching(UUID), type: 'RangeError', nonRetryable: false });
  expect(failure.cause).toBeUndefined();
  expect(log).toMatchObject([{
    level: 'error', errorId: failure.message, errorClass: 'RangeError', code: '22P02', activity: 'mergeBatch', ...WHERE,
    frames: expect.arrayContaining([expect.stringContaining('activity-interceptor.test.ts')]),
  }]);
  expect(metrics).toContain('outcome="failed"} 1');
  expect(JSON.stringify([failure, failure.stack, log]).toLowerCase()).not.toContain('planted');
});

test('what is no error is a fault, too', async () => {
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a library may throw anything
  const { failure, log } = await execute(() => Promise.reject(PERSON));
  expect(failure).toMatchObject({ message: expect.stringMatching(UUID), type: 'string' });
  expect(JSON.stringify([failure, log]).toLowerCase()).not.toContain('planted');
});

test('a step that was canceled stays canceled', async () => {
  const canceled = new CancelledFailure('CANCELLED');
  expect((await execute(() => Promise.reject(canceled))).failure).toBe(canceled);
});
