import { describe, expect, test } from 'vitest';
import type { CampaignPreview } from '../../../api/campaigns/preview.ts';
import { MAX_PICTURE_BYTES, PICTURES_PER_MINUTE } from '../../../api/campaigns/preview.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { makeWorld, tokenWith } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

async function preview(body: object, token = world.token) {
  const reply = await server.call('POST', '/api/campaigns/preview', { token, body });
  return { status: reply.status, body: reply.body, shown: reply.body.result as CampaignPreview };
}

const named = (key: string, otherwise?: string) =>
  `*@sor:${world.sor.identifier}.${key}${otherwise === undefined ? '' : `|${otherwise}`}@*`;

const lastLook = async () =>
  (
    await store.db.query<{ details: { attributes?: string }; customer_hash: Buffer }>(
      `SELECT details, customer_hash FROM audit_log WHERE entity_id = $1 AND details ->> 'what' = 'preview' ORDER BY id DESC`,
      [world.entity.id],
    )
  ).rows;

describe('a preview', () => {
  test('shows fields that are not saved as each platform cuts them, with what stands for each placeholder', async () => {
    const params = {
      push_title: `Hello ${named('plan', 'there')}`,
      push_subtitle: 'Parcels',
      push_message: `*@parcel@* of *@shop@* ${'é'.repeat(160)}`,
      inapp: 'native',
      message_title: named('score'),
      message_content: 'News',
      message_btn: 'OK',
    };
    const { shown } = await preview({ params, includes_inapp: true, templateVars: { parcel: 17 } });
    expect(shown.values).toEqual([
      { name: `sor:${world.sor.identifier}.plan`, text: 'there', source: 'default' },
      { name: 'parcel', text: '17', source: 'given' },
      { name: 'shop', text: 'shop', source: 'sample' },
      { name: `sor:${world.sor.identifier}.score`, text: 'score', source: 'sample' },
    ]);
    expect(shown.problems).toEqual([]);
    expect(shown.push).toMatchObject({ code: null, title: 'Hello there', body: `17 of shop ${'é'.repeat(160)}` });
    const platforms = Object.fromEntries(shown.push!.platforms.map((each) => [each.platform, each]));
    expect(platforms.ios).toMatchObject({ subtitle: 'Parcels', is_cut: true, cut_at: { title: 40, body: 160 } });
    expect(platforms.ios!.body).toBe(`17 of shop ${'é'.repeat(149)}…`);
    expect(platforms.android).toMatchObject({
      subtitle: null,
      body: `17 of shop ${'é'.repeat(38)}…`,
      max_bytes: 4_096,
    });
    // Bytes of the whole payload: each é has two.
    expect(platforms.ios!.bytes).toBeGreaterThan(330);
    expect(shown.inapp).toMatchObject({ code: null, title: 'score', content: 'News', max_bytes: 32_768 });
    const { shown: large } = await preview({
      params: { ...params, push_message: '*@a@*'.repeat(800) },
      templateVars: { a: 'x'.repeat(100) },
    });
    expect(large.push).toMatchObject({ code: 'MESSAGE_TO_BIG', body: null, platforms: [] });
    const { shown: wrong } = await preview({ params: { push_message: named('plam', 'x') } });
    expect(wrong.problems).toEqual([
      { element: 'params.push_message', message: expect.stringContaining('did you mean plan?') as string },
    ]);
    const { status } = await preview({});
    expect(status).toBe(400);
  });

  test('has the values of a person for those who may read values, and says so in the audit log', async () => {
    const { db, secrets } = store;
    const { id: attributeId } = world.attributes.plan!;
    const people = ['ada', 'eve'].map((customerId, index) => ({
      kind: 'value' as const,
      line: index,
      attributeId,
      customerType: 'user_id' as const,
      customerId,
      valueType: 'String' as const,
      value: `plan of ${customerId}`,
    }));
    await write(db, (tx) => mergeAttributeValues(tx, secrets, world.entity.id, world.sor.id, prepareChanges(people)));
    const params = { push_message: `Hello ${named('plan')}` };
    const { shown } = await preview({ params, user: 'ada' });
    expect(shown.push).toMatchObject({ code: null, body: 'Hello plan of ada' });
    const [look] = await lastLook();
    expect(look!.details.attributes).toBe(`${world.sor.identifier} plan`);
    expect(look!.customer_hash).toEqual(secrets.customerHash(world.entity.id, 'user_id', 'ada'));
    await insertTombstone(db, world.entity.id, secrets.customerHash(world.entity.id, 'user_id', 'eve'));
    for (const user of ['eve', 'unknown']) {
      expect((await preview({ params, user })).shown.push).toMatchObject({
        code: 'MISSING_TEMPLATE_PARAMS',
        body: null,
      });
    }
    const viewer = await tokenWith(store, world, ['campaign_view']);
    expect((await preview({ params, user: 'ada' }, viewer)).status).toBe(403);
    expect((await preview({ params }, viewer)).shown.push!.body).toBe('Hello plan');
    expect(await lastLook()).toHaveLength(3);
    const other = await makeWorld(store);
    expect((await preview({ params, user: 'ada' }, other.token)).shown.push!.body).toBeNull();
  });
});

describe('a picture', () => {
  const view = (address: string, token = world.token) =>
    server.call('GET', `/api/campaigns/picture?${new URLSearchParams({ address }).toString()}`, { token });

  test('comes from an outside address as what its bytes are; all that is none is refused alike, and too many are', async () => {
    const source = await httpSource();
    const gif = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64');
    const serve = (path: string, body: Buffer | string, type: string) =>
      source.serve(path, (_request, response) => response.writeHead(200, { 'content-type': type }).end(body));
    const served = await server.app.inject({
      url: `/api/campaigns/picture?${new URLSearchParams({ address: serve('/van', gif, 'text/html') }).toString()}`,
      headers: { authorization: `Token ${world.token}` },
    });
    expect([served.statusCode, served.headers['content-type'], served.rawPayload]).toEqual([200, 'image/gif', gif]);
    expect(served.headers['x-content-type-options']).toBe('nosniff');
    const refused = [
      serve('/page', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml'),
      serve('/large', Buffer.concat([gif, Buffer.alloc(MAX_PICTURE_BYTES)]), 'image/gif'),
      `http://127.0.0.1:${source.port}/missing`,
      'http://10.0.0.1/van.gif',
      'http://10.0.0.1:8080/van.gif',
      'ftp://example.com/van.gif',
    ];
    const answers = await Promise.all(refused.map((address) => view(address)));
    expect(answers.map(({ status }) => status)).toEqual(refused.map(() => 400));
    expect(new Set(answers.map(({ body }) => body.error_message)).size).toBe(1);
    const other = await makeWorld(store);
    const many = await Promise.all(
      Array.from({ length: PICTURES_PER_MINUTE + 1 }, () => view('ftp://example.com/van.gif', other.token)),
    );
    expect(many.filter(({ status }) => status === 429)).toHaveLength(1);
  });
});
