import { beforeAll, describe, expect, test } from 'vitest';
import { countAttempts, dropAttempts } from '../../../activities/sends/aggregate-reports.ts';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertDeviceUsers, insertSampleEvents } from '../../harness/analytics/sample-events.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, tokenWith } from '../../harness/core/world.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { campaignBody } from '../campaigns/sample-campaigns.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();
let app: { id: number; identifier: string };

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
  server.call(method, `/api/${path}`, { token: world.token, body });
type Record = { identifier: string };
const create = async (body: object) =>
  (await call('POST', 'segments', { app: app.identifier, ...body })).body.result as Record;
const one = (...filters: object[]) => ({ blocks: [{ filters }] });
const buyers = () => one({ filter_on: 'events', log_name: 'Ordered', count: 2, period: { last_days: 30 } });
const inSegment = (...identifiers: string[]) =>
  one({
    filter_on: 'segments',
    selection: 'any_of',
    segment_identifiers: identifiers,
    operator: 'is_in',
  });

/** Ten users with a device each, who ordered as often as their number says; every second can be reached by a push. */
beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.segments');
  const at = new Date(Date.now() - 86_400_000);
  await ensurePartitions(store.db, [at]);
  await insertEventDefinitions(store.db, world.entity.id, app.id, [{ logType: 2, name: 'Ordered' }]);
  const numbers = Array.from({ length: 10 }, (_, number) => number);
  for (const number of numbers) {
    await insertDeviceUsers(store.db, world.entity.id, app.id, `phone-${number}`, [personId(number)]);
    await store.db.query(
      `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, opt_in, push_token, app_version, first_seen_at, last_seen_at)
       VALUES ($1, $2, $3, $4, $5, 'token', $6, now(), now())`,
      [world.entity.id, app.id, `phone-${number}`, personId(number), number % 2 === 0, `2.${number}`],
    );
  }
  await insertSampleEvents(
    store.db,
    world.entity.id,
    numbers.flatMap((number) =>
      Array.from({ length: number }, () => ({
        appId: app.id,
        at,
        name: 'Ordered',
        user: personId(number),
        device: `phone-${number}`,
      })),
    ),
  );
});

describe('a segment', () => {
  test('is created, listed, changed and deleted, and shows filters as the reference does, which can be sent back', async () => {
    const created = await create({ name: 'Buyers', description: 'Twice', filters: buyers(), labels: ['shop'] });
    const whole = {
      identifier: created.identifier,
      name: 'Buyers',
      description: 'Twice',
      app: app.identifier,
      filters_subs: {},
      filters: {
        operator: 'and',
        blocks: [
          {
            operator: 'and',
            filters: [
              {
                value: 'events',
                options: [
                  { log_type: 0, log_name: 'Ordered', operator: 'at_least', count: 2, period: { last_days: 30 } },
                ],
              },
            ],
          },
        ],
      },
      eligible_for_ab_testing: false,
      snapshot_at: null,
      reach: { count: 0, optin: 0, token: 0, total: 0 },
      preview: { people_number: 0, people_percent: 0, push_percent: 0 },
      labels: ['shop'],
      analytics_enabled: false,
      state: 'computing',
      failure: null,
      static: false,
      last_used_at: null,
    };
    expect(created).toMatchObject(whole);
    expect((await call('GET', `segments?app=${app.identifier}`)).body.result).toEqual([created]);
    expect((await call('GET', 'segments')).body.result).toEqual([created]);
    expect((await call('GET', 'segments?app=app_none')).body).toMatchObject({
      status: 'not_found',
      error_message: "Couldn't find App",
    });
    expect((await call('GET', 'segments/seg_none')).body).toMatchObject({ error_message: "Couldn't find Segment" });
    expect((await call('GET', 'labels')).body.result).toMatchObject([{ name: 'shop', targets: 1 }]);
    const same = (await call('PUT', `segments/${created.identifier}`, created)).body.result as Record;
    expect(same).toMatchObject(whole);
    const renamed = await call('PUT', `segments/${created.identifier}`, {
      name: 'Loyal',
      description: null,
      labels: [],
    });
    expect(renamed.body.result).toMatchObject({ ...whole, name: 'Loyal', description: null, labels: [] });
    expect((await call('DELETE', `segments/${created.identifier}`)).status).toBe(200);
    expect((await call('GET', 'segments')).body.result).toEqual([]);
    const other = await insertSampleApp(store.db, world.entity.id, 'com.example.elsewhere');
    const here = await create({ name: 'Here', static: true });
    const there = await create({ name: 'There', static: true, app: other.identifier });
    expect((await call('GET', `segments?app=${other.identifier}`)).body.result).toEqual([there]);
    expect((await call('GET', `segments?app=${app.identifier}`)).body.result).toEqual([here]);
    expect((await call('GET', 'segments')).body.result).toEqual([here, there]);
    for (const { identifier } of [here, there]) await call('DELETE', `segments/${identifier}`);
  });

  test('counts its people and their devices as they are now, before it is created', async () => {
    const preview = async (filters: object) =>
      (await call('POST', 'segments/preview', { app: app.identifier, filters })).body.result as object;
    expect(await preview(buyers())).toMatchObject({
      preview: { people_number: 8, people_percent: 80, push_percent: 50 },
      reach: { count: 8, optin: 4, token: 8, total: 10 },
    });
    const version = { filter_on: 'devices', field: 'app_version', operator: 'less_than', values: ['2.3'] };
    expect(
      await preview({ operator: 'or', blocks: [...buyers().blocks, { operator: 'or', filters: [version] }] }),
    ).toMatchObject({ preview: { people_number: 10 } });
    expect(await preview({ blocks: [] })).toMatchObject({ preview: { people_number: 10, people_percent: 100 } });
  });

  test("counts an id that staff confirmed as another one's alias as that one where its filters say aliases, and shows that", async () => {
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, decision) VALUES ($1, $2, $3, $4, 'confirmed')`,
      [world.entity.id, app.id, personId(1), personId(0)],
    );
    const found = async (filters: object) =>
      (await call('POST', 'segments/preview', { app: app.identifier, filters })).body.result.preview
        .people_number as number;
    const once = one({ filter_on: 'events', log_name: 'Ordered', count: 1, period: { last_days: 30 } });
    const twice = buyers();
    expect([await found({ blocks: [] }), await found({ blocks: [], aliases: true })]).toEqual([10, 9]);
    for (const [filters, people] of [
      [once, 9],
      [twice, 8],
    ] as const) {
      expect([await found(filters), await found({ ...filters, aliases: true })]).toEqual([people, people]);
    }
    const created = await create({ name: 'As one', filters: { ...once, aliases: true } });
    expect(created).toMatchObject({ filters: { aliases: true } });
    expect(
      (await call('PUT', `segments/${created.identifier}`, { filters: once })).body.result.filters,
    ).not.toHaveProperty('aliases');
    await call('DELETE', `segments/${created.identifier}`);
    await store.db.query('DELETE FROM user_aliases WHERE entity_id = $1', [world.entity.id]);
  });

  test('leaves the keys of its attributes in the audit log, also when it is only counted, and no values', async () => {
    const richer = (values: string[]) =>
      one({
        filter_on: 'attributes',
        sor_identifier: world.sor.identifier,
        attribute_key: 'score',
        operator: 'greater_than',
        values,
      });
    const audited = async () =>
      (
        await store.db.query<{ action: string; details: object }>(
          `SELECT action, details FROM audit_log WHERE entity_id = $1 AND details ? 'attributes' ORDER BY id`,
          [world.entity.id],
        )
      ).rows;
    const attributes = `${world.sor.identifier} score`;
    const { identifier } = await create({ name: 'Rich', filters: richer(['50000']) });
    await call('PUT', `segments/${identifier}`, { filters: richer(['51000']) });
    await store.db.query('UPDATE segments SET snapshot_at = now() WHERE identifier = $1', [identifier]);
    for (const filters of [richer(['52000']), inSegment(identifier), buyers()]) {
      expect((await call('POST', 'segments/preview', { app: app.identifier, filters })).status).toBe(200);
    }
    const counted = { action: 'read', details: { app: app.identifier, attributes } };
    expect(await audited()).toEqual([
      { action: 'create', details: { name: 'Rich', attributes } },
      { action: 'update', details: { name: 'Rich', filters: true, attributes } },
      counted,
      counted,
    ]);
    await call('DELETE', `segments/${identifier}`);
  });

  test('keeps each digit of the numbers in its filters, also beyond 2^53, and takes others in any spelling', async () => {
    const digits = ['9007199254740993', '-9223372036854775806.25', '2.5'];
    const body = JSON.stringify({
      app: app.identifier,
      name: 'Exact',
      filters: one(
        {
          filter_on: 'attributes',
          sor_identifier: world.sor.identifier,
          attribute_key: 'score',
          operator: 'is',
          values: ['#'],
        },
        {
          filter_on: 'events',
          log_name: 'Ordered',
          count: 2,
          match_details: [{ order: '#0' }],
          period: { last_days: 30 },
        },
      ),
    })
      .replace('"#"', digits.join())
      .replace('"#0"', digits[0]!)
      .replace('"count":2', '"count":2.0');
    const headers = { authorization: `Token ${world.token}`, 'content-type': 'application/json' };
    const { body: created } = await server.call('POST', '/api/segments', { headers, body });
    expect([created.success, created.error_message]).toEqual([true, undefined]);
    type Shown = { filters: { blocks: [{ filters: { options: [object] }[] }] } };
    const [attributes, events] = (created.result as Shown).filters.blocks[0].filters;
    expect(attributes!.options[0]).toMatchObject({ values: digits });
    expect(events!.options[0]).toMatchObject({ count: 2, match_details: [{ order: digits[0] }] });
    await call('DELETE', `segments/${(created.result as Record).identifier}`);
  });

  test('over a sensitive attribute is neither made, changed nor counted without sor_manage, nor is a campaign to its people', async () => {
    const tags = one({
      filter_on: 'attributes',
      sor_identifier: world.sor.identifier,
      attribute_key: 'tags',
      operator: 'is_set',
      values: [],
    });
    const { identifier } = await create({ name: 'Tagged', filters: tags });
    await store.db.query('UPDATE segments SET snapshot_at = now() WHERE identifier = $1', [identifier]);
    const [plain, named, list] = await Promise.all([
      create({ name: 'Plain', filters: buyers() }),
      create({ name: 'Named', filters: buyers() }),
      create({ name: 'List', static: true }),
    ]);
    await create({ name: 'Between', filters: inSegment(named.identifier, list.identifier) }).then(
      ({ identifier: between }) =>
        create({
          name: 'Tagged between',
          filters: one(tags.blocks[0]!.filters[0]!, inSegment(between).blocks[0]!.filters[0]!),
        }),
    );
    const ofCampaign = await create({ name: 'Of a campaign', static: true });
    const toBoth = one(tags.blocks[0]!.filters[0]!, inSegment(ofCampaign.identifier).blocks[0]!.filters[0]!);
    const draft = await call('POST', 'campaign', campaignBody(app.identifier, { type: 'classic', filters: toBoth }));
    const { campaign_id: campaignId } = draft.body.result as { campaign_id: string };
    const received = one({
      filter_on: 'campaigns',
      outcome: 'received',
      operator: 'is_in',
      campaign_identifiers: [campaignId],
    });
    const token = await tokenWith(
      store,
      world,
      RIGHTS.filter((right) => right !== 'sor_manage'),
    );
    const ask = async (filters: object) => {
      const campaign = campaignBody(app.identifier, { type: 'classic', filters });
      const replies = [
        await server.call('POST', '/api/segments/preview', { token, body: { app: app.identifier, filters } }),
        await server.call('POST', '/api/segments', { token, body: { app: app.identifier, name: 'Again', filters } }),
        await server.call('PUT', `/api/segments/${plain.identifier}`, { token, body: { filters } }),
        await server.call('POST', '/api/campaign', { token, body: campaign }),
      ];
      return replies.map(({ status, body }) => [status, body.message]);
    };
    const reached = [tags, inSegment(identifier), received];
    for (const filters of reached) expect((await ask(filters)).map(([status]) => status)).toEqual([200, 200, 200, 200]);
    await call('PUT', `customer_attributes/${world.attributes.tags!.identifier}`, { sensitive: true });
    const refused = [
      403,
      expect.stringMatching(
        /^This needs the right sor_manage: the (?:attribute tags is|segment compares with a) sensitive/,
      ),
    ];
    for (const filters of reached) expect(await ask(filters)).toEqual([refused, refused, refused, refused]);
    // Else the counts of the segment that names these would tell the value of each person who comes or goes.
    const people = { ids: [personId(1)] };
    const changes = [
      [
        'PUT',
        `segments/${named.identifier}`,
        { filters: one(buyers().blocks[0]!.filters[0]!, buyers().blocks[0]!.filters[0]!) },
      ],
      ['POST', `segments/${list.identifier}/people`, people],
      ['DELETE', `segments/${list.identifier}/people`, people],
      ['POST', `segments/${ofCampaign.identifier}/people`, people],
      ['PUT', `campaign/${campaignId}/launch`, undefined],
    ] as const;
    for (const [method, path, body] of changes) {
      expect([path, await server.call(method, `/api/${path}`, { token, body })]).toMatchObject([
        path,
        { status: 403, body: { message: expect.stringMatching(/sor_manage.*tags/) as string } },
      ]);
      expect([path, (await call(method, path, body)).status]).toEqual([path, 200]);
    }
    expect(
      (await server.call('PUT', `/api/segments/${named.identifier}`, { token, body: { name: 'Renamed' } })).status,
    ).toBe(200);
    expect((await call('POST', 'segments/preview', { app: app.identifier, filters: tags })).status).toBe(200);
    // Nor do others see who is in it, or how many.
    await store.db.query(
      `INSERT INTO segment_members (entity_id, segment_id, person) SELECT entity_id, id, $2 FROM segments WHERE identifier = $1`,
      [identifier, `u${personId(1)}`],
    );
    const get = async (path: string, as = world.token) =>
      (await server.call('GET', `/api/${path}`, { token: as })).body;
    const device = `apps/${app.identifier}/devices/phone-1?fields=segments`;
    expect((await get(device)).result).toMatchObject({ segments: [{ segment_id: identifier }] });
    expect((await get(device, token)).result).toMatchObject({ segments: [] });
    expect((await get(`segments/${identifier}`)).result.reach).toMatchObject({ count: 0 });
    for (const shown of [
      (await get(`segments/${identifier}`, token)).result,
      ((await get('segments', token)).result as Record[]).find((segment) => segment.identifier === identifier),
    ]) {
      expect(shown).toMatchObject({ name: 'Tagged', reach: null, preview: null });
    }
    for (const path of [
      `segments/${identifier}/devices`,
      `segments/${identifier}/devices_export.csv?skip_email=true`,
      `apps/${app.identifier}/devices?segment_ids[]=${identifier}`,
      `apps/${app.identifier}/events?segment_ids[]=${identifier}`,
    ]) {
      expect([path, await get(path, token)]).toMatchObject([
        path,
        { message: expect.stringMatching(/sor_manage.* Tagged /) as string },
      ]);
      expect([path, (await server.call('GET', `/api/${path}`, { token: world.token })).status]).toEqual([path, 200]);
    }
    // Nor who was in it: also by way of a campaign, after its filters are changed, and after the attribute is gone.
    const ofReceived = await create({ name: 'Of received', filters: received });
    const bonus = (
      await call('POST', 'customer_attributes', {
        sor_id: world.sor.identifier,
        key: 'bonus',
        value_type: 'Number',
        sensitive: true,
      })
    ).body.result as { identifier: string };
    const withBonus = await create({
      name: 'With bonus',
      filters: one({ ...tags.blocks[0]!.filters[0]!, attribute_key: 'bonus' }),
    });
    for (const segment of [withBonus.identifier, identifier]) {
      await store.db.query(
        `WITH s AS (UPDATE segments SET snapshot_at = now() WHERE identifier = $1 RETURNING entity_id, id),
           m AS (INSERT INTO segment_members SELECT entity_id, id, $2 FROM s ON CONFLICT DO NOTHING)
         INSERT INTO segment_changes (entity_id, segment_id, changed_at, person, has_joined) SELECT entity_id, id, now(), $2, true FROM s`,
        [segment, `u${personId(1)}`],
      );
    }
    const lists = (segment: string) => ['people', 'changes', 'days'].map((list) => `segments/${segment}/${list}`);
    const statusOf = async (path: string) => (await server.call('GET', `/api/${path}`, { token })).status;
    for (const segment of [identifier, ofReceived.identifier, withBonus.identifier])
      expect(await Promise.all(lists(segment).map(statusOf))).toEqual([403, 403, 403]);
    const harmless = { filters: buyers() };
    expect((await server.call('PUT', `/api/segments/${identifier}`, { token, body: harmless })).status).toBe(403);
    expect((await call('PUT', `segments/${identifier}`, harmless)).status).toBe(200);
    expect((await call('DELETE', `customer_attributes/${bonus.identifier}`)).status).toBe(200);
    for (const segment of [identifier, withBonus.identifier]) {
      const shown = await Promise.all(lists(segment).map((path) => get(path, token)));
      expect(JSON.stringify(shown)).not.toContain(personId(1));
      const asked = { segment_id: segment, user_id: personId(1) };
      expect((await server.call('POST', '/api/people/segment', { token, body: asked })).body.result).toMatchObject({
        member: false,
      });
    }
    await call('PUT', `customer_attributes/${world.attributes.tags!.identifier}`, { sensitive: false });
    await store.db.query('DELETE FROM segment_members');
  });

  test('is refused where its filters name what does not exist, by the field, with what would be right', async () => {
    const errors = async (...filters: unknown[]) => {
      const { body } = await call('POST', 'segments', {
        app: app.identifier,
        name: 'Bad',
        filters: { blocks: [{ filters }] },
      });
      return (body.messages as { element: string; message: string }[]).map(
        ({ element, message }) => `${element} ${message}`,
      );
    };
    const attribute = {
      filter_on: 'attributes',
      sor_identifier: world.sor.identifier,
      attribute_key: 'score',
      operator: 'is',
    };
    const event = { filter_on: 'events', log_name: 'Ordered', period: { last_days: 30 } };
    const at = (field: string, start: string) => [
      expect.stringMatching(new RegExp(`^filters\\.blocks\\.0\\.filters\\.0${field} ${start}`)),
    ];
    expect(await errors({ ...attribute, sor_identifier: 'sor_none' })).toEqual(
      at('\\.sor_identifier', 'is no System of Records'),
    );
    expect(await errors({ ...attribute, attribute_key: 'scor' })).toEqual(
      at('\\.attribute_key', 'is unknown: did you mean score'),
    );
    expect(await errors({ ...attribute, values: ['many'] })).toEqual(at('\\.values\\.0', 'is not a number'));
    expect(await errors({ ...attribute, operator: 'starts_with', values: ['1'] })).toEqual(
      at('\\.operator', 'is unknown: did you mean'),
    );
    expect(await errors({ ...attribute, operator: 'between', values: [1] })).toEqual(
      at('\\.values', 'must have 2 values with between'),
    );
    expect(await errors({ filter_on: 'devices', field: 'country', operator: 'is', values: ['FR'] })).toEqual(
      at('\\.field', 'is unknown: did you mean country_code'),
    );
    expect(await errors({ ...event, log_name: 'Order' })).toEqual(
      at('\\.log_name', 'is unknown: did you mean Ordered'),
    );
    expect(await errors({ ...event, app_id: 'app_none' })).toEqual(at('\\.app_id', 'is no app'));
    expect(await errors({ ...event, count: 0 })).toEqual(at('\\.count', 'must be 1 or more with at_least'));
    expect(await errors({ ...event, period: {} })).toEqual(at('\\.period', 'must be {"last_days": 30}'));
    expect(await errors({ ...event, period: { from: '2026-02-01', till: '2026-01-01' } })).toEqual(
      at('\\.period\\.till', 'must not be before'),
    );
    expect(await errors({ ...event, operater: 'at_least' })).toEqual(
      at('\\.operater', 'is unknown: did you mean operator'),
    );
    // Nothing is compared with names that are too many, or too long.
    expect(await errors({ ...attribute, attribute_key: 'x'.repeat(256) })).toEqual(
      at('\\.attribute_key', 'is unknown. There are'),
    );
    expect(await errors(...Array.from({ length: 2_000 }, () => ({ wrong: 1 })))).toEqual([
      'filters may have at most 50 filters',
    ]);
    expect(await errors({ ...attribute, values: Array.from({ length: 101 }, () => []) })).toEqual(
      at('\\.values', 'must have at most 100'),
    );
    expect(await errors({ filter_on: 'segments', segment_identifiers: ['seg_none'] })).toEqual(
      at('\\.segment_identifiers\\.0', 'is no segment'),
    );
    expect(
      await errors({
        filter_on: 'funnels',
        funnel_identifier: 'fun_none',
        step: 0,
        outcome: 'completed',
        period: { last_days: 1 },
      }),
    ).toEqual(at('\\.funnel_identifier', 'is no funnel'));
    const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id);
    const campaigns = { filter_on: 'campaigns', campaign_identifiers: [campaign.identifier] };
    expect(await errors({ ...campaigns, campaign_identifiers: [campaign.apiIdentifier, 'cmp_none'] })).toEqual(
      at('\\.campaign_identifiers\\.1', 'is no campaign of your entity: GET /api/campaigns'),
    );
    const others = await makeWorld(store);
    const ofOthers = await insertSampleCampaign(
      store.db,
      others.entity.id,
      (await insertSampleApp(store.db, others.entity.id, 'com.example.others')).id,
    );
    expect(await errors({ ...campaigns, campaign_identifiers: [ofOthers.identifier] })).toEqual(
      at('\\.campaign_identifiers\\.0', 'is no campaign'),
    );
    expect(await errors({ ...campaigns, campaign_identifiers: [] })).toEqual(
      at('\\.campaign_identifiers', 'must have at least 1'),
    );
    expect(await errors({ ...campaigns, outcome: 'clicked' })).toEqual(
      at('\\.outcome', 'must be one of received, opened'),
    );
    expect(await errors({ ...campaigns, last_days: 31 })).toEqual(
      at('\\.last_days', 'must be a whole number from 1 to 30'),
    );
    expect(await errors({ filter_on: 'crashes' })).toEqual(at('\\.filter_on', 'must be one of attributes'));
    expect(await errors('any')).toEqual(at('', 'must be an object'));
    let deep: object = event;
    for (let depth = 0; depth < 6; depth += 1) deep = { filters: [deep] };
    expect(await errors(deep)).toEqual(['filters may have at most 5 blocks within each other']);
    expect(await errors(...Array.from({ length: 51 }, () => event))).toEqual(['filters may have at most 50 filters']);
  });

  test("finds who received and opened a campaign's messages, as long as the campaign lives", async () => {
    const { id, identifier } = await insertSampleCampaign(store.db, world.entity.id, app.id);
    await store.db.query(
      `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, settled_at, user_id, device_id, opened_at, shown_at)
       SELECT $1, $2, $3, 'both', 'settled', CASE WHEN n < 4 THEN 'PUSH_SENT' ELSE 'OPT_OUT' END, now(), id, 'phone',
         CASE WHEN n < 3 THEN now() END, CASE WHEN n = 6 THEN now() END
       FROM unnest($4::text[]) WITH ORDINALITY AS given (id, n)`,
      [world.entity.id, id, app.id, Array.from({ length: 6 }, (_, number) => personId(number))],
    );
    const filter = { filter_on: 'campaigns', campaign_identifiers: [identifier] };
    const { filters } = (await create({ name: 'Received', filters: one(filter) })) as unknown as { filters: object };
    expect(filters).toMatchObject({
      blocks: [
        {
          filters: [
            {
              value: 'campaigns',
              options: [{ outcome: 'received', campaign_identifiers: [identifier], operator: 'is_in' }],
            },
          ],
        },
      ],
    });
    const count = async (changes: object) => {
      const body = { app: app.identifier, filters: one({ ...filter, ...changes }) };
      return (await call('POST', 'segments/preview', body)).body.result.preview.people_number as number;
    };
    const counts = async () => [
      await count({}),
      await count({ outcome: 'opened' }),
      await count({ outcome: 'opened', operator: 'is_not_in' }),
      await count({ last_days: 30 }),
    ];
    expect(await counts()).toEqual([4, 2, 8, 4]);
    const steps = { db: store.db, boundary() {} };
    await countAttempts(steps, world.entity.id);
    await dropAttempts(steps, world.entity.id, new Date(Date.now() + 31 * 86_400_000));
    expect(await counts()).toEqual([4, 2, 8, 0]);
  });

  test("names no archived funnel, and no step that people can't drop out at", async () => {
    const steps = [{ match_name: [{ app_id: app.identifier, log_type: 2, log_name: 'Ordered' }] }];
    const { identifier } = (await call('POST', 'funnels', { name: 'One step', steps })).body.result as Record;
    const preview = async (outcome: string) => {
      const filter = {
        filter_on: 'funnels',
        funnel_identifier: identifier,
        step: 0,
        outcome,
        period: { last_days: 2 },
      };
      return (await call('POST', 'segments/preview', { app: app.identifier, filters: one(filter) })).body as object;
    };
    expect(await preview('completed')).toMatchObject({ result: { preview: { people_number: 9 } } });
    expect(await preview('dropped')).toMatchObject({
      messages: [{ element: expect.stringContaining('step') as string }],
    });
    await call('PUT', `funnels/${identifier}/archive`);
    expect(await preview('completed')).toMatchObject({
      messages: [{ message: expect.stringContaining('archived') as string }],
    });
  });

  test('that names others stands in no circle, even where two changes meet, and they stay while it names them', async () => {
    const [first, second] = [
      await create({ name: 'First', filters: buyers() }),
      await create({ name: 'Second', filters: buyers() }),
    ];
    const both = await Promise.all([
      call('PUT', `segments/${first.identifier}`, { filters: inSegment(second.identifier) }),
      call('PUT', `segments/${second.identifier}`, { filters: inSegment(first.identifier) }),
    ]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 400]));
    const refused = both.find(({ status }) => status === 400)!;
    expect(refused.body.error_message).toMatch(
      /^filters: must not name the segment itself by way of others: (\w+) → (\w+) → \1$/,
    );
    const [kept, using] = refused === both[0] ? [first, second] : [second, first];
    expect((await call('GET', `segments/${kept.identifier}`)).body.result.last_used_at).not.toBeNull();
    expect(await call('DELETE', `segments/${kept.identifier}`)).toMatchObject({
      status: 409,
      body: { error_message: expect.stringContaining(using.identifier) as string },
    });
    expect(
      (await call('POST', 'segments/preview', { app: app.identifier, filters: inSegment(kept.identifier) })).status,
    ).toBe(409);
    for (const { identifier } of [using, kept])
      expect((await call('DELETE', `segments/${identifier}`)).status).toBe(200);
    const itself = await create({ name: 'Itself', filters: buyers() });
    expect(
      (await call('PUT', `segments/${itself.identifier}`, { filters: inSegment(itself.identifier) })).body
        .error_message,
    ).toContain('Itself → Itself');
  });

  test('that names others in many layers is looked through once for circles: there are 2^40 paths', async () => {
    let below = [(await create({ name: 'Bottom', filters: buyers() })).identifier];
    const bottom = below[0]!;
    for (let layer = 0; layer < 40; layer += 1) {
      below = (
        await Promise.all(
          [1, 2].map((side) => create({ name: `Layer ${layer} ${side}`, filters: inSegment(...below) })),
        )
      ).map(({ identifier }) => identifier);
    }
    const { status, body } = await call('PUT', `segments/${bottom}`, { filters: inSegment(...below) });
    expect([status, (body.error_message as string).split(' → ').length]).toEqual([400, 42]);
  });
});

describe('a static segment', () => {
  test('takes people by their ids or their devices, each once, and none who were erased', async () => {
    const { identifier } = await create({ name: 'Guests', static: true });
    const hash = store.secrets.customerHash(world.entity.id, 'user_id', personId(99));
    await write(store.db, (tx) => insertTombstone(tx, world.entity.id, hash));
    const people = `segments/${identifier}/people`;
    const ids = [personId(1), personId(50), '', personId(99), personId(1)];
    const refused = [
      { index: 2, code: 'INVALID_CUSTOMER_ID', message: 'the customer id is empty' },
      { index: 3, code: 'INVALID_CUSTOMER_ID', message: 'erased' },
    ];
    expect((await call('POST', people, { ids })).body.result).toEqual({ added: 2, already_there: 0, refused });
    expect((await call('POST', people, { ids })).body.result).toEqual({ added: 0, already_there: 2, refused });
    const devices = { ids: ['phone-1', 'phone-2', 'unseen'], customer_id_type: 'device_id' };
    expect((await call('POST', people, devices)).body.result).toEqual({ added: 2, already_there: 1, refused: [] });
    expect((await call('DELETE', people, devices)).body.result).toEqual({ removed: 3, not_there: 0, refused: [] });
    const { rows } = await store.db.query('SELECT person FROM segment_members WHERE entity_id = $1', [world.entity.id]);
    expect(rows).toEqual([{ person: `u${personId(50)}` }]);
    expect((await call('PUT', `segments/${identifier}`, { filters: buyers() })).body.messages).toMatchObject([
      { element: 'filters' },
    ]);
    expect((await call('POST', 'segments', { app: app.identifier, name: 'None' })).body.messages).toMatchObject([
      { element: 'filters' },
    ]);
    const dynamic = await create({ name: 'Dynamic', filters: buyers() });
    expect((await call('POST', `segments/${dynamic.identifier}/people`, { ids })).status).toBe(409);
  });

  test('lists its people in pages, who joined and left, and their counts by day, each look in the audit log', async () => {
    const { identifier } = await create({ name: 'Pages', static: true });
    const path = `segments/${identifier}`;
    const ids = [1, 2, 3].map(personId).toSorted();
    await call('POST', `${path}/people`, { ids });
    await call('DELETE', `${path}/people`, { ids: ids.slice(1, 2) });
    expect((await call('GET', `${path}/people`)).status).toBe(409);
    await store.db.query('UPDATE segments SET snapshot_at = now() WHERE identifier = $1', [identifier]);
    const hashes = () =>
      store.db.query<{ n: number }>('SELECT count(customer_hash)::integer AS n FROM audit_log WHERE entity_id = $1', [
        world.entity.id,
      ]);
    const before = (await hashes()).rows[0]!.n;
    const { body } = await call('GET', `${path}/people?per_page=1`);
    expect(body).toMatchObject({ result: { people: [{ user_id: ids[0], device_id: null }] } });
    const first = body.result;
    expect(first.next).not.toContain(ids[0]);
    const second = (await call('GET', new URL(first.next).href.split('/api/')[1]!)).body.result;
    expect(second).toMatchObject({ people: [{ user_id: ids[2] }], next: null });
    const { changes } = (await call('GET', `${path}/changes`)).body.result;
    expect(changes).toMatchObject([
      { user_id: ids[1], joined: false },
      ...ids.toReversed().map((id) => ({ user_id: id, joined: true })),
    ]);
    expect((await call('GET', `${path}/changes?joined=false`)).body.result.changes).toHaveLength(1);
    expect((await hashes()).rows[0]!.n).toBe(before + 2 + 3 + 1);
    const today = new Date().toISOString().slice(0, 10);
    expect((await call('GET', `${path}/days`)).body.result).toEqual([
      { day: today, people: null, joined: 3, left: 1, listed: 4 },
    ]);
    expect((await call('GET', `${path}/people?cursor=${ids[0]}`)).body.messages).toMatchObject([{ element: 'cursor' }]);
    const token = await tokenWith(store, world, ['segments_view']);
    expect((await server.call('GET', `/api/${path}/people`, { token })).status).toBe(403);
  });

  test('is refused a change of an older revision, and says which segments and campaigns name it', async () => {
    const { identifier } = await create({ name: 'Named', static: true });
    const put = async (body: object) => call('PUT', `segments/${identifier}`, body);
    expect((await put({ name: 'First', revision: 1 })).body.result).toMatchObject({ revision: 2 });
    expect(await put({ name: 'Late', revision: 1 })).toMatchObject({
      status: 409,
      body: { status: 'conflict', message: expect.stringContaining('revision 2') as string },
    });
    const user = await create({ name: 'User', filters: inSegment(identifier) });
    expect((await call('GET', `segments/${identifier}`)).body.result).toMatchObject({
      name: 'First',
      used_by: [{ kind: 'segment', identifier: user.identifier, name: 'User' }],
    });
  });
});

describe('a fast preview', () => {
  test('of few people is exact, and says who is left after each filter', async () => {
    const filters = {
      operator: 'and',
      blocks: [
        {
          operator: 'or',
          filters: [
            { filter_on: 'events', log_name: 'Ordered', count: 8, period: { last_days: 30 } },
            { filter_on: 'devices', field: 'app_version', operator: 'is', values: ['2.1'] },
          ],
        },
        { filters: [{ filter_on: 'devices', field: 'opt_in', operator: 'is', values: [true] }] },
      ],
    };
    const { result } = (
      await call('POST', 'segments/preview', { app: app.identifier, filters, fast: true, left: true })
    ).body;
    expect(result).toMatchObject({
      preview: { people_number: 1 },
      sample: null,
      left: [
        { element: 'blocks.0.filters.0', people: 2, margin: null },
        { element: 'blocks.0.filters.1', people: 3, margin: null },
        { element: 'blocks.1.filters.0', people: 1, margin: null },
      ],
    });
  });

  test('of many people counts those of the sample by every kind of filter, and holds the exact number', async () => {
    const many = await insertSampleApp(store.db, world.entity.id, 'com.example.many');
    const people = 12_000;
    const at = new Date(Date.now() - 86_400_000);
    await insertEventDefinitions(store.db, world.entity.id, many.id, [{ logType: 2, name: 'Ordered' }]);
    const each = `FROM generate_series(1, ${people}) n`;
    for (const [statement, ...values] of [
      [
        `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) SELECT $1, $2, 'd' || n, 'u' || n, now() ${each}`,
      ],
      [
        `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, country, opt_in, push_token, first_seen_at, last_seen_at)
         SELECT $1, $2, 'd' || n, 'u' || n, CASE n % 3 WHEN 0 THEN 'FR' ELSE 'DE' END, n % 2 = 0, 'token', now(), now() ${each}`,
      ],
      [
        `INSERT INTO events (entity_id, app_id, happened_at, log_type, device_id, user_id, name)
         SELECT $1, $2, $3, 2, 'd' || n, CASE WHEN n % 5 > 0 THEN 'u' || n END, 'Ordered' ${each} WHERE n % 4 > 0`,
        at,
      ],
    ] as const)
      await store.db.query(statement, [world.entity.id, many.id, ...values]);
    await store.db.query('ANALYZE device_users, devices, events');
    const listed = await create({ app: many.identifier, name: 'Listed', static: true });
    await store.db.query(
      `INSERT INTO segment_members SELECT s.entity_id, s.id, 'uu' || n FROM segments s, generate_series(1, ${people}) n
       WHERE s.identifier = $1 AND n % 7 > 0`,
      [listed.identifier],
    );
    await store.db.query('UPDATE segments SET snapshot_at = now() WHERE identifier = $1', [listed.identifier]);
    const filters = one(
      { filter_on: 'events', log_name: 'Ordered', period: { last_days: 30 } },
      { filter_on: 'devices', field: 'country_code', operator: 'is_not', values: ['FR'] },
      ...inSegment(listed.identifier).blocks[0]!.filters,
    );
    const numbers = Array.from({ length: people }, (_, index) => index + 1);
    const meets = [(n: number) => n % 4 > 0, (n: number) => n % 3 > 0, (n: number) => n % 7 > 0];
    const { rows } = await store.db.query<{ n: number }>(
      `SELECT n ${each} WHERE hashtextextended('uu' || n, 1) % 16 = 0`,
    );
    const sampled = rows.map(({ n }) => n);
    const left = (of: number[]) =>
      meets.map((_, last) => of.filter((n) => meets.slice(0, last + 1).every((isMet) => isMet(n))).length);
    const preview = async (fast: boolean) =>
      (await call('POST', 'segments/preview', { app: many.identifier, filters, fast, left: true })).body.result;
    const exact = await preview(false);
    expect(exact).toMatchObject({
      preview: { people_number: left(numbers)[2] },
      sample: null,
      left: left(numbers).map((count) => ({ people: count, margin: null })),
    });
    const fast = await preview(true);
    expect(fast).toMatchObject({
      preview: { people_number: 16 * left(sampled)[2]! },
      sample: { one_in: 16 },
      left: left(sampled).map((count) => ({ people: 16 * count })),
    });
    for (const [index, { people: estimate, margin }] of (fast.left as { people: number; margin: number }[]).entries())
      expect(Math.abs(estimate - left(numbers)[index]!)).toBeLessThanOrEqual(margin);
    expect(fast.sample.margin).toBe(fast.left[2].margin);
    const { result } = (
      await call('POST', 'segments/preview', {
        app: many.identifier,
        filters: { ...filters, aliases: true },
        fast: true,
      })
    ).body;
    expect(result).toMatchObject({ preview: fast.preview, reach: fast.reach });
  });
});
