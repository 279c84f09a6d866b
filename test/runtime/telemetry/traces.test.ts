import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { Worker } from '@temporalio/worker';
import { beforeAll, expect, inject, it } from 'vitest';
import type { Import } from '../../../store/imports/imports.ts';
import { dataConverter } from '../../../temporal/client.ts';
import { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../../harness/core/otlp-receiver.ts';
import { PERSON_MARK, personId } from '../../harness/core/people.ts';
import { startServer, startWork } from '../../harness/core/served.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { feedDone } from '../../harness/feed/feeds.ts';
import { importEnded, importErrors, importForm } from '../../harness/imports/imports.ts';
import { allHistories, marksInLogs, marksOf } from '../../harness/jobs/history-search.ts';
import '../../harness/core/temporal-runtime.ts';
import { expectFault } from '../../harness/run/faults.ts';

const ERROR = 2;
const FILE = `user_id,attribute_key,value\n${personId(1)},plan,gold\n${personId(2)},score,many\n`;
const GREETING = { tracestate: `vendor=${PERSON_MARK}`, baggage: `user=${PERSON_MARK}` };
const IMPORT_TRACE = randomBytes(16).toString('hex');
const FEED_TRACE = randomBytes(16).toString('hex');

const stack = useStack({ sweepSeconds: 5 });
let receiver: OtlpReceiver;
let world: World;
let imported: Import;
let exitCodes: (number | null)[];

const traceparent = (traceId: string) => `00-${traceId}-${'b7'.repeat(8)}-01`;

/**
 * Server and worker as they are started by their scripts take an import whose first try fails, a feed and some reads.
 */
beforeAll(async () => {
  world = await makeWorld(stack.store);
  receiver = await otlpReceiver(stack.namespace);
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/`,
    OTEL_SERVICE_NAME: 'our-millrace',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  const [server, worker] = await Promise.all([startServer(stack, env), startWork(stack, env)]);
  await failOnErrors();
  expectFault('loadRows');
  const identifier = await postImport(server.url);
  await waitFor('a failed step', async () => named('RunActivity:loadRows').find(({ status }) => status.code === ERROR));
  await stack.store.db.query('DROP TRIGGER quoting ON import_errors');
  imported = await importEnded(stack.store, world, identifier);
  await postFeed(server.url);
  await read(server.url);
  await hangUp(server.url);
  for (const name of ['RunWorkflow:importAttributes', 'StartActivity:drainFeed', 'RunWorkflow:sweep']) {
    await waitFor(name, async () => named(name).length > 0);
  }
  // The server may notice it a moment later.
  await waitFor('the call that was hung up', async () => hungUp().length > 0);
  exitCodes = [await server.stop(), await worker.stop()];
});

/** As a database does, the error quotes the row. */
async function failOnErrors(): Promise<void> {
  await stack.store.db.query(`CREATE FUNCTION quote_row() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'it was %', '${personId(2)}' USING DETAIL = '${personId(2)}'; END $$`);
  await stack.store.db.query(
    'CREATE TRIGGER quoting BEFORE INSERT ON import_errors FOR EACH ROW EXECUTE FUNCTION quote_row()',
  );
}

async function postImport(url: string): Promise<string> {
  const { headers, payload } = importForm(world, FILE);
  const reply = await fetch(`${url}/api/attribute_values/batch_import`, {
    method: 'POST',
    body: new Uint8Array(payload),
    headers: { ...headers, ...GREETING, traceparent: traceparent(IMPORT_TRACE), accept: 'application/vnd.svc.v3' },
  });
  return ((await reply.json()) as { result: { import_id: string } }).result.import_id;
}

async function postFeed(url: string): Promise<void> {
  const values = [
    { customer_id: personId(3), customer_id_type: 'user_id', attribute_key: 'plan', attribute_value: PERSON_MARK },
  ];
  const reply = await fetch(`${url}/api/attribute_values`, {
    method: 'POST',
    body: JSON.stringify({ sor: world.sor.identifier, api_key: world.apiKey, customer_attribute_values: values }),
    headers: { ...GREETING, traceparent: traceparent(FEED_TRACE), 'content-type': 'application/json' },
  });
  const { result } = (await reply.json()) as { result: { requestId: string } };
  await feedDone(stack.store, world, result.requestId);
}

/** With a person in the path, in the query, and where nothing is. */
async function read(url: string): Promise<void> {
  const headers = { authorization: `Token ${world.token}` };
  const person = encodeURIComponent(personId(1));
  for (const path of [
    `api/customer_profiles/${person}`,
    `api/customer_profiles?customer_ids=${person}`,
    `no/${person}`,
    'health/live',
  ]) {
    await (await fetch(`${url}/${path}`, { headers })).text();
  }
}

/** In the middle of a body. */
async function hangUp(url: string): Promise<void> {
  const headers = { expect: '100-continue', 'content-type': 'application/json', 'content-length': 100 };
  const call = request(`${url}/api/attribute_values`, { method: 'POST', headers }).on('error', () => {});
  call.flushHeaders();
  await once(call, 'continue');
  call.destroy();
}

const named = (name: string): ReceivedSpan[] => receiver.spans.filter((span) => span.name === name);

const hungUp = () => named('POST /api/attribute_values').filter(({ status }) => status.code === ERROR);

/** The names from the root down to a span; what was received of its ancestors. */
function pathTo(span: ReceivedSpan): string[] {
  const parent = receiver.spans.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId);
  return [...(parent ? pathTo(parent) : []), span.name];
}

it("a request, the workflow that it starts and each step of that are one trace, which is the caller's own", () => {
  expect(imported).toMatchObject({ state: 'finished', rowsIn: 2, rowsOk: 1, rowsFailed: 1 });
  const [last] = named('RunActivity:loadRows').filter(({ status }) => status.code !== ERROR);
  expect(last).toMatchObject({ traceId: IMPORT_TRACE, service: 'our-millrace' });
  expect(pathTo(last!)).toEqual([
    'POST /api/attribute_values/batch_import',
    'StartWorkflow:importAttributes',
    'RunWorkflow:importAttributes',
    'StartActivity:loadRows',
    'RunActivity:loadRows',
  ]);
  const [root] = named('POST /api/attribute_values/batch_import');
  expect(root!.parentSpanId).toBe('b7'.repeat(8));
});

it('so are values that are fed and the merge of them, while their workflow goes on', () => {
  const [signal] = named('HandleSignal:feedArrived');
  expect(pathTo(signal!)).toEqual([
    'POST /api/attribute_values',
    'SignalWithStartWorkflow:feedAttributes',
    'HandleSignal:feedArrived',
  ]);
  const [step] = named('RunActivity:drainFeed');
  expect(pathTo(step!)).toEqual(['StartActivity:drainFeed', 'RunActivity:drainFeed']);
  expect([signal!.traceId, step!.traceId]).toEqual([FEED_TRACE, FEED_TRACE]);
});

it('a step that fails tells class and code of its error, and is followed by the next try', () => {
  const tries = named('RunActivity:loadRows');
  const failed = tries.filter(({ status }) => status.code === ERROR);
  expect(tries.length).toBeGreaterThan(failed.length);
  for (const { status, attributes, exceptions, traceId } of failed) {
    const told = { status, exceptions, traceId, errorType: attributes['error.type'] };
    expect(told).toEqual({
      status: { code: ERROR },
      exceptions: [{ 'exception.type': 'P0001' }],
      traceId: IMPORT_TRACE,
      errorType: 'DatabaseError',
    });
  }
});

it('a request is named by its route, never by its address; probes are left out', () => {
  const requests = receiver.spans.filter(
    ({ kind, attributes }) => kind === 2 && attributes['http.request.method'] === 'GET',
  );
  const id = expect.stringMatching(/^[\da-f-]{36}$/);
  const told = (route: string) => ({
    'http.request.method': 'GET',
    'http.route': route,
    'http.response.status_code': 200,
    'millrace.request_id': id,
  });
  expect(requests.map(({ name, attributes }) => ({ name, attributes }))).toEqual([
    { name: 'GET /api/customer_profiles/:customer_id', attributes: told('/api/customer_profiles/:customer_id') },
    { name: 'GET /api/customer_profiles', attributes: told('/api/customer_profiles') },
    {
      name: 'GET',
      attributes: { 'http.request.method': 'GET', 'http.response.status_code': 404, 'millrace.request_id': id },
    },
  ]);
});

it('a caller who hangs up is told apart', async () => {
  const [given] = hungUp();
  expect(given!.attributes).toMatchObject({ 'error.type': 'hung_up' });
  expect(given!.attributes).not.toHaveProperty('http.response.status_code');
});

it('what was sent names no person and no secret, also not in its encoding', async () => {
  const [error] = await importErrors(stack.store, world, imported);
  expect(error).toMatchObject({ customerId: personId(2) });
  const kept = new RegExp(`^traces-${stack.namespace}\\.log$`);
  const { bytes, findings } = await marksInLogs(
    inject('runFolder'),
    kept,
    marksOf([PERSON_MARK, world.token, world.apiKey]),
  );
  expect(findings).toEqual([]);
  expect(bytes).toBeGreaterThan(2_000);
});

it('Temporal gets to know of a trace its ids, and nothing else that the caller sent along', async () => {
  const { events } = await stack.temporal.workflow.getHandle(`import/${imported.identifier}`).fetchHistory();
  const fields = events![0]!.workflowExecutionStartedEventAttributes!.header!.fields!;
  const sent = Object.entries(fields).map(([name, { data }]) => [name, JSON.parse(Buffer.from(data!).toString())]);
  expect(sent).toEqual([
    ['_tracer-data', { traceparent: expect.stringMatching(`^00-${IMPORT_TRACE}-[\\da-f]{16}-01$`) }],
  ]);
});

it('what began with traces goes on without them', async () => {
  const replayed = new Set<string>();
  for await (const { workflowId, history } of allHistories(stack.temporal)) {
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: inject('bundlePath') }, dataConverter },
      history,
      workflowId,
    );
    replayed.add(workflowId.split(/[/-]/)[0]!);
  }
  expect([...replayed].toSorted()).toEqual(['feed', 'import', 'sweep']);
});

it('on SIGTERM what is left is sent, and the processes end', () => {
  expect(exitCodes).toEqual([0, 0]);
});
