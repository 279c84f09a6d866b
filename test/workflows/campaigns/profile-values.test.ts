import { beforeAll, describe, expect, it } from 'vitest';
import type { ScalarType } from '../../../domain/attributes/attribute-value.ts';
import type { CustomerType } from '../../../domain/attributes/customer-id.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, tokenWith, type World } from '../../harness/core/world.ts';
import { insertSampleDevice } from '../../harness/sends/campaigns.ts';

const stack = useStack({ impatient: true });
let world: World;
let app: { id: number; identifier: string };

type Answer<R> = { status: number; result: R; message: string; errors: { element: string; message: string }[] };

async function call<R = unknown>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  payload?: object,
  token = world.token,
): Promise<Answer<R>> {
  const reply = await stack.app.inject({
    method,
    url: `/api/${path}`,
    headers: { authorization: `Token ${token}` },
    ...(payload !== undefined && { payload }),
  });
  const {
    result,
    error_message: message,
    messages = [],
  } = reply.json<{
    result: R;
    error_message: string;
    messages?: { element: string; message: string }[];
  }>();
  return { status: reply.statusCode, result, message, errors: messages };
}

const draft = (message: string, change: object = {}) => ({
  name: 'News',
  type: 'classic',
  source: 'API',
  app_id: app.identifier,
  includes_push: true,
  includes_inapp: false,
  start_date: 'now',
  params: { push_message: message },
  ...change,
});

async function create(message: string, change: object = {}): Promise<string> {
  const {
    status,
    result,
    message: why,
  } = await call<{ campaign_id: string }>('POST', 'campaign', draft(message, change));
  expect([status, why]).toEqual([200, undefined]);
  return result.campaign_id;
}

const named = (key: string, otherwise?: string) =>
  `*@sor:${world.sor.identifier}.${key}${otherwise === undefined ? '' : `|${otherwise}`}@*`;

type Sent = { device: string; code: string; details: string | null; content: Record<string, { body?: string }> | null };

async function sentBy(campaign: string): Promise<Sent[]> {
  const { rows } = await stack.store.db.query<Sent>(
    `SELECT a.device_id AS device, a.code, a.details, a.content FROM attempts a
     JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
     WHERE coalesce(c.test_of, c.identifier) = $1 ORDER BY a.device_id`,
    [campaign],
  );
  return rows;
}

/** Launches a campaign and returns what each device got. */
async function launched(campaign: string): Promise<Record<string, string>> {
  expect((await call('PUT', `campaign/${campaign}/launch`)).status).toBe(200);
  await waitFor('the end of the campaign', async () => {
    const { status } = (await call<{ status: string }>('GET', `campaign/${campaign}`)).result;
    return status === 'Finished';
  });
  return saidTo(await sentBy(campaign));
}

const saidTo = (sent: Sent[]) =>
  Object.fromEntries(
    sent.map(({ device, code, details, content }) => [device, content?.push?.body ?? details ?? code]),
  );

type ValueOf = { key: string; value: string | boolean };

async function insertValues(customerType: CustomerType, customerId: string, values: readonly ValueOf[]): Promise<void> {
  const { db, secrets } = stack.store;
  await write(db, (tx) =>
    mergeAttributeValues(
      tx,
      secrets,
      world.entity.id,
      world.sor.id,
      prepareChanges(
        values.map(({ key, value }, index) => {
          const { id: attributeId, valueType } = world.attributes[key]!;
          return {
            kind: 'value' as const,
            line: index + 1,
            attributeId,
            customerType,
            customerId,
            valueType: valueType as ScalarType,
            value,
          };
        }),
      ),
    ),
  );
}

beforeAll(async () => {
  world = await makeWorld(stack.store);
  app = await insertSampleApp(stack.store.db, world.entity.id, 'com.example.profile');
  stack.startWorker();
});

describe('profile values', () => {
  it('stand in the texts of a classic campaign: each type as a text, the default without, and nothing of erased people', async () => {
    const { db, secrets } = stack.store;
    const { id: entityId } = world.entity;
    const device = insertSampleDevice.bind(null, db, entityId, app.id);
    await device('phone', { userId: 'ada' });
    await device('tablet', { userId: 'bob' });
    await device('lonely');
    await device('watch', { userId: 'eve' });
    const all = [
      { key: 'plan', value: 'Ada *@plan@*' },
      { key: 'score', value: '1.50' },
      { key: 'vip', value: true },
      { key: 'born', value: '1990-01-31' },
      { key: 'seen', value: '2026-01-31T12:30:00.000Z' },
    ];
    await insertValues('user_id', 'ada', all);
    await insertValues('device_id', 'lonely', [{ key: 'plan', value: 'a device' }]);
    await insertValues('device_id', 'tablet', [{ key: 'plan', value: "a device's claim" }]);
    await insertValues('user_id', 'eve', [{ key: 'plan', value: 'Eve' }]);
    await db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, customer_id, attribute_id, changed_at, set_elements, set_times)
       VALUES ($1, $2, 0, 'ada', $3, now(), '{tea,cake}', ARRAY[now(), now()])`,
      [entityId, world.sor.id, world.attributes.tags!.id],
    );
    const campaign = await create(`Hello ${named('plan', 'there')}`);
    expect(await launched(campaign)).toEqual({
      phone: 'Hello Ada *@plan@*',
      tablet: 'Hello there',
      lonely: 'Hello a device',
      watch: 'Hello Eve',
    });
    // Her values are still there, as they are until the erasure comes to them.
    await insertTombstone(db, entityId, secrets.customerHash(entityId, 'user_id', 'eve'));
    const keys = ['score', 'vip', 'born', 'seen', 'tags'];
    const typed = await create(keys.map((key) => named(key)).join(' / '));
    const said = await launched(typed);
    expect(said.phone).toBe('1.50 / true / 1990-01-31 / 2026-01-31T12:30:00.000Z / tea, cake');
    expect(said.tablet).toContain(`no value for sor:${world.sor.identifier}.score, `);
    expect(said.watch).toBeUndefined();
    type Shown = {
      profile_values: { attribute_key: string }[];
      placeholders: object[];
      warnings: { message: string }[];
    };
    const { result } = await call<Shown>('GET', `campaign/${typed}`);
    const says = (text: string) =>
      expect.objectContaining({ message: expect.stringContaining(text) as string }) as object;
    expect(result.warnings).toContainEqual(says(`need ${keys.join(', ')} without a default`));
    const guessed = await create('Hello *@first_name|there@*');
    expect((await call<Shown>('GET', `campaign/${guessed}`)).result.warnings).toContainEqual(
      says('hold *@first_name@*, which nothing fills in a classic campaign'),
    );
    expect(result.profile_values.map(({ attribute_key: key }) => key)).toEqual(keys);
    expect(result.placeholders).toEqual([]);
  });

  it('come by their names: none once the attribute is disabled or deleted, and never from templateVars', async () => {
    const { db } = stack.store;
    const { id: entityId } = world.entity;
    await insertSampleDevice(db, entityId, app.id, 'car', { userId: 'fay' });
    await insertValues('user_id', 'fay', [
      { key: 'plan', value: 'Fay' },
      { key: 'score', value: '7' },
    ]);
    const campaign = await create(`*@parcel@* for ${named('plan', 'you')} ${named('score', '-')}`, {
      type: 'transactional',
    });
    expect((await call('PUT', `campaign/${campaign}/launch`)).status).toBe(200);
    const send = async () => {
      const vars = { parcel: 17, [`sor:${world.sor.identifier}.plan`]: 'Mallory' };
      const { result } = await call<{ requestId: string }>('POST', 'transac', {
        campaignKey: [campaign],
        messages: [{ user: 'fay', templateVars: vars }],
      });
      await waitFor('the message', async () => {
        const { state } = (await call<{ state: string }>('GET', `transac/${result.requestId}`)).result;
        return state === 'finished';
      });
      return (await sentBy(campaign)).map(({ content }) => content?.push?.body);
    };
    expect(await send()).toEqual(['17 for Fay 7']);
    await db.query('UPDATE customer_attributes SET disabled = true WHERE id = $1', [world.attributes.plan!.id]);
    await db.query('UPDATE customer_attributes SET deleted_at = now() WHERE id = $1', [world.attributes.score!.id]);
    expect(await send()).toContain('17 for you -');
    await db.query('UPDATE customer_attributes SET disabled = false WHERE id = $1', [world.attributes.plan!.id]);
    await db.query('UPDATE customer_attributes SET deleted_at = NULL WHERE id = $1', [world.attributes.score!.id]);
    expect((await call('GET', `campaign/${campaign}`)).result).toMatchObject({
      placeholders: [{ name: 'parcel', required: true }],
    });
  });

  it('go to verified devices alone where the app requires it', async () => {
    const { db } = stack.store;
    const { id: entityId } = world.entity;
    const strict = await insertSampleApp(db, entityId, 'com.example.strict');
    await db.query('UPDATE apps SET verified_users = true WHERE id = $1', [strict.id]);
    const device = insertSampleDevice.bind(null, db, entityId, strict.id);
    await device('vouched', { userId: 'gil', verifiedUserId: 'gil' });
    await device('claimed', { userId: 'gil' });
    await device('of nobody');
    await insertValues('user_id', 'gil', [{ key: 'plan', value: 'Gil' }]);
    const campaign = await create(`Hello ${named('plan', 'there')}`, { app_id: strict.identifier });
    expect(await launched(campaign)).toEqual({
      vouched: 'Hello Gil',
      claimed: 'USER_NOT_VERIFIED',
      'of nobody': 'its text has values of a profile, and no user is vouched for',
    });
    const plain = await create('News', { app_id: strict.identifier });
    expect(await launched(plain)).toMatchObject({ 'of nobody': 'News' });
  });

  it("fill in a tester's own values, which only those who may read values are shown", async () => {
    const { db } = stack.store;
    await insertSampleDevice(db, world.entity.id, app.id, 'of tester', { userId: 'tester' });
    await insertValues('user_id', 'tester', [{ key: 'plan', value: 'Tess' }]);
    const campaign = await create(`Hello ${named('plan')}`, {
      includes_inapp: true,
      params: {
        push_message: `Hello ${named('plan')}`,
        inapp: 'native',
        message_title: `For ${named('plan')}`,
        message_content: 'News',
        message_btn: 'OK',
      },
    });
    const { result } = await call<{ requestId: string }>('POST', `campaign/${campaign}/test`, {
      users: ['tester', 'bob'],
    });
    type Results = { state: string; results: { user: string; code: string; message: { body: string } | null }[] };
    const seen = async (token?: string) =>
      (await call<Results>('GET', `campaign_tests/${result.requestId}`, undefined, token)).result;
    await waitFor('the test', async () => {
      const [own] = await sentBy(campaign);
      return own !== undefined && (await seen()).results.length === 2;
    });
    const byUser = ({ results }: Results) =>
      Object.fromEntries(results.map(({ user, code, message }) => [user, message?.body ?? code]));
    expect(byUser(await seen())).toEqual({ tester: 'Hello Tess', bob: 'MISSING_TEMPLATE_PARAMS' });
    const viewer = await tokenWith(stack.store, world, ['campaign_view']);
    expect(byUser(await seen(viewer))).toEqual({ tester: 'PUSH_SENT', bob: 'MISSING_TEMPLATE_PARAMS' });
    const inapp = (await sentBy(campaign)).find(({ device }) => device === 'of tester')!.content!.inapp;
    expect(inapp).toMatchObject({ title: 'For Tess' });
  });

  it('that are unknown are refused by the field, with the nearest name; the launch looks again', async () => {
    const { db } = stack.store;
    const sor = world.sor.identifier;
    const refused = await call('POST', 'campaign', {
      ...draft(''),
      params: {
        push_message: named('plam', 'x'),
        push_title: '*@sor:CRM.plan|x@*',
        push_subtitle: '*@sor:plan|x@*',
        push_parameters: [{ key: 'k', value: named('retired', 'x') }],
      },
      variants: [
        { name: 'A', share: 50 },
        { name: 'B', share: 50, params: { deep_linking_url: `shop://${named('scor', 'x')}` } },
      ],
    });
    expect(refused.status).toBe(400);
    const messageOf = (element: string) => refused.errors.find((error) => error.element === element)?.message;
    expect(messageOf('params.push_message')).toContain(
      `names the attribute plam of ${sor} (CRM), which is unknown: did you mean plan?`,
    );
    expect(messageOf('params.push_title')).toContain(`which is unknown: did you mean ${sor}?`);
    expect(messageOf('params.push_subtitle')).toContain('write *@sor:<identifier>.<key>@*');
    expect(messageOf('variants.1.params.deep_linking_url')).toContain('did you mean score?');
    const other = await makeWorld(stack.store);
    const foreign = await call('POST', 'campaign', draft(`*@sor:${other.sor.identifier}.plan|x@*`));
    expect(foreign.errors.map(({ element }) => element)).toEqual(['params.push_message']);
    const campaign = await create(named('vip', 'x'));
    await db.query('UPDATE customer_attributes SET disabled = true WHERE id = $1', [world.attributes.vip!.id]);
    const { status, message } = await call('PUT', `campaign/${campaign}/launch`);
    expect([status, message]).toEqual([
      409,
      `params.push_message names the attribute vip of ${sor} (CRM), which is disabled`,
    ]);
    await db.query('UPDATE customer_attributes SET disabled = false, is_sensitive = true WHERE id = $1', [
      world.attributes.vip!.id,
    ]);
    const drafter = await tokenWith(stack.store, world, ['campaign_draft', 'campaign_view']);
    expect((await call('POST', 'campaign', draft(named('vip', 'x')), drafter)).status).toBe(403);
    expect((await call('POST', 'campaign', draft(named('plan', 'x')), drafter)).status).toBe(200);
    const { rows } = await db.query<{ details: { attributes?: string } }>(
      `SELECT details FROM audit_log WHERE entity_id = $1 AND action = 'create' AND subject_kind = 'campaign' ORDER BY id DESC LIMIT 1`,
      [world.entity.id],
    );
    expect(rows[0]!.details.attributes).toBe(`${sor} plan`);
  });
});
