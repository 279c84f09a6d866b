import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import type { ActivityExecuteInput } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { OutsideError } from '../../../domain/core/internal-error.ts';
import { refuse } from '../../../domain/core/refusal.ts';
import { TooManyWait } from '../../../domain/core/semaphore.ts';
import { jobKindOf } from '../../../domain/jobs/job.ts';
import { activityInterceptor } from '../../../runtime/telemetry/activity-interceptor.ts';
import { createLog } from '../../../runtime/telemetry/log.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { keptHistories, readHistory } from '../../harness/jobs/replays.ts';

const PERSON = 'Planted.Person@example.com';
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const WHERE = { workflowId: 'import/imp_1', runId: 'run-1' };

type Outcome = {
  result?: unknown;
  failure: ApplicationFailure;
  log: Record<string, unknown>[];
  metrics: string;
  faults: unknown[];
};

const STEP = { entityId: 7, kind: 'import', job: 'imp_1', step: 'mergeBatch' };

const REF = { entityId: 7, jobId: 1, identifier: 'imp_1', generation: 0 };

/** What becomes of a step under the interceptor: to Temporal, in the log and in the metrics. */
async function execute(
  step: (input: ActivityExecuteInput) => Promise<unknown>,
  { aborted = false, ref = REF as unknown } = {},
): Promise<Outcome> {
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    destination: {
      write: (line) => {
        lines.push(line);
      },
    },
  });
  const metrics = createMetrics();
  const info = { activityType: 'mergeBatch', workflowType: 'importAttributes', attempt: 2, workflowExecution: WHERE };
  const context = { info, cancellationSignal: aborted ? AbortSignal.abort() : new AbortController().signal } as Context;
  const faults: unknown[] = [];
  const { inbound } = activityInterceptor(log, metrics, {
    faults: {
      failed: async (...failed) => void faults.push(['failed', ...failed]),
      gaveUp: async () => {},
      settled: async (...settled) => void faults.push(['settled', ...settled]),
    },
    attempts: { begin: async () => 'runs', ended: async () => {}, close: async () => {} },
    giveUp: async () => false,
  })(context);
  const outcome = await inbound!.execute!({ args: [ref], headers: {} }, step).then(
    (result) => ({ result }),
    (failure: ApplicationFailure) => ({ failure }),
  );
  return {
    failure: null as never,
    ...outcome,
    faults,
    metrics: await metrics.text(),
    log: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test('a step that succeeds gives its result, is counted, and is silent', async () => {
  const { result, log, metrics, faults } = await execute(async () => ({ rows: 7 }));
  expect(faults).toEqual([['settled', STEP, 2]]);
  expect(result).toEqual({ rows: 7 });
  expect(log).toEqual([]);
  expect(metrics).toContain('millrace_step_seconds_count{step="mergeBatch",outcome="ok"} 1');
});

test('a refusal ends the step for good, and tells Temporal and the log no more than its code', async () => {
  const { failure, log, metrics } = await execute(async () =>
    refuse(400, 'not_a_csv', `line 3 holds ${PERSON}`, { raw: PERSON }),
  );
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ message: 'not_a_csv', type: 'Refusal', nonRetryable: true });
  expect(failure.cause).toBeUndefined();
  expect(failure.details ?? []).toEqual([]);
  expect(log).toMatchObject([{ level: 'warn', code: 'not_a_csv', activity: 'mergeBatch', attempt: 2, ...WHERE }]);
  expect(metrics).toContain('outcome="refused"} 1');
  expect(JSON.stringify([failure, failure.stack, log]).toLowerCase()).not.toContain('planted');
});

test('a step that finds the line full is tried again in a moment, and is silent', async () => {
  const { failure, log, metrics, faults } = await execute(async () => {
    throw new TooManyWait(8);
  });
  expect(failure).toMatchObject({ type: 'Waits', nonRetryable: false, nextRetryDelay: 2_000 });
  expect([log, faults]).toEqual([[], []]);
  expect(metrics).not.toContain('step="mergeBatch"');
});

test('a fault is tried again under an id that leads to the log, where class, code and frames stand and no text', async () => {
  const { failure, log, metrics, faults } = await execute(async () => {
    const error = new RangeError(`invalid input "${PERSON}"`, { cause: new Error(PERSON) });
    throw Object.assign(error, { code: '22P02', detail: `Key (${PERSON})` });
  });
  expect(failure).toMatchObject({ message: expect.stringMatching(UUID), type: 'RangeError', nonRetryable: false });
  expect(failure.cause).toBeUndefined();
  expect(log).toMatchObject([
    {
      level: 'error',
      errorId: failure.message,
      errorClass: 'RangeError',
      code: '22P02',
      activity: 'mergeBatch',
      ...WHERE,
      frames: expect.arrayContaining([expect.stringContaining('activity-interceptor.test.ts')]),
    },
  ]);
  expect(metrics).toContain('outcome="failed"} 1');
  expect(metrics).toContain('millrace_internal_errors_total{kind="import",step="mergeBatch"} 1');
  expect(faults).toEqual([['failed', STEP, failure.message]]);
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

const failing = (error: Error, more: object) => Object.assign(error, more);

test.each([
  ['an outside system', new OutsideError('source_unavailable')],
  ['a database that stops', failing(new Error('x'), { code: '57P01' })],
  ['a lost connection', new Error('Connection terminated unexpectedly')],
  ['a network that is away', failing(new Error('x'), { code: 'ECONNRESET' })],
  ['a full disk', failing(new Error('x'), { code: 'ENOSPC' })],
  ['a statement that was too slow', failing(new Error('x'), { code: '25P04' })],
  ['a Temporal that is away', failing(new Error('x'), { code: 14 })],
  ['a file store that fails', failing(new Error('x'), { $fault: 'server' })],
  ['a step that is told to end', new DOMException('This operation was aborted', 'AbortError')],
])('%s is no internal error: the step is tried again, and the log warns', async (_, error) => {
  const { failure, log, faults, metrics } = await execute(() => Promise.reject(error));
  expect(failure).toMatchObject({ message: expect.stringMatching(UUID), nonRetryable: false });
  expect(log).toMatchObject([{ level: 'warn', errorId: failure.message }]);
  expect(faults).toEqual([]);
  expect(metrics).not.toContain('millrace_internal_errors_total{');
});

test.each([
  ['a TypeError', new TypeError('x')],
  ['a database error that no code expects', failing(new Error('x'), { code: '23505' })],
  ['a folder that is not empty', failing(new Error('x'), { code: 'ENOTEMPTY' })],
  ['an error of our own', new Error('a slice has no end')],
])('%s is an internal error, unless the step was told to end', async (_, error) => {
  expect((await execute(() => Promise.reject(error))).faults).toMatchObject([
    ['failed', STEP, expect.stringMatching(UUID)],
  ]);
  const { log, faults } = await execute(() => Promise.reject(error), { aborted: true });
  expect([log.map(({ level }) => level), faults]).toEqual([['warn'], []]);
});

test('a step of a workflow that began under an older version gets the id of its job by its present name', async () => {
  const files = await keptHistories();
  const names = new Set<string>();
  for (const file of files.filter((path) => jobKindOf(path.split('/')[0]!))) {
    const { events } = historyFromJSON(JSON.parse(await readHistory(file)));
    for (const { activityTaskScheduledEventAttributes: step } of events!) {
      const payload = step?.input?.payloads?.[0];
      if (!payload) continue;
      const given = JSON.parse(Buffer.from(payload.data!).toString()) as Record<string, unknown>;
      const { runId, importId, ...ref } = given;
      for (const name of Object.keys(given)) names.add(name);
      const { result } = await execute(async ({ args }) => args, { ref: given });
      expect(result).toEqual([{ ...ref, jobId: given.jobId ?? runId ?? importId }]);
    }
  }
  expect([...names]).toEqual(expect.arrayContaining(['jobId', 'runId', 'importId']));
});
