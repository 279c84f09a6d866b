import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectors } from '../../../connectors/catalog.ts';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import { findConnection, openSecretSettings, type SettingValues } from '../../../store/syncs/connections.ts';
import { deleteSync } from '../../../store/syncs/syncs.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { CLOSED_PORT } from '../../harness/core/closed-port.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { storedSync } from '../../harness/syncs/stored-syncs.ts';
import { postgresSettings } from '../http/samples.ts';
import { testServer, type TestServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const PATH = '/api/connections';
const WRONG = 'a password that is wrong';

const { store, server, world } = useServer();
let settings: SettingValues & { password: string };

beforeAll(() => {
  settings = postgresSettings(store.url);
  rememberSecret(WRONG);
});

let made = 0;
const newName = () => `Connection ${(made += 1)}`;

async function create(body: object = {}, token = world.token) {
  return server.call('POST', PATH, { token, body: { name: newName(), connector: 'postgres', settings, ...body } });
}

const createdId = async (body: object = {}) => (await create(body)).body.result.identifier as string;
const view = async (id: string) => (await server.call('GET', `${PATH}/${id}`, { token: world.token })).body.result;
const put = (id: string, body: object) => server.call('PUT', `${PATH}/${id}`, { token: world.token, body });
const check = (id: string, own: TestServer = server) =>
  own.call('POST', `${PATH}/${id}/check`, { token: world.token, body: {} });
const tryOut = (body: object, own: TestServer = server) =>
  own.call('POST', `${PATH}/check`, { token: world.token, body: { connector: 'postgres', ...body } });

async function stored(id: string): Promise<SettingValues> {
  return openSecretSettings(store.secrets, world.entity.id, (await findConnection(store.db, world.entity.id, id))!);
}

/** A server that takes connections and never says a word; tells how many are open. */
async function silentServer(): Promise<{ port: number; open(): number }> {
  let count = 0;
  const silent = createServer((socket) => {
    count += 1;
    socket
      .resume()
      .on('error', () => {})
      .on('close', () => {
        count -= 1;
      });
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onFileEnd(async () => silent.close());
  return { port: (silent.address() as AddressInfo).port, open: () => count };
}

describe('connectors', () => {
  test('are listed with their settings, secrets marked as such', async () => {
    const { body } = await server.call('GET', '/api/connectors', { token: world.token });
    const postgres = body.result.find(({ name }: { name: string }) => name === 'postgres');
    expect(postgres).toMatchObject({ title: 'PostgreSQL', source: true, settings: { type: 'object' } });
    expect(postgres.settings.properties.password).toMatchObject({ type: 'string', writeOnly: true });
    expect(postgres.settings.properties.host.writeOnly).toBeUndefined();
    expect(postgres.settings.required).toEqual(expect.arrayContaining(['host', 'password']));
  });
});

describe('a connection', () => {
  test('is stored, with its secrets sealed and shown to nobody', async () => {
    const name = newName();
    const { status, body, text } = await create({ name });
    expect(status).toBe(200);
    const { password, ...shown } = settings;
    expect(body.result).toMatchObject({
      identifier: expect.stringMatching(/^con_/),
      name,
      connector: 'postgres',
      revision: 1,
      created_by: { id: world.user.id, uid: world.user.uid },
      settings: { ...shown, password: { set: true } },
    });
    const id = body.result.identifier as string;
    expect(await view(id)).toEqual(body.result);
    const list = await server.call('GET', PATH, { token: world.token });
    expect(list.body.result.items).toContainEqual(body.result);
    const { rows } = await store.db.query('SELECT c::text AS row FROM connections c WHERE identifier = $1', [id]);
    for (const said of [text, list.text, rows[0].row]) expect(said).not.toContain(password);
    expect(await stored(id)).toEqual({ password });
  });

  test('opens its secrets in its own row only', async () => {
    const [one, other] = [await createdId(), await createdId()];
    await store.db.query(
      `UPDATE connections SET sealed_secrets = (SELECT sealed_secrets FROM connections WHERE identifier = $2)
      WHERE identifier = $1`,
      [one, other],
    );
    await expect(stored(one)).rejects.toThrow(/authenticate/);
  });

  test('has a name of its own, which is free again once it is deleted', async () => {
    const name = newName();
    const id = await createdId({ name });
    const again = await create({ name });
    expect([again.status, again.body.messages]).toEqual([400, [expect.objectContaining({ element: 'name' })]]);
    const other = await createdId();
    const renamed = await put(other, { name });
    expect([renamed.status, renamed.body.messages?.[0].element]).toEqual([400, 'name']);
    expect((await server.call('DELETE', `${PATH}/${id}`, { token: world.token })).body).toEqual({ success: true });
    expect((await put(other, { name })).body.result).toMatchObject({ name, revision: 2 });
    const gone = [
      await server.call('GET', `${PATH}/${id}`, { token: world.token }),
      await put(id, {}),
      await check(id),
      await server.call('DELETE', `${PATH}/${id}`, { token: world.token }),
    ];
    expect(gone.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    const { rows } = await store.db.query(
      'SELECT settings, secret_names, sealed_secrets FROM connections WHERE identifier = $1',
      [id],
    );
    expect(rows).toEqual([{ settings: {}, secret_names: [], sealed_secrets: null }]);
  });

  test('is not changed from an older revision, and the refusal says what to do', async () => {
    const id = await createdId();
    const [mine, theirs] = [newName(), newName()];
    expect((await put(id, { name: theirs, revision: 1 })).body.result).toMatchObject({ name: theirs, revision: 2 });
    const late = await put(id, { name: mine, revision: 1 });
    expect([late.status, late.body.status, late.body.error_message]).toEqual([
      409,
      'conflict',
      `The connection ${id} has been changed since: it has revision 2, and your change is of revision 1. Get it again, ` +
        'make your change there, and send it with revision 2',
    ]);
    expect(await view(id)).toMatchObject({ name: theirs, revision: 2 });
    expect((await put(id, { name: mine })).body.result).toMatchObject({ name: mine, revision: 3 });
  });

  test('gets one of two new connections of the same name that come at once', async () => {
    const ids = [await createdId(), await createdId()];
    const name = newName();
    const replies = await Promise.all([create({ name }), ...ids.map((id) => put(id, { name }))]);
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
  });

  test('keeps its secret when a change leaves it out, also by what is shown in its place', async () => {
    const id = await createdId();
    const { password, ...shown } = settings;
    const changed = await put(id, { settings: { ...shown, lag_seconds: 5 } });
    expect(changed.body.result).toMatchObject({ revision: 2, settings: { lag_seconds: 5, password: { set: true } } });
    const { settings: seen } = await view(id);
    expect((await put(id, { settings: { ...seen, lag_seconds: 6 } })).body.result).toMatchObject({ revision: 3 });
    expect((await put(id, { settings: { ...seen, lag_seconds: 6 } })).body.result).toMatchObject({ revision: 3 });
    expect(await stored(id)).toEqual({ password });
    expect((await put(id, { settings: { ...seen, password: WRONG } })).body.result).toMatchObject({ revision: 4 });
    expect(await stored(id)).toEqual({ password: WRONG });
  });

  test.each([
    ['host', { host: 'db.example.net' }],
    ['port', { port: 1 }],
    ['tls', { tls: 'on' }],
    ['tls_ca', { tls_ca: '-----BEGIN CERTIFICATE-----' }],
  ])('does not take its secret along elsewhere: %s', async (member, changes) => {
    const id = await createdId();
    const { password, ...shown } = settings;
    const refused = await put(id, { settings: { ...shown, ...changes } });
    expect([refused.status, refused.body.messages]).toEqual([
      400,
      [
        {
          element: 'settings.password',
          severity: 'error',
          message: expect.stringMatching(`must be given anew, since ${member} changed`),
        },
      ],
    ]);
    expect(await view(id)).toMatchObject({ revision: 1, settings: shown });
    expect(refused.text).not.toContain(password);
    expect((await put(id, { settings: { ...settings, ...changes } })).body.result).toMatchObject({
      revision: 2,
      settings: changes,
    });
  });

  test('cannot lose a secret that it needs', async () => {
    const id = await createdId();
    const refused = await put(id, { settings: { ...settings, password: null } });
    expect([refused.status, refused.body.messages?.[0].element]).toEqual([400, 'settings.password']);
    expect(await stored(id)).toEqual({ password: settings.password });
  });

  test.each([
    [{ settings: { host: undefined } }, 'settings.host', /./],
    [{ settings: { port: 70_000 } }, 'settings.port', /65535/],
    [{ settings: { port: '5432' } }, 'settings.port', /whole number/],
    [{ settings: { password: undefined } }, 'settings.password', /./],
    [{ settings: { password: { set: true } } }, 'settings.password', /./],
    [{ settings: { password: 12 } }, 'settings.password', /./],
    [{ settings: { hots: 'db' } }, 'settings.hots', /^is unknown: did you mean host\? There are host, port, database/],
    [{ settings: { constructor: 'x' } }, 'settings.constructor', /^is unknown/],
    [{ settings: { host: 'a\0b' } }, 'settings.host', /NUL/],
    [{ settings: { queries: { one: 'SELECT \0' } } }, 'settings.queries', /NUL/],
    [{ settings: { queries: { one: 'x'.repeat(300_000) } } }, 'settings', /at most 256 KiB as JSON/],
    [{ connector: 'postgers' }, 'connector', /^is unknown: did you mean postgres\? There are .*postgres/],
    [{ connector: undefined }, 'connector', /required/],
    [{ name: ' ' }, 'name', /blank/],
  ])(
    'is refused with what is wrong named: %j',
    async (wrong: { settings?: object; name?: string; connector?: string }, element, says) => {
      const body = { connector: 'postgres', name: newName(), ...wrong, settings: { ...settings, ...wrong.settings } };
      for (const path of 'name' in wrong ? [PATH] : [PATH, `${PATH}/check`]) {
        const { status, body: answer, text } = await server.call('POST', path, { token: world.token, body });
        expect([status, answer.messages?.[0]]).toEqual([
          400,
          { element, severity: 'error', message: expect.stringMatching(says) },
        ]);
        expect(text).not.toContain(settings.password);
      }
    },
  );

  test('of another entity is not there', async () => {
    const id = await createdId();
    const { token } = await makeWorld(store);
    const asked = [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/check'],
      ['GET', '/streams'],
    ] as const;
    for (const [method, rest] of asked) {
      const reply = await server.call(method, `${PATH}/${id}${rest}`, {
        token,
        ...(method === 'PUT' ? { body: { name: 'Mine' } } : {}),
      });
      expect([method, rest, reply.status, reply.body.error_message]).toEqual([
        method,
        rest,
        404,
        'Connection not found',
      ]);
    }
    expect((await server.call('GET', PATH, { token })).body.result.items).toEqual([]);
  });

  test('is not deleted while a sync reads from it or writes to it', async () => {
    const [source, target] = [await createdId(), await createdId()];
    const [from, to] = await Promise.all([source, target].map((id) => findConnection(store.db, world.entity.id, id)));
    const destination = { connectionId: to!.id, stream: 'contacts', key: ['id'] };
    const sync = await storedSync(store.db, world, { name: 'To the shop', connectionId: from!.id, destination });
    const remove = async (id: string) => {
      const { status, body } = await server.call('DELETE', `${PATH}/${id}`, { token: world.token });
      return [status, body.status, body.error_message];
    };
    const refusal = [409, 'conflict', 'The connection is used by syncs: "To the shop". Delete them first'];
    expect([await remove(source), await remove(target)]).toEqual([refusal, refusal]);
    expect(await stored(source)).toMatchObject({ password: settings.password });
    await store.db.query(
      `UPDATE syncs SET connection_id = $2, destination_id = $2, alerts = alerts || jsonb_build_object('connections', ARRAY[$3])
       WHERE id = $1`,
      [sync.id, from!.id, target],
    );
    expect(await remove(target)).toEqual(refusal);
    await deleteSync(store.db, world.entity.id, sync.id);
    const exporter = await storedExporter(store.db, store.secrets, world, { notifyConnections: [target] });
    expect((await remove(target))[2]).toBe(
      'The connection is used by exporters: "Nightly". Take it out of their notify_connections first',
    );
    await store.db.query('DELETE FROM data_exporters WHERE id = $1', [exporter.id]);
    for (const id of [source, target]) expect((await remove(id))[0]).toBe(200);
  });

  test('of a connector that is no longer there is still shown, renamed and deleted', async () => {
    const id = await createdId();
    await store.db.query(`UPDATE connections SET connector = 'oracle' WHERE identifier = $1`, [id]);
    expect(await view(id)).toMatchObject({
      connector: 'oracle',
      settings: { host: settings.host, password: { set: true } },
    });
    expect((await put(id, { name: newName() })).status).toBe(200);
    for (const refused of [await put(id, { settings }), await check(id)]) {
      expect([refused.status, refused.body.error_message]).toEqual([
        409,
        expect.stringContaining('no connector oracle any more'),
      ]);
    }
    expect((await server.call('DELETE', `${PATH}/${id}`, { token: world.token })).status).toBe(200);
  });

  test("made by a service token counts as its creator's", async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const { token } = await insertServiceToken(store.db, world.entity.id, {
      name: 'Deploy',
      rights: ['sor_manage'],
      createdBy: world.user.id,
      expiresAt,
    });
    rememberSecret(token);
    expect((await create({}, token)).body.result.created_by).toEqual({ id: world.user.id, uid: world.user.uid });
  });
});

describe('a check', () => {
  test('tells that a connection works, stored or not', async () => {
    const id = await createdId();
    expect((await check(id)).body.result).toEqual({ ok: true });
    expect((await tryOut({ settings })).body.result).toEqual({ ok: true });
  });

  test('tells what is wrong, in words without the secret', async () => {
    const reply = await tryOut({ settings: { ...settings, password: WRONG } });
    expect(reply.body.result).toEqual({
      ok: false,
      status: 'source_refused',
      message: expect.stringMatching(/password/),
    });
    expect(reply.text).not.toContain(WRONG);
    const closed = await tryOut({ settings: { ...settings, port: CLOSED_PORT } });
    expect(closed.body.result).toMatchObject({
      ok: false,
      status: 'source_unavailable',
      message: expect.stringContaining(String(CLOSED_PORT)),
    });
  });

  test('goes nowhere that the operator does not allow', async () => {
    const guarded = await testServer(store, { allowed: '' });
    const { port, open } = await silentServer();
    const reply = await tryOut({ settings: { ...settings, port } }, guarded);
    const message = expect.stringContaining('MILLRACE_FETCH_ALLOW') as string;
    expect(reply.body.result).toMatchObject({ ok: false, status: 'address_refused', message });
    expect(open()).toBe(0);
  });

  test('ends when no answer comes in time', async () => {
    const hasty = await testServer(store, { settings: { limits: { checkMs: 300, discoverMs: 300 } } });
    const { port, open } = await silentServer();
    const id = await createdId({ settings: { ...settings, port } });
    expect((await check(id, hasty)).body.result).toEqual({
      ok: false,
      status: 'source_unavailable',
      message: expect.stringContaining('No answer came within 0.3 s'),
    });
    const streams = await hasty.call('GET', `${PATH}/${id}/streams`, { token: world.token });
    expect([streams.status, streams.body.status]).toEqual([503, 'source_unavailable']);
    await waitFor('the connections to end', async () => open() === 0);
  });

  test('has to wait for its turn where four are under way, in this entity only', async () => {
    const own = await testServer(store);
    const { port, open } = await silentServer();
    const waiting = Array.from({ length: 4 }, () => tryOut({ settings: { ...settings, port } }, own));
    await waitFor('four connections', async () => open() === 4);
    const beyond = [tryOut({ settings }, own), tryOut({ settings }, own)];
    const refused = await Promise.race(beyond);
    expect([refused.status, refused.body]).toEqual([
      429,
      expect.objectContaining({ status: 'too_many_requests', retry_after: 10 }),
    ]);
    expect(refused.headers['retry-after']).toBe('10');
    const { token } = await makeWorld(store);
    const elsewhere = await own.call('POST', `${PATH}/check`, { token, body: { connector: 'postgres', settings } });
    expect(elsewhere.body.result).toEqual({ ok: true });
    // The other one waits for ten seconds.
    expect((await Promise.all(beyond)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([429, 503]);
    await own.app.close();
    for (const reply of await Promise.all(waiting)) {
      expect(reply.body.result).toMatchObject({
        ok: false,
        status: 'source_unavailable',
        message: expect.stringContaining('stopping'),
      });
    }
  });

  test('is refused as what the connector is not', async () => {
    const { name, source } = connectors.find((each) => !each.source || !each.destination)!;
    const [is, isNot] = source ? ['source', 'destination'] : ['destination', 'source'];
    const reply = await tryOut({ connector: name, settings: {}, as: isNot });
    expect([reply.status, reply.body.messages]).toEqual([
      400,
      [{ element: 'as', severity: 'error', message: `must be ${is}: ${name} is no ${isNot}` }],
    ]);
  });
});

describe('streams', () => {
  test('tell what can be read, with fields', async () => {
    await store.db.query('CREATE SCHEMA shop');
    await store.db.query(
      'CREATE TABLE shop.orders (id integer PRIMARY KEY, placed_at timestamptz NOT NULL, note text)',
    );
    const id = await createdId({ settings: { ...settings, schema: 'shop' } });
    const { body } = await server.call('GET', `${PATH}/${id}/streams`, { token: world.token });
    expect(body.result.streams).toEqual([
      {
        name: 'orders',
        key: ['id'],
        incremental: { fields: expect.arrayContaining(['placed_at']) },
        fields: [
          { name: 'id', type: 'integer', nullable: false },
          { name: 'placed_at', type: 'datetime', nullable: false },
          { name: 'note', type: 'string', nullable: true },
        ],
      },
    ]);
  });

  test("are refused with the source's own reason", async () => {
    const id = await createdId({ settings: { ...settings, password: WRONG } });
    const { status, body, text } = await server.call('GET', `${PATH}/${id}/streams`, { token: world.token });
    expect([status, body.status]).toEqual([400, 'source_refused']);
    expect(text).not.toContain(WRONG);
  });
});

describe('what is written down', () => {
  test('tells who did what, and neither secrets nor addresses; nor does the log', async () => {
    const id = await createdId();
    await put(id, { name: newName(), settings: { ...settings, password: WRONG, lag_seconds: 1 } });
    await check(id);
    await server.call('GET', `${PATH}/${id}/streams`, { token: world.token });
    await server.call('DELETE', `${PATH}/${id}`, { token: world.token });
    await tryOut({ settings: { ...settings, password: WRONG } });
    const log = await server.call('GET', `/api/audit_log?subject_kind=connection`, { token: world.token });
    type Entry = { action: string; subject: string | null; details: object };
    const entries = log.body.result.entries as Entry[];
    const failed = { connector: 'postgres', as: 'source', ok: false, status: 'source_refused' };
    expect(entries.slice(0, 6).map(({ action, subject, details }) => [action, subject, details])).toEqual([
      ['check', null, failed],
      ['delete', id, {}],
      ['discover', id, failed],
      ['check', id, failed],
      ['update', id, { name: true, settings: 'lag_seconds password' }],
      ['create', id, { connector: 'postgres' }],
    ]);
    const said = log.text + JSON.stringify(server.logs);
    for (const secret of [settings.password, WRONG]) expect(said).not.toContain(secret);
    expect(log.text).not.toContain(String(settings.port));
  });
});
