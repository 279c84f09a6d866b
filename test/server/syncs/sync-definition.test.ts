import { describe, expect, test } from 'vitest';
import { makeWorld } from '../../harness/core/world.ts';
import { mapping, useSyncs } from './use-syncs.ts';

const { store, world, connections, ask, definition, create, createdId, view, put, post, toWebhook } = useSyncs();

describe('a definition is refused with what is wrong named, and what would be right', () => {
  const FAULTS: [what: string, body: () => object, element: string, says: RegExp][] = [
    ['no source', () => ({ source: undefined }), 'source', /is required/],
    [
      'an unknown connection',
      () => ({ source: { connection: 'Shop', stream: 's' } }),
      'source.connection',
      /GET \/api\/connections/,
    ],
    [
      'a connection that is no source',
      () => ({ source: { connection: connections.webhook, stream: 's' } }),
      'source.connection',
      /is of webhook, which is no source/,
    ],
    ['no stream', () => ({ source: { connection: connections.postgres } }), 'source.stream', /is required/],
    ['no destination', () => ({ destination: {} }), 'destination', /either sor, or connection and stream/],
    [
      'both kinds of destination',
      () => ({ destination: { ...toWebhook(), sor: world.sor.identifier } }),
      'destination',
      /either sor, or connection and stream/,
    ],
    [
      'an unknown System of Record',
      () => ({ destination: { sor: 'CRM' } }),
      'destination.sor',
      /GET \/api\/system_of_records/,
    ],
    [
      'a stream of a System of Record',
      () => ({ destination: { sor: world.sor.identifier, stream: 's' } }),
      'destination.stream',
      /has none/,
    ],
    [
      'a key of a System of Record',
      () => ({ destination: { sor: world.sor.identifier, key: ['id'] } }),
      'destination.key',
      /mapping.customer/,
    ],
    [
      'a connection that is no destination',
      () => ({ destination: toWebhook({ connection: connections['http-file'] }) }),
      'destination.connection',
      /is of http-file, which is no destination/,
    ],
    [
      'no stream of the destination',
      () => ({ destination: { connection: connections.webhook } }),
      'destination.stream',
      /is required/,
    ],
    ['a key field twice', () => ({ destination: toWebhook({ key: ['id', 'id'] }) }), 'destination.key', /has id twice/],
    [
      'no customer',
      () => ({ mapping: { fields: [{ from: 'plan' }] } }),
      'mapping.customer',
      /is missing: attributes are of a customer/,
    ],
    [
      'a field without from',
      () => ({ mapping: mapping({ from: 'a' }, { to: 'plan' }) }),
      'mapping.fields.1',
      /neither from, nor to and value/,
    ],
    [
      'two fields for one attribute',
      () => ({ mapping: mapping({ from: 'plan' }, { from: 'p', to: 'plan' }) }),
      'mapping.fields.1.to',
      /is "plan", as that of mapping.fields.0 is/,
    ],
    [
      'a format that tells too little',
      () => ({ mapping: mapping({ from: 'born', as: 'date', format: 'dd/MM' }) }),
      'mapping.fields.0.format',
      /tells no year: yyyy/,
    ],
    [
      'an unknown zone',
      () => ({ mapping: mapping({ from: 'born', as: 'datetime', zone: 'Paris' }) }),
      'mapping.fields.0.zone',
      /Europe\/Paris/,
    ],
    [
      'an option of another conversion',
      () => ({ mapping: mapping({ from: 'a', as: 'number', format: 'yyyy' }) }),
      'mapping.fields.0.format',
      /applies to as: date and as: datetime, not to number/,
    ],
    [
      'an option without a conversion',
      () => ({ mapping: mapping({ from: 'a', decimal: ',' }) }),
      'mapping.fields.0.decimal',
      /applies to as: number, not to an entry without as/,
    ],
    [
      'a word that is true and false',
      () => ({ mapping: mapping({ from: 'a', as: 'boolean', true: ['no'] }) }),
      'mapping.fields.0.true',
      /has "no", which stands for false as well/,
    ],
    [
      'nothing that is written',
      () => ({ mapping: { ...mapping(), other_fields: 'drop' } }),
      'mapping.fields',
      /add an entry, or keep other_fields/,
    ],
    [
      'a misspelt member of the mapping',
      () => ({ mapping: { custmer: {} } }),
      'mapping.custmer',
      /did you mean customer\?/,
    ],
    [
      'a misspelt member of a field',
      () => ({ mapping: mapping({ form: 'a' }) }),
      'mapping.fields.0.form',
      /did you mean from\?/,
    ],
    [
      'an unknown conversion',
      () => ({ mapping: mapping({ from: 'a', as: 'text' }) }),
      'mapping.fields.0.as',
      /one of string, number/,
    ],
    ['a mode that is none', () => ({ mode: 'delta' }), 'mode', /must be one of full, incremental/],
    ['a cursor of a full reading', () => ({ cursor_field: 'updated_at' }), 'cursor_field', /say mode: incremental/],
    ['removes with incremental', () => ({ mode: 'incremental', removes: true }), 'removes', /is of full readings/],
    [
      'removes without a key',
      () => ({ destination: toWebhook({ key: [] }), removes: true }),
      'destination.key',
      /is needed by removes/,
    ],
    ['a limit over 100 percent', () => ({ removal_limit: 101 }), 'removal_limit', /from 0 to 100/],
    [
      'a key that no entry writes',
      () => ({ destination: toWebhook(), mapping: mapping({ from: 'a' }) }),
      'destination.key',
      /names "id", which the mapping does not write/,
    ],
    [
      'a key that is written under another name',
      () => ({
        destination: toWebhook(),
        mapping: { ...mapping({ from: 'id', to: 'number' }), other_fields: 'keep' },
      }),
      'destination.key',
      /names "id", which the mapping does not write/,
    ],
    [
      'follow with drop',
      () => ({ mapping: mapping({ from: 'a' }), on_schema_change: 'follow' }),
      'on_schema_change',
      /keep other_fields, or say ignore/,
    ],
    [
      'both kinds of schedule',
      () => ({ schedule: { cron: '@daily', every_minutes: 5 } }),
      'schedule',
      /either cron or every_minutes/,
    ],
    ['no kind of schedule', () => ({ schedule: {} }), 'schedule', /either cron or every_minutes/],
    [
      'a cron of four fields',
      () => ({ schedule: { cron: '0 3 * *' } }),
      'schedule.cron',
      /takes five fields .* such as 0 3 \* \* \*/,
    ],
    [
      'an hour that is none',
      () => ({ schedule: { cron: '0 25 * * *' } }),
      'schedule.cron',
      /the hour can't be 25: it takes 0 to 23/,
    ],
    ['a cron that never comes', () => ({ schedule: { cron: '0 0 31 2 *' } }), 'schedule.cron', /never comes/],
    [
      'a zone that is none',
      () => ({ schedule: { cron: '@daily', zone: 'Paris' } }),
      'schedule.zone',
      /such as Europe\/Paris/,
    ],
    [
      'a zone of an interval',
      () => ({ schedule: { every_minutes: 5, zone: 'UTC' } }),
      'schedule.zone',
      /applies to cron/,
    ],
    ['an interval of nothing', () => ({ schedule: { every_minutes: 0 } }), 'schedule.every_minutes', /from 1 to 10080/],
    [
      'a jitter as long as the distance',
      () => ({ schedule: { every_minutes: 1, jitter_seconds: 60 } }),
      'schedule.jitter_seconds',
      /0 to 59/,
    ],
    ['an address that is none', () => ({ alerts: { emails: ['me'] } }), 'alerts.emails.0', /must be an e-mail address/],
    [
      'a connection for alerts that is none',
      () => ({ alerts: { connections: ['con_none'] } }),
      'alerts.connections.0',
      /is no identifier of a connection here/,
    ],
    [
      'a connection that takes no alerts',
      () => ({ alerts: { connections: [connections['http-file']] } }),
      'alerts.connections.0',
      /is of http-file, which takes no alerts: these do: webhook, slack/,
    ],
    [
      'a connection for alerts twice',
      () => ({ alerts: { connections: [connections['webhook'], connections['webhook']] } }),
      'alerts.connections.1',
      /is the same as an earlier one/,
    ],
    ['a misspelt member of alerts', () => ({ alerts: { email: [] } }), 'alerts.email', /did you mean emails\?/],
  ];

  test.each(FAULTS)('%s', async (_what, body, element, says) => {
    const message = expect.stringMatching(says) as string;
    const refused = { element, severity: 'error', message };
    for (const path of ['', '/validate']) {
      const { status, body: answer } = await post(path, definition(body()));
      expect([status, answer.messages]).toEqual([400, expect.arrayContaining([refused])]);
      expect(answer.error_message).toBe(answer.errors[0]);
    }
    const id = await createdId({ destination: toWebhook() });
    if (Object.values(body()).some((value) => value !== undefined) && element !== 'mapping.customer') {
      expect((await put(id, { destination: { sor: world.sor.identifier }, ...body() })).body.messages).toContainEqual(
        refused,
      );
      expect(await view(id)).toMatchObject({ revision: 1 });
    }
  });

  test('of an older revision, which the refusal names', async () => {
    const id = await createdId();
    expect((await put(id, { removal_limit: 40, revision: 1 })).body.result).toMatchObject({ revision: 2 });
    const { status, body } = await put(id, { removal_limit: 30, revision: 1 });
    expect([status, body.error_message]).toEqual([
      409,
      expect.stringContaining('it has revision 2, and your change is of revision 1'),
    ]);
    expect(await view(id)).toMatchObject({ removal_limit: 40, revision: 2 });
  });

  test('a key that the mapping of an earlier version does not write, but no other change of that sync', async () => {
    const id = await createdId({ destination: toWebhook(), mapping: mapping({ from: 'id' }) });
    await store.db.query(`UPDATE syncs SET destination_key = '{number}' WHERE identifier = $1`, [id]);
    expect((await put(id, { removal_limit: 40 })).body.result).toMatchObject({ removal_limit: 40 });
    expect((await put(id, { mapping: mapping({ from: 'a' }) })).body.messages).toMatchObject([
      { element: 'destination.key', message: expect.stringMatching(/names "number", which the mapping/) as string },
    ]);
    expect((await put(id, { destination: toWebhook() })).status).toBe(200);
  });

  test('all faults of a mapping at once', async () => {
    const { body } = await create({
      mapping: mapping({ to: 'a' }, { from: 'b', value: 1 }, { from: 'c', drop: true, to: 'd' }),
    });
    const elements = body.messages.map(({ element }: { element: string }) => element);
    expect(elements).toEqual(['mapping.fields.0', 'mapping.fields.1', 'mapping.fields.2']);
  });

  test('what is no value of its member beside what does not go together, and what does not exist beside both', async () => {
    const elementsOf = async (body: object) =>
      (await post('/validate', definition(body))).body.messages.map(({ element }: { element: string }) => element);
    expect(
      await elementsOf({
        mapping: mapping({ to: 'a' }, { from: 'b', as: 'text' }, { from: 'c', as: 'number', format: 'yyyy' }),
        mode: 'delta',
        schedule: {},
      }),
    ).toEqual(['mapping.fields.0', 'mapping.fields.1.as', 'mapping.fields.2.format', 'mode', 'schedule']);
    expect(
      await elementsOf({
        source: { connection: 'Shop', stream: 's' },
        destination: { sor: 'CRM' },
        mapping: { fields: [{ from: 'a' }, { from: 'a' }] },
        mode: 'incremental',
        removes: true,
        on_schema_change: 'follow',
      }),
    ).toEqual(['mapping.fields.1.to']);
    expect(
      await elementsOf({
        source: { connection: 'Shop', stream: 's' },
        destination: { sor: 'CRM' },
        mapping: { fields: [{ from: 'a' }] },
        mode: 'incremental',
        removes: true,
        schedule: { every_minutes: 5 },
      }),
    ).toEqual(['source.connection', 'destination.sor', 'mapping.customer', 'removes']);
  });

  test('a name that another sync has, also of two that come at once', async () => {
    const { name } = definition();
    const id = await createdId({ name });
    const other = await createdId();
    const taken = { element: 'name', severity: 'error', message: 'is the name of another sync already' };
    for (const refused of [
      await create({ name }),
      await post('/validate', definition({ name })),
      await put(other, { name }),
    ]) {
      expect([refused.status, refused.body.messages]).toEqual([400, [taken]]);
    }
    expect((await post('/validate', definition({ name, sync_id: id }))).body.result).toMatchObject({
      valid: true,
      definition: { name },
    });
    expect((await put(id, { name })).status).toBe(200);
    const fresh = definition().name;
    const replies = await Promise.all([create({ name: fresh }), put(id, { name: fresh }), put(other, { name: fresh })]);
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  });

  test("another entity's connection and System of Record", async () => {
    const { token, sor } = await makeWorld(store);
    const elements = [];
    for (const body of [definition(), definition({ destination: { sor: sor.identifier } })]) {
      elements.push((await ask('', { method: 'POST', token, body })).body.messages[0].element);
    }
    const own = await create({ destination: { sor: sor.identifier } });
    expect([...elements, own.body.messages[0].element]).toEqual([
      'source.connection',
      'source.connection',
      'destination.sor',
    ]);
  });
});
