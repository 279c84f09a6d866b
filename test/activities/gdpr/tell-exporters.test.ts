import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { putDueLists, tellExporters } from '../../../activities/gdpr/tell-exporters.ts';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { verifyDocument } from '../../../domain/core/signed-document.ts';
import { deletionListSchema } from '../../../domain/gdpr/deletion-list.ts';
import { write } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import { deleteExporter } from '../../../store/exports/data-exporters.ts';
import { listCopies } from '../../../store/gdpr/copies.ts';
import {
  type DeletionRound,
  type ExportDeletion,
  findDeletionKey,
  insertDeletionLists,
  listDeletions,
} from '../../../store/gdpr/export-deletions.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { claimRequest } from '../../../store/gdpr/progress.ts';
import { findGdprRequestById } from '../../../store/gdpr/requests.ts';
import { ATTENTION } from '../../../store/jobs/attention.ts';
import { listAttentionOf } from '../../../store/jobs/list-attention.ts';
import { runDocumented } from '../../cli/core/run-documented.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { codeOf, documented } from '../../harness/core/documented.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { s3Error, type S3Proxy, s3Proxy } from '../../harness/core/s3-proxy.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { useStack } from '../../harness/core/stack.ts';
import {
  addExporter,
  type ExportWorld,
  insertEvents,
  makeExportWorld,
  runExport,
} from '../../harness/exports/exports.ts';

const stack = useStack();
let s3: TestS3;
let proxy: S3Proxy;
let world: ExportWorld;
let round: DeletionRound;

const ERASED_AT = new Date('2026-11-21T09:15:02.113Z');
/** One whose bytes are not those of ASCII, one with what a shell and SQL take for something else. */
const USERS = [`${personId(1)} é`, String.raw`${personId(2)}'\x`];
const PEOPLE: KnownBy[] = [
  ...USERS.map((customerId): KnownBy => ({ customerType: 'user_id', customerId })),
  { customerType: 'device_id', customerId: 'device-7' },
  { customerType: 'push_token', customerId: 'a token' },
];

beforeAll(async () => {
  s3 = await testS3();
  proxy = await s3Proxy(s3.settings.endpoint);
});

beforeEach(async () => {
  proxy.clear();
  world = await makeExportWorld(stack, s3, { exportedData: ['logs'], endpoint: proxy.endpoint });
  round = { entityId: world.entity.id, requestIdentifier: newIdentifier('gdp'), round: 1 };
  await hasExported(world.exporter.id);
});

const hasExported = (id: number) =>
  stack.store.db.query('UPDATE data_exporters SET initial_run_at = now() WHERE id = $1', [id]);

function tell(boundary: (name: string) => void = () => {}) {
  const { db, secrets } = stack.store;
  const allow = readFetchAllow('127.0.0.1') as FetchAllow;
  const outside = { allow, fetch: guardedFetch(allow) };
  return putDueLists({ db, secrets, outside, boundary }, round, new AbortController().signal);
}

const insert = (people = PEOPLE) =>
  write(stack.store.db, (tx) =>
    insertDeletionLists(tx, { secrets: stack.store.secrets }, { ...round, erasedAt: ERASED_AT }, people),
  );
const lists = async (): Promise<ExportDeletion[]> =>
  (await listDeletions(stack.store.db, world.entity.id, world.exporter.id, { offset: 0, limit: 9 })).items;
const deletions = () => s3.keys(`daily/${world.exporter.identifier}/deletions/`);
/** Waits are over. */
const due = () => stack.store.db.query('UPDATE export_deletions SET waits_until = now() WHERE waits_until IS NOT NULL');

it('an erased person is found in the bucket by the recipes of the docs, once, and the server has forgotten them', async () => {
  await insert();
  await insert();
  const [pending] = await lists();
  expect(pending).toMatchObject({ state: 'pending', ids: 3 });
  expect(await tell()).toBeNull();
  const [key, ...others] = await deletions();
  expect(others).toEqual([]);
  const body = await s3.get(key!);
  const given = JSON.parse(body.toString()) as object;
  expect(verifyDocument(given, stack.store.secrets.signingKeys())).toBe('valid');
  const list = deletionListSchema.parse(given);
  expect(list).toMatchObject({
    request: round.requestIdentifier,
    erased_at: ERASED_AT.toISOString(),
    exporter: world.exporter.identifier,
  });
  expect(key).toContain(`/20261121T091502Z-${list.list}.json`);
  expect(await lists()).toMatchObject([
    {
      state: 'notified',
      hmacs: null,
      key,
      sha256: createHash('sha256').update(body).digest(),
      tries: 1,
      fault: null,
    },
  ]);
  await findsThem(body);
});

async function findsThem(list: Buffer): Promise<void> {
  const { db, secrets } = stack.store;
  const deletionKey = (await findDeletionKey(db, secrets, world.exporter))!;
  rememberSecret(deletionKey);
  const pieces = await documented('exports.md');
  const [python] = codeOf(pieces, 'python', 'Reading it safely: Erased, but exported');
  const [shell] = codeOf(pieces, 'sh', 'Reading it safely: Erased, but exported');
  const folder = await mkdtemp(join(tmpdir(), 'millrace-erased-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'erased.py'), python!);
  await writeFile(join(folder, 'user_ids.txt'), [...USERS, personId(3)].map((id) => `${id}\n`).join(''));
  execFileSync('mkdir', [join(folder, 'deletions')]);
  await writeFile(join(folder, 'deletions', 'a.json'), list);
  await runDocumented(shell!, folder, null, { DELETION_KEY: deletionKey });
  expect(await runDocumented('cat erased.tsv', folder, null)).toBe(
    USERS.map((id) => `${id}\t2026-11-21T09:15:02.113Z\n`).join(''),
  );
  const [sql] = codeOf(pieces, 'sql', 'Reading it safely: Erased, but exported');
  await db.query(`CREATE EXTENSION IF NOT EXISTS pgcrypto; CREATE TABLE deletion_lists (list jsonb);
    CREATE TABLE logs (user_id text, date_utc timestamptz)`);
  await db.query('INSERT INTO deletion_lists VALUES ($1)', [list.toString()]);
  await db.query(`INSERT INTO logs SELECT u, d FROM unnest($1::text[]) u, unnest($2::timestamptz[]) d`, [
    [...USERS, personId(3)],
    ['2026-11-20T00:00:00Z', '2026-11-22T00:00:00Z'],
  ]);
  await db.query(sql!.replace(`:'deletion_key'`, `'${deletionKey}'`));
  const { rows } = await db.query<{ left: number }>(
    `SELECT count(*) AS left FROM logs GROUP BY user_id = ANY ($1) ORDER BY 1`,
    [USERS],
  );
  expect(rows).toEqual([{ left: 2 }, { left: 2 }]);
}

it('a step that dies between bucket and database puts the very same list again', async () => {
  await insert();
  const dies = tell((name) => {
    if (name === 'gdpr: after a list') throw new Error('killed');
  });
  await expect(dies).rejects.toThrow('killed');
  const [key] = await deletions();
  const before = await s3.get(key!);
  expect(await tell()).toMatchObject({ againInMs: expect.any(Number) as number });
  await due();
  expect(await tell()).toBeNull();
  expect(await deletions()).toEqual([key]);
  expect(await s3.get(key!)).toEqual(before);
  expect(await lists()).toMatchObject([{ state: 'notified', tries: 2 }]);
});

it('a bucket that refuses for good is told of as not notified in its own words, without its secret', async () => {
  const { secret_access_key: secret } = s3.settings;
  proxy.meet({ operation: 'PutObject', key: /deletions/ }, s3Error(403, 'AllAccessDisabled'), 9);
  await insert();
  expect(await tell()).toEqual({ againInMs: expect.any(Number) as number });
  expect(await lists()).toMatchObject([{ state: 'pending', tries: 1 }]);
  for (let tries = 2; tries <= 3; tries += 1) {
    await due();
    await tell();
  }
  const [list] = await lists();
  expect(list).toMatchObject({
    state: 'not_notified',
    tries: 3,
    fault: expect.stringContaining('AllAccessDisabled') as string,
  });
  expect(list!.fault).not.toContain(secret);
  expect(await tell()).toBeNull();
  expect(await listCopies(stack.store.db, round)).toMatchObject([
    { state: 'not_notified', list: null, reason: list!.fault },
  ]);
});

it('a request says which exporter keeps it and what the bucket answers, and needs attention, until the bucket takes the list', async () => {
  const { db, secrets } = stack.store;
  const request = await requestByApi(db, 'delete', world, [personId(9)]);
  const ref = { entityId: world.entity.id, jobId: request.id, identifier: request.identifier };
  const { generation } = (await claimRequest(db, ref, 'a run'))!;
  round = { ...round, requestIdentifier: request.identifier };
  const allow = readFetchAllow('127.0.0.1') as FetchAllow;
  const deps = { db, secrets, outside: { allow, fetch: guardedFetch(allow) }, boundary: () => {} };
  const tellOnce = () => tellExporters(deps, { ...ref, generation }, new AbortController().signal);
  const stalled = async () =>
    (
      await listAttentionOf(
        db,
        world.entity.id,
        ATTENTION.filter(({ kind, object }) => kind === 'stalled' && object === 'privacy_request'),
        { after: null, limit: 9 },
      )
    ).map(({ reason }) => reason);
  proxy.meet({ operation: 'PutObject', key: /deletions/ }, s3Error(403, 'AllAccessDisabled'), 1);
  await insert();
  expect(await tellOnce()).not.toBeNull();
  const { fault } = (await findGdprRequestById(db, world.entity.id, request.id))!;
  expect(fault).toMatch(new RegExp(`exporter ${world.exporter.identifier} .*AllAccessDisabled`));
  expect(fault).not.toContain(s3.settings.secret_access_key);
  expect(await stalled()).toEqual([fault]);
  await due();
  expect(await tellOnce()).toBeNull();
  expect([(await findGdprRequestById(db, world.entity.id, request.id))!.fault, await stalled()]).toEqual([null, []]);
});

it('a bucket that is out of reach for a while is tried again, for a day', async () => {
  proxy.meet({ operation: 'PutObject', key: /deletions/ }, s3Error(503, 'SlowDown'), 99);
  await insert();
  await stack.store.db.query(`UPDATE export_deletions SET tries = 20, waits_until = now() WHERE entity_id = $1`, [
    world.entity.id,
  ]);
  expect(await tell()).toMatchObject({ againInMs: expect.closeTo(5 * 60_000, -5) as number });
  await stack.store.db.query(
    `UPDATE export_deletions SET created_at = now() - interval '24 hours', waits_until = now() WHERE entity_id = $1`,
    [world.entity.id],
  );
  expect(await tell()).toBeNull();
  expect(await lists()).toMatchObject([
    { state: 'not_notified', fault: expect.stringContaining('SlowDown') as string },
  ]);
});

it('the receipt tells of each exporter: told, deleted, never run, and of the bucket that one had before', async () => {
  const { db } = stack.store;
  const { exporter: deleted } = await addExporter(stack, s3, world);
  await addExporter(stack, s3, world);
  await hasExported(deleted.id);
  await deleteExporter(db, world.entity.id, deleted.id);
  await db.query(
    `INSERT INTO export_runs (entity_id, identifier, exporter_id, cause, window_end, attempt, definition)
     VALUES ($1, $2, $3, 'request', now(), 1, '{"bucketName": "formerly"}')`,
    [world.entity.id, newIdentifier('run'), world.exporter.id],
  );
  await insert();
  expect(await tell()).toBeNull();
  const [key] = await deletions();
  expect(await listCopies(db, round)).toEqual([
    {
      kind: 'exporter',
      id: world.exporter.identifier,
      state: 'notified',
      list: key,
      at: expect.any(String) as string,
      reason: null,
    },
    {
      kind: 'exporter',
      id: deleted.identifier,
      state: 'not_notified',
      list: null,
      at: null,
      reason: expect.stringContaining('was deleted') as string,
    },
    {
      kind: 'exporter',
      id: world.exporter.identifier,
      state: 'not_notified',
      list: null,
      at: null,
      reason: expect.stringContaining('formerly') as string,
    },
  ]);
});

it('many ids are told in lists of 10,000', async () => {
  const many = Array.from({ length: 10_001 }, (_, n): KnownBy => ({
    customerType: 'user_id',
    customerId: `${personId(4)} ${n}`,
  }));
  await insert(many);
  expect(await tell()).toBeNull();
  expect((await lists()).map(({ part, ids, state }) => [part, ids, state])).toEqual([
    [2, 1, 'notified'],
    [1, 10_000, 'notified'],
  ]);
  expect(await deletions()).toHaveLength(2);
});

it('the next run of an exporter puts what its bucket did not take at its time', async () => {
  stack.startWorker();
  proxy.meet({ operation: 'PutObject', key: /deletions/ }, s3Error(403, 'AllAccessDisabled'), 3);
  await insert();
  for (let tries = 1; tries <= 3; tries += 1) {
    await tell();
    await due();
  }
  expect(await lists()).toMatchObject([{ state: 'not_notified' }]);
  await insertEvents(stack, world, 100);
  expect((await runExport(stack, world)).state).toBe('finished');
  const [list] = await lists();
  expect(list).toMatchObject({ state: 'notified', fault: null, hmacs: null });
  expect(await deletions()).toEqual([list!.key]);
});
