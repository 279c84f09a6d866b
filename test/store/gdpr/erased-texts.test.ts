import { beforeAll, expect, it } from 'vitest';
import { redactErased } from '../../../activities/gdpr/redact-erased.ts';
import { fileError } from '../../../domain/imports/import-error.ts';
import { write } from '../../../store/core/database.ts';
import { findErasedTexts } from '../../../store/gdpr/erased-texts.ts';
import { collectIdentifiers } from '../../../store/gdpr/identifiers.ts';
import { insertGdprRequest } from '../../../store/gdpr/requests.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
});

const raise = (id: string) =>
  insertTombstone(store.db, world.entity.id, store.secrets.customerHash(world.entity.id, 'user_id', id));
const namedIn = async (texts: string[], byWords = true) =>
  [...(await findErasedTexts(store.db, store.secrets, world.entity.id, texts, { byWords })).keys()];

async function startDeletion(ids: readonly string[]): Promise<void> {
  const { id } = await write(store.db, (tx) => insertGdprRequest(tx, world.entity.id, {
    type: 'delete', source: 'api', appId: null, requester: { kind: 'system', id: null }, skipEmail: true, emails: [], state: 'accepted',
    people: ids.map((userId) => ({ userId, deviceId: null })),
  }));
  await collectIdentifiers(store.db, world.entity.id, id);
  await store.db.query(`UPDATE gdpr_requests SET state = 'running' WHERE id = $1`, [id]);
}

it('texts that name an erased person by a word of their own are found by its hash', async () => {
  const texts = [
    '{"properties":{"about":"eve@example.com"}}', 'for <eve@example.com>, please', 'mailto:eve@example.com?subject=x', 'Eve Example.',
    '{"name":"Eve Example"}', 'steve@example.com',
  ];
  expect(await namedIn(texts)).toEqual([]);
  await raise('eve@example.com');
  await raise('Eve Example');
  expect(await namedIn(texts)).toEqual([0, 1, 2, 4]);
  expect(await namedIn(texts, false)).toEqual([]);
  const many = Array.from({ length: 300 }, (_, text) => Array.from({ length: 100 }, (_, word) => `word-${text}-${word}`).join(' '));
  expect((await namedIn([...many, texts[0]!])).at(-1)).toBe(300);
});

it('while people are being erased, all texts and errors are found that their erasure would find', async () => {
  await raise('o"brien 7/x');
  await startDeletion(['o"brien 7/x']);
  expect(await namedIn(['no', String.raw`{"a":"my o\"brien 7/x!"}`, 'o%22brien%207%2fx'], false)).toEqual([1, 2]);
  const error = { ...fileError('PARSING_FAILED', 'no CSV'), raw: 'gold;"o""brien 7/x', line: 7 };
  const [redacted, other] = await write(store.db, (tx) =>
    redactErased(tx, store, world.entity.id, [error, { ...error, raw: 'gold;else' }], () => 'user_id'));
  expect(redacted).toMatchObject({ line: 7, raw: null, message: 'erased', customerHash: expect.any(Buffer) as Buffer });
  expect(other).toMatchObject({ raw: 'gold;else', message: 'no CSV' });
  await startDeletion(Array.from({ length: 1_001 }, (_, n) => `one of many ${n}`));
  expect(await namedIn(['no'], false)).toEqual([0]);
});
