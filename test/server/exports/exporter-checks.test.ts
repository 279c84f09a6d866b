import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { updateFailures, updatePaused } from '../../../store/exports/data-exporters.ts';
import { claimExportRun, findExportRun, insertExportRun } from '../../../store/exports/export-runs.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { CLOSED_PORT } from '../../harness/core/closed-port.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { testServer } from '../http/test-server.ts';
import { resultOf } from '../syncs/use-syncs.ts';
import { KEYS, useExporters } from './use-exporters.ts';

const { store, world, ask, create, createdId, definition, view, list, put, stored, audited } = useExporters();
const ACTIVATED = ['update', { change: 'activated' }];
const CHECKED = ['check', { ok: true }];

let s3: TestS3;
/** A body whose bucket is there. */
let reachable: Record<string, string>;

beforeAll(async () => {
  s3 = await testS3();
  const { endpoint, region, bucket, access_key_id, secret_access_key } = s3.settings;
  reachable = {
    endpoint,
    aws_region: region,
    bucket_name: bucket,
    aws_access_key_id: access_key_id,
    aws_secret_access_key: secret_access_key,
  };
});

const check = (id: string) => ask(`/${id}/check`, { method: 'POST', body: {} });

/** What passes everything on to the S3, but only after `before`. */
async function passingOn(before: () => Promise<unknown>): Promise<string> {
  const pass = async (asked: IncomingMessage, answer: ServerResponse) => {
    await before();
    const { method, url, headers } = asked;
    asked.pipe(
      request(`${s3.settings.endpoint}${url}`, { method, headers, setHost: false }, (got) => {
        answer.writeHead(got.statusCode!, got.headers);
        got.pipe(answer);
      }),
    );
  };
  const server = createServer((asked, answer) => void pass(asked, answer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a data exporter is activated', () => {
  test('once its bucket was tried, and told without its secrets', async () => {
    const id = await createdId({ ...reachable, subfolder: 'daily' });
    const { aws_access_key_id, aws_secret_access_key, encryption_key, deletion_key, ...shown } = await view(id);
    // Temporal may know its next run by now.
    const next_run_at = expect.toSatisfy((at) => at === null || Date.parse(at as string) > Date.now()) as string;
    const activated = resultOf(await put(`${id}/activate`));
    expect(activated).toEqual({
      ...shown,
      active: true,
      revision: 2,
      next_run_at,
      updated_at: expect.any(String) as string,
    });
    const older = await ask(`/${id}`, { method: 'PUT', body: { name: 'Late', revision: 1 } });
    expect(older).toMatchObject({
      status: 409,
      body: { error_message: expect.stringContaining('revision 2') as string },
    });
    expect([aws_access_key_id, aws_secret_access_key, encryption_key]).toEqual([
      reachable.aws_access_key_id,
      reachable.aws_secret_access_key,
      null,
    ]);
    expect(deletion_key).toMatch(/^[0-9a-f]{64}$/);
    expect(await s3.keys()).toEqual([]);
    expect(await s3.unfinished()).toEqual([]);
    expect(await stored(id)).toMatchObject({ active: true, revision: 2 });
    expect(await audited(id)).toEqual([['create', {}], ['read', {}], CHECKED, ACTIVATED]);
    expect((await list()).find(({ identifier }: { identifier: string }) => identifier === id)).toMatchObject({
      active: true,
    });
  });

  test('again after failures, which are forgotten with the pause that came of them', async () => {
    const id = await createdId(reachable);
    resultOf(await put(`${id}/activate`));
    const { id: exporterId } = await stored(id);
    await updateFailures(store.db, world.entity.id, exporterId, 3);
    await updatePaused(store.db, world.entity.id, exporterId, 'three runs failed');
    expect(await view(id)).toMatchObject({
      active: true,
      failures: 3,
      paused_at: expect.stringMatching(/:\d\dZ$/) as string,
      paused_reason: 'three runs failed',
    });
    expect(resultOf(await put(`${id}/activate`))).toMatchObject({
      active: true,
      failures: 0,
      paused_at: null,
      paused_reason: null,
    });
    expect(await stored(id)).toMatchObject({ revision: 3 });
  });

  test.each([
    ['a key that S3 does not know', { aws_access_key_id: 'AKIDUNKNOWN' }, /does not know this aws_access_key_id/],
    [
      'a secret of another key',
      { aws_secret_access_key: KEYS.aws_secret_access_key },
      /SignatureDoesNotMatch.*aws_secret_access_key/,
    ],
    ['a bucket that is not there', { bucket_name: 'not-there' }, /NoSuchBucket.*bucket_name/],
  ])('not with %s: S3 is quoted, and nothing changes', async (_what, body, words) => {
    const id = await createdId({ ...reachable, ...body });
    for (const refused of [await put(`${id}/activate`), await check(id)]) {
      expect([refused.status, refused.body.success, refused.body.status]).toEqual([400, false, 'source_refused']);
      expect(refused.body.error_message).toMatch(words);
      for (const secret of [KEYS.aws_secret_access_key, reachable.aws_secret_access_key!])
        expect(refused.text).not.toContain(secret);
    }
    expect(await stored(id)).toMatchObject({ active: false, revision: 1 });
    const failed = ['check', { ok: false, status: 'source_refused' }];
    expect(await audited(id)).toEqual([['create', {}], failed, failed]);
  });

  test('not while its endpoint leads nowhere, or where the operator lets nobody go', async () => {
    const unreachableEndpoint = `http://127.0.0.1:${CLOSED_PORT}`;
    const id = await createdId({ ...reachable, endpoint: unreachableEndpoint });
    const unreachable = await put(`${id}/activate`);
    expect([unreachable.status, unreachable.body.status]).toEqual([503, 'source_unavailable']);
    expect(unreachable.body.error_message).toMatch(/refused the connection/);
    const checked = { check: true, aws_secret_access_key: reachable.aws_secret_access_key };
    const others = [
      await check(id),
      await put(id, checked),
      await create({ ...reachable, ...checked, endpoint: unreachableEndpoint }),
    ];
    expect(others.map(({ status, body }) => [status, body.status])).toEqual(Array(3).fill([503, 'source_unavailable']));
    expect(await stored(id)).toMatchObject({ active: false, revision: 1 });
    const guarded = await testServer(store, { allowed: '' });
    const refused = await guarded.call('POST', `/api/data_exporters/${id}/check`, { token: world.token, body: {} });
    expect([refused.status, refused.body.status]).toEqual([403, 'address_refused']);
    expect(refused.body.error_message).toMatch(/MILLRACE_FETCH_ALLOW/);
  });

  test('not as something else than what was tried', async () => {
    const [one, other] = [await createdId(reachable), await createdId(reachable)];
    const change = (id: string) => async () =>
      resultOf(await put(id, { name: `Changed at ${process.hrtime.bigint()}` }));
    const { aws_secret_access_key } = reachable;
    for (const id of [one, other])
      resultOf(await put(id, { endpoint: await passingOn(change(id)), aws_secret_access_key }));
    const [activated, changed] = [await put(`${one}/activate`), await put(other, { subfolder: 'daily', check: true })];
    for (const { status, body } of [activated, changed]) {
      expect([status, body.status, body.error_message]).toEqual([
        409,
        'conflict',
        expect.stringContaining('was changed while its bucket'),
      ]);
    }
    expect([(await stored(one)).active, (await stored(other)).subfolder]).toEqual([false, '']);
  });
});

describe('a check', () => {
  test('tells that the bucket works', async () => {
    const id = await createdId(reachable);
    expect((await check(id)).body).toEqual({ success: true, result: { ok: true } });
    expect(await audited(id)).toEqual([['create', {}], CHECKED]);
    expect(await s3.keys()).toEqual([]);
  });

  test('that is asked for with a new exporter comes first: where it fails, none is made', async () => {
    const before = await list();
    const refused = await create({ ...reachable, bucket_name: 'not-there', check: true });
    expect([refused.status, refused.body.status]).toEqual([400, 'source_refused']);
    expect(await list()).toEqual(before);
    expect(resultOf(await create({ ...reachable, check: 'true' }))).toMatchObject({ active: false });
  });

  test('that is asked for with a change is of what would come of it', async () => {
    const id = await createdId({ ...reachable, bucket_name: 'not-there' });
    const { aws_secret_access_key } = reachable;
    expect((await put(id, { subfolder: 'daily', check: true })).status).toBe(400);
    expect(await stored(id)).toMatchObject({ revision: 1, subfolder: '' });
    expect((await put(id, { bucket_name: reachable.bucket_name, aws_secret_access_key, check: true })).status).toBe(
      200,
    );
    expect(await stored(id)).toMatchObject({ revision: 2, bucketName: reachable.bucket_name });
  });
});

test('a data exporter that is deactivated leaves a run under way alone, and none of its schedule waits any more', async () => {
  const id = await createdId(reachable);
  resultOf(await put(`${id}/activate`));
  const exporter = await stored(id);
  const insert = async (cause: 'schedule' | 'request', scheduledFor?: Date) =>
    (await insertExportRun(store.db, world.entity.id, {
      exporterId: exporter.id,
      cause,
      window: { start: null, end: new Date() },
      ...(scheduledFor ? { scheduledFor } : {}),
    }))!;
  const running = await insert('schedule', new Date('2026-01-01T03:00:00Z'));
  await write(store.db, (tx) => claimExportRun(tx, exporter.entityId, running.id, 'workflow'));
  const [due, byHand] = [await insert('schedule', new Date('2026-01-02T03:00:00Z')), await insert('request')];
  expect(resultOf(await put(`${id}/deactivate`))).toMatchObject({ active: false });
  const runs = await Promise.all(
    [running, due, byHand].map(({ identifier }) => findExportRun(store.db, world.entity.id, identifier)),
  );
  expect(runs.map((run) => run!.state)).toEqual(['running', 'canceled', 'accepted']);
});

test('what an exporter needs in AWS is told', async () => {
  const [keys, role] = [
    await createdId({ subfolder: 'daily' }),
    await createdId({
      ...definition(),
      export_configuration: 'aws_account_id',
      aws_account_id: '123456789012',
      aws_access_key_id: undefined,
      aws_secret_access_key: undefined,
      aws_role_name: 'exports',
    }),
  ];
  const policyOf = async (id: string) => resultOf(await ask(`/${id}/policy`, { method: 'GET' }));
  const { rows } = await store.db.query<{ external_id: string }>('SELECT external_id FROM entities WHERE id = $1', [
    world.entity.id,
  ]);
  const external_id = rows[0]!.external_id;
  expect(await policyOf(keys)).toMatchObject({ trust_policy: null, external_id, role_name: null });
  expect(JSON.stringify((await policyOf(keys)).policy)).toContain('arn:aws:s3:::exports/daily/*');
  const { trust_policy, ...told } = await policyOf(role);
  expect(told).toMatchObject({ external_id, role_name: 'exports' });
  expect(JSON.stringify(trust_policy)).toContain(external_id);
});

test("the Schedule of an exporter follows each change, and what Temporal can't be told is left to the sweep", async () => {
  const told: [boolean, number][] = [];
  const own = await testServer(store, {
    followExporter: async ({ active, revision }) => void told.push([active, revision]),
  });
  const id = await createdId(reachable);
  const asked = async (method: 'PUT' | 'DELETE', path: string, body = {}) =>
    resultOf(
      await own.call(method, `/api/data_exporters/${id}${path}`, {
        token: world.token,
        ...(method === 'PUT' ? { body } : {}),
      }),
    );
  await asked('PUT', '/activate');
  await asked('PUT', '', { subfolder: 'daily' });
  await asked('PUT', '/deactivate');
  await asked('PUT', '/activate');
  await asked('DELETE', '');
  expect(told).toEqual([
    [true, 2],
    [true, 3],
    [false, 4],
    [true, 5],
    [false, 5],
  ]);
  const unreachable = await testServer(store, { followExporter: async () => Promise.reject(new Error('no Temporal')) });
  const another = await createdId(reachable);
  resultOf(await unreachable.call('PUT', `/api/data_exporters/${another}/activate`, { token: world.token }));
  expect(await stored(another)).toMatchObject({ active: true });
  const warned = unreachable.logs.filter(({ level }) => level === 40);
  expect(warned).toMatchObject([{ exporter: another, msg: expect.stringContaining('left to the sweep') as string }]);
});
