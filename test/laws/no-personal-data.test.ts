import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { msToTs } from '@temporalio/common/lib/time.js';
import protos, { type temporal as proto } from '@temporalio/proto';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { temporalDatabase } from '../../runtime/embedded/temporal.ts';
import { PERSON_MARK, SECRETS_FILE } from '../harness/core/people.ts';
import { useStack } from '../harness/core/stack.ts';
import {
  type Marks,
  marksIn,
  marksInBytes,
  marksInLogs,
  marksOf,
  storedByTemporal,
} from '../harness/jobs/history-search.ts';

/** Law 1: nothing of a person and no secret in Temporal, and none in the logs and traces of this run. */

type Event = proto.api.history.v1.IHistoryEvent;

const database = temporalDatabase(inject('runFolder'));
const PLANTED = 'zqplanted-value';
const PLANTED_MARK = marksOf([PLANTED]);
const payload = {
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify({ deep: [PLANTED] })),
};
const payloads = { payloads: [payload] };
const failure = (part: proto.api.failure.v1.IFailure): Event => ({
  activityTaskFailedEventAttributes: { failure: part },
});

/** Every place of a history in which a value can stand. */
const PLACES: Record<string, Event> = {
  input: { workflowExecutionStartedEventAttributes: { input: payloads } },
  'activity input': { activityTaskScheduledEventAttributes: { input: payloads } },
  output: { workflowExecutionCompletedEventAttributes: { result: payloads } },
  'activity output': { activityTaskCompletedEventAttributes: { result: payloads } },
  signal: { workflowExecutionSignaledEventAttributes: { input: payloads } },
  'update input': {
    workflowExecutionUpdateAcceptedEventAttributes: { acceptedRequest: { input: { args: payloads } } },
  },
  'update output': { workflowExecutionUpdateCompletedEventAttributes: { outcome: { success: payloads } } },
  "a query's answer, as a side effect": { markerRecordedEventAttributes: { details: { query: payloads } } },
  header: { workflowExecutionStartedEventAttributes: { header: { fields: { some: payload } } } },
  memo: { workflowExecutionStartedEventAttributes: { memo: { fields: { some: payload } } } },
  'search attribute': {
    upsertWorkflowSearchAttributesEventAttributes: { searchAttributes: { indexedFields: { some: payload } } },
  },
  'failure message': failure({ message: `it was ${PLANTED}` }),
  'failure stack': failure({ stackTrace: `Error: ${PLANTED}\n at some.ts:1` }),
  'failure cause': failure({ message: 'x', cause: { message: PLANTED } }),
  'failure details': failure({ applicationFailureInfo: { details: payloads } }),
  heartbeat: failure({ timeoutFailureInfo: { lastHeartbeatDetails: payloads } }),
  'summary and details of an event': { userMetadata: { summary: payload } },
  'workflow id': { workflowExecutionStartedEventAttributes: { workflowId: `import/${PLANTED}` } },
  identity: { workflowTaskStartedEventAttributes: { identity: PLANTED } },
};

describe('the search of histories', () => {
  it.for(Object.keys(PLACES))('finds what is planted as %s', (place) => {
    expect(marksIn({ events: [PLACES[place]!] }, PLANTED_MARK)).toEqual([PLANTED]);
  });

  it('finds what was encoded in base64 before it became a payload', () => {
    const data = Buffer.from(JSON.stringify({ file: Buffer.from(`a line\n${PLANTED}, and more`).toString('base64') }));
    const event: Event = { activityTaskCompletedEventAttributes: { result: { payloads: [{ ...payload, data }] } } };
    expect(marksIn({ events: [event] }, PLANTED_MARK)).toEqual([PLANTED]);
  });
});

const LOGS = [
  ['the workers', /^worker-.*\.log$/],
  ['the traces', /^traces-.*\.log$/],
  ['the servers', /^server-.*\.log$/],
  ['Postgres', /^postgres\.log$/],
  ['Temporal', /^temporal\.log$/],
] as const;

it('the search of logs finds what is planted in one', async () => {
  await appendFile(join(inject('runFolder'), 'planted.log'), `{"msg":"${PLANTED}"}\n`);
  expect((await marksInLogs(inject('runFolder'), /^planted\.log$/, PLANTED_MARK)).findings).toHaveLength(1);
});

describe('the search of what Temporal stores', () => {
  const stack = useStack();

  it('finds what is planted in input, memo, signal and heartbeat of a workflow that is open', async () => {
    const [input, memo, signal, heartbeat] = ['input', 'memo', 'signal', 'heartbeat'].map(
      (place) => `${PLANTED}-${place}`,
    );
    const { workflow } = stack.temporal;
    const options = { taskQueue: 'planted', workflowId: 'planted', args: [{ deep: [input] }], memo: { memo } };
    const handle = await workflow.start('planted', options);
    await handle.signal('planted', signal);
    await heartbeatOf('planted', heartbeat!);
    const places = marksOf([input!, memo!, signal!, heartbeat!]);
    const found = new Set(Array.from(storedByTemporal(database)).flatMap(({ bytes }) => marksInBytes(bytes, places)));
    expect([...found].toSorted()).toEqual([heartbeat, input, memo, signal]);
    await handle.terminate();
  });

  /** As a worker of that queue would that has the workflow take a step, and the step tell how far it is. */
  async function heartbeatOf(queue: string, details: string): Promise<void> {
    const {
      workflowService: service,
      connection,
      options: { namespace },
    } = stack.temporal;
    const taskQueue = { name: queue };
    const polled = <T>(poll: () => Promise<T>) => connection.withDeadline(Date.now() + 60_000, poll);
    const { taskToken } = await polled(() => service.pollWorkflowTaskQueue({ namespace, taskQueue }));
    await service.respondWorkflowTaskCompleted({
      namespace,
      taskToken,
      commands: [
        {
          commandType: protos.temporal.api.enums.v1.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
          scheduleActivityTaskCommandAttributes: {
            activityId: '1',
            activityType: { name: 'planted' },
            taskQueue,
            scheduleToCloseTimeout: msToTs('1 minute'),
            heartbeatTimeout: msToTs('1 minute'),
          },
        },
      ],
    });
    const step = await polled(() => service.pollActivityTaskQueue({ namespace, taskQueue }));
    await service.recordActivityTaskHeartbeat({
      namespace,
      taskToken: step.taskToken,
      details: { payloads: [{ ...payload, data: Buffer.from(JSON.stringify(details)) }] },
    });
  }
});

describe('what this run has left behind', () => {
  let marks: Marks;

  beforeAll(async () => {
    const secrets = await readFile(join(inject('runFolder'), SECRETS_FILE), 'utf8').catch(() => '');
    marks = marksOf([PERSON_MARK, ...new Set(secrets.split('\n').filter(Boolean))]);
  });

  it('in Temporal names no person and no secret', () => {
    const searched = new Map<string, number>();
    const runs = new Set<string>();
    for (const { table, column, bytes } of storedByTemporal(database)) {
      const found = marksInBytes(bytes, marks, runs);
      if (found.length > 0) expect({ table, column, value: bytes.toString('latin1'), found }).toEqual({ found: [] });
      const kind =
        table === 'executions_visibility' && column === 'workflow_id' ? bytes.toString().split(/[/-]/)[0]! : table;
      searched.set(kind, (searched.get(kind) ?? 0) + 1);
    }
    // Each flow joins here: a run without its histories would prove nothing.
    const flows = ['import', 'feed', 'segments', 'sync', 'export', 'gdpr', 'transac', 'reports', 'sweep'];
    for (const kind of [...flows, 'history_node', 'executions', 'activity_info_maps']) {
      expect(searched.get(kind), `what is kept of ${kind}; run all tests`).toBeGreaterThan(0);
    }
  });

  it.for(LOGS)('in what is kept of %s names no person and no secret', async ([, files]) => {
    const { bytes, findings } = await marksInLogs(inject('runFolder'), files, marks);
    expect(findings).toEqual([]);
    expect(bytes, 'there was nothing to search').toBeGreaterThan(0);
  });
});
