import { describe, expect, test } from 'vitest';
import { sweepSteps } from '../../../activities/jobs/sweep.ts';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { lockSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { type Answer, type CallOptions, webForm } from './test-server.ts';
import { useServer } from './use-server.ts';

const { store, server, world } = useServer();

const post = (key: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  server.call('POST', path, {
    token: world.token,
    ...options,
    headers: { 'idempotency-key': key, ...options.headers },
  });
const define = (key: string, attribute: string, options: CallOptions = {}): Promise<Answer> =>
  post(key, '/api/customer_attributes', { body: bodyOf(attribute), ...options });
const bodyOf = (key: string) => ({ sor_id: world.sor.identifier, key, value_type: 'String' });

/** How many attributes of a name were ever defined, as the audit log has it. */
async function definitions(name: string): Promise<number> {
  const { rows } = await store.db.query<{ rows: number }>(
    `SELECT count(*) AS rows FROM audit_log l JOIN customer_attributes a ON a.identifier = l.subject
     WHERE l.action = 'create' AND a.key = $1`,
    [name],
  );
  return rows[0]!.rows;
}

function expectConflict({ status, body }: Answer, message: string): void {
  expect([status, body.success, body.status]).toEqual([409, false, 'conflict']);
  expect(body.error_message).toContain(message);
}

describe('a repeat under the same key', () => {
  test('gets the first reply, byte for byte, and does nothing', async () => {
    const first = await define('again', 'again', { v3: true });
    const repeat = await define('again', 'again', { v3: true });
    expect([first.status, repeat.status]).toEqual([200, 200]);
    expect(repeat.text).toBe(first.text);
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    expect(repeat.headers['idempotency-replayed']).toBe('true');
    for (const name of ['content-type', 'cache-control', 'vary'])
      expect(repeat.headers[name]).toBe(first.headers[name]);
    expect(await definitions('again')).toBe(1);
  });

  test('is one whatever the order of its members, and when the object has changed since', async () => {
    const first = await define('order', 'order');
    const path = `/api/customer_attributes/${first.body.result.identifier}`;
    await server.call('PUT', path, { token: world.token, body: { label: 'changed' } });
    const turned = Object.fromEntries(Object.entries(bodyOf('order')).toReversed());
    expect((await define('order', 'order', { body: turned })).text).toBe(first.text);
  });

  test.each<[string, (name: string) => CallOptions]>([
    ['body', (name) => ({ body: { ...bodyOf(name), label: 'another' } })],
    ['version of the interface', (name) => ({ body: bodyOf(name), v3: true })],
  ])('with another %s is refused', async (what, options) => {
    const name = `other-${what}`;
    const first = await define(name, name);
    expectConflict(await define(name, name, options(name)), 'Another request came with this Idempotency-Key');
    expect((await define(name, name)).text).toBe(first.text);
    expect(await definitions(name)).toBe(1);
  });

  test('while the first runs is told so, and has its reply afterwards', async () => {
    const held = await holdSor();
    const first = define('running', 'running');
    await waitFor('the first request to take the key', () => underWay(1));
    const early = await define('running', 'running');
    expectConflict(early, 'still under way');
    expect(early.headers['retry-after']).toBe('1');
    await held.release();
    const { status, text } = await first;
    expect(status).toBe(200);
    expect((await define('running', 'running')).text).toBe(text);
    expect(await definitions('running')).toBe(1);
  });

  test('of many at once has one effect', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => define('at-once', 'at-once')));
    const done = answers.filter(({ status }) => status === 200);
    expect(done.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectConflict(answer, 'still under way');
    expect(await definitions('at-once')).toBe(1);
  });

  test('that corrects a refused request is done', async () => {
    const refused = await define('corrected', 'corrected', { body: { ...bodyOf('corrected'), key: 'plan' } });
    expect(refused.status).toBe(400);
    expect((await define('corrected', 'corrected')).status).toBe(200);
    expect(await definitions('corrected')).toBe(1);
  });

  test('after a fault of ours is done: what was kept went with the effect', async () => {
    await store.db.query(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'at commit'; END $$;
      CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON customer_attributes DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fail()`);
    expectFault('POST /api/customer_attributes');
    expect((await define('fault', 'fault')).status).toBe(500);
    await store.db.query('DROP TRIGGER fails ON customer_attributes');
    const second = await define('fault', 'fault');
    expect([second.status, second.headers['idempotency-replayed']]).toEqual([200, undefined]);
    expect(await definitions('fault')).toBe(1);
  });

  test('whose reply held a secret is told what was created, and the secret is nowhere', async () => {
    const body = { name: 'Kept' };
    const first = await post('secret', '/api/system_of_records', { body });
    const {
      identifier,
      api_keys: [apiKey],
    } = first.body.result;
    rememberSecret(apiKey);
    const repeat = await post('secret', '/api/system_of_records', { body });
    expectConflict(repeat, 'its reply holds secrets and was not kept');
    expect(repeat.body.identifier).toBe(identifier);
    const other = await post('secret', '/api/system_of_records', { body: { name: 'Other' } });
    expectConflict(other, 'Another request');
    expect(other.text).not.toContain(identifier);
    const { rows } = await store.db.query<{ all: string }>(
      'SELECT jsonb_agg(to_jsonb(r))::text AS all FROM idempotent_requests r',
    );
    expect(rows[0]!.all).toContain(identifier);
    expect(rows[0]!.all).not.toContain(apiKey);
    const { rows: named } = await store.db.query(
      `SELECT FROM systems_of_records WHERE entity_id = $1 AND name IN ('Kept', 'Other')`,
      [world.entity.id],
    );
    expect(named).toHaveLength(1);
  });
});

describe('a key', () => {
  test.each([
    ['empty', ''],
    ['longer than 255 characters', 'k'.repeat(256)],
    ['of other characters than printable ASCII', 'cl\u00e9'],
    ['with a tab within', 'a\tb'],
  ])('that is %s is refused by the name of the header', async (_how, key) => {
    const { status, body } = await define(key, 'never');
    expect([status, body.messages[0].element]).toEqual([400, 'Idempotency-Key']);
    expect(await definitions('never')).toBe(0);
  });

  test('of 255 characters is taken', async () => {
    const key = `"${'k'.repeat(253)}"`;
    expect((await define(key, 'long-key')).text).toBe((await define(key, 'long-key')).text);
  });

  test('says nothing on other methods', async () => {
    const path = `/api/customer_attributes/${world.attributes.plan!.identifier}`;
    const headers = { 'idempotency-key': 'on-put' };
    for (const label of ['One', 'Two']) {
      const { body } = await server.call('PUT', path, { token: world.token, headers, body: { label } });
      expect(body.result.label).toBe(label);
    }
  });

  test('of another user, or for another path, is another key', async () => {
    const another = await write(store.db, async (tx) => {
      const { id } = await insertUser(tx, {
        email: 'second@example.com',
        passwordHash: '',
        preferedEntityId: world.entity.id,
      });
      await insertMembership(tx, { userId: id, entityId: world.entity.id, rights: [...RIGHTS], admin: false });
      return insertToken(tx, id, world.entity.id, 1);
    });
    rememberSecret(another);
    const stranger = await makeWorld(store);
    expect((await define('shared', 'mine')).status).toBe(200);
    const theirs = await define('shared', 'theirs', { token: another });
    expect([theirs.status, theirs.body.result.key]).toEqual([200, 'theirs']);
    const body = { ...bodyOf('elsewhere'), sor_id: stranger.sor.identifier };
    expect((await define('shared', 'elsewhere', { token: stranger.token, body })).status).toBe(200);
    expect((await post('shared', '/api/system_of_records', { body: { name: 'Path' } })).status).toBe(200);
  });

  test('is the same for the same user with another token', async () => {
    const token = await insertToken(store.db, world.user.id, world.entity.id, 1);
    rememberSecret(token);
    const first = await define('renewed', 'renewed');
    expect((await define('renewed', 'renewed', { token })).text).toBe(first.text);
  });

  test('is free after 24 hours, and swept away then', async () => {
    const steps = sweepSteps({
      ...store,
      log: { info() {}, warn() {}, error() {} },
      temporal: undefined as never,
      boundary() {},
    });
    const {
      body: {
        result: { identifier },
      },
    } = await define('aged', 'aged');
    const path = `/api/customer_attributes/${identifier}`;
    await passHours(23);
    await steps.deleteExpired();
    expect((await define('aged', 'aged')).headers['idempotency-replayed']).toBe('true');
    await server.call('DELETE', path, { token: world.token });
    await passHours(2);
    const again = await define('aged', 'aged');
    expect(again.status).toBe(200);
    expect(again.body.result.identifier).not.toBe(identifier);
    await passHours(25);
    await steps.deleteExpired();
    expect((await store.db.query('SELECT FROM idempotent_requests')).rowCount).toBe(0);
  });
});

describe('a request slower than its lease', () => {
  test('is taken over, and then cannot have its effect', async () => {
    const held = await holdSor();
    const slow = define('slow', 'slow');
    await lockWaits(store);
    await store.db.query(
      `UPDATE idempotent_requests SET leased_until = now() - interval '1 second' WHERE http_status IS NULL`,
    );
    const repeat = define('slow', 'slow');
    await lockWaits(store, 2); // the repeat behind it
    await held.release();
    expectConflict(await slow, 'took over');
    const { status, text } = await repeat;
    expect(status).toBe(200);
    expect((await define('slow', 'slow')).text).toBe(text);
    expect(await definitions('slow')).toBe(1);
  });

  test('whose process died leaves the key free after the lease, not before', async () => {
    const before = await define('died', 'died');
    await store.db.query(`UPDATE idempotent_requests SET http_status = NULL, reply = NULL WHERE reply = $1`, [
      before.text,
    ]);
    await store.db.query('DELETE FROM customer_attributes WHERE identifier = $1', [before.body.result.identifier]);
    expectConflict(await define('died', 'died'), 'still under way');
    await store.db.query(
      `UPDATE idempotent_requests SET leased_until = now() - interval '1 second' WHERE http_status IS NULL`,
    );
    expect((await define('died', 'died')).status).toBe(200);
    expect(await definitions('died')).toBe(1);
  });
});

describe('an upload under a key', () => {
  const PATH = '/api/attribute_values/batch_import';
  const CSV = Buffer.from('user_id,attribute_key,value\nu1,plan,gold\n');
  const upload = (key: string, { sor, apiKey }: World, file = CSV, boundary = 'one'): Promise<Answer> => {
    const form = webForm([
      ['sor_id', sor.identifier],
      ['api_key', apiKey],
      ['file', file],
    ]);
    const body = Buffer.from(
      form.body.toString().replaceAll('millrace-test-boundary', boundary).replace('import.csv', `${boundary}.csv`),
    );
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, 'idempotency-key': key };
    return server.call('POST', PATH, { body, headers });
  };

  test('is stored once, whatever the boundary and the name of the file', async () => {
    const own = await makeWorld(store);
    const first = await upload('file', own);
    const files = await storedFiles();
    const repeat = await upload('file', own, CSV, 'two');
    expect([first.status, repeat.status, repeat.text]).toEqual([200, 200, first.text]);
    expectConflict(await upload('file', own, Buffer.from(String(CSV).replace('gold', 'lead'))), 'Another request');
    expect(await storedFiles()).toEqual(files);
    expect((await store.db.query('SELECT FROM imports WHERE entity_id = $1', [own.entity.id])).rowCount).toBe(1);
  });

  test('is told nothing without the key of the System of Records', async () => {
    const [own, other] = [await makeWorld(store), await makeWorld(store)];
    await upload('whose', own);
    const files = await storedFiles();
    expect((await upload('whose', { ...own, apiKey: other.apiKey })).status).toBe(401);
    expect(await storedFiles()).toEqual(files);
    const theirs = await upload('whose', other);
    expect([theirs.status, theirs.headers['idempotency-replayed']]).toEqual([200, undefined]);
  });
});

async function storedFiles(): Promise<string[]> {
  return (await Array.fromAsync(store.files.list('imports/'), ({ key }) => key)).toSorted();
}

/** Has every definition of an attribute wait until it is released. */
async function holdSor(): Promise<{ release(): Promise<void> }> {
  const tx = await store.db.connect();
  await tx.query('BEGIN');
  await lockSor(tx, world.entity.id, world.sor.identifier);
  return {
    async release() {
      await tx.query('COMMIT');
      tx.release();
    },
  };
}

async function underWay(requests: number): Promise<boolean> {
  const { rowCount } = await store.db.query('SELECT FROM idempotent_requests WHERE http_status IS NULL');
  return rowCount === requests;
}

async function passHours(hours: number): Promise<void> {
  await store.db.query('UPDATE idempotent_requests SET received_at = received_at - make_interval(hours => $1)', [
    hours,
  ]);
}
