import type { FastifyInstance } from 'fastify';
import { beforeAll, describe, expect, it } from 'vitest';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import type { Route } from '../../../server/http/route.ts';
import { routes } from '../../../server/routes.ts';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { documentedFaults } from './documented-answer.ts';
import { goodCalls, makeSample, nameOf, type Sample, type SampleOptions, send, untouchedSamples } from './samples.ts';
import { testServer } from './test-server.ts';

/** Law 5, and who may call what, over every route there is. */

/**
 * Routes that need no token: those that give one, that the key of a SoR or of an app opens, a signature, or a mailed
 * link, and those that have one mailed; the public keys, and health.
 */
const OPEN = {
  'POST /api/login': 'none',
  'POST /api/session': 'none',
  'GET /.well-known/jwks.json': 'none',
  'GET /health/live': 'none',
  'GET /health/ready': 'none',
  'GET /api/gdpr/downloads/:request_id/:ordinal/:signature': 'none',
  'GET /api/files/:file_identifier': 'none',
  'POST /api/invitations/accept': 'none',
  'GET /invite/:token': 'none',
  'POST /invite/:token': 'none',
  'POST /api/password_resets': 'none',
  'POST /api/password_resets/confirm': 'none',
  'GET /reset': 'none',
  'POST /reset': 'none',
  'GET /reset/:token': 'none',
  'POST /reset/:token': 'none',
  'POST /api/attribute_values/batch_import': 'sor_key',
  'POST /api/attribute_values': 'sor_key',
  'GET /api/attribute_values/template': 'sor_key',
  ...Object.fromEntries(
    [
      'batch',
      'b',
      'import',
      'track',
      't',
      'identify',
      'i',
      'page',
      'p',
      'screen',
      's',
      'group',
      'g',
      'alias',
      'a',
      'privacy',
      'verify',
    ].map((name) => [`POST /v1/${name}`, 'app_key']),
  ),
  'GET /v1/projects/:write_key/settings': 'app_key',
  'GET /v1/inapp': 'app_key',
};

/** Members of records that hold secrets. */
const SECRET_MEMBERS = [
  'api_keys',
  'fcm_key',
  'qa_api_key',
  'prod_api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'encryption_key',
  'deletion_key',
];

let store: TestStore;
let app: FastifyInstance;
/** Another entity, with an admin of its own. */
let other: World;

beforeAll(async () => {
  store = await testStore();
  ({ app } = await testServer(store));
  other = await makeWorld(store);
});

let tables: string[] | undefined;

const each = routes.map((route) => ({ name: nameOf(route), route }));
const withToken = each.filter(({ route }) => route.auth === 'token');

const untouched = untouchedSamples();
const untouchedSample = (route: Route, options?: SampleOptions) => untouched(store, route, options);

function callOf(route: Route, own: Sample) {
  const make = goodCalls[nameOf(route)];
  expect(make, `${nameOf(route)} has no good call in samples.ts`).toBeDefined();
  return make!(own);
}

/** All rows of an entity, of every table that has any. */
async function rowsOf({ entity }: Sample): Promise<Record<string, unknown>> {
  tables ??= (
    await store.db.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'entity_id' AND NOT a.attisdropped
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'tokens'`,
    )
  ).rows.map(({ name }) => name);
  const { rows } = await store.db.query<{ name: string; all: unknown }>(
    tables
      .map(
        (table) =>
          `SELECT '${table}' AS name, jsonb_agg(to_jsonb(t) ORDER BY to_jsonb(t)::text) AS all FROM ${table} t WHERE entity_id = $1`,
      )
      .join(' UNION ALL '),
    [entity.id],
  );
  return Object.fromEntries(rows.map(({ name, all }) => [name, all]));
}

/** By entity: its rows as they were seen last, since tests that change nothing follow each other over one sample. */
const lastSeen = new Map<number, Record<string, unknown>>();

/** Returns what fails unless the entity has the rows that it had before. */
async function watchRows(own: Sample): Promise<() => Promise<void>> {
  const before = lastSeen.get(own.entity.id) ?? (await rowsOf(own));
  return async () => {
    const after = await rowsOf(own);
    lastSeen.set(own.entity.id, after);
    expect(after).toEqual(before);
  };
}

async function lastAudited(): Promise<number> {
  return (await store.db.query<{ id: number }>('SELECT coalesce(max(id), 0)::integer AS id FROM audit_log')).rows[0]!
    .id;
}

/** As an operation has them. */
async function auditedSince(id: number): Promise<string[]> {
  const { rows } = await store.db.query<{ audited: string }>(
    "SELECT DISTINCT action || ' ' || subject_kind AS audited FROM audit_log WHERE id > $1 ORDER BY 1",
    [id],
  );
  return rows.map(({ audited }) => audited);
}

/** What only this entity may see. */
function marksOf(sample: Sample): string[] {
  const {
    entity,
    sor,
    apiKey,
    attributes,
    importId,
    requestId,
    person,
    user,
    colleague,
    serviceTokenId,
    connection,
    sync,
  } = sample;
  return [
    entity.identifier,
    entity.qaApiKey,
    sor.identifier,
    apiKey,
    importId,
    requestId,
    person,
    user.email,
    colleague.uid,
    serviceTokenId,
    connection.identifier,
    sample.spareConnectionId,
    sample.spareSorId,
    ...Object.values(sync),
    ...Object.values(sample.apps),
    sample.app.identifier,
    sample.certificateId,
    sample.label,
    sample.exporter.identifier,
    `Event of ${entity.identifier}`,
    ...Object.values(sample.campaigns),
    ...Object.values(sample.sent),
    ...Object.values(sample.wallet),
    ...Object.values(sample.gdpr),
    ...Object.values(sample.asked),
    ...Object.values(sample.links),
    ...Object.values(attributes).map(({ identifier }) => identifier),
  ];
}

describe('every route', () => {
  it.for(each)('answers its own entity: $name', async ({ route }) => {
    const own = await (route.method === 'GET' ? untouchedSample(route) : makeSample(store, route));
    const before = await lastAudited();
    const reply = await send(app, route, callOf(route, own), own, own.token);
    expect(reply.statusCode).toBe(route.status ?? 200);
    const audited = await auditedSince(before);
    expect(route.audits).toEqual(expect.arrayContaining(audited));
    if (route.method !== 'GET') expect(audited.length > 0).toBe(route.audits.length > 0);
    if (route.status === 204) return expect(reply.body).toBe('');
    // A file has the type of its format.
    if (route.contentType === 'application/octet-stream')
      return expect(reply.headers['content-disposition']).toMatch(/^attachment; /);
    if (route.contentType === 'image/*')
      return expect(reply.headers['content-type']).toMatch(/^image\/(png|jpeg|gif|webp)$/);
    const type = route.contentType ?? 'application/json';
    expect(reply.headers['content-type']).toBe(type === 'application/zip' ? type : `${type}; charset=utf-8`);
    if (!route.contentType) expect(documentedFaults(route, reply.json())).toEqual([]);
    // SDKs, verifiers and probes want answers of their own form; an export record is bare in the reference.
    const isBare =
      route.isProbe ||
      ['/settings', '/jwks.json', '/exports/:export_identifier'].some((end) => route.path.endsWith(end));
    if (!route.contentType && !isBare) expect(reply.json()).toMatchObject({ success: true });
  });

  it.for(each.filter(({ route }) => 'secrets' in (route.query?.shape ?? {})))(
    'leaves secrets out on request, and writes no entry: $name',
    async ({ route }) => {
      const own = await untouchedSample(route);
      const { query, ...call } = callOf(route, own);
      const before = await lastAudited();
      const reply = await send(app, route, { ...call, query: { ...query, secrets: 'false' } }, own, own.token);
      expect(reply.statusCode).toBe(200);
      expect(await auditedSince(before)).toEqual([]);
      expect(documentedFaults(route, reply.json())).toEqual([]);
      expect(SECRET_MEMBERS.filter((member) => reply.body.includes(`"${member}"`))).toEqual([]);
      const shown = await send(app, route, { ...call, query: query ?? {} }, own, own.token);
      expect(SECRET_MEMBERS.filter((member) => shown.body.includes(`"${member}"`))).not.toEqual([]);
    },
  );

  it.for(withToken)('shows and does nothing for the token of another entity: $name', async ({ route }) => {
    const own = await untouchedSample(route);
    // Superadmins act in all entities, and only they: another entity's admin is refused whatever he names.
    // What writes may end the token.
    const { token } = route.method === 'GET' ? other : await makeWorld(store);
    const expectSameRows = await watchRows(own);
    const reply = await send(app, route, callOf(route, own), own, token);
    const names = callOf(route, own);
    // The reference's refusal says the request's id back.
    expect(marksOf(own).filter((mark) => reply.body.includes(mark) && mark !== names.query?.request_id)).toEqual([]);
    await expectSameRows();
    // A customer id is the caller's own name for somebody: of an unknown one nothing is known.
    const namesAnObject =
      Object.keys(names.params ?? {}).some((name) => name !== 'customer_id' && name !== 'format') ||
      names.query?.import_id ||
      names.query?.sor_id ||
      names.body?.sor_id;
    const status = route.role === 'superadmin' ? 'forbidden' : 'not_found';
    if (namesAnObject) expect(reply.json()).toMatchObject({ success: false, status });
  });

  it.for(each.filter(({ route }) => route.auth === 'sor_key'))(
    'refuses the key of another SoR: $name',
    async ({ route }) => {
      const own = await untouchedSample(route);
      const expectSameRows = await watchRows(own);
      const mixed = { ...own, apiKey: other.apiKey };
      const reply = await send(app, route, callOf(route, mixed), mixed, null);
      expect(reply.statusCode).toBe(401);
      await expectSameRows();
    },
  );

  it.for(each.filter(({ route }) => route.auth === 'app_key'))(
    'refuses a made-up key of an app: $name',
    async ({ route }) => {
      const own = await untouchedSample(route);
      const expectSameRows = await watchRows(own);
      const reply = await send(
        app,
        route,
        callOf(route, { ...own, apps: { ...own.apps, apiKey: 'Made-up-key-1' } }),
        own,
        null,
      );
      expect([401, 404]).toContain(reply.statusCode);
      await expectSameRows();
    },
  );

  it.for(withToken)('refuses a call without a token, or with a made-up one: $name', async ({ route }) => {
    const own = await untouchedSample(route);
    for (const token of [null, 'made-up']) {
      const reply = await send(app, route, callOf(route, own), own, token);
      expect(reply.statusCode).toBe(401);
      expect(reply.json()).toMatchObject({
        success: false,
        status: 'unauthorized',
        error_message: 'Invalid or missing token',
        message: 'Invalid or missing token',
      });
    }
  });

  it.for(withToken.filter(({ route }) => route.rights.length > 0))(
    'names the right that is missing: $name',
    async ({ route }) => {
      const own = await untouchedSample(route, { rights: [] });
      const reply = await send(app, route, callOf(route, own), own, own.token);
      expect(reply.statusCode).toBe(403);
      const { status, error_message: message } = reply.json() as { status: string; error_message: string };
      expect(status).toBe('forbidden');
      expect(message).toContain(route.rights[0]);
    },
  );

  it.for(withToken.filter(({ route }) => route.role === 'admin' || route.role === 'superadmin'))(
    'is closed to whoever is no admin, or no superadmin: $name',
    async ({ route }) => {
      const own = await untouchedSample(route, { isSuper: false, admin: route.role === 'superadmin' });
      const expectSameRows = await watchRows(own);
      const reply = await send(app, route, callOf(route, own), own, own.token);
      expect(reply.statusCode).toBe(403);
      expect((reply.json() as { error_message: string }).error_message).toContain(
        route.role === 'admin' ? 'an admin' : 'a superadmin',
      );
      await expectSameRows();
    },
  );

  it.for(withToken.filter(({ route }) => route.role))(
    'with a role is closed to service tokens: $name',
    async ({ route }) => {
      const own = await untouchedSample(route);
      const expiresAt = new Date(Date.now() + 60_000);
      const asked = { name: 'All', rights: RIGHTS, createdBy: own.user.id, expiresAt };
      const { token } = await insertServiceToken(store.db, own.entity.id, asked);
      rememberSecret(token);
      expect((await send(app, route, callOf(route, own), own, token)).statusCode).toBe(403);
    },
  );

  it('is closed but for those that are known to be open', () => {
    const open = each.filter(({ route }) => route.auth !== 'token').map(({ name, route }) => [name, route.auth]);
    expect(Object.fromEntries(open)).toEqual(OPEN);
  });

  it('that needs no right is known to', () => {
    const open = withToken.filter(({ route }) => route.rights.length === 0 && (route.role ?? 'person') === 'person');
    expect(open.map(({ name }) => name)).toEqual([
      // Each entry of this list is for those who may see its object.
      'GET /api/attention',
      'POST /api/logout',
      'GET /api/session',
      'PUT /api/session',
      'DELETE /api/session',
      // Each part of a person needs its own right; a caller without any of them is refused.
      'POST /api/people/find',
      'POST /api/people/view',
      'POST /api/people/timeline',
      'POST /api/people/days',
      // Without the right crashes_view these are the 404 of a crash that one may not see.
      'GET /api/crashes/:crash_identifier/occurrences',
      'GET /api/crashes/:crash_identifier/export_occurrences',
      'GET /api/crashes/:crash_identifier/export_occurrences.:format',
      'PUT /api/users/me/password',
      'GET /api/service_tokens',
      'POST /api/service_tokens',
      'DELETE /api/service_tokens/:token_identifier',
    ]);
  });
});
