import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { operation, takesIdempotencyKey } from '../../../api/core/operation.ts';
import { bare, streamedResult } from '../../../server/http/reply.ts';
import { route } from '../../../server/http/route.ts';
import { routes } from '../../../server/routes.ts';
import { insertAuditEntry } from '../../../store/accounts/audit-log.ts';
import { type Queryable, write } from '../../../store/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { goodCalls, makeSample, nameOf, type Sample, send } from './samples.ts';
import { testServer } from './test-server.ts';
import { useServer } from './use-server.ts';

/** Every POST there is, repeated under its Idempotency-Key. */

const KEPT_LATE = 'a POST did not keep its reply in the transaction of its effect';

const { store, server } = useServer();

describe('every POST', () => {
  const posts = routes.filter(({ method }) => method === 'POST');

  test('goes by the header, but for those about the token itself or without one, and those of SDKs, which go by their messageIds', () => {
    expect(posts.filter((each) => !takesIdempotencyKey(each) && each.auth !== 'app_key').map(nameOf)).toEqual([
      'POST /api/login',
      'POST /api/logout',
      'POST /api/session',
      'POST /api/people/find',
      'POST /api/people/view',
      'POST /api/people/timeline',
      'POST /api/people/days',
      'POST /api/people/messages',
      'POST /api/people/segment',
      'POST /api/people/delivery',
      'POST /api/funnels/quick_stats',
      'POST /api/funnels/explore',
      'POST /api/funnels/people',
      'POST /api/segments/preview',
      'POST /api/campaigns/preview',
      'POST /api/invitations/accept',
      'POST /api/password_resets',
      'POST /api/password_resets/confirm',
      'POST /invite/:token',
      'POST /reset/:token',
      'POST /reset',
    ]);
  });

  test('that goes by the header says so in the API document', async () => {
    type Document = { paths: Record<string, Record<string, { parameters: { name: string }[] }>> };
    const { paths } = (await server.call('GET', '/openapi.json')).body as Document;
    const documented = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { parameters }]) => parameters.some(({ name }) => name === 'Idempotency-Key'))
        .map(([method]) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(documented.toSorted()).toEqual(posts.filter(takesIdempotencyKey).map(nameOf).toSorted());
  });

  test.for(posts.filter(takesIdempotencyKey).map((each) => ({ name: nameOf(each), each })))(
    'has one effect under one key, and keeps its reply in the transaction of it: $name',
    async ({ name, each }) => {
      const own = await makeSample(store, each);
      const call = () => send(server.app, each, goodCalls[name]!(own), own, own.token, { 'idempotency-key': 'every' });
      const first = await call();
      expect(first.statusCode).toBe(200);
      const after = await stateOf(own);
      const repeat = await call();
      expect(await stateOf(own)).toEqual(after);
      if (repeat.statusCode === 409) expect(first.body).toContain((repeat.json() as { identifier: string }).identifier);
      else expect([repeat.body, repeat.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
      expect(server.logs.filter(({ msg, route: path }) => msg === KEPT_LATE && path === each.path)).toEqual([]);
    },
  );

  test('that ends or makes a token is done each time', async () => {
    const login = routes.find((each) => nameOf(each) === 'POST /api/login')!;
    const own = await makeSample(store, login);
    const headers = { 'idempotency-key': 'token' };
    const tokens = new Set([own.token]);
    for (let times = 0; times < 2; times += 1) {
      const reply = await send(server.app, login, goodCalls['POST /api/login']!(own), own, null, headers);
      tokens.add((reply.json() as { result: { auth_token: string } }).result.auth_token);
    }
    expect(tokens.size).toBe(3);
    for (const token of tokens) {
      rememberSecret(token);
      expect((await server.call('POST', '/api/logout', { token, headers })).status).toBe(200);
      expect((await server.call('POST', '/api/logout', { token, headers })).status).toBe(401);
    }
  });

  test('whose process dies after the commit has its reply kept', async () => {
    const world = await makeWorld(store);
    const own = await testServer(store, { routes: [dying] });
    const call = () => own.call('POST', '/dying', { token: world.token, headers: { 'idempotency-key': 'dying' } });
    expectFault('POST /dying');
    expect((await call()).status).toBe(500);
    const repeat = await call();
    expect([repeat.status, repeat.text]).toEqual([200, '{"success":true,"result":{"done":true}}']);
    expect((await store.db.query('SELECT FROM audit_log WHERE entity_id = $1', [world.entity.id])).rowCount).toBe(1);
  });

  test('that does not keep its reply is a fault that is logged, and still is done once', async () => {
    const world = await makeWorld(store);
    const own = await testServer(store, { routes: [careless, streaming, failing] });
    for (const path of ['/careless', '/streaming']) expectFault(path);
    const call = (path: string) =>
      own.call('POST', path, { token: world.token, headers: { 'idempotency-key': 'late' } });
    const [first, repeat] = [await call('/careless'), await call('/careless')];
    expect([first.text, repeat.text]).toEqual(
      Array.from({ length: 2 }, () => '{"success":true,"result":{"done":true}}'),
    );
    expect(own.logs.filter(({ msg }) => msg === KEPT_LATE)).toEqual([
      expect.objectContaining({ level: 50, route: '/careless' }),
    ]);
    expect((await call('/streaming')).status).toBe(200);
    expect((await call('/streaming')).body).toMatchObject({
      status: 'conflict',
      message: expect.stringContaining('not kept'),
    });
    expect([(await call('/failing')).status, (await call('/failing')).status]).toEqual([503, 503]);
    const { rows } = await store.db.query('SELECT subject FROM audit_log WHERE entity_id = $1 ORDER BY id', [
      world.entity.id,
    ]);
    expect(rows.map(({ subject }) => subject)).toEqual(['careless', 'streaming', 'failing', 'failing']);
  });
});

const PLAIN = { method: 'POST', summary: '', tag: '' } as const;
const note = (entityId: number, subject: string, db: Queryable = store.db) =>
  insertAuditEntry(db, entityId, { actorKind: 'system', action: 'update', subjectKind: 'session', subject });

const careless = route(
  operation({ ...PLAIN, id: 'careless', path: '/careless', result: z.object({ done: z.boolean() }) }),
  async ({ caller }) => {
    await note(caller.entityId, 'careless');
    return { done: true };
  },
);

/** Commits and answers nothing, as a process does that is killed just then. */
const dying = route(
  operation({ ...PLAIN, id: 'dying', path: '/dying', result: z.object({ done: z.boolean() }) }),
  async ({ caller, keepReply }) => {
    await write(store.db, async (tx) => {
      await note(caller.entityId, 'dying', tx);
      return keepReply(tx, { done: true });
    });
    throw new Error('killed');
  },
);

const streaming = route(operation({ ...PLAIN, id: 'streaming', path: '/streaming' }), async ({ caller }) => {
  await note(caller.entityId, 'streaming');
  return streamedResult(
    'rows',
    (async function* rows() {
      yield 1;
    })(),
  );
});

const failing = route(operation({ ...PLAIN, id: 'failing', path: '/failing' }), async ({ caller, keepReply }) => {
  await note(caller.entityId, 'failing');
  return keepReply(store.db, bare({ success: false }, 503));
});

/** Everything there is of an entity, in tables and files, but for the keys. */
async function stateOf({ entity }: Sample): Promise<Record<string, unknown>> {
  const { rows: tables } = await store.db.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'entity_id' AND table_name <> 'idempotent_requests'`,
  );
  const state: Record<string, unknown> = {
    files: (await Array.fromAsync(store.files.list('imports/'), ({ key }) => key)).toSorted(),
  };
  for (const { name } of tables) {
    const { rows } = await store.db.query<{ all: string | null }>(
      `SELECT jsonb_agg(to_jsonb(t) ORDER BY to_jsonb(t)::text)::text AS all FROM ${name} t WHERE entity_id = $1`,
      [entity.id],
    );
    state[name] = createHash('sha256')
      .update(rows[0]!.all ?? '')
      .digest('hex');
  }
  return state;
}
