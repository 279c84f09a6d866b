import { beforeAll, expect, test } from 'vitest';
import type { Right } from '../../../domain/accounts/rights.ts';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { attributesFilter, insertSampleSegment } from '../../harness/analytics/segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { ensureSampleMonths, sampleActivity } from '../../harness/tracking/sdk-samples.ts';
import { useServer } from '../http/use-server.ts';

const [ANNE, BEN] = [personId(811), personId(812)];
const [PHONE, MAIL] = ['phone-811', personId(813)];

const { store, server, world } = useServer();
let app: { id: number; identifier: string };

const call = async (path: string, body: object, token = world.token) =>
  server.call('POST', `/api/people/${path}`, { token, body });
const find = async (text: string, more: object = {}) => (await call('find', { text, ...more })).body.result;

/** A token that has these rights alone. */
async function tokenWith(rights: Right[]): Promise<string> {
  const expiresAt = new Date(Date.now() + 60_000);
  const { token } = await insertServiceToken(store.db, world.entity.id, {
    name: rights.join(' '),
    rights,
    createdBy: world.user.id,
    expiresAt,
  });
  rememberSecret(token);
  return token;
}

const auditedSince = async (id: number) =>
  (
    await store.db.query<{ details: object; known: boolean }>(
      `SELECT details, customer_hash IS NOT NULL AS known FROM audit_log WHERE entity_id = $1 AND id > $2 ORDER BY id`,
      [world.entity.id, id],
    )
  ).rows;
const lastAudited = async () =>
  (await store.db.query<{ id: number }>('SELECT coalesce(max(id), 0)::integer AS id FROM audit_log')).rows[0]!.id;

beforeAll(async () => {
  await ensureSampleMonths(store.db);
  app = await write(store.db, async (tx) => {
    const key = { line: 1, kind: 'value', customerType: 'user_id' } as const;
    const value = (customerId: string, attribute: string, valueType: 'String' | 'Number', text: string) =>
      ({ ...key, customerId, attributeId: world.attributes[attribute]!.id, valueType, value: text }) as const;
    await mergeAttributeValues(
      tx,
      store.secrets,
      world.entity.id,
      world.sor.id,
      prepareChanges([
        value(ANNE, 'plan', 'String', MAIL),
        value(BEN, 'plan', 'String', MAIL),
        value(BEN, 'score', 'Number', '4711'),
      ]),
    );
    return insertSampleApp(tx, world.entity.id, 'com.example.people');
  });
  await sampleActivity(store.db, world.entity.id, { appId: app.id, deviceId: PHONE, userId: ANNE });
  await insertSampleSegment(store.db, world.entity.id, { appId: app.id, name: 'Golden', people: [`u${ANNE}`] });
  await store.db.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id, app_id, device_id, decision)
     VALUES ($1, $2, $3, $4, $5, NULL), ($1, $6, $3, $4, $5, 'confirmed'), ($1, $7, $3, $4, $5, 'refused')`,
    [world.entity.id, 'said-811', ANNE, app.id, PHONE, 'sure-811', 'not-811'],
  );
  await write(store.db, (tx) =>
    insertHold(tx, world.entity.id, {
      customerType: 'user_id',
      customerId: ANNE,
      kind: 'hold',
      reason: 'A claim is open',
      createdBy: world.user.id,
    }),
  );
});

test('people are found by user id, device id, similar id and value, each with how', async () => {
  const id = { sor_id: null, attribute_key: null };
  const of = (key: string) => ({ by: 'attribute', sor_id: world.sor.identifier, attribute_key: key });
  const user = (userId: string, ...matches: object[]) => ({ user_id: userId, device_id: null, matches });
  expect(await find(ANNE)).toEqual({ people: [user(ANNE, { by: 'user_id', ...id })], more: false, left_out: [] });
  expect((await find(PHONE)).people).toEqual([
    { user_id: null, device_id: PHONE, matches: [{ by: 'device_id', ...id }] },
  ]);
  expect((await find(ANNE.toUpperCase())).people).toEqual([user(ANNE, { by: 'similar_id', ...id })]);
  expect((await find(MAIL.toUpperCase())).people).toEqual([user(ANNE, of('plan')), user(BEN, of('plan'))]);
  expect((await find('4711')).people).toEqual([user(BEN, of('score'))]);
  expect((await find(MAIL, { limit: 1 })).more).toBe(true);
  expect((await find(MAIL, { match: ['user_id', 'device_id'] })).people).toEqual([]);
});

test('a search is audited for each person found, without its text, and once if there is none', async () => {
  const before = await lastAudited();
  await find(MAIL);
  await find('nothing of that name');
  expect(await auditedSince(before)).toEqual([
    { details: { what: 'find', people: 2 }, known: true },
    { details: { what: 'find', people: 2 }, known: true },
    { details: { what: 'find', people: 0 }, known: false },
  ]);
});

test('values are searched with the right to values alone, and people with a right to a part of them', async () => {
  const { body } = await call('find', { text: MAIL }, await tokenWith(['campaign_view']));
  expect(body.result).toEqual({
    people: [],
    more: false,
    left_out: [{ part: 'attribute', right: 'sor_manage', reason: 'This needs the right sor_manage' }],
  });
  const refused = await call('find', { text: ANNE }, await tokenWith(['funnels_view']));
  expect([refused.status, refused.body.error_message]).toEqual([
    403,
    'This needs one of the rights usage_analytics_view, segments_view, sor_manage, campaign_view, gdpr_data_manage',
  ]);
});

test('a person is viewed with ids and their origin, devices with push state, segments, counts, holds', async () => {
  const before = await lastAudited();
  const { body } = await call('view', { user_id: ANNE });
  expect(body.result).toMatchObject({
    known: true,
    identifiers: expect.toSatisfy(
      (ids: { user_id: string; link: string; origin: string }[]) =>
        ids
          .map(({ user_id: id, link, origin }) => `${id} ${link} ${origin}`)
          .sort()
          .join() === 'said-811 earlier claimed,sure-811 earlier confirmed',
    ),
    devices: [
      {
        device_id: PHONE,
        app_id: app.identifier,
        origin: 'claimed',
        push: { reaches: false, code: 'OPT_OUT', reason: 'no push token' },
      },
    ],
    events: { count: 1, first_at: '2026-11-05T10:00:00.000Z', last_at: '2026-11-05T10:00:00.000Z' },
    sessions: { count: 1 },
    segments: [{ name: 'Golden', app_id: app.identifier }],
    attributes: [{ sor_id: world.sor.identifier, name: 'CRM', values: 1 }],
    messages: { count: 0, confirmed: 0, first_at: null, last_at: null },
    requests: [],
    holds: [{ kind: 'hold', reason: 'A claim is open' }],
    erasure: { erased_at: null },
    left_out: [],
  });
  expect(await auditedSince(before)).toEqual([{ details: { what: 'person' }, known: true }]);
  const { body: device } = await call('view', { device_id: PHONE });
  expect(device.result).toMatchObject({
    identifiers: expect.arrayContaining([expect.objectContaining({ user_id: ANNE, link: 'user', origin: 'claimed' })]),
    devices: [{ device_id: PHONE }],
    events: { count: 1 },
  });
  expect((await call('view', { user_id: personId(899) })).body.result).toMatchObject({ known: false, devices: [] });
  expect((await call('view', {})).body.messages).toMatchObject([{ element: 'user_id' }]);
});

test('a missing right leaves out its parts with the reason, and not the page', async () => {
  const { body } = await call('view', { user_id: ANNE }, await tokenWith(['segments_view']));
  expect(body.result).toMatchObject({ segments: [{ name: 'Golden' }], devices: null, attributes: null, holds: null });
  expect(body.result.left_out).toContainEqual({
    part: 'devices',
    right: 'usage_analytics_view',
    reason: 'This needs the right usage_analytics_view',
  });
  expect((await call('view', { user_id: ANNE }, await tokenWith(['funnels_view']))).status).toBe(403);
});

test('the timeline folds events into sessions, newest first; one audit entry covers the look and all of its pages', async () => {
  const { entity } = world;
  const at = (time: string) => new Date(`2026-11-06T${time}Z`);
  await sampleActivity(store.db, entity.id, { appId: app.id, deviceId: PHONE, userId: ANNE, at: at('08:00:00') });
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, device_id, user_id, log_type, name, detail)
     VALUES ($1, $2, $3, NULL, $4, 2, 'Paid', '{"sum": 5}'), ($1, $2, $3, NULL, $5, 2, 'Of another', NULL)`,
    [entity.id, app.id, at('07:00:00'), ANNE, BEN],
  );
  const before = await lastAudited();
  const { look } = (await call('view', { user_id: ANNE })).body.result;
  const whole = (await call('timeline', { user_id: ANNE, look })).body.result;
  const kinds = (entries: { kind: string; at: string }[]) => entries.map(({ kind, at: time }) => `${kind} ${time}`);
  expect(kinds(whole.entries)).toEqual([
    expect.stringMatching(/^attribute /),
    'session 2026-11-06T08:00:00.000Z',
    'event 2026-11-06T07:00:00.000Z',
    'session 2026-11-05T10:00:00.000Z',
  ]);
  expect(whole).toMatchObject({ next: null, left_out: [] });
  expect(whole.entries[0]).toMatchObject({ sor_id: world.sor.identifier, attribute_key: 'plan', value: MAIL });
  expect(whole.entries[1]).toMatchObject({ event_count: 1, events: [{ name: 'Application Crashed', log_type: 1 }] });
  expect(whole.entries[2]).toMatchObject({ name: 'Paid', detail: { sum: 5 } });

  const paged: { kind: string; at: string }[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = (await call('timeline', { user_id: ANNE, look, per_page: 1, cursor: cursor ?? undefined })).body
      .result;
    paged.push(...page.entries);
    cursor = page.next as string | null;
  }
  expect(paged).toEqual(whole.entries);
  const jumped = { user_id: ANNE, look, until: '2026-11-06T07:00:00Z', kinds: ['event', 'session'] };
  expect(kinds((await call('timeline', jumped)).body.result.entries)).toEqual(kinds(whole.entries).slice(2));
  const unfolded = (await call('timeline', { user_id: ANNE, look, kinds: ['event'] })).body.result.entries;
  expect(unfolded).toHaveLength(3);
  expect(await auditedSince(before)).toEqual([{ details: { what: 'person' }, known: true }]);

  await call('timeline', { user_id: ANNE });
  const others = await tokenWith(['usage_analytics_view']);
  expect((await call('timeline', { user_id: ANNE, look }, others)).body.result.left_out).toHaveLength(3);
  expect(await auditedSince(before)).toHaveLength(3);
  expect((await call('timeline', { user_id: BEN, look })).body.messages).toMatchObject([{ element: 'look' }]);
  expect((await call('timeline', { device_id: PHONE })).body.result.entries).toHaveLength(2);
});

test('days are counted by kind under the same look, each kind as the timeline lists it alone', async () => {
  const { entity } = world;
  const at = new Date('2026-10-20T23:59:59.999Z');
  await ensurePartitions(store.db, [at]);
  const carl = personId(814);
  await sampleActivity(store.db, entity.id, { appId: app.id, deviceId: 'phone-814', userId: carl, at });
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, user_id, log_type, name)
     VALUES ($1, $2, '2026-10-20T12:00:00Z', $3, 2, 'Paid'), ($1, $2, '2026-10-21T00:00:00Z', $3, 2, 'Paid')`,
    [entity.id, app.id, carl],
  );
  const before = await lastAudited();
  const { look } = (await call('view', { user_id: carl })).body.result;
  const days = async (more: object, token?: string) =>
    (await call('days', { user_id: carl, look, until: '2026-10-21', ...more }, token)).body.result;
  expect(await days({})).toMatchObject({
    days: [
      { day: '2026-10-21', kind: 'event', count: 1 },
      { day: '2026-10-20', kind: 'event', count: 2 },
      { day: '2026-10-20', kind: 'session', count: 1 },
    ],
    left_out: [],
  });
  expect((await days({ days: 1 })).days).toEqual([{ day: '2026-10-21', kind: 'event', count: 1 }]);
  expect((await days({ until: '2026-10-20', kinds: ['session', 'request'] })).days).toHaveLength(1);
  expect((await days({ until: '2026-10-19' })).days).toEqual([]);
  expect(await auditedSince(before)).toEqual([{ details: { what: 'person' }, known: true }]);
  const { left_out: leftOut } = await days({}, await tokenWith(['usage_analytics_view']));
  expect(leftOut.map(({ part }: { part: string }) => part)).toEqual(['request', 'message', 'attribute']);
  expect((await auditedSince(before)).at(-1)).toEqual({ details: { what: 'days' }, known: true });
  expect((await call('days', { user_id: BEN, look })).body.messages).toMatchObject([{ element: 'look' }]);
});

test('messages of all campaigns and requests are listed with code and confirmation, newest first, in pages', async () => {
  const { entity } = world;
  const campaign = async (name: string) =>
    (
      await store.db.query<{ id: number }>(
        `INSERT INTO campaigns (entity_id, identifier, app_id, name, type, includes_push, includes_inapp, params)
         VALUES ($1, 'cmp_' || $3, $2, $3, 'classic', true, false, '{}') RETURNING id`,
        [entity.id, app.id, name],
      )
    ).rows[0]!.id;
  const [spring, autumn] = [await campaign('spring'), await campaign('autumn')];
  await store.db.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, created_at, settled_at, opened_at, device_id, user_id)
     VALUES ($1, $2, $4, 'push', 'settled', 'PUSH_SENT', '2026-11-07', '2026-11-07', '2026-11-08', $6, $5),
       ($1, $3, $4, 'push', 'settled', 'OPT_OUT', '2026-11-09', '2026-11-09', NULL, $6, $5),
       ($1, $3, $4, 'push', 'settled', 'OPT_OUT', '2026-11-09', '2026-11-09', NULL, NULL, $7)`,
    [entity.id, spring, autumn, app.id, BEN, PHONE, ANNE],
  );
  const before = await lastAudited();
  const first = (await call('messages', { user_id: BEN, per_page: 1 })).body.result;
  expect(first.messages).toMatchObject([
    { campaign_name: 'autumn', code: 'OPT_OUT', confirmed: false, device_id: PHONE, request_id: null },
  ]);
  const rest = { user_id: BEN, per_page: 1, cursor: first.next as string, look: first.look as string };
  expect((await call('messages', rest)).body.result).toMatchObject({
    messages: [{ campaign_name: 'spring', code: 'PUSH_SENT', confirmed: true, opened_at: '2026-11-08T00:00:00.000Z' }],
    next: null,
  });
  expect(await auditedSince(before)).toEqual([{ details: { what: 'messages' }, known: true }]);
  const timeline = (await call('timeline', { user_id: BEN, kinds: ['message'] })).body.result;
  expect(timeline.entries).toMatchObject([{ kind: 'message', code: 'OPT_OUT' }, { code: 'PUSH_SENT' }]);
  expect((await call('view', { user_id: BEN })).body.result.messages).toMatchObject({ count: 2, confirmed: 1 });
});

test('a segment is explained: which filters the person meets now, beside what its last refresh found', async () => {
  const block = (operator: string, ...filters: object[]) => ({ operator, filters });
  const plan = (...values: string[]) => attributesFilter(world.sor.identifier, values).blocks[0]!.filters[0]!;
  const model = { filter_on: 'devices', field: 'device_model', operator: 'is_not', values: ['Nokia 3310'] };
  const filters = { operator: 'and', blocks: [block('or', plan('other'), plan(MAIL)), block('and', model)] };
  const { identifier } = await insertSampleSegment(store.db, world.entity.id, { appId: app.id, name: 'Why', filters });
  const explain = async (body: object, token = world.token) =>
    call('segment', { segment_id: identifier, ...body }, token);
  const before = await lastAudited();
  const { result } = (await explain({ user_id: ANNE })).body;
  expect(result).toMatchObject({
    name: 'Why',
    member: false,
    found: true,
    counts_as: { user_id: ANNE, device_id: null },
    operator: 'and',
    blocks: [
      {
        operator: 'or',
        met: true,
        filters: [
          { value: 'attributes', met: false, found: MAIL },
          { value: 'attributes', met: true, found: MAIL },
        ],
      },
      { operator: 'and', met: true, filters: [{ value: 'devices', met: true, found: null }] },
    ],
    reason: null,
  });
  // A device counts as its user.
  expect((await explain({ device_id: PHONE })).body.result).toMatchObject({
    found: true,
    counts_as: { user_id: ANNE },
  });
  expect(await auditedSince(before)).toEqual([
    { details: { what: 'segment' }, known: true },
    { details: { what: 'segment' }, known: true },
  ]);
  // Under the look of the page no further entry is written.
  const { look } = (await call('view', { user_id: ANNE })).body.result;
  const looked = await lastAudited();
  await explain({ user_id: ANNE, look });
  expect(await auditedSince(looked)).toEqual([]);
  expect((await explain({ user_id: BEN })).body.result).toMatchObject({
    found: null,
    blocks: null,
    reason: 'The app has not seen this person: a segment holds people of its app',
  });

  const list = await insertSampleSegment(store.db, world.entity.id, {
    appId: app.id,
    name: 'List',
    people: [`u${ANNE}`],
  });
  expect((await explain({ device_id: PHONE, segment_id: list.identifier })).body.result).toMatchObject({
    static: true,
    member: true,
    found: null,
    blocks: null,
  });
  const viewer = await tokenWith(['segments_view']);
  // Values that the person has need the rights to see them.
  expect((await explain({ user_id: ANNE }, viewer)).body.result.blocks).toMatchObject([
    { filters: [{ found: null }, { met: true, found: null }] },
    { filters: [{ met: true, found: null }] },
  ]);
  await store.db.query('UPDATE customer_attributes SET is_sensitive = true WHERE entity_id = $1 AND id = $2', [
    world.entity.id,
    world.attributes.plan!.id,
  ]);
  expect((await explain({ user_id: ANNE }, viewer)).status).toBe(403);
  expect((await explain({ user_id: ANNE, segment_id: 'seg_none' })).status).toBe(404);
});

test('an id that is a user and a device is found as both, and each is viewed by itself', async () => {
  const both = personId(818);
  await sampleActivity(store.db, world.entity.id, { appId: app.id, deviceId: both, userId: ANNE });
  await sampleActivity(store.db, world.entity.id, { appId: app.id, deviceId: 'tablet-818', userId: both });
  expect((await find(both)).people).toMatchObject([
    { user_id: both, device_id: null, matches: [{ by: 'user_id' }] },
    { user_id: null, device_id: both, matches: [{ by: 'device_id' }] },
  ]);
  const viewed = async (body: object) => (await call('view', body)).body.result;
  const devices = ({ devices: all }: { devices: { device_id: string }[] }) => all.map(({ device_id: id }) => id);
  const [user, device] = [await viewed({ user_id: both }), await viewed({ device_id: both })];
  expect([devices(user), devices(device)]).toEqual([['tablet-818'], [both]]);
  expect([user.identifiers, device.identifiers]).toMatchObject([[], [{ user_id: ANNE, link: 'user' }]]);
});

test('of a person with more than 1,000 devices the last seen 1,000 are shown, and the page says so', async () => {
  const shared = personId(819);
  await store.db.query(
    `WITH made AS (
       INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at)
       SELECT $1, $2, 'many ' || n, '2026-10-01', '2026-10-01'::timestamptz + n * interval '1 minute'
       FROM generate_series(1, 1001) n RETURNING device_id, last_seen_at)
     INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, device_id, $3, last_seen_at FROM made`,
    [world.entity.id, app.id, shared],
  );
  const { devices, left_out: left } = (await call('view', { user_id: shared })).body.result;
  expect([devices.length, devices[0].device_id, devices.at(-1).device_id]).toEqual([1_000, 'many 1001', 'many 2']);
  expect(left).toEqual([{ part: 'devices', right: null, reason: 'There are more than 1000: these are the first' }]);
});
