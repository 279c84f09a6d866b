import { beforeEach, describe, expect, test } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import { listHoldsOf, listOrdinalsOnHold, listWaitingPeople } from '../../../store/gdpr/holds.ts';
import { recordKeptValues } from '../../../store/analytics/filters-of-people.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { personId } from '../../harness/core/people.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { useServer } from '../http/use-server.ts';
import { insertKeyedApp } from '../tracking/sample-tracking.ts';

/** People who are not deleted for now. */

const told: (readonly string[])[] = [];
let isAway = false;
const { store, server, world } = useServer({
  server: {
    tellHoldsChanged: async (requests) => {
      told.push(requests);
      if (isAway) throw new Error('Temporal is out of reach');
    },
  },
});

const call = (method: 'GET' | 'POST' | 'DELETE', path = '', body?: object) =>
  server.call(method, `/api/gdpr/holds${path}`, { token: world.token, ...(body ? { body } : {}) });
const hold = (body: object) => call('POST', '', { reason: 'a lawsuit', ...body });
const list = async (query = '') => (await call('GET', query)).body.result;

/** A deletion that a device asked for, of all it has sent. */
async function deletionByDevice(appId: number, deviceId: string): Promise<{ id: number; identifier: string }> {
  const identifier = newIdentifier('gdp');
  const {
    rows: [request],
  } = await store.db.query<{ id: number }>(
    `INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, requester_kind, state, app_id)
     VALUES ($1, $2, 'delete', 'sdk', 'device', 'accepted', $3) RETURNING id`,
    [world.entity.id, identifier, appId],
  );
  await store.db.query(
    'INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, device_id) VALUES ($1, $2, 1, $3)',
    [world.entity.id, request!.id, deviceId],
  );
  return { id: request!.id, identifier };
}

/** A deletion of this person, in which they stand as told. */
async function deletion(
  userId: string,
  state: 'accepted' | 'running',
  personState: 'pending' | 'held' | 'treated',
): Promise<string> {
  const { identifier, id } = await requestByApi(store.db, 'delete', world, [userId]);
  await store.db.query('UPDATE gdpr_requests SET state = $3 WHERE entity_id = $1 AND id = $2', [
    world.entity.id,
    id,
    state,
  ]);
  await store.db.query('UPDATE gdpr_request_people SET state = $3 WHERE entity_id = $1 AND request_id = $2', [
    world.entity.id,
    id,
    personState,
  ]);
  await store.db.query(
    `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin) VALUES ($1, $2, 'user_id', $3, 1, 'alias')`,
    [world.entity.id, id, `alias of ${userId}`],
  );
  return identifier;
}

beforeEach(() => {
  told.length = 0;
  isAway = false;
});

describe('a hold', () => {
  test('is put on a user or a device, shown, and released', async () => {
    const { deletion_under_way: isUnderWay, ...shown } = (await hold({ user_id: personId(1) })).body.result;
    expect([isUnderWay, shown]).toEqual([
      false,
      {
        identifier: expect.stringMatching(/^hld_/),
        user_id: personId(1),
        device_id: null,
        kind: 'hold',
        reason: 'a lawsuit',
        created_by: world.user.uid,
        created_at: expect.any(String),
      },
    ]);
    const restricted = (await hold({ device_id: 'd-1', kind: 'restriction', reason: 'a dispute' })).body.result;
    expect(restricted).toMatchObject({ user_id: null, device_id: 'd-1', kind: 'restriction' });
    expect(await list(`?user_id=${encodeURIComponent(personId(1))}`)).toMatchObject({ total_items: 1, items: [shown] });
    expect((await list('?device_id=d-1')).items).toMatchObject([{ identifier: restricted.identifier }]);
    expect(await list('?per_page=1')).toMatchObject({ total_items: 2, total_pages: 2, items: [shown] });
    expect((await call('DELETE', `/${shown.identifier}`)).body.result).toEqual(shown);
    expect((await call('DELETE', `/${shown.identifier}`)).status).toBe(404);
    const people = [
      { customerType: 'user_id', customerId: personId(1) },
      { customerType: 'device_id', customerId: 'd-1' },
    ];
    expect(await listHoldsOf(store.db, world.entity.id, [...people, ...people])).toEqual([
      {
        customerType: 'device_id',
        customerId: 'd-1',
        kind: 'restriction',
        reason: 'a dispute',
        createdAt: expect.any(Date),
      },
    ]);
  });

  test('is written down by the hash of whom it is of, as is who looked', async () => {
    const hash = store.secrets.customerHash(world.entity.id, 'user_id', personId(2));
    const { identifier } = (await hold({ user_id: personId(2) })).body.result;
    await list(`?user_id=${encodeURIComponent(personId(2))}`);
    await call('DELETE', `/${identifier}`);
    const { rows } = await store.db.query(
      'SELECT action, subject, details FROM audit_log WHERE entity_id = $1 AND customer_hash = $2 ORDER BY id',
      [world.entity.id, hash],
    );
    expect(rows).toEqual([
      { action: 'create', subject: identifier, details: { kind: 'hold' } },
      { action: 'read', subject: null, details: { what: 'holds' } },
      { action: 'delete', subject: identifier, details: { kind: 'hold' } },
    ]);
  });

  test('stands once of each kind, and names whom and why', async () => {
    await hold({ user_id: personId(3) });
    expect((await hold({ user_id: personId(3), kind: 'restriction' })).status).toBe(200);
    expect((await hold({ user_id: personId(3) })).body).toMatchObject({ status: 'conflict' });
    const { navigation } = await list(`?user_id=${encodeURIComponent(personId(3))}&per_page=1`);
    expect((await list(new URL(navigation.last).search)).items).toMatchObject([
      { user_id: personId(3), kind: 'restriction' },
    ]);
    const element = async (body: object) => (await hold(body)).body.messages[0].element as string;
    expect(await element({})).toBe('user_id');
    expect(await element({ user_id: personId(3), device_id: 'd' })).toBe('device_id');
    expect(await element({ user_id: personId(3), reason: '' })).toBe('reason');
    expect(await element({ user_id: personId(3), reason: 'x'.repeat(501) })).toBe('reason');
    expect(await element({ user_id: personId(3), kind: 'ban' })).toBe('kind');
    expect((await call('GET', '?user_id=a&device_id=b')).status).toBe(400);
  });

  test('tells when it may come too late: a deletion of them, by any id they were found to have, is under way', async () => {
    await deletion(personId(10), 'running', 'pending');
    await deletion(personId(11), 'accepted', 'pending');
    await deletion(personId(12), 'running', 'treated');
    const underWay = async (userId: string) =>
      (await hold({ user_id: userId })).body.result.deletion_under_way as boolean;
    expect([await underWay(personId(10)), await underWay(`alias of ${personId(10)}`)]).toEqual([true, true]);
    expect([await underWay(personId(11)), await underWay(personId(12))]).toEqual([false, false]);
  });

  test('that is the last one on somebody has the requests that wait for it go on', async () => {
    const request = await deletion(personId(20), 'running', 'held');
    const first = (await hold({ user_id: personId(20) })).body.result.identifier;
    const last = (await hold({ user_id: personId(20), kind: 'restriction' })).body.result.identifier;
    await call('DELETE', `/${first}`);
    expect(told).toEqual([]);
    isAway = true;
    expect((await call('DELETE', `/${last}`)).status).toBe(200);
    expect(told).toEqual([[request]]);
    expect(server.logs.some(({ msg }) => msg === 'requests hear of a released hold from the sweep')).toBe(true);
  });

  test('on a user of a device that asks for its own deletion counts for that request in each state', async () => {
    const [device, user] = ['d-shared', personId(30)];
    const { app } = await insertKeyedApp(store, world);
    await store.db.query(
      'INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, now())',
      [world.entity.id, app.id, device, user],
    );
    const { id, identifier } = await deletionByDevice(app.id, device);
    const standAs = (state: string, personState: string) =>
      Promise.all([
        store.db.query('UPDATE gdpr_requests SET state = $2 WHERE id = $1', [id, state]),
        store.db.query('UPDATE gdpr_request_people SET state = $3 WHERE entity_id = $1 AND request_id = $2', [
          world.entity.id,
          id,
          personState,
        ]),
      ]);
    await standAs('running', 'pending');
    const { identifier: held, deletion_under_way: isUnderWay } = (await hold({ user_id: user })).body.result;
    expect(isUnderWay).toBe(true);
    const findHeld = () => write(store.db, (tx) => listOrdinalsOnHold(tx, world.entity.id, id));
    expect(await findHeld()).toEqual([1]);
    await standAs('running', 'held');
    expect(await listWaitingPeople(store.db, world.entity.id, id)).toMatchObject([{ ordinal: 1, reason: 'a lawsuit' }]);
    await call('DELETE', `/${held}`);
    expect([told, await findHeld()]).toEqual([[[identifier]], []]);
  });

  test('whose reason names somebody else is listed among what their deletion leaves', async () => {
    const { identifier } = (
      await hold({ user_id: personId(40), reason: `a dispute with ${personId(41)}, see the file` })
    ).body.result;
    const [person, other] = [41, 42].map((n) => ({ customerType: 'user_id' as const, customerId: personId(n) }));
    const request = await requestByApi(store.db, 'delete', world, [personId(41)]);
    const listKept = async (...people: KnownBy[]) =>
      (await write(store.db, (tx) => recordKeptValues(tx, request, people))).filter(
        ({ place }) => place === 'gdpr_holds',
      );
    expect(await listKept(person!)).toEqual([
      { place: 'gdpr_holds', object: identifier, on: 'reason', key: null, values: 1 },
    ]);
    expect(await listKept(other!)).toEqual([]);
  });
});
