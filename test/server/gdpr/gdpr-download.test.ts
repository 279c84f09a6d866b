import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { beforeAll, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { asBytes, type Files } from '../../../store/core/files.ts';
import { findOrInsertFileJob } from '../../../store/files/file-jobs.ts';
import { fileUrl } from '../../../store/files/file-link.ts';
import { files as filesOfLists } from '../../../store/files/personal-data.ts';
import { archives } from '../../../store/gdpr/personal-data.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ALL_EVENTS } from '../../harness/files/file-query.ts';
import { testServer } from '../http/test-server.ts';
import { insertSampleArchive, type SampleArchive } from './sample-archive.ts';

let store: TestStore;
let app: FastifyInstance;
let world: World;
let sample: SampleArchive;
const person = personId(650);

beforeAll(async () => {
  store = await testStore();
  ({ app } = await testServer(store));
  world = await makeWorld(store);
  sample = await write(store.db, (tx) => insertSampleArchive(tx, store, world, person));
});

const get = (ordinal = '1', signature = sample.signature, request = sample.archiveId) =>
  app.inject({ url: `/api/gdpr/downloads/${request}/${ordinal}/${signature}` });

it('a link gives the archive under a name that tells of nobody, is kept by no cache, and is in the audit log', async () => {
  const reply = await get();
  expect(reply.statusCode).toBe(200);
  expect(reply.headers).toMatchObject({
    'content-type': 'application/zip',
    'content-length': String(reply.rawPayload.length),
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="personal-data-${sample.archiveId}-1.zip"`,
  });
  const { rows } = await store.db.query(
    `SELECT actor_kind, address, details FROM audit_log WHERE entity_id = $1 AND action = 'read' AND subject = $2`,
    [world.entity.id, sample.archiveId],
  );
  expect(rows).toEqual([{ actor_kind: 'system', address: '127.0.0.1', details: { archive: 1 } }]);
});

it('HEAD tells the length without reading the file', async () => {
  const opened: Readable[] = [];
  const read: Files['read'] = (...asked) => {
    const stream = store.files.read(...asked);
    opened.push(stream);
    return stream;
  };
  const server = await testServer({ ...store, files: { ...store.files, read } });
  const url = `/api/gdpr/downloads/${sample.archiveId}/1/${sample.signature}`;
  const [whole, head] = [await get(), await server.app.inject({ method: 'HEAD', url })];
  expect([head.statusCode, head.rawPayload.length]).toEqual([200, 0]);
  expect(head.headers).toMatchObject({
    'content-length': String(whole.rawPayload.length),
    'content-type': 'application/zip',
  });
  expect(opened.map(({ destroyed, readableDidRead }) => [destroyed, readableDidRead])).toEqual([[true, false]]);
});

it('an archive that an erasure removes as it is opened is a 202, and leads to nothing from then on', async () => {
  const erased = personId(652);
  const { archiveId, signature } = await write(store.db, (tx) => insertSampleArchive(tx, store, world, erased));
  const erase = () => archives.erase!(store, world.entity.id, [{ customerType: 'user_id', customerId: erased }]);
  const server = await testServer({ ...store, files: withBefore(store.files, erase) });
  const url = `/api/gdpr/downloads/${archiveId}/1/${signature}`;
  expect([(await server.app.inject({ url })).statusCode, (await get('1', signature, archiveId)).statusCode]).toEqual([
    202, 404,
  ]);
});

it('a file that an erasure has begun anew as it is opened is a 202', async () => {
  const { entity, user } = world;
  const asked = { kind: 'events', format: 'xlsx', query: ALL_EVENTS, email: null, createdBy: user.id } as const;
  const { identifier } = await write(store.db, (tx) => findOrInsertFileJob(tx, store.secrets, entity.id, asked));
  await store.files.put(`files/${identifier}/1.xlsx`, asBytes('x'));
  await store.db.query(
    `UPDATE file_jobs SET state = 'finished', ended_at = now(), file_key = $2, file_bytes = 1 WHERE identifier = $1`,
    [identifier, `files/${identifier}/1.xlsx`],
  );
  const url = fileUrl('', store.secrets, identifier);
  expect((await app.inject({ url })).statusCode).toBe(200);
  const server = await testServer({
    ...store,
    files: withBefore(store.files, () => filesOfLists.erase!(store, entity.id, [])),
  });
  const reply = await server.app.inject({ url });
  const result = { state: 'accepted', stage: null, rows_written: 0, internal_error: null };
  expect([reply.statusCode, reply.json()]).toEqual([202, { success: true, result }]);
});

/** The files, where something happens just before one is opened. */
function withBefore(files: Files, before: () => Promise<unknown>): Files {
  const read: Files['read'] = (...asked) =>
    Readable.from(
      (async function* () {
        await before();
        yield* files.read(...asked);
      })(),
      { objectMode: false },
    );
  return { ...files, read };
}

it('any other link leads to nothing', async () => {
  const other = await write(store.db, (tx) => insertSampleArchive(tx, store, world, personId(651)));
  const wrong = [
    get('2'),
    get('0'),
    get('1e0'),
    get('1', 'made-up'),
    get('1', `${sample.signature}A`),
    get('1', other.signature),
    get('1', sample.signature, 'gdp_unknown'),
  ];
  for (const reply of await Promise.all(wrong)) {
    expect(reply.statusCode).toBe(404);
    expect(reply.json()).toMatchObject({
      success: false,
      status: 'not_found',
      error_message: expect.stringContaining('leads to nothing'),
    });
  }
});

it('a link ends with the week, where the person was erased, and with its entity', async () => {
  await store.db.query(`UPDATE gdpr_requests SET expires_at = now() WHERE identifier = $1`, [sample.archiveId]);
  expect((await get()).statusCode).toBe(404);
  await store.db.query(`UPDATE gdpr_requests SET expires_at = now() + interval '1 day' WHERE identifier = $1`, [
    sample.archiveId,
  ]);
  expect((await get()).statusCode).toBe(200);
  await store.db.query('UPDATE entities SET active = false WHERE id = $1', [world.entity.id]);
  expect((await get()).statusCode).toBe(404);
  await store.db.query('UPDATE entities SET active = true WHERE id = $1', [world.entity.id]);
  await store.db.query('DELETE FROM gdpr_request_people WHERE entity_id = $1', [world.entity.id]);
  expect((await get()).statusCode).toBe(404);
});
