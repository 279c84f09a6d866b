import { describe, expect, test } from 'vitest';
import { insertWalletText } from '../../../store/apps/data-wallet.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { basket, namesOf, useWallet } from './use-wallet.ts';

const { store, server, world, of, call, result, refusal } = useWallet();

const PARTS = [
  ['legal_texts', { technical_name: 'terms' }, 'Legal text'],
  ['categories', { technical_name: 'shopping' }, 'Data category'],
  ['recipients', { technical_name: 'crm', display_name: 'The CRM' }, 'Recipient'],
  ['purposes', { technical_name: 'newsletter' }, 'Purpose'],
] as const;

const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

describe('the settings', () => {
  test('are English until somebody says otherwise, and then all and only what was said, in that order', async () => {
    const english = { identifier: 'en', label: 'English' };
    expect(await result('GET', 'settings')).toEqual({ languages: [english] });
    const french = { identifier: 'fr', label: 'French' };
    const said = { languages: [{ identifier: 'fr' }, { identifier: 'en', label: 'passed over' }] };
    expect(await result('PUT', 'settings', said)).toEqual({ languages: [french, english] });
    expect(await result('GET', 'settings')).toEqual({ languages: [french, english] });
    expect(await result('PATCH', 'settings', { languages: [{ identifier: 'fr' }] })).toEqual({ languages: [french] });
  });

  test.each([
    [{}, 'languages: is required'],
    [{ languages: [] }, 'languages: must not be empty'],
    [{ languages: ['en'] }, 'languages.0: must be an object'],
    [{ languages: [{ identifier: 'xx' }] }, 'languages.0.identifier: xx is no ISO 639-1 code, such as en or fr'],
    [
      { languages: [{ identifier: 'en' }, { identifier: 'FR' }] },
      'languages.1.identifier: FR is no ISO 639-1 code: did you mean fr?',
    ],
    [{ languages: [{ identifier: 'en' }, { identifier: 'en' }] }, 'languages.1.identifier: is in the list twice'],
  ])('refuse %j', async (body, message) => {
    expect(await refusal('PUT', 'settings', body)).toEqual([400, 'bad_request', message]);
    expect(await result('GET', 'settings')).toMatchObject({ languages: [{ identifier: 'en' }] });
  });
});

test('lists come as JSON in a web form', async () => {
  const send = async (method: 'PUT' | 'POST', path: string, fields: Record<string, string>) =>
    (
      await server.call(method, `/api/apps/${of.app.identifier}/data_wallet/${path}`, {
        token: world.token,
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    ).body;
  expect((await send('PUT', 'settings', { languages: '[{"identifier":"fr"}]' })).result).toEqual({
    languages: [{ identifier: 'fr', label: 'French' }],
  });
  const data_elements = JSON.stringify([basket]);
  expect(
    (await send('POST', 'recipients', { technical_name: 'crm', display_name: 'The CRM', data_elements })).result,
  ).toMatchObject({ count_data_elements: 1, data_elements: [basket] });
  const named = JSON.stringify([{ technical_name: 'basket', recipient: { technical_name: 'crm' } }]);
  expect((await send('POST', 'purposes', { technical_name: 'news', data_elements: named })).result).toMatchObject({
    data_elements: [{ technical_name: 'basket' }],
  });
  expect((await send('PUT', 'settings', { languages: 'fr' })).error_message).toBe(
    'languages: must be an array, or in a web form its JSON',
  );
});

describe.each(PARTS)('of %s', (path, body, name) => {
  test('one is made, listed, found by identifier and by technical name, renamed, and deleted with what it was', async () => {
    const made = await result('POST', path, body);
    expect(made).toMatchObject(body);
    for (const address of [made.identifier, made.technical_name]) {
      expect(await result('GET', `${path}/${address}`)).toEqual(made);
    }
    expect(await result('GET', path)).toContainEqual(made);
    const renamed = { ...made, technical_name: 'renamed' };
    expect(await result('PUT', `${path}/${made.identifier}`, { technical_name: 'renamed' })).toEqual(renamed);
    expect(await result('PATCH', `${path}/renamed`, { technical_name: 'again' })).toEqual({
      ...made,
      technical_name: 'again',
    });
    expect(await refusal('GET', `${path}/renamed`)).toEqual([404, 'not_found', `${name} not found`]);
    expect(await result('DELETE', `${path}/again`)).toEqual({ ...made, technical_name: 'again' });
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH'] as const) {
      expect(await refusal(method, `${path}/${made.identifier}`)).toEqual([404, 'not_found', `${name} not found`]);
    }
    expect(namesOf(await result('GET', path))).not.toContain('again');
  });

  test('none has the technical name of another one; it may keep its own', async () => {
    const taken = `technical_name: is already that of another ${name.toLowerCase()} of this app`;
    const made = await result('POST', path, body);
    expect(await refusal('POST', path, body)).toEqual([400, 'bad_request', taken]);
    const other = await result('POST', path, { ...body, technical_name: 'other' });
    expect(await refusal('PUT', `${path}/${other.identifier}`, body)).toEqual([400, 'bad_request', taken]);
    expect(await result('PUT', `${path}/${made.identifier}`, body)).toEqual(made);
  });

  test('two made at once under one technical name are one, and a refusal', async () => {
    const replies = await Promise.all([1, 2, 3, 4].map(() => call('POST', path, body)));
    expect(statusesOf(replies)).toEqual([200, 400, 400, 400]);
    expect(namesOf(await result('GET', path)).filter((each) => each === body.technical_name)).toHaveLength(1);
    const others = await Promise.all(['a', 'b'].map((each) => result('POST', path, { ...body, technical_name: each })));
    const renamed = await Promise.all(
      others.map(({ identifier }) => call('PUT', `${path}/${identifier}`, { technical_name: 'both' })),
    );
    expect(statusesOf(renamed)).toEqual([200, 400]);
  });

  test.each(['Terms', 'terms1', 'terms-of-use', 'terms of use', 'termes_généraux'])(
    'none is called %s',
    async (technical_name) => {
      const message = 'technical_name: must hold only lowercase letters (a to z) and underscores';
      expect(await refusal('POST', path, { ...body, technical_name })).toEqual([400, 'bad_request', message]);
      const made = await result('POST', path, body);
      expect(await refusal('PATCH', `${path}/${made.identifier}`, { technical_name })).toEqual([
        400,
        'bad_request',
        message,
      ]);
    },
  );

  test('those of another app, or of another entity, are unknown', async () => {
    const made = await result('POST', path, body);
    const stranger = await makeWorld(store);
    const url = `/api/apps/${of.app.identifier}/data_wallet/${path}`;
    const asked = await server.call('GET', url, { token: stranger.token });
    expect([asked.status, asked.body.status, asked.body.error_message]).toEqual([404, 'not_found', 'App not found']);
    of.app = await insertSampleApp(store.db, world.entity.id, `com.example.other${of.app.id}`);
    expect(await refusal('GET', `${path}/${made.identifier}`)).toEqual([404, 'not_found', `${name} not found`]);
    expect(await refusal('DELETE', `${path}/${made.technical_name}`)).toEqual([404, 'not_found', `${name} not found`]);
    expect((await result('POST', path, body)).identifier).not.toBe(made.identifier);
  });

  test('each change leaves a trace in the audit log', async () => {
    const { identifier } = await result('POST', path, body);
    await result('PUT', `${path}/${identifier}`, body);
    await result('PATCH', `${path}/${identifier}`, { technical_name: 'b' });
    await result('DELETE', `${path}/${identifier}`);
    const { rows } = await store.db.query<{ action: string; subject_kind: string; members: string | null }>(
      `SELECT action, subject_kind, details->>'members' AS members FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id`,
      [world.entity.id, identifier],
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'update', 'update', 'delete']);
    expect(rows.map(({ members }) => members)).toEqual([null, Object.keys(body).join(' '), 'technical_name', null]);
    expect(new Set(rows.map((row) => row.subject_kind))).toEqual(new Set([name.toLowerCase().replace(' ', '_')]));
  });
});

describe('texts in several languages', () => {
  test('come back as they were given, in the order of their languages; a change replaces those that it names', async () => {
    const title = { fr: 'Conditions', en: 'Terms', de: 'Bedingungen' };
    const made = await result('POST', 'legal_texts', { technical_name: 'terms', title, text: { en: 'Be kind.' } });
    expect(made).toEqual({
      identifier: expect.stringMatching(/^lgt_/),
      technical_name: 'terms',
      title,
      text: { en: 'Be kind.' },
    });
    expect(Object.keys(made.title)).toEqual(['fr', 'en', 'de']);
    const changed = { ...made, title: { en: 'Terms' } };
    expect(await result('PATCH', 'legal_texts/terms', { title: { en: 'Terms' } })).toEqual(changed);
    expect(await result('PUT', 'legal_texts/terms', { text: {} })).toEqual({ ...changed, text: {} });
    expect(await result('PUT', 'legal_texts/terms', {})).toEqual({ ...changed, text: {} });
  });

  test('need not be in the languages of the settings, and outlive them', async () => {
    await result('PUT', 'settings', { languages: [{ identifier: 'fr' }] });
    await result('POST', 'purposes', {
      technical_name: 'news',
      title: { es: 'Noticias' },
      description: { fr: 'Nouvelles' },
    });
    await result('PUT', 'settings', { languages: [{ identifier: 'en' }] });
    expect(await result('GET', 'purposes/news')).toMatchObject({
      title: { es: 'Noticias' },
      description: { fr: 'Nouvelles' },
    });
  });

  test('may be long, and come as a web form', async () => {
    const text = { en: '§ '.repeat(100_000) };
    const form = new URLSearchParams({ technical_name: 'terms', text: JSON.stringify(text) }).toString();
    const { body } = await server.call('POST', `/api/apps/${of.app.identifier}/data_wallet/legal_texts`, {
      token: world.token,
      body: form,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(body.result).toMatchObject({ title: {}, text });
    expect((await refusal('PATCH', 'legal_texts/terms', { text: { en: `${text.en}.` } }))[2]).toBe(
      'text.en: must have at most 200000 characters',
    );
  });

  test.each([
    [{ title: { xx: 'Terms' } }, 'title.xx: xx is no ISO 639-1 code, such as en or fr'],
    [{ title: { en: 'Terms', 'pt-BR': 'Termos' } }, 'title.pt-BR: pt-BR is no ISO 639-1 code: did you mean pt?'],
    [{ title: { en: 5 } }, 'title.en: must be a string'],
    [{ title: { en: '' } }, 'title.en: must not be empty'],
    [{ title: 'Terms' }, 'title: must be an object, or in a web form its JSON'],
    [{ title: ['Terms'] }, 'title: must be an object'],
    [{ text: { EN: 'Text' } }, 'text.EN: EN is no ISO 639-1 code: did you mean en?'],
  ])('are refused by their place: %j', async (body, message) => {
    expect(await refusal('POST', 'legal_texts', { technical_name: 'terms', ...body })).toEqual([
      400,
      'bad_request',
      message,
    ]);
  });
});

describe('the default categories', () => {
  test('come first, by technical name and without an identifier', async () => {
    await result('POST', 'categories', {
      technical_name: 'a',
      title: { en: 'A' },
      description: { en: 'First of the alphabet' },
    });
    const list = await result('GET', 'categories');
    expect(namesOf(list)).toEqual(['usage', 'push_notifications', 'user_profile', 'geolocation', 'a']);
    expect(list[0]).toEqual({
      identifier: null,
      technical_name: 'usage',
      title: { en: 'Usage' },
      description: { en: expect.any(String) },
    });
    expect(await result('GET', 'categories/usage')).toEqual(list[0]);
    expect(list[4]).toMatchObject({
      identifier: expect.stringMatching(/^cat_/),
      description: { en: 'First of the alphabet' },
    });
  });

  test.each(['usage', 'push_notifications', 'user_profile', 'geolocation'])(
    'cannot be modified or deleted: %s',
    async (name) => {
      for (const method of ['PUT', 'PATCH'] as const) {
        for (const body of [
          { technical_name: name, title: { en: 'Mine' } },
          { technical_name: 'mine' },
          { title: { en: 'Mine' } },
          {},
        ]) {
          expect(await refusal(method, `categories/${name}`, body)).toEqual([
            405,
            'method_not_allowed',
            'Cannot modify a static data category',
          ]);
        }
      }
      expect(await refusal('DELETE', `categories/${name}`)).toEqual([
        405,
        'method_not_allowed',
        'Cannot delete a static data category',
      ]);
    },
  );

  test('keep their technical names to themselves', async () => {
    const message = 'technical_name: is that of a default data category';
    expect(await refusal('POST', 'categories', { technical_name: 'usage' })).toEqual([400, 'bad_request', message]);
    await result('POST', 'categories', { technical_name: 'mine' });
    expect(await refusal('PUT', 'categories/mine', { technical_name: 'geolocation' })).toEqual([
      400,
      'bad_request',
      message,
    ]);
    await result('POST', 'purposes', { technical_name: 'usage' });
  });
});

describe('a category', () => {
  test('is changed by its technical name, which is required', async () => {
    const made = await result('POST', 'categories', { technical_name: 'mine' });
    for (const method of ['PUT', 'PATCH'] as const) {
      expect(await refusal(method, 'categories/mine', { title: { en: 'Mine' } })).toEqual([
        400,
        'bad_request',
        'technical_name: is required',
      ]);
    }
    expect(await result('PATCH', 'categories/mine', { technical_name: 'mine', title: { en: 'Mine' } })).toEqual({
      ...made,
      title: { en: 'Mine' },
    });
  });

  test('that a recipient uses cannot be deleted until it does not', async () => {
    await result('POST', 'categories', { technical_name: 'shopping', title: { en: 'Shopping' } });
    const element = { ...basket, data_category: { technical_name: 'shopping' } };
    const recipient = await result('POST', 'recipients', {
      technical_name: 'crm',
      display_name: 'CRM',
      data_elements: [element],
    });
    expect(recipient.data_elements[0].data_category).toEqual({ technical_name: 'shopping', title: { en: 'Shopping' } });
    expect(await refusal('DELETE', 'categories/shopping')).toEqual([
      405,
      'method_not_allowed',
      'Cannot delete a data category that is being used',
    ]);
    await result('PUT', 'categories/shopping', { technical_name: 'buying' });
    expect((await result('GET', 'recipients/crm')).data_elements[0].data_category.technical_name).toBe('buying');
    await result('PATCH', 'recipients/crm', { data_elements: [basket] });
    expect(await result('DELETE', 'categories/buying')).toMatchObject({ technical_name: 'buying' });
  });

  test('deleted while a recipient begins to use it is deleted or used, never both', async () => {
    await result('POST', 'recipients', { technical_name: 'crm', display_name: 'CRM' });
    for (let n = 0; n < 5; n += 1) {
      await result('POST', 'categories', { technical_name: 'fleeting' });
      const element = { ...basket, data_category: { technical_name: 'fleeting' } };
      const [put, gone] = await Promise.all([
        call('PUT', 'recipients/crm', { data_elements: [element] }),
        call('DELETE', 'categories/fleeting'),
      ]);
      expect([
        [200, 405],
        [400, 200],
      ]).toContainEqual([put.status, gone.status]);
      await result('PUT', 'recipients/crm', { data_elements: [] });
      await call('DELETE', 'categories/fleeting');
    }
  });
});

describe('a wallet takes no more than its lists can show', () => {
  const MIB = 1024 ** 2;
  const tooLarge = [400, 'bad_request', expect.stringContaining('The data wallet would be too large')];
  const isTaken = async (path: string, technical_name: string, more: object) =>
    (await call('POST', path, { technical_name, ...more })).status === 200;

  test('of texts 20 MiB', async () => {
    await insertWalletText(store.db, world.entity.id, of.app.id, 'legal_text', {
      technicalName: 'long',
      title: {},
      body: { en: 'x'.repeat(20 * MIB - 3_000) },
    });
    expect(await isTaken('legal_texts', 'short', { text: { en: 'x' } })).toBe(true);
    expect(
      await refusal('POST', 'legal_texts', { technical_name: 'another', text: { en: 'x'.repeat(3_000) } }),
    ).toEqual(tooLarge);
    expect(await refusal('PATCH', 'legal_texts/short', { text: { en: 'x'.repeat(3_000) } })).toEqual(tooLarge);
    expect(await result('GET', 'legal_texts/short')).toMatchObject({ text: { en: 'x' } });
  });

  test('of titles as often as elements show them', async () => {
    const codes =
      'aa ab af ak am ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cv cy da de dv dz ee el en eo es et eu fa ff';
    const title = Object.fromEntries(codes.split(' ').map((code) => [code, '§'.repeat(256)]));
    const names = Array.from({ length: 250 }, (_, index) => '_'.repeat(index + 1));
    await result('POST', 'recipients', {
      technical_name: 'crm',
      display_name: 'The CRM',
      data_elements: names.map((technical_name) => ({ ...basket, technical_name })),
    });
    const data_elements = names.map((technical_name) => ({ technical_name, recipient: { technical_name: 'crm' } }));
    const taken = [];
    for (const name of ['a', 'b', 'c', 'd']) taken.push(await isTaken('purposes', name, { title, data_elements }));
    expect(taken).toEqual([true, true, true, false]);
    expect(JSON.stringify(await result('GET', 'recipients')).length).toBeLessThan(20 * MIB);
  });
});
