import { beforeEach, describe, expect, test } from 'vitest';
import { MAX_SIMILAR_IDS } from '../../../api/gdpr/gdpr.ts';
import type { JobRef } from '../../../domain/jobs/job.ts';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import { SIMILAR_IDS } from '../../../store/attributes/similar-ids.ts';
import { write } from '../../../store/core/database.ts';
import { LOOK_UP_BY_KEY } from '../../../store/core/look-up-by-key.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { upsertGdprMail } from '../../../store/gdpr/mails.ts';
import {
  findGdprRequest,
  insertGdprRequest,
  listGdprPeople,
  type NewGdprRequest,
} from '../../../store/gdpr/requests.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { errorsOf } from '../exports/use-exporters.ts';
import { type Answer, testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { resultOf } from '../syncs/use-syncs.ts';

const started: [JobRef, string][] = [];
const { store, server } = useServer({ server: { startJob: async (kind, ref) => void started.push([ref, kind]) } });
let world: World;

beforeEach(async () => {
  started.length = 0;
  world = await makeWorld(store, { rights: ['gdpr_data_manage'], admin: false });
});

type Type = 'access' | 'delete';
const ASK = { access: '/api/gdpr/access_user_data', delete: '/api/gdpr/delete_user_data' };
const STATUS = { access: '/api/gdpr_request/export', delete: '/api/gdpr_request/delete' };
const ALICE = personId(8_101);
const BOB = personId(8_102);
const CAROL = personId(8_103);

const get = (path: string, query: Record<string, string> = {}, token = world.token) =>
  server.call('GET', `${path}?${new URLSearchParams(query)}`, { token });
const ask = (type: Type, body: object, token = world.token) => server.call('POST', ASK[type], { token, body });
const idIn = (answer: Answer) => new URL(resultOf(answer).callback_url).searchParams.get('request_id')!;
const askedId = async (type: Type, users: string[], more: object = {}) => idIn(await ask(type, { users, ...more }));
const status = async (type: Type, id: string) => resultOf(await get(STATUS[type], { request_id: id }));
const latest = async (query: Record<string, string> = {}) => resultOf(await get('/api/gdpr/latest_requests', query));
const found = async (id: string) => (await findGdprRequest(store.db, world.entity.id, id))!;
const setRequest = (id: string, set: string) =>
  store.db.query(`UPDATE gdpr_requests SET ${set} WHERE identifier = $1`, [id]);
const setPerson = async (id: string, userId: string, set: string) =>
  store.db.query(`UPDATE gdpr_request_people SET ${set} WHERE entity_id = $1 AND request_id = $2 AND user_id = $3`, [
    world.entity.id,
    (await found(id)).id,
    userId,
  ]);
const insert = (request: Partial<NewGdprRequest>) =>
  insertGdprRequest(store.db, world.entity.id, {
    type: 'access',
    source: 'sdk',
    appId: null,
    requester: { kind: 'device', id: null },
    skipEmail: false,
    emails: [],
    state: 'accepted',
    people: [],
    ...request,
  });
const TREATED = `state = 'treated', treated_at = now()`;

describe('a request', () => {
  test.each(['access', 'delete'] as const)(
    'for %s answers where its status is, and is begun once it is written down',
    async (type) => {
      const answer = await ask(type, { users: [BOB, ALICE, BOB] });
      const id = idIn(answer);
      expect(answer.body).toEqual({
        success: true,
        result: { callback_url: `http://millrace.test${STATUS[type]}?request_id=${id}` },
      });
      const request = await found(id);
      expect(started).toEqual([[{ entityId: world.entity.id, jobId: request.id, identifier: id }, type]]);
      expect((await listGdprPeople(store.db, world.entity.id, request.id)).map(({ userId }) => userId)).toEqual([
        BOB,
        ALICE,
      ]);
      const people = { [BOB]: null, [ALICE]: null };
      expect(await status(type, id)).toEqual({
        status: 'received',
        ...(type === 'access' ? { download_urls: people } : { user_ids: people, kept_values: [], would_erase: null }),
        requested_at: request.receivedAt.toISOString(),
        skip_email: false,
        email: world.user.email,
        state: 'accepted',
        waiting: {},
        similar_ids: {},
        expires_at: null,
        progress: {
          stage: null,
          erased: {},
          survivors: {},
          looked_at: null,
          fault: null,
          faults: [],
          internal_error: null,
        },
      });
    },
  );

  test.each([
    [{}, 'users', 'is required'],
    [{ users: [] }, 'users', 'must have at least one user id'],
    [{ users: `${ALICE},${BOB}` }, 'users', 'must be an array of user ids; in a web form, repeat users[]'],
    [{ users: null }, 'users', 'must be an array of user ids; in a web form, repeat users[]'],
    [{ users: [ALICE, ''] }, 'users.1', 'is not valid: the customer id is empty'],
    [{ users: [ALICE, BOB, `${CAROL}\n`] }, 'users.2', 'is not valid: the customer id has a control character'],
    [{ users: [ALICE, 'x'.repeat(257)] }, 'users.1', 'is not valid: the customer id has over 256 characters'],
    [{ users: [7] }, 'users.0', 'must be a string'],
    [{ users: Array.from({ length: 10_001 }, (_, n) => personId(n)) }, 'users', 'must have at most 10000 user ids'],
  ])('without a sound list of users is refused, case %#, which quotes nobody', async (body, element, message) => {
    for (const type of ['access', 'delete'] as const) {
      const refused = await ask(type, body);
      expect(errorsOf(refused)).toEqual([400, { [element]: message }]);
      expect(refused.body).toMatchObject({
        status: 'bad_request',
        error_message: 'Please provide a valid list of user ids',
      });
      expect(refused.text).not.toContain('zqperson');
    }
    expect(started).toEqual([]);
  });

  test('may be a web form', async () => {
    const body = new URLSearchParams([
      ['users[]', ALICE],
      ['users[]', BOB],
      ['skip_email', 'true'],
    ]).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const id = idIn(await server.call('POST', ASK.delete, { token: world.token, body, headers }));
    expect(await status('delete', id)).toMatchObject({ user_ids: { [ALICE]: null, [BOB]: null }, skip_email: true });
    expect(errorsOf(await ask('delete', { users: [ALICE], skip_email: 'maybe' }))).toEqual([
      400,
      { skip_email: 'must be true or false' },
    ]);
  });

  test('takes thousands of people, each with an entry in the audit log that names them by their hash', async () => {
    const users = Array.from({ length: 5_000 }, (_, n) => personId(10_000 + n));
    const id = await askedId('delete', users);
    const { id: requestId, entityId } = await found(id);
    expect(
      (await listGdprPeople(store.db, entityId, requestId)).map(({ userId, ordinal }) => [userId, ordinal]),
    ).toEqual(users.map((user, index) => [user, index + 1]));
    const { rows } = await store.db.query<{ customer_hash: Buffer }>(
      `SELECT customer_hash FROM audit_log WHERE entity_id = $1 AND subject = $2 AND action = 'create' AND subject_kind = 'gdpr_request'
         AND details = '{"type": "delete"}' ORDER BY id`,
      [entityId, id],
    );
    expect(rows.map(({ customer_hash: hash }) => hash.toString('hex'))).toEqual(
      users.map((user) => store.secrets.customerHash(entityId, 'user_id', user).toString('hex')),
    );
    expect(Object.keys((await status('delete', id)).user_ids)).toHaveLength(5_000);
  });

  test("that can't be begun now is left to the sweep", async () => {
    const own = await testServer(store, { startJob: async () => Promise.reject(new Error('no Temporal')) });
    const id = idIn(await own.call('POST', ASK.access, { token: world.token, body: { users: [ALICE] } }));
    expect(await found(id)).toMatchObject({ state: 'accepted' });
    expect(own.logs.filter(({ level }) => level === 40)).toMatchObject([{ gdprRequest: id }]);
    expect(JSON.stringify(own.logs)).not.toContain(ALICE);
  });

  test('of a machine tells the address of whoever made its token, while they may see such requests', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const asked = { name: 'CRM', rights: ['gdpr_data_manage'], createdBy: world.user.id, expiresAt } as const;
    const { token, serviceToken } = await insertServiceToken(store.db, world.entity.id, asked);
    rememberSecret(token);
    const id = idIn(await ask('delete', { users: [ALICE] }, token));
    expect(await found(id)).toMatchObject({
      requester: { kind: 'service_token', id: serviceToken.id },
      emails: [world.user.email],
    });
    expect((await status('delete', id)).email).toBe(world.user.email);
    const sdk = await insert({ people: [{ userId: ALICE, deviceId: 'phone' }] });
    expect((await status('access', sdk.identifier)).email).toBeNull();
  });
});

describe('a status', () => {
  test('warns of users whose id differs only in capitals or composed letters, by indexes', async () => {
    const composed = `${personId(8_110)}-ren\u00e9`;
    const decomposed = composed.normalize('NFD');
    const capitals = ALICE.toUpperCase();
    const other = await makeWorld(store);
    const addCustomers = (entityId: number, ids: string[], type = 0) =>
      store.db.query(
        'INSERT INTO customers (entity_id, customer_id, customer_type) SELECT $1, unnest($2::text[]), $3',
        [entityId, ids, type],
      );
    await addCustomers(other.entity.id, [ALICE.replace('zq', 'ZQ')]);
    await addCustomers(world.entity.id, [ALICE, capitals, decomposed, `${ALICE}0`, BOB, CAROL.toUpperCase()]);
    await addCustomers(world.entity.id, [BOB.toUpperCase()], 1);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.similar');
    const onlyInApps = composed.toUpperCase();
    await store.db.query('INSERT INTO device_users VALUES ($1, $2, $3, $4, now())', [
      world.entity.id,
      app.id,
      'phone',
      onlyInApps,
    ]);
    const id = await askedId('delete', [ALICE, composed, BOB, CAROL, CAROL.toUpperCase()]);
    expect((await status('delete', id)).similar_ids).toEqual({
      [ALICE]: [capitals],
      [composed]: [onlyInApps, decomposed].toSorted(),
    });
    // An erased person is in no status.
    await store.db.query('DELETE FROM customers WHERE entity_id = $1 AND customer_id = $2', [
      world.entity.id,
      decomposed,
    ]);
    expect(resultOf(await get(`/api/gdpr/requests/${id}`)).similar_ids).toEqual({
      [ALICE]: [capitals],
      [composed]: [onlyInApps],
    });
    const many = Array.from({ length: 30 }, (_, n) => personId(8_200 + n));
    await addCustomers(
      world.entity.id,
      many.map((each) => each.toUpperCase()),
    );
    const { similar_ids: some } = await status('access', await askedId('access', many));
    expect(some).toEqual(
      Object.fromEntries(many.slice(0, MAX_SIMILAR_IDS).map((each) => [each, [each.toUpperCase()]])),
    );
    const { rows } = await write(store.db, async (tx) => {
      await tx.query(LOOK_UP_BY_KEY);
      return tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${SIMILAR_IDS}`, [world.entity.id, [ALICE], 20]);
    });
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/using customers_by_fold.*\n.*Index Cond: .*lower/);
    expect(plan).toMatch(/using device_users_by_fold.*\n.*Index Cond: .*lower/);
  });

  test('shows of each person the archive, a text, or nothing yet', async () => {
    const id = await askedId('access', [ALICE, BOB, CAROL]);
    await setPerson(
      id,
      ALICE,
      `${TREATED}, archive_key = 'access/x.zip', archive_bytes = 9, archive_sha256 = sha256('x')`,
    );
    await setPerson(id, BOB, `${TREATED}, message = 'No installations found for this user'`);
    const { download_urls: urls } = await status('access', id);
    expect(urls).toEqual({
      [ALICE]: expect.stringContaining(`http://millrace.test/api/gdpr/downloads/${id}/1/`),
      [BOB]: 'No installations found for this user',
      [CAROL]: null,
    });
    expect(urls[ALICE]).not.toContain('zqperson');
  });

  test('shows what of a deletion is done, what is left, and what keeps it', async () => {
    const id = await askedId('delete', [ALICE, BOB]);
    await setPerson(id, ALICE, TREATED);
    await setRequest(
      id,
      `state = 'running', stage = 'erasing', erased = '{"events": 12}', survivors = '{"events": 3}',
      looked_at = '2026-11-01T12:00:00Z', fault = 'the file store refuses', fault_since = '2026-11-01T12:00:03Z',
      location_faults = '{"imports/": {"since": "2026-11-01T12:00:01+00:00", "reason": "it is away"}}'`,
    );
    const faults = [
      {
        location: 'imports/',
        since: '2026-11-01T12:00:01.000Z',
        reason: 'it is away',
        what_to_do: expect.stringContaining('imports/') as string,
      },
      {
        location: null,
        since: '2026-11-01T12:00:03.000Z',
        reason: 'the file store refuses',
        what_to_do: expect.any(String) as string,
      },
    ];
    expect(await status('delete', id)).toMatchObject({
      status: 'received',
      state: 'running',
      user_ids: { [ALICE]: 'treated', [BOB]: null },
      progress: {
        stage: 'erasing',
        erased: { events: 12 },
        survivors: { events: 3 },
        looked_at: '2026-11-01T12:00:00.000Z',
        fault: faults[0],
        faults,
      },
    });
    await setPerson(id, BOB, TREATED);
    await setRequest(id, `${TREATED}, expires_at = now() + interval '7 days'`);
    expect(await status('delete', id)).toMatchObject({
      status: 'treated',
      user_ids: { [ALICE]: 'treated', [BOB]: 'treated' },
      expires_at: expect.any(String),
    });
  });

  test('says of a person on hold since when and why, also where the hold is on another id of theirs', async () => {
    const id = await askedId('delete', [ALICE, BOB, CAROL]);
    const { id: requestId, entityId } = await found(id);
    const hold = (customerId: string, kind: 'hold' | 'restriction', reason: string) =>
      write(store.db, (tx) =>
        insertHold(tx, entityId, { customerType: 'user_id', customerId, kind, reason, createdBy: world.user.id }),
      );
    const [first, second] = [
      (await hold(ALICE, 'hold', 'lawsuit 7'))!,
      (await hold(personId(8_109), 'restriction', 'disputed'))!,
    ];
    await store.db.query(
      `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin) VALUES ($1, $2, 'user_id', $3, 2, 'alias')`,
      [entityId, requestId, personId(8_109)],
    );
    expect((await status('delete', id)).waiting).toEqual({});
    for (const user of [ALICE, BOB, CAROL]) await setPerson(id, user, `state = 'held'`);
    expect((await status('delete', id)).waiting).toEqual({
      [ALICE]: `on hold since ${first.createdAt.toISOString()} (lawsuit 7)`,
      [BOB]: `restricted since ${second.createdAt.toISOString()} (disputed)`,
      [CAROL]: 'no longer on hold: it goes on soon',
    });
  });

  test.each(['access', 'delete'] as const)(
    'of %s is found by its id, type and entity alone, for its week',
    async (type) => {
      const refusals = async (query: Record<string, string>, token?: string) => {
        const { status: http, body } = await get(STATUS[type], query, token);
        return [http, body.error_message, body.messages[0].element];
      };
      for (const query of [{}, { request_id: '' }] as Record<string, string>[]) {
        expect(await refusals(query)).toEqual([400, 'Please provide a request id', 'request_id']);
      }
      const none = (id: string) => [400, `No request found or request expired for request id ${id}`, 'request_id'];
      expect(await refusals({ request_id: 'gdp_none' })).toEqual(none('gdp_none'));
      const other = await askedId(type === 'access' ? 'delete' : 'access', [ALICE]);
      expect(await refusals({ request_id: other })).toEqual(none(other));
      const id = await askedId(type, [ALICE]);
      const stranger = await makeWorld(store, { rights: ['gdpr_data_manage'] });
      expect(await refusals({ request_id: id }, stranger.token)).toEqual(none(id));
      await setRequest(id, `${TREATED}, expires_at = now() + interval '1 minute'`);
      expect((await status(type, id)).status).toBe('treated');
      await setRequest(id, 'expires_at = now()');
      expect(await refusals({ request_id: id })).toEqual(none(id));
      expect((await get(`/api/gdpr/requests/${id}`)).status).toBe(404);
      expect(await latest()).toMatchObject([{ request_id: other }]);
    },
  );

  test('that is read is written down', async () => {
    const id = await askedId('delete', [ALICE]);
    await status('delete', id);
    await get(`/api/gdpr/requests/${id}`);
    await latest({ users: `${ALICE},${BOB}` });
    const { rows } = await store.db.query(
      `SELECT subject_kind, subject, encode(customer_hash, 'hex') AS hash, details FROM audit_log WHERE entity_id = $1 AND action = 'read'
       ORDER BY id`,
      [world.entity.id],
    );
    const read = { subject_kind: 'gdpr_request', subject: id, hash: null, details: {} };
    const hashOf = (user: string) => store.secrets.customerHash(world.entity.id, 'user_id', user).toString('hex');
    const looked = (user: string) => ({
      subject_kind: 'customer',
      subject: null,
      hash: hashOf(user),
      details: { gdpr_requests: 1 },
    });
    expect(rows).toEqual([read, read, looked(ALICE), looked(BOB)]);
  });
});

describe('the latest requests', () => {
  test('tell of each person what was asked, who heard of it and where the data is', async () => {
    const access = await askedId('access', [ALICE]);
    await setPerson(
      access,
      ALICE,
      `${TREATED}, archive_key = 'access/x.zip', archive_bytes = 9, archive_sha256 = sha256('x')`,
    );
    const request = await found(access);
    const { id } = await upsertGdprMail(store.db, request, 'treated', request.emails);
    await store.db.query('UPDATE gdpr_mails SET sent_at = now() WHERE id = $1', [id]);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.shop');
    const sdk = await insert({
      type: 'delete',
      appId: app.id,
      people: [{ userId: BOB, deviceId: 'phone' }],
      emails: ['dpo@example.com'],
    });
    const restored = await insert({
      type: 'delete',
      source: 'restore',
      people: [{ userId: null, deviceId: 'tablet' }],
    });
    const asked = await found(access);
    expect(await latest()).toEqual([
      {
        user_id: null,
        received_at: restored.receivedAt.toISOString(),
        request_type: 'delete',
        forwarded_to_emails: [],
        forwarded_at: null,
        treated_by_svc_at: null,
        source: 'api',
        request_id: restored.identifier,
      },
      {
        user_id: BOB,
        received_at: sdk.receivedAt.toISOString(),
        request_type: 'delete',
        forwarded_to_emails: [],
        forwarded_at: null,
        treated_by_svc_at: null,
        source: 'sdk',
        app_id: app.identifier,
        request_id: sdk.identifier,
      },
      {
        user_id: ALICE,
        received_at: asked.receivedAt.toISOString(),
        request_type: 'access',
        forwarded_to_emails: [world.user.email],
        forwarded_at: expect.any(String),
        treated_by_svc_at: expect.any(String),
        download_link: (await status('access', access)).download_urls[ALICE],
        source: 'api',
        request_id: access,
      },
    ]);
  });

  test('are those of some users or types, where these are given', async () => {
    await askedId('access', [ALICE, BOB]);
    await askedId('delete', [ALICE, CAROL]);
    const named = async (query: Record<string, string>) =>
      (await latest(query)).map((each: { user_id: string; request_type: string }) => [each.request_type, each.user_id]);
    expect(await named({ users: ALICE })).toEqual([
      ['delete', ALICE],
      ['access', ALICE],
    ]);
    expect(await named({ users: `${BOB},${CAROL},${personId(8_199)}`, request_types: 'delete' })).toEqual([
      ['delete', CAROL],
    ]);
    expect(await named({ request_types: 'access' })).toEqual([
      ['access', ALICE],
      ['access', BOB],
    ]);
    const repeated = new URLSearchParams([
      ['users[]', BOB],
      ['users[]', CAROL],
      ['request_types', 'access'],
      ['request_types', 'delete'],
    ]);
    expect(
      resultOf(await server.call('GET', `/api/gdpr/latest_requests?${repeated}`, { token: world.token })),
    ).toHaveLength(2);
    for (const types of ['', 'access,erase', 'Access']) {
      expect((await get('/api/gdpr/latest_requests', { request_types: types })).body).toMatchObject({
        success: false,
        error_message: "Wrong 'request_types' parameter value.",
      });
    }
  });

  test('are those of some users, also of one with a comma in the id', async () => {
    const ids = [
      await askedId('delete', ['a,b']),
      await askedId('delete', [ALICE]),
      await askedId('delete', [BOB]),
    ].toReversed();
    const of = async (query: string) => {
      const answer = await server.call('GET', `/api/gdpr/latest_requests?${query}`, { token: world.token });
      return resultOf(answer).map((one: { request_id: string }) => one.request_id);
    };
    expect(await of(new URLSearchParams({ users: `${ALICE},${BOB},,` }).toString())).toEqual(ids.slice(0, 2));
    expect(
      await of(
        new URLSearchParams([
          ['users', ALICE],
          ['users', BOB],
        ]).toString(),
      ),
    ).toEqual(ids.slice(0, 2));
    expect(await of(new URLSearchParams({ 'users[]': 'a,b' }).toString())).toEqual(ids.slice(2));
  });

  test('are those that changed since then, within seven days', async () => {
    const ids = [await askedId('delete', [ALICE]), await askedId('delete', [BOB]), await askedId('delete', [CAROL])];
    for (const [index, age] of ['8 days', '3 days', '1 hour'].entries()) {
      await setRequest(ids[index]!, `updated_at = now() - interval '${age}'`);
    }
    const since = async (modified_since: string) =>
      (await latest({ modified_since })).map(({ user_id: id }: { user_id: string }) => id);
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString();
    for (const old of ['2020-01-01', day(9), day(7)]) expect(await since(old)).toEqual([CAROL, BOB]);
    const twoDays = day(2);
    for (const recent of [
      twoDays,
      twoDays.slice(0, 10),
      twoDays.slice(0, 10).replaceAll('-', ''),
      twoDays.replaceAll(/[-:]|\.\d+/g, ''),
      twoDays.replace('Z', '+01:00'),
      twoDays.replace('Z', '-0100'),
      twoDays.slice(0, 16),
    ])
      expect([recent, await since(recent)]).toEqual([recent, [CAROL]]);
    expect(await since(day(-1))).toEqual([]);
    expect((await latest()).map(({ user_id: id }: { user_id: string }) => id)).toEqual([CAROL, BOB]);
    for (const wrong of ['yesterday', '2026-02-30', '2026-11-20T10:00:00 01:00', '']) {
      expect(Object.keys(errorsOf(await get('/api/gdpr/latest_requests', { modified_since: wrong }))[1])).toEqual([
        'modified_since',
      ]);
    }
  });
});

describe('requests of every kind', () => {
  test('are viewed by their id', async () => {
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.shop');
    const sdk = await insert({
      appId: app.id,
      state: 'waiting',
      type: 'delete',
      people: [{ userId: null, deviceId: 'phone' }],
    });
    expect(resultOf(await get(`/api/gdpr/requests/${sdk.identifier}`))).toEqual({
      request_id: sdk.identifier,
      type: 'delete',
      source: 'sdk',
      app_id: app.identifier,
      treated_at: null,
      ...(await status('delete', sdk.identifier)),
      user_ids: { phone: null },
      state: 'waiting',
    });
    const id = await askedId('access', [ALICE]);
    const viewed = resultOf(await get(`/api/gdpr/requests/${id}`));
    expect(viewed).toMatchObject({ type: 'access', source: 'api', download_urls: { [ALICE]: null } });
  });

  test('are listed newest first without naming anybody, by type, state and source', async () => {
    const ids = [
      await askedId('access', [ALICE]),
      await askedId('delete', [ALICE, BOB]),
      await askedId('delete', [CAROL]),
    ];
    await setPerson(ids[1]!, BOB, TREATED);
    const list = async (query: Record<string, string> = {}) => resultOf(await get('/api/gdpr/requests', query));
    const page = await list({ type: 'delete', source: 'api', per_page: '1', page: '2' });
    expect(page).toMatchObject({
      total_items: 2,
      total_pages: 2,
      items: [
        {
          request_id: ids[1],
          type: 'delete',
          status: 'received',
          state: 'accepted',
          people: { asked: 2, treated: 1, held: 0 },
        },
      ],
      navigation: { prev: 'http://millrace.test/api/gdpr/requests?type=delete&source=api&page=1&per_page=1' },
    });
    expect(JSON.stringify(page)).not.toContain('zqperson');
    const all = await list();
    expect(all.items.map(({ request_id }: { request_id: string }) => request_id)).toEqual(ids.toReversed());
    expect(all.navigation.first).toBe('http://millrace.test/api/gdpr/requests?page=1&per_page=1000');
    expect((await list({ state: 'waiting' })).items).toEqual([]);
    expect((await list({ request_id: ids[0]! })).items).toMatchObject([{ request_id: ids[0] }]);
    expect((await list({ state: 'waiting' })).by_state).toEqual({
      waiting: 0,
      accepted: 3,
      running: 0,
      treated: 0,
      declined: 0,
    });
    expect(errorsOf(await get('/api/gdpr/requests', { state: 'done' }))[0]).toBe(400);
  });
});

describe('the locations of personal data', () => {
  const locations = async (query: Record<string, string> = {}) =>
    resultOf(await get('/api/gdpr/locations', query)).locations as Record<string, unknown>[];

  test('are those of the registry, each with what docs/privacy.md says of it', async () => {
    const listed = await locations();
    expect(listed.map(({ name }) => name)).toEqual(personalData.map(({ name }) => name));
    expect(listed.find(({ name }) => name === 'refused_calls')).toEqual({
      name: 'refused_calls',
      feature: 'tracking',
      holds: 'a refused call, and the reason',
      found_by: 'the type and id that the call gives itself; the id within the texts',
      erased_by: 'emptying these columns; the rows stay, since counts depend on them',
      kept_for: '30 days',
      is_erased: true,
    });
    expect(listed.flatMap(({ name, is_erased }) => (is_erased ? [] : name))).toEqual([
      'audit_log',
      'tombstones',
      'tombstone_batches',
      'gdpr_receipts',
    ]);
  });

  test('have the counts of a deletion: none before it comes to them, and 0 found once it has scanned them', async () => {
    const id = await askedId('delete', [ALICE]);
    const counts = async () =>
      (await locations({ request_id: id }))
        .filter(({ name }) => name === 'events' || name === 'attempts')
        .map(({ name, erased, survivors }) => [name, erased, survivors]);
    expect(await counts()).toEqual([
      ['events', null, null],
      ['attempts', null, null],
    ]);
    await setRequest(id, `erased = '{"events": 12}', survivors = '{"attempts": 1}', looked_at = now()`);
    expect(await counts()).toEqual([
      ['events', 12, 0],
      ['attempts', null, 1],
    ]);
  });

  test('have no counts of an unknown request, of another entity, or of one for access', async () => {
    const id = await askedId('delete', [ALICE]);
    const other = await makeWorld(store, { rights: ['gdpr_data_manage'] });
    expect((await get('/api/gdpr/locations', { request_id: id }, other.token)).status).toBe(404);
    const access = await askedId('access', [ALICE]);
    expect(errorsOf(await get('/api/gdpr/locations', { request_id: access }))).toEqual([
      400,
      { request_id: 'must be a deletion: a request for access erases nothing' },
    ]);
  });
});
