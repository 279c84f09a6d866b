import { beforeAll, describe, expect, it } from 'vitest';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import { TASK_QUEUES } from '../../../domain/jobs/workflow-id.ts';
import { write } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { listReceipts } from '../../../store/gdpr/receipts.ts';
import type { GdprRequest } from '../../../store/gdpr/request-record.ts';
import { findGdprRequestById } from '../../../store/gdpr/requests.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { brokenS3, type BrokenS3 } from '../../harness/core/broken-s3.ts';
import { copyStore, testStore } from '../../harness/core/database.ts';
import { listFiles } from '../../harness/core/files.ts';
import { PERSON_MARK, personId } from '../../harness/core/people.ts';
import { startServer } from '../../harness/core/served.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { openStack, type Stack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { accessEnded, dataOf, readArchive } from '../../harness/gdpr/archives.ts';
import { deletionByDevice, requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { askFor, insertPeople, leftOf, requestTreated, requestWhen } from '../../harness/gdpr/gdpr.ts';
import { insertUpload } from '../../harness/imports/imports.ts';
import { makeTrackedWorld, sampleCall, takeIn, type TrackedWorld } from '../../harness/tracking/tracked-calls.ts';

const NUMBERS = 800_000;

async function ground(stack: Pick<Stack, 'store'>, people: number): Promise<{ world: TrackedWorld; ids: string[] }> {
  const { store } = stack;
  await ensurePartitions(store.db, [new Date('2026-11-05T10:00:00Z')]);
  const world = await makeTrackedWorld(store);
  const ids = Array.from({ length: people }, (_, n) => personId(NUMBERS + n));
  await insertPeople(store, world, ids);
  return { world, ids };
}

const left = ({ store }: Stack, { entityId }: GdprRequest, ids: string[]) => leftOf(store, entityId, ids);

/** By place, what the only receipt says that was erased. */
async function erasedOf({ store }: Stack, { entityId, identifier }: GdprRequest): Promise<Record<string, number>> {
  const receipts = await listReceipts(store.db, entityId, identifier);
  expect(receipts).toHaveLength(1);
  const [receipt] = receipts;
  if (receipt?.type !== 'erasure') throw new Error('no receipt of an erasure');
  expect(receipt.places.filter(({ survivors }) => survivors > 0)).toEqual([]);
  return Object.fromEntries(
    receipt.places.filter(({ erased }) => erased > 0).map(({ place, erased }) => [place, erased]),
  );
}

describe("while Millrace's own S3 is away", () => {
  let stack: Stack;
  let s3: BrokenS3;
  let world: TrackedWorld;
  let ids: string[];
  let other: string;

  beforeAll(async () => {
    const store = await testStore({ filesOnS3: true });
    s3 = await brokenS3(store.s3!.endpoint);
    stack = await openStack(
      { ...store, s3: { ...store.s3!, endpoint: s3.endpoint } },
      { impatient: true, sweepSeconds: 5 },
    );
    ({
      world,
      ids: [other = '', ...ids],
    } = await ground(stack, 3));
    stack.startWorker();
  });

  const refuse = (what: RegExp) =>
    s3.breakBy(({ method, url }) => (what.test(`${method} ${decodeURIComponent(url!)}`) ? 'no answer' : null));
  const heal = () => s3.breakBy(() => null);
  /** A location is named, with why, and since when. */
  async function faultyAt(request: GdprRequest, location: string): Promise<void> {
    const { locationFaults, state } = await requestWhen(
      stack.store,
      request,
      `with a fault at ${location}`,
      (found) => location in found.locationFaults,
    );
    expect([locationFaults, state]).toEqual([
      {
        [location]: {
          since: expect.stringMatching(/^20\d\d-/) as string,
          reason: expect.stringMatching(/^\w+\/ could not be erased \(\w+\); it is tried again$/) as string,
        },
      },
      'running',
    ]);
  }
  /** The status says so, and of nobody. */
  async function faulty(request: GdprRequest, says: RegExp): Promise<void> {
    const { fault, state } = await requestWhen(stack.store, request, `with ${says}`, (found) =>
      says.test(found.fault ?? ''),
    );
    expect(fault).not.toContain(PERSON_MARK);
    expect(state).toBe('running');
  }

  it('a request for access is started all the same, says what keeps it, and is treated once S3 answers', async () => {
    refuse(/imports\/|PUT .*access\//);
    const request = await requestByApi(stack.store.db, 'access', world, [other]);
    await stack.store.db.query(`UPDATE gdpr_requests SET received_at = now() - interval '1 minute' WHERE id = $1`, [
      request.id,
    ]);
    await faulty(request, /^an archive could not be written \(\w+\); it is tried again$/);
    heal();
    const [person] = await accessEnded(stack, request);
    expect(dataOf(await readArchive(stack, person!)).counts).toMatchObject({
      attribute_values: 1,
      devices: 1,
      events: 3,
    });
    expect(await listFiles(stack.store, `access/${request.identifier}/`)).toEqual([person!.archive!.key]);
    expect((await findGdprRequestById(stack.store.db, world.entity.id, request.id))!.fault).toBeNull();
  });

  it('a deletion says what keeps it, and is treated with exact counts once S3 answers', async () => {
    const { store } = stack;
    const access = await askFor(stack, 'access', world, [ids[1]!]);
    await accessEnded(stack, access);
    const fileKey = `imports/${world.entity.identifier}.csv`;
    await store.files.put(fileKey, asBytes(`user_id,attribute_key,value\n${ids[0]},plan,gold\n`));
    const { id } = await insertUpload(store.db, store, world, { file: { fileKey } });
    await store.db.query(`UPDATE imports SET state = 'finished', ended_at = now() WHERE id = $1`, [id]);

    refuse(/PUT .*tombstones\//);
    const request = await askFor(stack, 'delete', world, ids);
    await faulty(request, /^tombstones could not be raised \(\w+\); it is tried again$/);
    expect(await left(stack, request, ids)).toMatchObject({ events: 6 });
    refuse(/(GET|DELETE) .*imports\//);
    await faultyAt(request, 'imports/');
    // The other locations are erased meanwhile.
    await requestWhen(
      store,
      request,
      'erased elsewhere',
      ({ erased }) => erased['access/'] === 1 && erased['gdpr_request_people'] === 1,
    );
    expect((await findGdprRequestById(store.db, world.entity.id, request.id))!.erased).toMatchObject({
      attribute_values: 2,
      events: 6,
    });
    expect(await listReceipts(store.db, world.entity.id, request.identifier)).toEqual([]);
    heal();
    const treated = await requestTreated(store, request);
    expect([treated.fault, treated.locationFaults]).toEqual([null, {}]);
    expect(await left(stack, request, ids)).toEqual({});
    expect(await erasedOf(stack, request)).toMatchObject({
      attribute_values: 2,
      devices: 2,
      device_users: 2,
      events: 6,
      'imports/': 1,
      'access/': 1,
      gdpr_request_people: 1,
    });
    expect(await listFiles(store, 'tombstones/')).toHaveLength(1);
    expect([await listFiles(store, 'imports/'), await listFiles(store, `access/${access.identifier}/`)]).toEqual([
      [],
      [],
    ]);
  });
});

describe('with a mail server that comes and goes', () => {
  let stack: Stack;
  let smtp: Awaited<ReturnType<typeof smtpServer>>;

  beforeAll(async () => {
    stack = await openStack(await testStore(), { impatient: true });
    smtp = await smtpServer();
    stack.startWorker({ smtpUrl: `smtp://127.0.0.1:${smtp.port}` });
  });

  type MailRow = { mail_state: string; mail_tries: number };
  const mailOf = async ({ id }: GdprRequest, kind: string) =>
    (
      await stack.store.db.query<MailRow>(
        'SELECT mail_state, mail_tries FROM gdpr_mails WHERE request_id = $1 AND kind = $2',
        [id, kind],
      )
    ).rows[0];
  const tried = (request: GdprRequest, kind: string) =>
    waitFor(`an attempt to mail ${kind}`, async () => {
      const mail = await mailOf(request, kind);
      return mail?.mail_state === 'not_sent' && mail;
    });
  const received = (request: GdprRequest, headline: string) =>
    smtp.received.filter(({ mail }) => mail.headers.subject === `Deletion request ${request.identifier}: ${headline}`);
  const arrival = (request: GdprRequest, headline: string) =>
    waitFor(`the mail "${headline}"`, async () => received(request, headline)[0]);
  const triedAgo = (request: GdprRequest, interval: string, tries: number) =>
    stack.store.db.query(
      'UPDATE gdpr_mails SET tried_at = now() - $2::interval, mail_tries = $3 WHERE request_id = $1',
      [request.id, interval, tries],
    );
  const fromDevice = ({ entity, app }: TrackedWorld, userId: string) =>
    write(stack.store.db, (tx) =>
      deletionByDevice(tx, entity.id, { userId, deviceId: `device of ${userId}` }, { appId: app.id }),
    );

  it('a deletion from a device that waits is told of once, to those whom the app names, however long the server was away', async () => {
    const { world, ids } = await ground(stack, 2);
    const { user, app } = world;
    await stack.store.db.query('UPDATE apps SET gdpr_emails = $2 WHERE id = $1', [
      app.id,
      [user.email, 'nobody@example.com'],
    ]);
    smtp.behave({ greeting: 421 });
    const first = await fromDevice(world, ids[0]!);
    expect(await tried(first, 'waiting')).toMatchObject({ mail_tries: 1 });
    const second = await fromDevice(world, ids[1]!);
    await tried(second, 'waiting');
    expect(await mailOf(first, 'waiting')).toMatchObject({ mail_tries: 1 }); // not with each sweep
    smtp.behave({});
    await triedAgo(first, '2 minutes', 1);
    await triedAgo(second, '6 hours 1 minute', 50);
    for (const [n, request] of [first, second].entries()) {
      const {
        to,
        mail: { text },
      } = await arrival(request, 'waits for approval');
      expect(to).toEqual([user.email]);
      expect(text).toContain(`http://millrace.test/api/gdpr/requests/${request.identifier}`);
      expect(text).toContain(`millrace gdpr approve ${request.identifier}`);
      expect(text).not.toContain(ids[n]);
    }
    expect(received(first, 'waits for approval')).toHaveLength(1);
  });

  it('of a request of 26 days whoever asked is told once, and /metrics counts it', async () => {
    const { world, ids } = await ground(stack, 1);
    await write(stack.store.db, (tx) =>
      insertHold(tx, world.entity.id, {
        customerType: 'user_id',
        customerId: ids[0]!,
        kind: 'hold',
        reason: 'a lawsuit',
        createdBy: world.user.id,
      }),
    );
    smtp.behave({ greeting: 421 });
    const request = await askFor(stack, 'delete', world, ids, { skipEmail: false });
    await tried(request, 'held');
    await stack.store.db.query(`UPDATE gdpr_requests SET received_at = now() - interval '26 days' WHERE id = $1`, [
      request.id,
    ]);
    await tried(request, 'near_deadline');
    smtp.behave({});
    await triedAgo(request, '6 hours 1 minute', 7); // more often than its workflow tries
    await arrival(request, 'a person is on hold');
    const {
      to,
      mail: { text },
    } = await arrival(request, '3 days left');
    expect(to).toEqual([world.user.email]);
    expect(text).toContain('It is not treated, and 3 days of its 30 are left.');
    expect(text).toContain(`http://millrace.test/api/gdpr/requests/${request.identifier}`);
    expect(text).not.toContain(PERSON_MARK);
    const { url } = await startServer(stack);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('millrace_gdpr_requests{type="delete",state="running"} 1\n');
    expect(metrics).toContain('millrace_gdpr_requests{type="delete",state="waiting"} 2\n');
    expect(metrics).toContain('millrace_gdpr_requests_from_devices{type="delete",state="waiting"} 2\n');
    expect(metrics).toContain('millrace_gdpr_requests_from_devices{type="delete",state="running"} 0\n');
    expect(metrics).toContain('millrace_gdpr_requests_near_deadline{type="delete"} 1\n');
    expect([received(request, '3 days left').length, received(request, 'a person is on hold').length]).toEqual([1, 1]);
  });
});

it('who came back with a restored backup is refused at once, and erased again by a request that ends treated', async () => {
  const store = await testStore();
  const { world, ids } = await ground({ store }, 3);
  const backup = await copyStore(store);
  const gone = ids.slice(0, 2);
  const before = await openStack(store);
  const worker = before.startWorker();
  await requestTreated(store, await askFor(before, 'delete', world, gone));
  await worker.stop();

  const restored = await openStack(backup);
  const { url } = await startServer(restored);
  expect(await takeIn(backup, world, [sampleCall(world, { userId: gone[0]!, deviceId: 'another' })])).toEqual([
    'erased',
  ]);
  const restore = async () =>
    (await (await fetch(`${url}/health/ready`)).text()).match(/people of a restored backup/g)?.length ?? 0;
  expect(await restore()).toBe(1);
  const withoutWorker = async () => {
    const { parts } = (await (await fetch(`${url}/health/ready?parts=all`)).json()) as {
      parts: { name: string; ready: boolean }[];
    };
    return parts.filter(({ ready }) => !ready).map(({ name }) => name);
  };
  expect(await withoutWorker()).toEqual(TASK_QUEUES.map((queue) => `worker of ${queue}`));
  const {
    rows: [row],
  } = await backup.db.query<{ id: number }>(`SELECT id FROM gdpr_requests WHERE source = 'restore'`);
  restored.startWorker();
  const request = await requestTreated(backup, (await findGdprRequestById(backup.db, world.entity.id, row!.id))!);
  expect(await left(restored, request, gone)).toEqual({});
  expect(await left(restored, request, ids.slice(2))).toMatchObject({ attribute_values: 1, devices: 1, events: 3 });
  expect(await erasedOf(restored, request)).toMatchObject({
    attribute_values: 2,
    devices: 2,
    device_users: 2,
    events: 6,
  });
  const [receipt] = await listReceipts(backup.db, world.entity.id, request.identifier);
  expect(receipt).toMatchObject({ source: 'restore', requested_by: { kind: 'system', id: null } });
  expect(await restore()).toBe(0);
  expect(await withoutWorker()).toEqual([]);
});

it('of two workers one is killed in the middle of a deletion: the other ends it with exact counts', async () => {
  const stack = await openStack(await testStore(), { impatient: true });
  const { world, ids } = await ground(stack, 300);
  const workers = [stack.startWorker(), stack.startWorker()];
  const { db } = stack.store;
  await db.query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$`);
  await db.query('CREATE TRIGGER wait BEFORE DELETE ON device_users FOR EACH STATEMENT EXECUTE FUNCTION wait()');
  // No transaction: one that is open is waited for before anything goes.
  const gate = await db.connect();
  let request: GdprRequest;
  try {
    await gate.query('SELECT pg_advisory_lock(77)');
    request = await askFor(stack, 'delete', world, ids);
    await requestWhen(stack.store, request, 'in the middle', ({ erased }) => (erased.devices ?? 0) > 0);
    await waitFor(
      'a worker at the gate',
      async () =>
        (await db.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted`)).rowCount! >
        0,
    );
    const handle = stack.temporal.workflow.getHandle(jobWorkflowId('delete', request.identifier));
    const busy = await waitFor('the worker that has the step', async () => {
      const {
        raw: { pendingActivities },
      } = await handle.describe();
      return workers.find(({ pid }) =>
        pendingActivities?.some(({ lastWorkerIdentity }) => lastWorkerIdentity === `test-worker-${pid}`),
      );
    });
    await busy.kill();
  } finally {
    gate.release(true);
  }
  await requestTreated(stack.store, request);
  expect(await left(stack, request, ids)).toEqual({});
  expect(await erasedOf(stack, request)).toMatchObject({
    attribute_values: 300,
    devices: 300,
    device_users: 300,
    events: 900,
  });
});
