import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { temporal as proto } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Client } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { openTemporalClient } from '../../runtime/temporal-client.ts';
import { allHistories, type Marks, marksIn, marksInLogs, marksOf } from '../harness/history-search.ts';
import { PERSON_MARK, SECRETS_FILE } from '../harness/people.ts';
import { waitFor } from '../harness/wait.ts';

/** Law 1: nothing of a person and no secret in Temporal, and none in the logs and traces of this run. */

type Event = proto.api.history.v1.IHistoryEvent;

const PLANTED = 'zqplanted-value';
const PLANTED_MARK = marksOf([PLANTED]);
const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify({ deep: [PLANTED] })) };
const payloads = { payloads: [payload] };
const failure = (part: proto.api.failure.v1.IFailure): Event => ({ activityTaskFailedEventAttributes: { failure: part } });

/** Every place of a history in which a value can stand. */
const PLACES: Record<string, Event> = {
  input: { workflowExecutionStartedEventAttributes: { input: payloads } },
  'activity input': { activityTaskScheduledEventAttributes: { input: payloads } },
  output: { workflowExecutionCompletedEventAttributes: { result: payloads } },
  'activity output': { activityTaskCompletedEventAttributes: { result: payloads } },
  signal: { workflowExecutionSignaledEventAttributes: { input: payloads } },
  'update input': { workflowExecutionUpdateAcceptedEventAttributes: { acceptedRequest: { input: { args: payloads } } } },
  'update output': { workflowExecutionUpdateCompletedEventAttributes: { outcome: { success: payloads } } },
  'a query\'s answer, as a side effect': { markerRecordedEventAttributes: { details: { query: payloads } } },
  header: { workflowExecutionStartedEventAttributes: { header: { fields: { some: payload } } } },
  memo: { workflowExecutionStartedEventAttributes: { memo: { fields: { some: payload } } } },
  'search attribute': { upsertWorkflowSearchAttributesEventAttributes: { searchAttributes: { indexedFields: { some: payload } } } },
  'failure message': failure({ message: `it was ${PLANTED}` }),
  'failure stack': failure({ stackTrace: `Error: ${PLANTED}\n at some.ts:1` }),
  'failure cause': failure({ message: 'x', cause: { message: PLANTED } }),
  'failure details': failure({ applicationFailureInfo: { details: payloads } }),
  heartbeat: failure({ timeoutFailureInfo: { lastHeartbeatDetails: payloads } }),
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

describe('what this run has left behind', () => {
  let marks: Marks;
  let client: Client;

  beforeAll(async () => {
    const secrets = await readFile(join(inject('runFolder'), SECRETS_FILE), 'utf8').catch(() => '');
    marks = marksOf([PERSON_MARK, ...new Set(secrets.split('\n').filter(Boolean))]);
    client = await openTemporalClient({ address: inject('temporal').address, namespace: 'default' }, 'law');
  });

  afterAll(() => client.connection.close());

  it('in Temporal names no person and no secret', async () => {
    const { namespaces } = await client.workflowService.listNamespaces({ pageSize: 1_000 });
    const searched = new Map<string, number>();
    for (const namespace of namespaces.map(({ namespaceInfo }) => namespaceInfo!.name!).filter((name) => name.startsWith('test-'))) {
      const temporal = await openTemporalClient({ address: inject('temporal').address, namespace }, 'law');
      await waitFor('a namespace of this run', () => isKnown(temporal));
      for await (const { workflowId, history } of allHistories(temporal)) {
        expect({ namespace, workflowId, found: marksIn(history, marks) }).toEqual({ namespace, workflowId, found: [] });
        const flow = workflowId.split(/[/-]/)[0]!;
        searched.set(flow, (searched.get(flow) ?? 0) + 1);
      }
      await temporal.connection.close();
    }
    // Each flow joins here: a run without its histories would prove nothing.
    for (const flow of ['import', 'feed', 'sync', 'export', 'gdpr', 'sweep']) {
      expect(searched.get(flow), `histories of ${flow}; run all tests`).toBeGreaterThan(0);
    }
  }, 900_000);

  it.for(LOGS)(
    'in what is kept of %s names no person and no secret', async ([, files]) => {
      const { bytes, findings } = await marksInLogs(inject('runFolder'), files, marks);
      expect(findings).toEqual([]);
      expect(bytes, 'there was nothing to search').toBeGreaterThan(0);
    });
});

/** Temporal's front end learns of a namespace that is listed a while later, on a busy machine. */
async function isKnown({ workflow }: Client): Promise<boolean> {
  try {
    await workflow.count();
    return true;
  } catch (error) {
    if (error instanceof NamespaceNotFoundError) return false;
    throw error;
  }
}
