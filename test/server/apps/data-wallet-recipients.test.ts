import { beforeEach, describe, expect, test } from 'vitest';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { basket, namesOf, useWallet } from './use-wallet.ts';

const { store, of, result, refusal } = useWallet();

describe('the default recipient', () => {
  test('comes first, without an identifier, with what Millrace takes in', async () => {
    await result('POST', 'recipients', { technical_name: 'a', display_name: 'A' });
    const [first, second] = await result('GET', 'recipients');
    expect(first).toMatchObject({ technical_name: 'millrace', display_name: 'Millrace' });
    expect(Object.keys(first)).not.toContain('identifier');
    expect(first.count_data_elements).toBe(first.data_elements.length);
    const categories = first.data_elements.map((element: typeof basket) => element.data_category.technical_name);
    expect(new Set(categories)).toEqual(new Set(['usage', 'push_notifications', 'user_profile', 'geolocation']));
    expect(await result('GET', 'recipients/millrace')).toEqual(first);
    expect(second).toEqual({
      identifier: expect.stringMatching(/^rcp_/),
      technical_name: 'a',
      display_name: 'A',
      count_data_elements: 0,
      data_elements: [],
    });
  });

  test('cannot be updated or deleted, nor its technical name be had', async () => {
    for (const method of ['PUT', 'PATCH'] as const) {
      for (const body of [{ technical_name: 'millrace', display_name: 'Mine' }, {}]) {
        expect(await refusal(method, 'recipients/millrace', body)).toEqual([
          405,
          'method_not_allowed',
          'You can not update a static Recipient',
        ]);
      }
    }
    expect(await refusal('DELETE', 'recipients/millrace')).toEqual([
      405,
      'method_not_allowed',
      'You can not delete a static Recipient',
    ]);
    expect(await refusal('POST', 'recipients', { technical_name: 'millrace', display_name: 'Mine' })).toEqual([
      400,
      'bad_request',
      'technical_name: is that of a default recipient',
    ]);
  });
});

describe('a recipient', () => {
  const element = (name: string, category = 'usage') => ({
    technical_name: name,
    display_name: name.toUpperCase(),
    data_category: { technical_name: category },
  });

  test('has its elements in the order they came; naming them again replaces the set, and what is shown may be sent back', async () => {
    const made = await result('POST', 'recipients', {
      technical_name: 'crm',
      display_name: 'CRM',
      data_elements: [element('orders'), element('basket', 'user_profile')],
    });
    expect([made.count_data_elements, namesOf(made.data_elements)]).toEqual([2, ['orders', 'basket']]);
    expect(made.data_elements[1]).toEqual({
      ...element('basket'),
      data_category: { technical_name: 'user_profile', title: { en: 'User profile' } },
      purposes: [],
    });
    expect(await result('PUT', 'recipients/crm', made)).toEqual(made);
    expect(await result('PATCH', 'recipients/crm', { display_name: 'Our CRM' })).toEqual({
      ...made,
      display_name: 'Our CRM',
    });
    const replaced = await result('PATCH', 'recipients/crm', { data_elements: [element('visits'), element('orders')] });
    expect([replaced.count_data_elements, namesOf(replaced.data_elements)]).toEqual([2, ['visits', 'orders']]);
    expect(await result('PUT', 'recipients/crm', { data_elements: [] })).toMatchObject({
      count_data_elements: 0,
      data_elements: [],
    });
  });

  test.each([
    [{ technical_name: 'crm' }, 'display_name: is required'],
    [{ display_name: 'CRM' }, 'technical_name: is required'],
    [{ display_name: ' ', technical_name: 'crm' }, 'display_name: must not be blank'],
    [{ data_elements: 'basket' }, 'data_elements: must be an array, or in a web form its JSON'],
    [{ data_elements: [{ ...basket, display_name: undefined }] }, 'data_elements.0.display_name: is required'],
    [{ data_elements: [{ ...basket, data_category: undefined }] }, 'data_elements.0.data_category: is required'],
    [
      { data_elements: [{ ...basket, data_category: {} }] },
      'data_elements.0.data_category.technical_name: is required',
    ],
    [
      { data_elements: [basket, { ...basket, technical_name: 'B1' }] },
      'data_elements.1.technical_name: must hold only lowercase letters (a to z) and underscores',
    ],
    [{ data_elements: [basket, basket] }, 'data_elements.1.technical_name: is in the list twice'],
    [
      { data_elements: [basket, element('a', 'usages')] },
      'data_elements.1.data_category.technical_name: is unknown: did you mean usage? ' +
        'There are usage, push_notifications, user_profile, geolocation',
    ],
  ])('is refused by what is wrong: %j', async (body, message) => {
    const whole = 'data_elements' in body ? { technical_name: 'crm', display_name: 'CRM', ...body } : body;
    expect(await refusal('POST', 'recipients', whole)).toEqual([400, 'bad_request', message]);
    expect(namesOf(await result('GET', 'recipients'))).toEqual(['millrace']);
  });
});

describe('a purpose', () => {
  const named = (technical_name: string, recipient = 'crm') => ({
    technical_name,
    recipient: { technical_name: recipient },
  });
  const news = {
    technical_name: 'news',
    title: { en: 'News' },
    description: { en: 'A letter a week' },
    data_elements: [named('basket'), named('push_tokens', 'millrace')],
  };

  beforeEach(async () => {
    const orders = { technical_name: 'orders', display_name: 'Orders', data_category: { technical_name: 'usage' } };
    await result('POST', 'recipients', { technical_name: 'crm', display_name: 'CRM', data_elements: [basket, orders] });
  });

  test('names elements of recipients, which name it in turn', async () => {
    const made = await result('POST', 'purposes', news);
    expect(made).toEqual({
      identifier: expect.stringMatching(/^pur_/),
      technical_name: 'news',
      title: { en: 'News' },
      description: { en: 'A letter a week' },
      data_elements: [
        { ...named('basket'), display_name: 'Basket', data_category: { technical_name: 'usage' } },
        {
          ...named('push_tokens', 'millrace'),
          display_name: 'Push tokens',
          data_category: { technical_name: 'push_notifications' },
        },
      ],
    });
    const purposes = [{ identifier: made.identifier, technical_name: 'news', title: { en: 'News' } }];
    const [millrace, crm] = await result('GET', 'recipients');
    const naming = (recipient: { data_elements: { technical_name: string; purposes: unknown[] }[] }) =>
      Object.fromEntries(
        recipient.data_elements
          .filter((each) => each.purposes.length > 0)
          .map((each) => [each.technical_name, each.purposes]),
      );
    expect([naming(crm), naming(millrace)]).toEqual([{ basket: purposes }, { push_tokens: purposes }]);
    expect(await result('PUT', 'purposes/news', made)).toEqual(made);
    expect(await result('PATCH', 'purposes/news', { title: { fr: 'Actualités' } })).toEqual({
      ...made,
      title: { fr: 'Actualités' },
    });
    expect(
      namesOf(
        (await result('PATCH', 'purposes/news', { data_elements: [named('orders'), named('basket')] })).data_elements,
      ),
    ).toEqual(['orders', 'basket']);
    await result('DELETE', 'purposes/news');
    expect(naming(await result('GET', 'recipients/crm'))).toEqual({});
  });

  test('keeps an element that changes, and loses one that goes, or whose recipient goes', async () => {
    await result('POST', 'purposes', { ...news, data_elements: [named('orders'), ...news.data_elements] });
    const location = { ...basket, display_name: 'The basket', data_category: { technical_name: 'geolocation' } };
    await result('PUT', 'recipients/crm', { technical_name: 'our_crm', data_elements: [location] });
    const { data_elements: left } = await result('GET', 'purposes/news');
    expect(left).toEqual([
      { ...named('basket', 'our_crm'), display_name: 'The basket', data_category: { technical_name: 'geolocation' } },
      expect.objectContaining(named('push_tokens', 'millrace')),
    ]);
    await result('DELETE', 'recipients/our_crm');
    expect(namesOf((await result('GET', 'purposes/news')).data_elements)).toEqual(['push_tokens']);
  });

  test.each([
    [
      [named('basket', 'crms')],
      'data_elements.0.recipient.technical_name: is unknown: did you mean crm? There are millrace, crm',
    ],
    [
      [named('orders'), named('baskets')],
      'data_elements.1.technical_name: is unknown: did you mean basket? There are basket, orders',
    ],
    [[named('a', 'empty')], 'data_elements.0.technical_name: is unknown: Empty has no data elements'],
    [[named('basket'), named('orders'), named('basket')], 'data_elements.2.technical_name: is in the list twice'],
    [[{ technical_name: 'basket' }], 'data_elements.0.recipient: is required'],
  ])('names none that is unknown: %j', async (data_elements, message) => {
    if (message.includes('Empty'))
      await result('POST', 'recipients', { technical_name: 'empty', display_name: 'Empty' });
    expect(await refusal('POST', 'purposes', { ...news, data_elements })).toEqual([400, 'bad_request', message]);
    expect(await result('GET', 'purposes')).toEqual([]);
    const { identifier } = await result('POST', 'purposes', news);
    const change = { technical_name: 'other', data_elements };
    expect(await refusal('PATCH', `purposes/${identifier}`, change)).toEqual([400, 'bad_request', message]);
    expect(await result('GET', 'purposes/news')).toMatchObject({ technical_name: 'news' });
  });
});

describe('with its app, or its entity, the whole data wallet goes', () => {
  const TABLES = ['wallet_settings', 'wallet_texts', 'wallet_recipients', 'wallet_elements', 'wallet_purpose_elements'];
  const held = async (entityId: number) => {
    const found = [];
    for (const table of TABLES) {
      const { rows } = await store.db.query(`SELECT FROM ${table} WHERE entity_id = $1 LIMIT 1`, [entityId]);
      if (rows.length > 0) found.push(table);
    }
    return found;
  };

  test.each([
    ['apps', 'DELETE FROM apps WHERE entity_id = $1'],
    ['entities', 'DELETE FROM entities WHERE id = $1'],
  ])('deleted from %s', async (_table, statement) => {
    of.owner = await makeWorld(store);
    const { entity } = of.owner;
    of.app = await insertSampleApp(store.db, entity.id, 'com.example.gone');
    await result('PUT', 'settings', { languages: [{ identifier: 'fr' }] });
    await result('POST', 'categories', { technical_name: 'shopping' });
    const element = { ...basket, data_category: { technical_name: 'shopping' } };
    await result('POST', 'recipients', { technical_name: 'crm', display_name: 'CRM', data_elements: [element] });
    const naming = { technical_name: 'basket', recipient: { technical_name: 'crm' } };
    await result('POST', 'purposes', { technical_name: 'news', data_elements: [naming] });
    expect(await held(entity.id)).toEqual(TABLES);
    await store.db.query(statement, [entity.id]);
    expect(await held(entity.id)).toEqual([]);
  });
});
