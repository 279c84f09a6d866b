import { beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../../store/apps/apps.ts';
import { write } from '../../../store/core/database.ts';
import { insertEventDefinitions, listEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { CallOptions } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const { store, server } = useServer();
const DATE = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

let world: World;
let app: App;
let events: string[];

beforeAll(async () => {
  world = await makeWorld(store);
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.shop');
  await write(store.db, (tx) =>
    insertEventDefinitions(tx, world.entity.id, app.id, [
      { logType: 2, name: 'Order Completed' },
      { logType: 1, name: 'Application Crashed' },
      { logType: 3, name: 'Application Opened' },
      { logType: 2, name: 'Order Completed' },
    ]),
  );
  const { items: definitions } = await listEventDefinitions(store.db, world.entity.id, app.id, {
    offset: 0,
    limit: 10,
  });
  events = ['Order Completed', 'Application Crashed', 'Application Opened'].map((name) =>
    String(definitions.find((definition) => definition.name === name)!.id),
  );
});

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, options: CallOptions = {}) =>
  server.call(method, `/api/${path}`, { token: world.token, ...options });
const labels = async () => (await call('GET', 'labels')).body.result as { name: string; targets: number }[];
const definitionsPath = () => `apps/${app.identifier}/event_definitions`;
const change = (event: string, body: CallOptions['body'], headers?: Record<string, string>) =>
  call('PUT', `${definitionsPath()}/${event}`, { body, ...(headers ? { headers } : {}) });

describe('a label', () => {
  test('is created, listed and renamed as the reference shows it, spaces and all', async () => {
    const created = await call('POST', 'labels', { body: { name: 'Summer / sale 100%' } });
    expect([created.status, created.body.result]).toEqual([
      200,
      { name: 'Summer / sale 100%', targets: 0, created_at: DATE },
    ]);
    expect(await labels()).toContainEqual(created.body.result);
    const path = `labels/${encodeURIComponent('Summer / sale 100%')}`;
    expect((await call('PUT', path, { body: { new_name: 'Été' } })).body.result).toEqual({
      ...created.body.result,
      name: 'Été',
    });
    expect((await labels()).map(({ name }) => name)).toEqual(['Été']);
    expect((await call('PUT', `labels/${encodeURIComponent('Été')}`, { body: { new_name: 'Été' } })).status).toBe(200);
  });

  test('is deleted with the status 204 and no body', async () => {
    await call('POST', 'labels', { body: { name: 'Gone' } });
    const answer = await call('DELETE', 'labels/Gone');
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([204, '', undefined]);
    expect((await labels()).map(({ name }) => name)).not.toContain('Gone');
  });

  test('of a name that another has is refused', async () => {
    for (const name of ['One', 'Two']) await call('POST', 'labels', { body: { name } });
    const [again, renamed] = [
      await call('POST', 'labels', { body: { name: 'One' } }),
      await call('PUT', 'labels/One', { body: { new_name: 'Two' } }),
    ];
    for (const [answer, element] of [
      [again, 'name'],
      [renamed, 'new_name'],
    ] as const) {
      const message = 'is the name of another label already';
      expect([answer.status, answer.body.messages]).toEqual([400, [{ element, severity: 'error', message }]]);
    }
    const other = await makeWorld(store);
    expect((await call('POST', 'labels', { token: other.token, body: { name: 'One' } })).status).toBe(200);
  });

  test('that is unknown is not found', async () => {
    for (const answer of [
      await call('PUT', 'labels/None', { body: { new_name: 'Some' } }),
      await call('DELETE', 'labels/None'),
    ]) {
      expect([answer.status, answer.body.status, answer.body.error_message]).toEqual([
        404,
        'not_found',
        'Label not found',
      ]);
    }
  });

  test('renamed to one name by several at once is so by one of them', async () => {
    const names = ['r1', 'r2', 'r3'];
    for (const name of names) await call('POST', 'labels', { body: { name } });
    const answers = await Promise.all(
      names.map((name) => call('PUT', `labels/${name}`, { body: { new_name: 'Raced' } })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  });
});

describe('the kinds of events of an app', () => {
  test('are listed in pages, each once, by their names until they get others', async () => {
    const { body } = await call('GET', definitionsPath());
    expect(body.result).toMatchObject({ item_count: 3, total_items: 3, total_pages: 1 });
    expect(body.result.items).toContainEqual({
      identifier: Number(events[0]),
      log_type: 2,
      display_name: 'Order Completed',
      name: 'Order Completed',
      goal: false,
      labels: [],
    });
    const second = (await call('GET', `${definitionsPath()}?page=2&per_page=2`)).body.result;
    expect(second.items).toEqual(body.result.items.slice(2));
    expect(second.navigation.prev).toBe(`http://millrace.test/api/${definitionsPath()}?page=1&per_page=2`);
  });

  test('get a name, are key events and bear labels; what is left out stays', async () => {
    const [event] = events;
    const given = { display_name: 'Bought', goal: true };
    const shown = {
      identifier: Number(event),
      log_type: 2,
      name: 'Order Completed',
      ...given,
      labels: ['Checkout', 'Money'],
    };
    expect((await change(event!, { ...given, labels: ['Money', 'Checkout', 'Money'] })).body.result).toEqual(shown);
    expect((await change(event!, {})).body.result).toEqual(shown);
    expect((await change(event!, { display_name: null })).body.result).toEqual({
      ...shown,
      display_name: 'Order Completed',
    });
    expect((await change(event!, { goal: false, labels: [] })).body.result).toMatchObject({ goal: false, labels: [] });
  });

  test('are counted as the targets of labels, which they follow when renamed and lose when deleted', async () => {
    for (const event of events) await change(event, { labels: ['Counted', `Only ${event}`] });
    const targetsOf = async (name: string) => (await labels()).find((label) => label.name === name)?.targets;
    expect(await targetsOf('Counted')).toBe(3);
    await change(events[0]!, { labels: ['Counted'] });
    expect([await targetsOf('Counted'), await targetsOf(`Only ${events[0]}`)]).toEqual([3, 0]);
    const renamed = await call('PUT', 'labels/Counted', { body: { new_name: 'Renamed' } });
    expect(renamed.body.result).toMatchObject({ name: 'Renamed', targets: 3 });
    expect((await change(events[0]!, {})).body.result.labels).toEqual(['Renamed']);
    await call('DELETE', 'labels/Renamed');
    expect((await change(events[0]!, {})).body.result.labels).toEqual([]);
  });

  test('take web forms', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const send = async (body: string) => (await change(events[0]!, body, headers)).body.result;
    const sent = await send('display_name=Paid&goal=true&labels[]=a&labels[]=b');
    expect(sent).toMatchObject({ display_name: 'Paid', goal: true, labels: ['a', 'b'] });
    expect(await send('labels=a')).toMatchObject({ labels: ['a'] });
    expect((await change(events[0]!, 'labels[]=', headers)).body.errors).toEqual(['labels.0: must not be empty']);
  });

  test('are refused by what is wrong, and unknown ones are not found', async () => {
    const refused = await change(events[0]!, { display_name: ' ', goal: 'yes', labels: [7] });
    expect(refused.body.errors).toEqual([
      'display_name: must not be blank',
      'goal: must be true or false',
      'labels.0: must be a string',
    ]);
    expect((await change(events[0]!, { labels: 7 })).body.errors).toEqual(['labels: must be an array']);
    for (const id of ['0', '2147483647', '9999999999', '99999999999', 'x', '-1', `${events[0]}.0`]) {
      const answer = await change(id, { goal: true });
      expect([answer.status, answer.body.error_message]).toEqual([404, 'Event definition not found']);
    }
    const another = await insertSampleApp(store.db, world.entity.id, 'com.example.another');
    expect(
      (await call('PUT', `apps/${another.identifier}/event_definitions/${events[0]}`, { body: { goal: true } })).status,
    ).toBe(404);
    expect((await call('GET', 'apps/app_none/event_definitions')).body.error_message).toBe('App not found');
  });

  test('labelled by several at once all bear what they were given', async () => {
    const answers = await Promise.all(
      events.flatMap((event) => [1, 2].map(() => change(event, { labels: ['p', 'q', `Own ${event}`] }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    for (const event of events)
      expect((await change(event, {})).body.result.labels).toEqual([`Own ${event}`, 'p', 'q']);
    expect((await labels()).filter(({ name }) => name === 'p')).toMatchObject([{ targets: 3 }]);
  });

  test('that come again write nothing, also of two transactions at once', async () => {
    const state = async () =>
      (
        await store.db.query('SELECT xmin::text, d.* FROM event_definitions d WHERE entity_id = $1 ORDER BY id', [
          world.entity.id,
        ])
      ).rows;
    const kinds = Array.from({ length: 50 }, (_, index) => ({ logType: 2 as const, name: `Event ${index}` }));
    const come = (some: typeof kinds) =>
      write(store.db, (tx) => insertEventDefinitions(tx, world.entity.id, app.id, some));
    await Promise.all([come(kinds), come(kinds.toReversed()), come(kinds.slice(10))]);
    const before = await state();
    expect(before).toHaveLength(53);
    await come(kinds);
    expect(await state()).toEqual(before);
  });
});
