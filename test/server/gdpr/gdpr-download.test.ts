import type { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { beforeAll, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import type { Files } from '../../../store/core/files.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
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
    'content-type': 'application/zip', 'content-length': String(reply.rawPayload.length), 'cache-control': 'no-store',
    'content-disposition': `attachment; filename="personal-data-${sample.archiveId}-1.zip"`,
  });
  const { rows } = await store.db.query(
    `SELECT actor_kind, address, details FROM audit_log WHERE entity_id = $1 AND action = 'read' AND subject = $2`,
    [world.entity.id, sample.archiveId]);
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
  expect(head.headers).toMatchObject({ 'content-length': String(whole.rawPayload.length), 'content-type': 'application/zip' });
  expect(opened.map(({ destroyed, readableDidRead }) => [destroyed, readableDidRead])).toEqual([[true, false]]);
});

it('any other link leads to nothing', async () => {
  const other = await write(store.db, (tx) => insertSampleArchive(tx, store, world, personId(651)));
  const wrong = [
    get('2'), get('0'), get('1e0'), get('1', 'made-up'), get('1', `${sample.signature}A`), get('1', other.signature),
    get('1', sample.signature, 'gdp_unknown'),
  ];
  for (const reply of await Promise.all(wrong)) {
    expect(reply.statusCode).toBe(404);
    expect(reply.json()).toMatchObject({ success: false, status: 'not_found', error_message: expect.stringContaining('leads to nothing') });
  }
});

it('a link ends with the week, where the person was erased, and with its entity', async () => {
  await store.db.query(`UPDATE gdpr_requests SET expires_at = now() WHERE identifier = $1`, [sample.archiveId]);
  expect((await get()).statusCode).toBe(404);
  await store.db.query(`UPDATE gdpr_requests SET expires_at = now() + interval '1 day' WHERE identifier = $1`, [sample.archiveId]);
  expect((await get()).statusCode).toBe(200);
  await store.db.query('UPDATE entities SET active = false WHERE id = $1', [world.entity.id]);
  expect((await get()).statusCode).toBe(404);
  await store.db.query('UPDATE entities SET active = true WHERE id = $1', [world.entity.id]);
  await store.db.query('DELETE FROM gdpr_request_people WHERE entity_id = $1', [world.entity.id]);
  expect((await get()).statusCode).toBe(404);
});
