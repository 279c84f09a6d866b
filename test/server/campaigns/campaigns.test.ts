import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { CampaignAudience, CampaignPlan } from '../../../api/campaigns/campaign-audience.ts';
import type * as api from '../../../api/campaigns/campaigns.ts';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { isInControlGroup } from '../../../domain/campaigns/control-group.ts';
import { listHoldings } from '../../../store/accounts/empty-entity.ts';
import { endCampaignsOf, updateCampaignStatus } from '../../../store/campaigns/campaign-runs.ts';
import { findCampaignByKey, listCampaignsByKeys } from '../../../store/campaigns/campaigns.ts';
import { write } from '../../../store/core/database.ts';
import { endCampaigns } from '../../../store/jobs/jobs-across-entities.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { updateCountedUntil } from '../../../store/sends/report-rollups.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { rowsOfFile } from '../../harness/core/rows-of-file.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { insertSampleDevice } from '../../harness/sends/campaigns.ts';
import { useServer } from '../http/use-server.ts';
import { campaignBody, insertSampleCampaigns } from './sample-campaigns.ts';

const { store, server, world } = useServer();
let app: { id: number; identifier: string };

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
const call = (method: Method, path: string, body?: object, headers?: Record<string, string>) =>
  server.call(method, `/api/${path}`, { token: world.token, body, headers });

async function made(
  others: Record<string, unknown> = {},
): Promise<{ campaign_id: string; campaign_api_identifier?: string }> {
  const { body } = await call('POST', 'campaign', campaignBody(app.identifier, others));
  expect(body).toMatchObject({ success: true });
  return body.result as { campaign_id: string };
}

async function launched(others: Record<string, unknown> = {}): Promise<string> {
  const { campaign_id: id } = await made(others);
  expect((await call('PUT', `campaign/${id}/launch`)).status).toBe(200);
  return id;
}

const statusOf = async (id: string) => ((await call('GET', `campaign/${id}`)).body.result as { status: string }).status;

/** As if so many days had passed since. */
async function daysLater(id: string, days: number): Promise<void> {
  await store.db.query(
    `UPDATE campaigns SET start_date = start_date - make_interval(days => $2), end_date = end_date - make_interval(days => $2)
     WHERE identifier = $1`,
    [id, days],
  );
}

const DAY = 86_400;
const now = () => Math.floor(Date.now() / 1_000);
const inSegments = (...identifiers: string[]) => ({
  blocks: [
    { filters: [{ filter_on: 'segments', selection: 'any_of', segment_identifiers: identifiers, operator: 'is_in' }] },
  ],
});
const NATIVE = { inapp: 'native', message_title: '*@title|Hello@*', message_content: 'Half price', message_btn: 'OK' };
const DYNAMIC = {
  type: 'dynamic',
  end_date: now() + DAY,
  recurrence: { day_of_week: [1], start_time: { hour: 9 } },
  notif_limit: { maximum: 1 },
};
const CLASSIC = { type: 'classic' };
const INAPP = { includes_push: false, includes_inapp: true, params: NATIVE };

beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.campaigns');
});

describe('before its launch', () => {
  const LATE = { start: 22 * 60, end: 7 * 60, timezone: 'Europe/Paris' };
  const noon = Math.floor(
    Date.parse(`${new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)}T12:00:00Z`) / 1_000,
  );

  /** An app with the devices of seven people in two zones, with quiet hours and a send rate. */
  async function shop(name: string) {
    const own = await insertSampleApp(store.db, world.entity.id, name);
    await store.db.query(`UPDATE apps SET default_tz = 'UTC', quiet_hours = $2, send_rate = 1 WHERE id = $1`, [
      own.id,
      JSON.stringify(LATE),
    ]);
    const device = insertSampleDevice.bind(null, store.db, world.entity.id, own.id);
    await device('phone', { userId: 'ada', timezone: 'Europe/Paris' });
    await device('tablet', { userId: 'ada', token: null, timezone: 'Europe/Paris' });
    await device('far', { userId: 'bob', timezone: 'America/Martinique' });
    await device('shy', { userId: 'dora', optIn: false, timezone: 'Europe/Paris' });
    await device('mute', { userId: 'eve', token: null, timezone: 'Europe/Paris' });
    await device('alone', { timezone: 'Europe/Paris' });
    await device('removed', { userId: 'carl', uninstalled: true });
    return own;
  }
  const audienceOf = async (id: string) =>
    (await call('GET', `campaigns/${id}/audience`)).body.result as CampaignAudience;
  const planOf = async (id: string, query = '') =>
    (await call('GET', `campaigns/${id}/plan${query}`)).body.result as CampaignPlan;

  test('says how many people get it, and of the others why not', async () => {
    const own = await shop('com.example.audience');
    const { campaign_id: push } = await made({ ...CLASSIC, app_id: own.identifier });
    const { campaign_id: both } = await made({
      ...CLASSIC,
      app_id: own.identifier,
      includes_inapp: true,
      params: { ...NATIVE, push_message: 'x' },
    });
    const reasons = async (id: string) =>
      (await audienceOf(id)).reasons.map(({ code, details, people }) => [code, details, people]);
    expect(await audienceOf(push)).toMatchObject({
      people: 6,
      recipients: 3,
      push: 3,
      in_app_only: 0,
      held_back: 3,
      devices: 6,
      people_total: 6,
      control_group_percent: 0,
    });
    expect(new Set((await reasons(push)).map(String))).toEqual(
      new Set(['OPT_OUT,pushes are turned off,1', 'OPT_OUT,no push token,1', 'NO_DEVICE_FOR_USER,,1']),
    );
    expect(await audienceOf(both)).toMatchObject({ people: 6, recipients: 5, push: 3, in_app_only: 2, held_back: 1 });
    const onlyDora = {
      blocks: [{ filters: [{ filter_on: 'devices', field: 'opt_in', operator: 'is', values: [false] }] }],
    };
    const { campaign_id: some } = await made({ ...CLASSIC, app_id: own.identifier, filters: onlyDora });
    expect(await audienceOf(some)).toMatchObject({ people: 1, recipients: 0, held_back: 1, people_total: 6 });
    await store.db.query('UPDATE entities SET control_group_percent = 50 WHERE id = $1', [world.entity.id]);
    onTestFinished(
      async () =>
        void (await store.db.query('UPDATE entities SET control_group_percent = 0 WHERE id = $1', [world.entity.id])),
    );
    const people = ['uada', 'ubob', 'udora', 'ueve', 'ucarl', 'dalone'];
    const held = people.filter((person) => isInControlGroup({ percent: 50, salt: world.entity.identifier }, person));
    const controlled = await audienceOf(both);
    expect(controlled.people).toBe(controlled.recipients + controlled.held_back);
    expect(controlled.reasons.find(({ code }) => code === 'CONTROL_GROUP')?.people ?? 0).toBe(
      held.filter((person) => person !== 'ucarl').length,
    );
    const { campaign_id: parcel } = await made({ app_id: own.identifier });
    expect((await call('GET', `campaigns/${parcel}/audience`)).body).toMatchObject({ status: 'conflict' });
  });

  test('says when it leaves, on the clocks of the devices, after quiet hours and at the send rate', async () => {
    const own = await shop('com.example.plan');
    const { campaign_id: id } = await made({ ...CLASSIC, app_id: own.identifier, start_date: noon, adapt_tz: true });
    const { sends, ...whole } = await planOf(id);
    const day = new Date(noon * 1_000).toISOString().slice(0, 10);
    expect(sends.map(({ zones, devices, pushes, waits_for: waits }) => [zones, devices, pushes, waits])).toEqual([
      [['Europe/Paris'], 5, 2, ['send_rate']],
      [['America/Martinique'], 1, 1, []],
    ]);
    expect(sends[0]).toMatchObject({ expired: 0, clocks: [{ zone: 'Europe/Paris', at: `${day}T12:00:00` }] });
    expect(whole).toMatchObject({
      first_at: sends[0]!.leaves_from,
      last_at: `${day}T16:00:00.000Z`,
      audience: { people: 6, recipients: 3 },
      quiet_hours: { start: '22:00', end: '07:00', timezone: 'Europe/Paris' },
      send_rate: 1,
      timezone: 'UTC',
    });
    const evening = noon + 6 * 3_600;
    const { campaign_id: late } = await made({
      ...CLASSIC,
      app_id: own.identifier,
      start_date: evening,
      adapt_tz: true,
    });
    const martinique = (await planOf(late)).sends.find(({ zones }) => zones!.includes('America/Martinique'))!;
    expect(martinique.waits_for).toEqual(['quiet_hours']);
    expect(martinique.clocks).toMatchObject([{ at: `${day}T18:00:00`, is_quiet_there: true }]);
    expect((await planOf(late, '?limit=1')).last_at).toBe(martinique.leaves_until);
    await store.db.query('UPDATE devices SET timezone = NULL WHERE app_id = $1', [own.id]);
    const { campaign_id: everywhere } = await made({ ...CLASSIC, app_id: own.identifier, start_date: noon });
    expect((await planOf(everywhere)).sends).toMatchObject([
      { zones: null, devices: 6, pushes: 3, clocks: [{ zone: 'UTC', devices: 6, is_quiet_there: false }] },
    ]);
  });

  test('is launched only for as many people as were confirmed, and says who launched it', async () => {
    const own = await shop('com.example.expected');
    const { campaign_id: id } = await made({ ...CLASSIC, app_id: own.identifier, start_date: noon });
    const launch = (body: object) => call('PUT', `campaign/${id}/launch`, body);
    expect(await launch({ expected_people: 2 })).toMatchObject({
      status: 409,
      body: {
        status: 'conflict',
        error_message: expect.stringMatching(/would go to 3 people now, and you confirmed 2/) as string,
        expected_people: 2,
        recipients: 3,
      },
    });
    expect(await launch({ expected_people: -1 })).toMatchObject({ status: 400 });
    expect(await launch({ expected_people: 3, revision: 0 })).toMatchObject({ status: 409 });
    expect(await statusOf(id)).toBe('Draft');
    expect((await launch({ expected_people: 4, revision: 1 })).body.result).toMatchObject({
      status: 'Scheduled',
      expected_people: 4,
      launched_by: { id: world.user.id, uid: world.user.uid },
      revision: 2,
    });
    const { campaign_id: parcel } = await made({ app_id: own.identifier });
    expect((await call('PUT', `campaign/${parcel}/launch`, { expected_people: 1 })).body).toMatchObject({
      messages: [{ element: 'expected_people' }],
    });
  });

  test('is not replaced by a change of an older revision', async () => {
    const { campaign_id: id } = await made();
    const replace = (name: string, revision?: number) =>
      call('PUT', `campaign/${id}`, campaignBody(app.identifier, { name, revision }));
    expect((await replace('first', 1)).body.result).toMatchObject({ name: 'first', revision: 2 });
    expect(await replace('second', 1)).toMatchObject({
      status: 409,
      body: { status: 'conflict', error_message: expect.stringContaining('revision 2') as string },
    });
    expect((await replace('third')).body.result).toMatchObject({ name: 'third', revision: 3 });
  });

  test('has a list of its tests, newest first, page by page', async () => {
    const { campaign_id: id } = await made({ ...CLASSIC });
    const requests: string[] = [];
    for (const users of [['ada'], ['ada', 'bob']])
      requests.unshift((await call('POST', `campaign/${id}/test`, { users })).body.result.requestId as string);
    const first = (await call('GET', `campaigns/${id}/tests?per_page=1`)).body.result;
    expect(first.tests).toMatchObject([
      { requestId: requests[0], state: 'accepted', created_by: { uid: world.user.uid }, results: [], result_count: 0 },
    ]);
    const rest = (await call('GET', new URL(first.next as string).href.split('/api/')[1]!)).body.result;
    expect([rest.tests.map(({ requestId }: { requestId: string }) => requestId), rest.next]).toEqual([
      [requests[1]],
      null,
    ]);
  });
});

describe('a campaign', () => {
  test('is saved as a draft with its defaults, replaced, launched under either name, and canceled', async () => {
    const { campaign_id: id, campaign_api_identifier: key } = await made({ sensitive: true });
    expect([id, key]).toEqual([expect.stringMatching(/^cmp_/), expect.stringMatching(/^api_/)]);
    const draft = (await call('GET', `campaign/${id}`)).body.result;
    expect(draft).toMatchObject({
      identifier: id,
      campaign_api_identifier: key,
      name: 'Parcel',
      status: 'Draft',
      type: 'transactional',
      source: 'API',
      sensitive: true,
      app_id: app.identifier,
      includes_push: true,
      includes_inapp: false,
      start_date: null,
      end_date: null,
      launched_at: null,
      adapt_tz: false,
      skip_message_limit: false,
      filters: null,
      recurrence: null,
      notif_limit: null,
      failure: null,
      params: {
        push_title: null,
        push_includes_sound: true,
        expire_after: 604_800,
        push_parameters: [],
        inapp: null,
        inapp_parameters: [],
      },
      placeholders: [
        { name: 'parcel', required: true },
        { name: 'name', required: false },
      ],
      warnings: [{ element: 'params', message: expect.stringContaining('verified_users') as string }],
    });
    const verify = (isOn: boolean) =>
      store.db.query('UPDATE apps SET verified_users = $2 WHERE id = $1', [app.id, isOn]);
    await verify(true);
    expect((await call('GET', `campaign/${id}`)).body.result).toMatchObject({ warnings: [] });
    const misspelt = await call(
      'PUT',
      `campaign/${id}`,
      campaignBody(app.identifier, {
        params: {
          push_message: 'Hello *@name|you@*',
          push_parameters: [{ key: 'a', value: 'of *@first name@* today' }],
        },
      }),
    );
    expect(misspelt.body.result.warnings).toEqual([
      { element: 'params', message: expect.stringContaining('hold *@first name@*, which is no placeholder') as string },
    ]);
    await verify(false);

    const start = now() + DAY;
    const replaced = await call(
      'PUT',
      `campaign/${key}`,
      campaignBody(app.identifier, {
        name: 'Parcels',
        start_date: start,
        params: { push_message: 'x', push_parameters: [{ key: 'a', value: '*@a@*' }] },
      }),
    );
    expect(replaced.body.result).toMatchObject({
      identifier: id,
      campaign_api_identifier: key,
      name: 'Parcels',
      status: 'Draft',
      start_date: start,
      end_date: start + 30 * DAY,
      sensitive: false,
      placeholders: [{ name: 'a', required: true }],
      warnings: [{ element: 'params' }],
    });
    expect((await call('PUT', `campaign/${id}`, campaignBody(app.identifier, { type: 'classic' }))).body).toMatchObject(
      { status: 'bad_request', messages: [{ element: 'type' }] },
    );

    const running = (await call('PUT', `campaign/${key}/launch`)).body.result as { launched_at: number };
    expect(running).toMatchObject({ status: 'Scheduled', start_date: start, end_date: start + 30 * DAY });
    expect(Math.abs(running.launched_at - now())).toBeLessThan(60);
    expect((await call('PUT', `campaign/${id}/cancel`)).body.result).toMatchObject({
      status: 'Canceled',
      ended_at: expect.any(Number) as number,
    });
  });

  test('that is canceled or failed has no end until its sends have ended, for their counts still change', async () => {
    const endOf = async (id: string) =>
      ((await call('GET', `campaign/${id}`)).body.result as { ended_at: number | null }).ended_at;
    const endSend = (id: string) =>
      write(store.db, async (tx) => {
        const {
          rows: [send],
        } = await tx.query<{ id: number }>(
          `UPDATE sends SET state = 'canceled', ended_at = now() WHERE identifier = $1 RETURNING id`,
          [id],
        );
        await endCampaignsOf(tx, world.entity.id, send!.id);
      });
    const [canceled, failed, missed] = [await launched(CLASSIC), await launched(CLASSIC), await launched(CLASSIC)];
    for (const id of [canceled, missed])
      expect((await call('PUT', `campaign/${id}/cancel`)).body.result).toMatchObject({ ended_at: null });
    const { id: failedId } = (await findCampaignByKey(store.db, world.entity.id, failed))!;
    await updateCampaignStatus(store.db, world.entity.id, failedId, 'failed', 'its filters');
    expect(await endOf(failed)).toBeNull();
    for (const id of [canceled, failed]) await endSend(id);
    await store.db.query(`UPDATE sends SET state = 'canceled', ended_at = now() WHERE identifier = $1`, [missed]);
    expect(await Promise.all([canceled, failed, missed].map(endOf))).toEqual([
      expect.any(Number),
      expect.any(Number),
      null,
    ]);
    await endCampaigns(store.db);
    expect(await endOf(missed)).toEqual(expect.any(Number));
  });

  test('that starts now takes messages from its launch; it ends with its end date if it has an in-app message, else never', async () => {
    const [push, inapp, later] = [
      await launched(),
      await launched(INAPP),
      await launched({ ...INAPP, start_date: now() + DAY }),
    ];
    expect(await Promise.all([push, inapp, later].map(statusOf))).toEqual(['Ongoing', 'Ongoing', 'Scheduled']);
    const { start_date: start, end_date: end } = (await call('GET', `campaign/${inapp}`)).body.result as Record<
      string,
      number
    >;
    expect(end! - start!).toBe(30 * DAY);
    for (const id of [push, inapp, later]) await daysLater(id, 29);
    expect(await Promise.all([push, inapp, later].map(statusOf))).toEqual(['Ongoing', 'Ongoing', 'Ongoing']);
    for (const id of [push, inapp, later]) await daysLater(id, 1);
    expect(await Promise.all([push, inapp, later].map(statusOf))).toEqual(['Ongoing', 'Finished', 'Ongoing']);
    expect((await call('GET', `campaign/${inapp}`)).body.result).toMatchObject({
      ended_at: expect.any(Number) as number,
    });
    expect((await call('PUT', `campaign/${inapp}/cancel`)).body).toMatchObject({
      status: 'conflict',
      error_message: 'The campaign is finished already',
    });
  });

  test('is replaced, deleted and launched only as a draft', async () => {
    const id = await launched();
    const refused = [
      await call('PUT', `campaign/${id}/launch`),
      await call('PUT', `campaign/${id}`, campaignBody(app.identifier)),
      await call('DELETE', `campaign/${id}`),
    ];
    for (const { status, body } of refused) {
      expect(status).toBe(409);
      expect(body).toMatchObject({ status: 'conflict', error_message: expect.stringContaining('ongoing') as string });
    }
    const { campaign_id: draft } = await made();
    expect((await call('PUT', `campaign/${draft}/cancel`)).body).toMatchObject({ status: 'conflict' });
    expect((await call('DELETE', `campaign/${draft}`)).body).toEqual({ success: true });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PUT', '/launch'],
      ['PUT', '/cancel'],
    ] as const) {
      expect(await call(method, `campaign/${draft}${path}`)).toMatchObject({
        status: 404,
        body: { status: 'not_found', error_message: 'Campaign not found' },
      });
    }
    const { campaign_id: late } = await made({ ...INAPP, end_date: now() + DAY });
    await daysLater(late, 2);
    expect((await call('PUT', `campaign/${late}/launch`)).body).toMatchObject({ status: 'conflict' });
    const { campaign_id: classic, campaign_api_identifier: none } = await made({ type: 'classic' });
    expect(none).toBeUndefined();
    expect(await call('PUT', `campaign/${classic}/launch`)).toMatchObject({
      status: 200,
      body: { result: { status: 'Scheduled' } },
    });
    expect((await call('PUT', `campaign/${classic}/launch`)).body).toMatchObject({ status: 'conflict' });
    expect(await call('PUT', `campaign/${classic}/cancel`)).toMatchObject({
      status: 200,
      body: { result: { status: 'Canceled' } },
    });
  });

  test('is refused by all fields that are wrong, those of its own rules and those of the entity', async () => {
    const { status, body } = await call(
      'POST',
      'campaign',
      campaignBody('app_none', {
        includes_inapp: true,
        end_date: 1,
        filters: inSegments('seg_none'),
        params: { inapp: 'native', message_btn: 'OK' },
      }),
    );
    expect(status).toBe(400);
    expect(body.messages).toMatchObject([
      { element: 'app_id' },
      { element: 'end_date' },
      { element: 'params.push_message' },
      { element: 'params.message_title' },
      { element: 'params.message_content' },
      { element: 'filters' },
    ]);
  });

  test('is made once by a repeated request', async () => {
    const body = campaignBody(app.identifier, { name: 'Once' });
    const headers = { 'idempotency-key': 'once' };
    const [first, second] = [
      await call('POST', 'campaign', body, headers),
      await call('POST', 'campaign', body, headers),
    ];
    expect(second.body).toEqual(first.body);
    expect((await call('GET', 'campaigns?search=once')).body.total_count).toBe(1);
  });

  test('needs the right of its type, besides that of what is done to it', async () => {
    const whole = (await call('GET', `campaign/${(await made(DYNAMIC)).campaign_id}`)).body.result;
    expect(whole).toMatchObject({
      recurrence: { day_of_week: [1], start_time: { hour: 9, min: 0 } },
      notif_limit: { maximum: 1, interval: null },
      placeholders: [],
    });
    const types = { classic: null, transactional: 'transactional_campaigns', dynamic: 'dynamic_campaigns' } as const;
    for (const [type, right] of Object.entries(types)) {
      const other = await makeWorld(store, { rights: RIGHTS.filter((each) => each !== right) });
      const own = await insertSampleApp(store.db, other.entity.id, `com.example.${type}`);
      const asked = campaignBody(own.identifier, type === 'dynamic' ? DYNAMIC : { type });
      const reply = await server.call('POST', '/api/campaign', { token: other.token, body: asked });
      expect(reply.status).toBe(right === null ? 200 : 403);
      if (right !== null) expect(reply.body.error_message).toContain(right);
      // Made before the right was taken.
      await store.db.query(
        `INSERT INTO campaigns (entity_id, identifier, app_id, name, type, includes_push, includes_inapp, params)
         VALUES ($1, $2, $3, 'x', $4, true, false, '{"push_parameters": [], "inapp_parameters": []}')`,
        [other.entity.id, `cmp_${type}`, own.id, type],
      );
      for (const [method, path] of [
        ['PUT', ''],
        ['PUT', '/launch'],
        ['PUT', '/cancel'],
        ['DELETE', ''],
      ] as const) {
        const body = method === 'PUT' && path === '' ? asked : undefined;
        const { status } = await server.call(method, `/api/campaign/cmp_${type}${path}`, { token: other.token, body });
        expect([method, path, type, status === 403]).toEqual([method, path, type, right !== null]);
      }
    }
  });

  test('is tested by those who may draft and launch it, with what its messages need, on 20 people at most', async () => {
    const { campaign_id: id } = await made();
    const tested = async (body: object, campaign = id) => {
      const {
        status,
        body: { messages, error_message: message },
      } = await call('POST', `campaign/${campaign}/test`, body);
      return [
        status,
        ...(messages?.map(({ element, message: said }: Record<string, string>) => `${element} ${said}`) ?? [message]),
      ];
    };
    const users = ['ada'];
    const templateVars = { parcel: 1 };
    expect(await tested({ users, templateVars })).toEqual([200, undefined]);
    expect(await tested({ users })).toEqual([400, 'templateVars.parcel is required: the placeholder has no default']);
    expect(await tested({ users, templateVars: { parcel: null } })).toMatchObject([
      400,
      expect.stringMatching(/^templateVars\.parcel/),
    ]);
    for (const wrong of [[], 'ada', Array.from({ length: 21 }, (_, nth) => `user ${nth}`)]) {
      expect(await tested({ users: wrong, templateVars })).toMatchObject([400, expect.stringMatching(/^users must/)]);
    }
    expect(await tested({ users, templateVars, variant: 'A' })).toEqual([
      400,
      'variant must be left out: the campaign has no variants',
    ]);
    const { campaign_id: varied } = await made({
      type: 'classic',
      variants: [
        { name: 'A', share: 50 },
        { name: 'B', share: 50 },
      ],
    });
    expect(await tested({ users, variant: 'A' }, varied)).toEqual([200, undefined]);
    expect(await tested({ users, variant: 'C' }, varied)).toEqual([400, 'variant must be one of A, B']);
    expect(await tested({ users, templateVars }, varied)).toMatchObject([
      400,
      expect.stringMatching(/^templateVars must be left out/),
    ]);
    expect(await tested({ users }, 'cmp_none')).toEqual([404, 'Campaign not found']);
    for (const right of ['campaign_draft', 'campaign_publish', 'transactional_campaigns'] as const) {
      const other = await makeWorld(store, { rights: RIGHTS.filter((each) => each !== right) });
      const own = await insertSampleApp(store.db, other.entity.id, 'com.example.tested');
      const { draft } = await write(store.db, (tx) =>
        insertSampleCampaigns(tx, other.entity.id, own.id, other.user.id),
      );
      const asked = { token: other.token, body: { users, templateVars } };
      const { status, body } = await server.call('POST', `/api/campaign/${draft}/test`, asked);
      expect([status, body.error_message]).toEqual([403, expect.stringContaining(right)]);
    }
  });

  test('keeps an entity from being deleted while it may send', async () => {
    const other = await makeWorld(store);
    const { identifier } = await insertSampleApp(store.db, other.entity.id, 'com.example.ends');
    const asOther = (method: Method, path: string, body?: object) =>
      server.call(method, `/api/campaign${path}`, { token: other.token, body });
    const holds = async () => (await listHoldings(store.db, other.entity.id)).includes('campaigns');
    const id = ((await asOther('POST', '', campaignBody(identifier, INAPP))).body.result as { campaign_id: string })
      .campaign_id;
    expect(await holds()).toBe(false);
    await asOther('PUT', `/${id}/launch`);
    expect(await holds()).toBe(true);
    await daysLater(id, 30);
    expect(await holds()).toBe(false);
    await daysLater(id, -1);
    await asOther('PUT', `/${id}/cancel`);
    expect(await holds()).toBe(false);
  });

  test('is found by either of its names, within its entity', async () => {
    const { campaign_id: id, campaign_api_identifier: key = '' } = await made();
    const found = await listCampaignsByKeys(store.db, world.entity.id, [key, 'cmp_none', id]);
    expect([...found].map(([each, { identifier }]) => [each, identifier])).toEqual([
      [key, id],
      [id, id],
    ]);
    expect(await findCampaignByKey(store.db, world.entity.id + 1, key)).toBeNull();
  });
});

const errorsOf = ({ body }: { body: { messages?: { element: string; message: string }[] } }) =>
  body.messages?.map(({ element, message }) => `${element} ${message}`);
const view = async (id: string) => (await call('GET', `campaign/${id}`)).body.result as api.CampaignDetails;

describe('the audience of a campaign', () => {
  test('has the filters of segments, as the reference writes them and as a record shows them', async () => {
    const {
      body: { result: guests },
    } = await call('POST', 'segments', { app: app.identifier, name: 'Guests', static: true });
    const { campaign_id: id } = await made({ type: 'classic', filters: inSegments(guests.identifier) });
    const options = [{ selection: 'any_of', segment_identifiers: [guests.identifier], operator: 'is_in' }];
    const shown = { operator: 'and', blocks: [{ operator: 'and', filters: [{ value: 'segments', options }] }] };
    const { filters } = await view(id);
    expect(filters).toEqual(shown);
    const replace = (others: object) =>
      call('PUT', `campaign/${id}`, campaignBody(app.identifier, { type: 'classic', ...others }));
    expect((await replace({ filters })).body.result).toMatchObject({ filters: shown });
    expect((await replace({ filters: { ...filters, aliases: true } })).body.result).toMatchObject({
      filters: { ...shown, aliases: true },
    });
    for (const everybody of [{}, { filters: null }, { filters: {} }, { filters: { blocks: [] } }]) {
      expect((await replace({ filters })).body.result).toMatchObject({ filters: shown });
      expect((await replace(everybody)).body.result).toMatchObject({ filters: null });
    }
    const { campaign_id: dynamic } = await made({ ...DYNAMIC, filters: { operator: 'or', blocks: filters!.blocks } });
    expect((await view(dynamic)).filters).toEqual({ ...shown, operator: 'or' });
  });

  test('that leaves people out by a value that an erasure removed can be sent back, and is not launched', async () => {
    const attribute = {
      filter_on: 'attributes',
      sor_identifier: world.sor.identifier,
      attribute_key: 'plan',
      operator: 'is_not',
    };
    const filters = { blocks: [{ filters: [{ ...attribute, values: [], values_erased: 1 }] }] };
    const { campaign_id: id } = await made({ type: 'classic', filters });
    const replace = async (sent: object) =>
      (await call('PUT', `campaign/${id}`, campaignBody(app.identifier, { type: 'classic', filters: sent }))).body
        .result;
    const failure = expect.stringContaining('an erasure removed a value by which it leaves people out') as string;
    const { filters: shown } = await view(id);
    expect(await replace(shown!)).toMatchObject({ filters: shown, failure, status: 'Draft' });
    expect(await call('PUT', `campaign/${id}/launch`)).toMatchObject({ status: 409, body: { error_message: failure } });
    expect((await call('POST', 'segments/preview', { app: app.identifier, filters: shown })).status).toBe(409);
    expect(await replace({ blocks: [{ filters: [{ ...attribute, values: ['gold'] }] }] })).toMatchObject({
      failure: null,
    });
    expect((await call('PUT', `campaign/${id}/launch`)).status).toBe(200);
  });

  test('names what the app and the entity have, else it is refused by the field, when it is made and when it is replaced', async () => {
    const attribute = {
      filter_on: 'attributes',
      sor_identifier: world.sor.identifier,
      attribute_key: 'scor',
      operator: 'is',
      values: [1],
    };
    const event = { filter_on: 'events', log_name: 'Ordered', period: { last_days: 30 } };
    const filters = { blocks: [{ filters: [attribute, { filters: [event] }] }, ...inSegments('seg_none').blocks] };
    const { campaign_id: id } = await made({ type: 'classic' });
    const body = campaignBody(app.identifier, { type: 'classic', filters, params: {} });
    for (const refused of [await call('POST', 'campaign', body), await call('PUT', `campaign/${id}`, body)]) {
      expect([refused.status, errorsOf(refused)]).toEqual([
        400,
        [
          'params.push_message is required where includes_push is true',
          expect.stringMatching(/^filters\.blocks\.0\.filters\.0\.attribute_key is unknown: did you mean score/),
          expect.stringMatching(/^filters\.blocks\.0\.filters\.1\.filters\.0\.log_name is unknown/),
          expect.stringMatching(/^filters\.blocks\.1\.filters\.0\.segment_identifiers\.0 is no segment/),
        ],
      ]);
    }
    await insertEventDefinitions(store.db, world.entity.id, app.id, [{ logType: 2, name: 'Ordered' }]);
    const { campaign_id: other } = await made({ type: 'classic', filters: { blocks: [{ filters: [event] }] } });
    const elsewhere = await insertSampleApp(store.db, world.entity.id, 'com.example.elsewhere');
    const moved = campaignBody(elsewhere.identifier, { type: 'classic', filters: (await view(other)).filters });
    expect(errorsOf(await call('PUT', `campaign/${other}`, moved))).toEqual([
      expect.stringMatching(/^filters\.blocks\.0\.filters\.0\.log_name/),
    ]);
  });

  test('keeps what it names until the campaign ends, as segments keep the drafts that they name', async () => {
    const {
      body: { result: guests },
    } = await call('POST', 'segments', { app: app.identifier, name: 'Friends', static: true });
    const { campaign_id: draft } = await made({
      name: 'To friends',
      type: 'classic',
      filters: inSegments(guests.identifier),
    });
    const launchedId = await launched({
      name: 'Later',
      type: 'classic',
      start_date: now() + DAY,
      filters: inSegments(guests.identifier),
    });
    const removed = () => call('DELETE', `segments/${guests.identifier}`);
    expect(await removed()).toMatchObject({
      status: 409,
      body: {
        status: 'in_use',
        error_message: `The filters of campaigns name it: To friends (${draft}), Later (${launchedId})`,
      },
    });
    const got = (id: string) => ({ blocks: [{ filters: [{ filter_on: 'campaigns', campaign_identifiers: [id] }] }] });
    const {
      body: { result: readers },
    } = await call('POST', 'segments', { app: app.identifier, name: 'Readers', filters: got(draft) });
    const { campaign_id: second } = await made({ name: 'Second', type: 'classic', filters: got(draft) });
    expect(await call('DELETE', `campaign/${draft}`)).toMatchObject({
      status: 409,
      body: {
        status: 'in_use',
        error_message: `The filters of other segments name it: Readers (${readers.identifier}). The filters of campaigns name it: Second (${second})`,
      },
    });
    for (const path of [`segments/${readers.identifier}`, `campaign/${second}`, `campaign/${draft}`]) {
      expect((await call('DELETE', path)).status).toBe(200);
    }
    expect((await removed()).body.error_message).toBe(`The filters of campaigns name it: Later (${launchedId})`);
    expect((await call('PUT', `campaign/${launchedId}/cancel`)).status).toBe(200);
    expect((await removed()).status).toBe(200);
  });
});

describe('an A/B test', () => {
  const VARIANTS = [
    { name: 'Plain', share: 70 },
    { name: 'Loud', share: 30, params: { push_message: 'SALE', push_title: 'Now' } },
  ];
  const tested = {
    type: 'classic',
    params: { push_message: 'Sale', deep_linking_url: 'shop://sale' },
    variants: VARIANTS,
  };

  test('shows each variant with its own message and counts, in lists and alone', async () => {
    const { campaign_id: id } = await made({ ...tested, name: 'Tested' });
    const [plain, loud] = (await view(id)).variants;
    const none = { total_push_openings: 0, total_push_sent: 0 };
    expect([plain, loud]).toMatchObject([
      {
        name: 'Plain',
        share: 70,
        params: { push_message: 'Sale', push_title: null, deep_linking_url: 'shop://sale' },
        stats: none,
      },
      {
        name: 'Loud',
        share: 30,
        params: { push_message: 'SALE', push_title: 'Now', deep_linking_url: 'shop://sale' },
        stats: none,
      },
    ]);
    expect([plain!.identifier, loud!.identifier]).toEqual([
      expect.stringMatching(/^var_/),
      expect.stringMatching(/^var_/),
    ]);
    await store.db.query(
      `INSERT INTO campaign_days (entity_id, campaign_id, day, variant, channel, code, attempts, delivered, opened, shown, clicked)
       SELECT entity_id, id, day::date, variant, channel, code, sent, 0, opened, 0, 0 FROM campaigns,
         (VALUES ('2026-11-01', $2, 'push', 'PUSH_SENT', 7, 1), ('2026-11-02', $2, 'both', 'PUSH_SENT', 70, 10),
           ('2026-11-02', $2, 'push', 'OPT_OUT', 700, 0), ('2026-11-02', $3, 'push', 'PUSH_SENT', 4, 3),
           ('2026-11-02', $3, 'inapp', 'PUSH_SENT', 5, 5)) AS counted (day, variant, channel, code, sent, opened) WHERE identifier = $1`,
      [id, plain!.identifier, loud!.identifier],
    );
    const counts = [
      { total_push_openings: 11, total_push_sent: 77 },
      { total_push_openings: 3, total_push_sent: 4 },
    ];
    const shown = await view(id);
    expect([shown.stats, shown.variants.map(({ stats }) => stats)]).toEqual([
      { total_push_openings: 14, total_push_sent: 81 },
      counts,
    ]);
    const [listed] = (await call('GET', 'campaigns?search=tested')).body.result as api.Campaign[];
    expect(listed!.variants).toEqual(
      [plain, loud].map((variant, index) => {
        const { push_message, push_title, push_action, push_parameters } = variant!.params;
        return { ...variant, params: { push_message, push_title, push_action, push_parameters }, stats: counts[index] };
      }),
    );
  });

  test('keeps the identifiers of variants under their names while its draft is replaced', async () => {
    const { campaign_id: id } = await made(tested);
    const [plain, loud] = (await view(id)).variants;
    const replace = async (others: object) =>
      (await call('PUT', `campaign/${id}`, campaignBody(app.identifier, { ...tested, ...others }))).body
        .result as api.CampaignDetails;
    const {
      variants: [first, second, third],
    } = await replace({
      variants: [
        { ...VARIANTS[1], share: 40 },
        { name: 'Third', share: 20 },
        { ...VARIANTS[0], share: 40, params: { push_title: 'x' } },
      ],
    });
    expect([first, third]).toMatchObject([
      { identifier: loud!.identifier, share: 40 },
      { identifier: plain!.identifier, share: 40 },
    ]);
    expect([plain!.identifier, loud!.identifier]).not.toContain(second!.identifier);
    expect((await replace({ variants: null })).variants).toMatchObject([
      { identifier: id, share: 100, params: { push_message: 'Sale' } },
    ]);
  });

  test('is refused by the field, of a variant too; a transactional campaign has none', async () => {
    const create = (others: object) => call('POST', 'campaign', campaignBody(app.identifier, { ...tested, ...others }));
    const wrong = [
      { name: 'A', share: 50, params: { deep_linking_url: 'sale' } },
      { name: 'A', share: 60 },
    ];
    expect(errorsOf(await create({ variants: wrong }))).toEqual([
      'variants.1.name is there twice',
      'variants must have shares that add up to 100: these add up to 110',
      'variants.0.params.deep_linking_url must be an address with its scheme, such as shop://orders',
    ]);
    expect(errorsOf(await create({ type: 'transactional' }))).toEqual([
      expect.stringMatching(/^variants can't be set/),
    ]);
  });

  test('needs the right ab_testing besides, to be made, replaced or duplicated', async () => {
    const other = await makeWorld(store, { rights: RIGHTS.filter((right) => right !== 'ab_testing') });
    const own = await insertSampleApp(store.db, other.entity.id, 'com.example.tested');
    const asOther = (method: Method, path: string, body?: object) =>
      server.call(method, `/api/campaign${path}`, { token: other.token, body });
    const body = campaignBody(own.identifier, tested);
    const forbidden = {
      status: 403,
      body: { status: 'forbidden', error_message: expect.stringContaining('ab_testing') as string },
    };
    expect(await asOther('POST', '', body)).toMatchObject(forbidden);
    const { campaign_id: id } = (await asOther('POST', '', { ...body, variants: null })).body.result as {
      campaign_id: string;
    };
    expect(await asOther('PUT', `/${id}`, body)).toMatchObject(forbidden);
    expect((await asOther('POST', `/${id}/duplicate`)).status).toBe(200);
    // Made before the right was taken: the test may still be ended.
    const variants = JSON.stringify([{ identifier: 'var_1', name: 'A', share: 100, params: {} }]);
    await store.db.query('UPDATE campaigns SET variants = $2 WHERE identifier = $1', [id, variants]);
    expect(await asOther('POST', `/${id}/duplicate`)).toMatchObject(forbidden);
    expect((await asOther('PUT', `/${id}`, { ...body, variants: null })).status).toBe(200);
  });
});

describe('the duplicate of a campaign', () => {
  const duplicated = async (id: string, body?: object) => {
    const { campaign_id: copy, campaign_api_identifier: key } = (await call('POST', `campaign/${id}/duplicate`, body))
      .body.result as {
      campaign_id: string;
      campaign_api_identifier?: string;
    };
    return { copy: await view(copy), key };
  };

  test('is a draft with the same settings under names of its own, whatever became of the campaign', async () => {
    const parameters = [{ key: 'a', value: '*@a@*' }];
    const id = await launched({
      ...INAPP,
      sensitive: true,
      skip_message_limit: true,
      params: { ...NATIVE, inapp_parameters: parameters },
    });
    await call('PUT', `campaign/${id}/cancel`);
    const { identifier, campaign_api_identifier: key, ...whole } = await view(id);
    const copied = await duplicated(id);
    expect([copied.copy.identifier, copied.key]).toEqual([
      expect.stringMatching(/^cmp_/),
      expect.stringMatching(/^api_/),
    ]);
    expect([identifier, key]).not.toEqual([copied.copy.identifier, copied.key]);
    expect(copied.copy).toEqual({
      ...whole,
      identifier: copied.copy.identifier,
      campaign_api_identifier: copied.key,
      name: 'Parcel (copy)',
      status: 'Draft',
      start_date: null,
      end_date: null,
      launched_at: null,
      launched_by: null,
      revision: 1,
      ended_at: null,
      created_at: expect.any(Number) as number,
      updated_at: expect.any(Number) as number,
      variants: [{ ...whole.variants[0], identifier: copied.copy.identifier, name: 'Parcel (copy)' }],
    });
    expect((await duplicated(key!, { name: 'Letter' })).copy).toMatchObject({ name: 'Letter', status: 'Draft' });
    expect(errorsOf(await call('POST', `campaign/${id}/duplicate`, { name: ' ' }))).toEqual(['name must not be blank']);
    expect((await call('POST', 'campaign/cmp_none/duplicate')).body).toMatchObject({
      status: 'not_found',
      error_message: 'Campaign not found',
    });
    const { rows } = await store.db.query(
      `SELECT action, details FROM audit_log WHERE entity_id = $1 AND subject = $2`,
      [world.entity.id, copied.copy.identifier],
    );
    expect(rows).toEqual([{ action: 'create', details: { name: 'Parcel (copy)', type: 'transactional' } }]);
  });

  test('has the audience and the variants of the campaign, with identifiers of their own', async () => {
    const filters = {
      blocks: [{ filters: [{ filter_on: 'devices', field: 'country_code', operator: 'is', values: ['FR'] }] }],
    };
    const variants = [
      { name: 'A', share: 50 },
      { name: 'B', share: 50, params: { push_title: 'B' } },
    ];
    const { campaign_id: id } = await made({ ...DYNAMIC, filters, variants });
    const original = await view(id);
    const { copy } = await duplicated(id);
    const { filters: audience, recurrence } = original;
    expect(copy).toMatchObject({ type: 'dynamic', filters: audience, recurrence, notif_limit: { maximum: 1 } });
    const withoutIdentifier = ({ variants: all }: api.CampaignDetails) =>
      all.map(({ identifier: _, ...variant }) => variant);
    expect(withoutIdentifier(copy)).toEqual(withoutIdentifier(original));
    expect(new Set([...copy.variants, ...original.variants].map(({ identifier }) => identifier)).size).toBe(4);
  });

  test('keeps dates that lie ahead; a dynamic one whose end has passed gets as long a period', async () => {
    const { campaign_id: ahead } = await made({ ...INAPP, start_date: now() + DAY, end_date: now() + 3 * DAY });
    const { start_date: start, end_date: end } = await view(ahead);
    expect((await duplicated(ahead)).copy).toMatchObject({ start_date: start, end_date: end });
    const { campaign_id: dynamic } = await made({ ...DYNAMIC, start_date: now() + DAY, end_date: now() + 3 * DAY });
    await daysLater(dynamic, 9);
    const { copy } = await duplicated(dynamic);
    expect([copy.start_date, Math.abs(copy.end_date! - now() - 2 * DAY) < 60]).toEqual([null, true]);
  });
});

describe('the list', () => {
  let list: typeof call;
  let ids: Record<string, string>;
  let entityId: number;
  const THIRD = {
    push_message: 'Sale',
    push_title: 'Now',
    push_action: 'shop://sale',
    push_parameters: [{ key: 'a', value: '1' }],
  };
  const namesOf = (body: Record<string, unknown>) => (body['result'] as { name: string }[]).map(({ name }) => name);

  beforeAll(async () => {
    const other = await makeWorld(store);
    entityId = other.entity.id;
    list = (method, path, body, headers) => server.call(method, `/api/${path}`, { token: other.token, body, headers });
    const apps = [
      await insertSampleApp(store.db, other.entity.id, 'b.shop'),
      await insertSampleApp(store.db, other.entity.id, 'a.shop'),
    ];
    ids = { b: apps[0]!.identifier, a: apps[1]!.identifier };
    const insert = async (at: string, name: string, others: object, dates: object = {}) => {
      const made = await list('POST', 'campaign', { ...campaignBody(ids[at]!, { name, ...others }), ...dates });
      ids[name] = (made.body.result as { campaign_id: string }).campaign_id;
    };
    await insert('b', 'First sale', {});
    await insert('a', 'Second', { ...INAPP }, { start_date: now() + DAY });
    await insert(
      'b',
      'Third SALE',
      { type: 'classic', params: THIRD, adapt_tz: true, skip_message_limit: true },
      {
        start_date: now() + 2 * DAY,
      },
    );
    await list('PUT', `campaign/${ids['First sale']!}/launch`);
    await list('PUT', `campaign/${ids['Second']!}/launch`);
    await store.db.query(
      `INSERT INTO campaign_days (entity_id, campaign_id, day, channel, code, attempts, delivered, opened, shown, clicked)
       SELECT entity_id, id, day::date, channel, code, 5, 4, 2, 1, 1 FROM campaigns,
         (VALUES ('2026-11-01', 'push', 'PUSH_SENT'), ('2026-11-02', 'both', 'PUSH_SENT'), ('2026-11-02', 'push', 'OPT_OUT'),
           ('2026-11-02', 'inapp', 'PUSH_SENT')) AS counted (day, channel, code) WHERE identifier = $1`,
      [ids['First sale']],
    );
    await updateCountedUntil(store.db, entityId, new Date('2026-11-03T00:00:00Z'));
    await store.db.query(
      'UPDATE campaigns SET reach_count = 7, reach_optin = 6, reach_total = 9 WHERE identifier = $1',
      [ids['First sale']],
    );
  });

  test("has the reference's shape, newest first, with what was sent and opened", async () => {
    const { body } = await list('GET', 'campaigns');
    expect(body).toMatchObject({ limit: null, offset: 0, success: true, total_count: 3 });
    expect(namesOf(body)).toEqual(['Third SALE', 'Second', 'First sale']);
    const params = {
      push_message: expect.any(String) as string,
      push_title: null,
      push_action: null,
      push_parameters: [],
    };
    const stats = { total_push_openings: 6, total_push_sent: 10 };
    expect((body.result as object[])[2]).toEqual({
      identifier: ids['First sale'],
      name: 'First sale',
      status: 'Ongoing',
      type: 'transactional',
      includes_inapp: false,
      includes_push: true,
      adapt_tz: false,
      app_id: ids['b'],
      launched_at: expect.any(Number) as number,
      start_date: expect.any(Number) as number,
      end_date: expect.any(Number) as number,
      next_send_at: null,
      next_send_until: null,
      updated_at: expect.any(Number) as number,
      created_at: expect.any(Number) as number,
      params,
      skip_message_limit: false,
      reach: { count: 7, optin: 6, total: 9 },
      reach_state: 'none',
      stats,
      stats_counted_until: Date.parse('2026-11-03T00:00:00Z') / 1_000,
      variants: [{ identifier: ids['First sale'], name: 'First sale', share: 100, params, stats }],
    });
    expect((body.result as object[])[0]).toMatchObject({
      status: 'Draft',
      type: 'classic',
      adapt_tz: true,
      skip_message_limit: true,
      launched_at: null,
      params: THIRD,
    });
    expect((await list('GET', 'campaigns', undefined, { accept: 'application/vnd.svc.v3' })).body.limit).toBe(20);
  });

  /** What the file of the list will hold, a record each. */
  async function exported(query = '', form = ''): Promise<Record<string, unknown>[]> {
    const { status, body } = await list('GET', `campaigns/list_export${form}?skip_email=true&${query}`);
    expect([query, status]).toEqual([query, 200]);
    const [columns, ...rows] = await rowsOfFile(store, entityId, (body.result as { callback: string }).callback);
    return rows.map((cells) => Object.fromEntries(cells.map((cell, at) => [columns![at], cell])));
  }

  test('is a file too, which has all that the list has but variants', async () => {
    const listed = (await list('GET', 'campaigns')).body.result as api.Campaign[];
    const flat = listed.map(({ params, reach, stats, variants: _, ...campaign }) => ({
      ...campaign,
      ...params,
      push_parameters: JSON.stringify(params.push_parameters),
      ...stats,
      reach_count: reach.count,
      reach_optin: reach.optin,
      reach_total: reach.total,
    }));
    for (const form of ['', '.csv', '.xls', '.xlsx']) expect(await exported('', form)).toEqual(flat);
    expect((await list('GET', 'campaigns/list_export.pdf')).body).toMatchObject({ messages: [{ element: 'format' }] });
    expect((await list('GET', 'campaigns/list_export?order=name')).body).toMatchObject({
      messages: [{ element: 'order' }],
    });
    expect((await list('GET', `campaigns/list_export?app_ids=${app.identifier}`)).body).toMatchObject({
      status: 'not_found',
    });
  });

  test('is filtered, ordered and paged', async () => {
    const queries: [string, string[]][] = [
      [`app_ids=${ids['a']!}`, ['Second']],
      [`app_ids=${ids['a']!},${ids['b']!}&limit=1&offset=1`, ['Second']],
      ['status=ongoing,finished,wait_sync,scheduled,draft,failed,canceled', ['Third SALE', 'Second', 'First sale']],
      ['status=ongoing,scheduled', ['Second', 'First sale']],
      ['status=finished', []],
      ['workflow_types=scheduled', ['Third SALE']],
      ['workflow_types=contextual', []],
      ['workflow_types=transactional,dynamic', ['Second', 'First sale']],
      ['message_types=inapp', ['Second']],
      ['message_types=push', ['Third SALE', 'First sale']],
      ['search=sale', ['Third SALE', 'First sale']],
      ['search=%25', []],
      [`from=${new Date(Date.now() + DAY * 1_000).toISOString()}`, []],
      ['to=2020-01-01', []],
      ['from=2020-01-01&order=status', ['Third SALE', 'First sale', 'Second']],
      ['order=app', ['Second', 'Third SALE', 'First sale']],
      ['order=start_date', ['Third SALE', 'Second', 'First sale']],
      ['order=updated_at', ['Second', 'First sale', 'Third SALE']],
      ['order=created_at&offset=3', []],
    ];
    for (const [query, names] of queries) {
      const { body } = await list('GET', `campaigns?${query}`);
      expect([query, ...namesOf(body)]).toEqual([query, ...names]);
      if (query.includes('offset')) continue;
      expect([query, body.total_count]).toEqual([query, names.length]);
      expect([query, ...(await exported(query)).map(({ name }) => name)]).toEqual([query, ...names]);
    }
    expect((await list('GET', 'campaigns?limit=1&offset=1')).body).toMatchObject({
      limit: 1,
      offset: 1,
      success: true,
      total_count: 3,
    });
    for (const query of [
      'limit=0',
      'limit=10001',
      'offset=-1',
      'order=name',
      'status=running',
      'workflow_types=classic',
    ]) {
      const [{ element }] = (await list('GET', `campaigns?${query}`)).body.messages as [{ element: string }];
      expect([query, element.split('.')[0]]).toEqual([query, query.split('=')[0]]);
    }
    expect((await list('GET', `campaigns?app_ids=${app.identifier}`)).body).toMatchObject({ status: 'not_found' });
  });
});
