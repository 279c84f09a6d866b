import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import { write } from '../../../store/core/database.ts';
import { asBytes, filesIn } from '../../../store/core/files.ts';
import { deleteHold, insertHold, listHolds, noteReleasedHold } from '../../../store/gdpr/holds.ts';
import { listReceipts } from '../../../store/gdpr/receipts.ts';
import type { GdprRequest } from '../../../store/gdpr/request-record.ts';
import { findGdprRequest, findGdprRequestById, listGdprPeople } from '../../../store/gdpr/requests.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { INSERT_CALLS } from '../../../store/tracking/insert-calls.ts';
import { personId } from '../../harness/core/people.ts';
import { currentDetails, useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { attributesFilter, insertSampleSegment } from '../../harness/analytics/segments.ts';
import { accessEnded, dataOf, readArchive } from '../../harness/gdpr/archives.ts';
import { askFor, insertPeople, leftOf, requestTreated, requestWhen } from '../../harness/gdpr/gdpr.ts';
import { samplePerson } from '../../harness/gdpr/sample-person.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { ask } from '../../harness/syncs/syncs.ts';
import { basic, insertKeyedApp } from '../../server/tracking/sample-tracking.ts';
import {
  ingestHeld,
  makeTrackedWorld,
  sampleCall,
  sampleEvent,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

const stack = useStack();
let world: TrackedWorld;
let people = 0;

beforeAll(async () => {
  stack.startWorker();
  await ensurePartitions(stack.store.db, [new Date('2026-11-05T10:00:00Z')]);
  world = await makeTrackedWorld(stack.store);
});

/** So many people, of each of whom a value, a device and three events are known. */
async function known(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => personId(700_000 + (people += 1)));
  await insertPeople(stack.store, world, ids);
  return ids;
}

const user = (customerId: string): Person => ({ customerType: 'user_id', customerId });
const left = (ids: string[]) => leftOf(stack.store, world.entity.id, ids);
const treated = (request: GdprRequest) => requestTreated(stack.store, request);
const receipts = ({ entityId, identifier }: GdprRequest) => listReceipts(stack.store.db, entityId, identifier);
const hold = (customerId: string) =>
  write(stack.store.db, (tx) =>
    insertHold(tx, world.entity.id, {
      ...user(customerId),
      kind: 'hold',
      reason: 'a lawsuit',
      createdBy: world.user.id,
    }),
  );
const countIdentifiers = async ({ id }: GdprRequest) =>
  (await stack.store.db.query('SELECT FROM gdpr_identifiers WHERE request_id = $1', [id])).rowCount;

it('5,000 people of one request are deleted, as a new request for their data says, and nobody else', async () => {
  const ids = await known(5_000);
  const others = await known(200);
  const before = await left(others);
  const request = await treated(await askFor(stack, 'delete', world, ids));
  expect(await left(ids)).toEqual({});
  expect(await left(others)).toEqual(before);
  expect(request).toMatchObject({ fault: null, locationFaults: {}, stage: null, survivors: {} });
  expect(Math.round((request.expiresAt!.getTime() - request.treatedAt!.getTime()) / 3_600_000)).toBe(7 * 24);
  expect(await countIdentifiers(request)).toBe(0);
  const [receipt] = await receipts(request);
  expect(receipt).toMatchObject({
    type: 'erasure',
    round: 1,
    request: request.identifier,
    requested_by: { kind: 'user' },
  });
  expect(receipt!.subjects).toHaveLength(5_000);
  expect(receipt!.subjects[0]!.identifiers).toEqual({ user_id: 1, device_id: 1, push_token: 1 });
  const [gone, there] = await accessEnded(stack, await askFor(stack, 'access', world, [ids[0]!, others[0]!]));
  expect([gone!.archive, gone!.message]).toEqual([null, 'No installations found for this user']);
  expect(there).toMatchObject({ archive: expect.any(Object) as object, message: null });
});

it('two requests for the same person, at once, both end treated, and list what stays in filters', async () => {
  const [id] = await known(1);
  const filters = (value: string) => attributesFilter(world.sor.identifier, [value]);
  const [named, kept] = await Promise.all(
    [id!, `for ${id!}`].map((value) =>
      insertSampleSegment(stack.store.db, world.entity.id, { appId: world.app.id, filters: filters(value) }),
    ),
  );
  const both = await Promise.all([askFor(stack, 'delete', world, [id!]), askFor(stack, 'delete', world, [id!])]);
  for (const request of both) await treated(request);
  expect(await left([id!])).toEqual({});
  const keptValues = [{ place: 'segments', object: kept!.identifier, on: 'attributes', key: 'plan', values: 1 }];
  for (const request of both) {
    expect(await receipts(request)).toMatchObject([{ kept_values: keptValues }]);
    expect(await findGdprRequestById(stack.store.db, world.entity.id, request.id)).toMatchObject({ keptValues });
  }
  const { rows } = await stack.store.db.query('SELECT filters FROM segments WHERE id = $1', [named!.id]);
  expect(JSON.stringify(rows)).toContain('"values":[],"values_erased":1');
});

it('a mail that another process wrote to the outbox is erased, and a file there that is no mail is named', async () => {
  const [id] = await known(1);
  const { files, outbox } = stack.store;
  const mailer = openMailer({ outbox: filesIn(files, 'outbox'), from: 'millrace@example.com' });
  for (const text of [`about ${id!}`, 'about others']) {
    const messageId = `<${text.replaceAll(' ', '-')}@example.com>`;
    await mailer.send({ to: ['staff@example.com'], subject: 'A report', text, messageId });
  }
  await outbox.put('broken.eml', asBytes(`X-Long: ${'x'.repeat(3 * 1024 * 1024)}\r\n\r\n`));
  const request = await treated(await askFor(stack, 'delete', world, [id!]));
  const mails = await Promise.all(
    (await Array.fromAsync(outbox.list(''))).map(async ({ key }) => String(await outbox.readAll(key))),
  );
  expect(['about others', id!].map((words) => mails.some((mail) => mail.includes(words)))).toEqual([true, false]);
  const keptValues = [{ place: 'outbox/', object: 'outbox/unreadable/broken.eml', on: 'file', key: null, values: 0 }];
  expect(request).toMatchObject({ keptValues });
  expect(await receipts(request)).toMatchObject([{ kept_values: keptValues }]);
  await files.delete('outbox/unreadable/broken.eml');
});

const confirmAlias = (previousId: string, userId: string) =>
  stack.store.db.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id, decision) VALUES ($1, $2, $3, 'confirmed')`,
    [world.entity.id, previousId, userId],
  );

it('an id that staff confirmed goes with the person, and what only their device knows; who shares a device stays', async () => {
  const [ana, ben, before] = await known(3);
  await confirmAlias(before!, ana!);
  await stack.store.db.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, now())`,
    [world.entity.id, world.app.id, `device of ${ben}`, ana],
  );
  await treated(await askFor(stack, 'delete', world, [ana!]));
  expect(await left([ana!, before!])).toEqual({});
  expect(await left([ben!])).toMatchObject({ attribute_values: 1, devices: 1, device_users: 1, events: 3 });
  expect(await takeIn(stack.store, world, [sampleCall(world, { userId: ben!, deviceId: `device of ${ben}` })])).toEqual(
    ['accepted'],
  );
  expect(await takeIn(stack.store, world, [sampleCall(world, { userId: before!, deviceId: 'a new one' })])).toEqual([
    'erased',
  ]);
});

it('a deletion ends while calls that name the person in their texts keep coming, and no text of these is kept', async () => {
  const [id] = await known(1);
  const { store, app } = stack;
  const { apiKey } = await insertKeyedApp(store, world);
  const named = () => ({
    type: 'track',
    context: { device: { id: "a stranger's" } },
    properties: { about: `for <${id!}>, please` },
  });
  const post = (batch: object[]) =>
    app.inject({ method: 'POST', url: '/v1/batch', headers: basic(apiKey), payload: JSON.stringify({ batch }) });
  const crash = () =>
    sampleCall(world, {
      deviceId: "a stranger's",
      event: sampleEvent('Application Crashed', {
        logType: 1,
        fingerprint: randomBytes(32).toString('hex'),
        crashTitle: `no ${id!}`,
      }),
    });
  const withToken = (pushToken: string) => sampleCall(world, { deviceId: 'another of theirs', context: { pushToken } });
  const request = await askFor(stack, 'delete', world, [id!]);
  let isOver = false;
  const stranger = (async () => {
    for (let sent = 1; ; sent += 1) {
      await post([named(), { ...named(), event: '' }]);
      await takeIn(store, world, [crash(), withToken(`token of ${id!}`)]);
      if (isOver) return sent;
    }
  })();
  try {
    await treated(request);
  } finally {
    isOver = true;
  }
  expect(await stranger).toBeGreaterThan(5);
  await post([{ ...named(), event: '' }]);
  await takeIn(store, world, [withToken('their own')]);
  expect(await left([id!])).toEqual({});
});

it('a device that calls itself what a user is called erases and shows nothing of the user, as its approver sees before', async () => {
  const { store, app } = stack;
  const { customerId: victim } = await samplePerson(store, world, 6);
  const filters = attributesFilter(world.sor.identifier, [victim, 'platinum']);
  await insertSampleSegment(store.db, world.entity.id, { appId: world.app.id, filters });
  await store.db.query(
    `UPDATE import_errors SET raw = 'x,tier,platinum' WHERE entity_id = $1 AND raw LIKE 'a broken line with %'`,
    [world.entity.id],
  );
  const rowsOf = async (statement: string) => (await store.db.query(statement, [world.entity.id])).rows;
  const ofOthers = async () => [
    await rowsOf(
      'SELECT line, message, customer_id, raw FROM import_errors WHERE entity_id = $1 AND line > 1 ORDER BY line',
    ),
    await rowsOf('SELECT filters FROM segments WHERE entity_id = $1 ORDER BY id'),
    (await Array.fromAsync(store.files.list('imports/'), ({ key }) => key)).toSorted(),
  ];
  const before = await ofOthers();
  const { apiKey } = await insertKeyedApp(store, world);
  const post = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url, headers: basic(apiKey), payload: JSON.stringify(payload) })).json<
      Record<string, unknown>
    >();
  for (const deviceId of [victim, 'platinum']) {
    await post('/v1/track', { event: 'Opened', anonymousId: deviceId });
    const [access, deletion] = await Promise.all(
      (['access', 'delete'] as const).map(async (type) => {
        const { identifier } = (await post('/v1/privacy', { type, deviceId })).result as { identifier: string };
        return (await findGdprRequest(store.db, world.entity.id, identifier))!;
      }),
    );
    const [person] = await accessEnded(stack, access!);
    const { data } = dataOf(await readArchive(stack, person!));
    const OWN = [
      'sessions',
      'session_heads',
      'events',
      'devices',
      'live_calls',
      'gdpr_request_people',
      'gdpr_identifiers',
      'audit_log',
    ];
    expect(Object.keys(data).filter((name) => data[name]!.length > 0 && !OWN.includes(name))).toEqual([]);
    const { would_erase: counts } = await ask<{ would_erase: Record<string, number> }>(
      app,
      world,
      'GET',
      `/api/gdpr/requests/${deletion!.identifier}`,
    );
    expect(counts).toMatchObject({ events: 1, sessions: 1, devices: 1 });
    expect(Object.keys(counts).filter((name) => ![...OWN, 'access/'].includes(name))).toEqual([]);
    await ask(app, world, 'POST', `/api/gdpr/requests/${deletion!.identifier}/approve`, {});
    await treated(deletion!);
    expect(await findGdprRequestById(store.db, world.entity.id, deletion!.id)).toMatchObject({ keptValues: [] });
  }
  expect(await ofOthers()).toEqual(before);
  const { rows } = await store.db.query('SELECT FROM events WHERE entity_id = $1 AND device_id = ANY ($2)', [
    world.entity.id,
    [victim, 'platinum'],
  ]);
  expect(rows).toEqual([]);
});

it('of somebody who writes events meanwhile nothing is left', async () => {
  const [id] = await known(1);
  let isOver = false;
  let accepted = 0;
  let refused = 0;
  const writing = (async () => {
    for (let second = 0; !isOver; second += 1) {
      const [outcome] = await takeIn(stack.store, world, [
        sampleCall(world, {
          second,
          userId: second % 2 === 0 ? id! : null,
          deviceId: `device of ${id}`,
          traits: [{ sor: 'app', key: 'plan', value: 'x' }],
        }),
      ]);
      if (outcome === 'accepted') accepted += 1;
      else refused += 1;
    }
  })();
  await waitFor('some events', async () => accepted > 5);
  const request = await treated(await askFor(stack, 'delete', world, [id!]));
  isOver = true;
  await writing;
  expect(refused).toBeGreaterThan(0);
  expect(await left([id!])).toEqual({});
  expect(request.survivors).toEqual({});
});

it('a writer that looked before the tombstone is waited for: what it commits late is deleted, and what it links too', async () => {
  const [[id], linked] = [await known(1), personId(890_001)];
  const writer = await stack.store.db.connect();
  await writer.query('BEGIN');
  await writer.query(INSERT_CALLS.settings);
  const [outcome] = await ingestHeld(writer, stack.store.secrets, world.entity.id, [
    sampleCall(world, { userId: id!, previousId: linked, deviceId: `device of ${id}` }),
    sampleCall(world, { userId: linked, deviceId: `device of ${id}` }),
  ]);
  expect(outcome).toBe('accepted');
  const request = await askFor(stack, 'delete', world, [id!]);
  await requestWhen(stack.store, request, 'with its tombstones', ({ stage }) => stage === 'raising tombstones');
  expect(await left([id!])).not.toEqual({});
  await writer.query('COMMIT');
  writer.release();
  await treated(request);
  expect(await left([id!, linked])).toEqual({});
});

describe('somebody on hold', () => {
  it('stays, with whoever is the same, until the hold goes; the others are deleted, each round with its receipt', async () => {
    const [ana, ben, bens] = await known(3);
    await confirmAlias(bens!, ben!);
    await hold(bens!);
    const request = await askFor(stack, 'delete', world, [ana!, ben!]);
    await requestWhen(stack.store, request, 'on hold', ({ stage }) => stage === 'on hold');
    expect(await left([ana!])).toEqual({});
    expect(await left([ben!])).toMatchObject({ attribute_values: 1, events: 3 });
    await waitFor('the wait', async () =>
      /^Waiting for holds to be released \(round [12]\)$/.test(
        await currentDetails(stack, `gdpr/${request.identifier}`),
      ),
    );
    expect((await listGdprPeople(stack.store.db, world.entity.id, request.id)).map(({ state }) => state)).toEqual([
      'treated',
      'held',
    ]);
    expect(
      await takeIn(stack.store, world, [sampleCall(world, { userId: ben!, deviceId: `device of ${ben}` })]),
    ).toEqual(['accepted']);
    const { holds } = await listHolds(stack.store.db, world.entity.id, user(bens!), { offset: 0, limit: 1 });
    // The server died before it could signal the workflow: the sweep does.
    await write(stack.store.db, async (tx) => {
      await deleteHold(tx, world.entity.id, holds[0]!.identifier);
      await noteReleasedHold(tx, world.entity.id, [{ identifier: request.identifier, state: 'running' }]);
    });
    await treated(request);
    expect(await left([ben!, bens!])).toEqual({});
    expect((await receipts(request)).map(({ round, subjects }) => [round, subjects.length])).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });

  it('after their tombstones were raised, and before anything is gone, is taken in again', async () => {
    const [id] = await known(1);
    const writer = await stack.store.db.connect();
    await writer.query('BEGIN');
    await writer.query('UPDATE entities SET name = name WHERE id = $1', [world.entity.id]);
    const request = await askFor(stack, 'delete', world, [id!]);
    await requestWhen(stack.store, request, 'with its tombstones', ({ stage }) => stage === 'raising tombstones');
    await waitFor(
      'the tombstones',
      async () =>
        (
          await writer.query('SELECT FROM tombstones WHERE entity_id = $1 AND customer_hash = $2', [
            world.entity.id,
            stack.store.secrets.customerHash(world.entity.id, 'user_id', id!),
          ])
        ).rowCount === 1,
    );
    await hold(id!);
    await writer.query('COMMIT');
    writer.release();
    await requestWhen(stack.store, request, 'on hold', ({ stage }) => stage === 'on hold');
    expect(await left([id!])).toMatchObject({ attribute_values: 1, events: 3 });
    expect(await takeIn(stack.store, world, [sampleCall(world, { userId: id!, deviceId: `device of ${id}` })])).toEqual(
      ['accepted'],
    );
  });
});

it('a request whose workflow is lost starts again; the workflow ends with it, and the sweep discards it after its week', async () => {
  const [id, other] = await known(2);
  await hold(other!);
  const request = await askFor(stack, 'delete', world, [id!, other!]);
  await requestWhen(stack.store, request, 'on hold', ({ stage }) => stage === 'on hold');
  const handle = stack.temporal.workflow.getHandle(jobWorkflowId('delete', request.identifier));
  await handle.terminate('lost');
  await stack.store.db.query('DELETE FROM gdpr_holds WHERE entity_id = $1 AND customer_id = $2', [
    world.entity.id,
    other,
  ]);
  expect(await treated(request)).toMatchObject({ generation: 1, round: 2 });
  expect(await receipts(request)).toHaveLength(2);
  await handle.result();
  await stack.store.db.query(`UPDATE gdpr_requests SET expires_at = now() - interval '1 second' WHERE id = $1`, [
    request.id,
  ]);
  await waitFor(
    'the request to be gone',
    async () => !(await findGdprRequestById(stack.store.db, world.entity.id, request.id)),
  );
  expect(await receipts(request)).toHaveLength(2);
});

it('a location that cannot be erased is named, and holds up neither the other locations nor other requests', async () => {
  const [stuck = '', other = ''] = await known(2);
  const { db } = stack.store;
  expectFault('eraseLocation');
  await db.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`);
  await db.query(`CREATE TRIGGER refuse BEFORE DELETE ON attribute_values FOR EACH ROW WHEN (OLD.customer_id = '${stuck}')
    EXECUTE FUNCTION refuse()`);
  const request = await askFor(stack, 'delete', world, [stuck]);
  const { locationFaults, stage } = await requestWhen(
    stack.store,
    request,
    'erased elsewhere',
    ({ erased, locationFaults: faults }) => erased.events === 3 && 'attribute_values' in faults,
  );
  expect([locationFaults.attribute_values!.reason, stage]).toEqual([
    'attribute_values could not be erased (P0001); it is tried again',
    'erasing',
  ]);
  await treated(await askFor(stack, 'delete', world, [other]));
  expect([await left([stuck]), await receipts(request)]).toEqual([{ attribute_values: 1 }, []]);
  await db.query('DROP TRIGGER refuse ON attribute_values');
  expect(await treated(request)).toMatchObject({ fault: null, locationFaults: {} });
  expect([await left([stuck]), (await receipts(request)).length]).toEqual([{}, 1]);
});
