import { beforeAll, expect, it } from 'vitest';
import { redactErased } from '../../../activities/gdpr/redact-erased.ts';
import { fileError, type ImportError } from '../../../domain/imports/import-error.ts';
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
const namedIn = async (texts: string[], byWords = true) => [
  ...(await findErasedTexts(store.db, store.secrets, world.entity.id, texts, { byWords })).keys(),
];

async function startDeletion(ids: readonly string[]): Promise<void> {
  const { id } = await write(store.db, (tx) =>
    insertGdprRequest(tx, world.entity.id, {
      type: 'delete',
      source: 'api',
      appId: null,
      requester: { kind: 'system', id: null },
      skipEmail: true,
      emails: [],
      state: 'accepted',
      people: ids.map((userId) => ({ userId, deviceId: null })),
    }),
  );
  await collectIdentifiers(store.db, world.entity.id, id);
  await store.db.query(`UPDATE gdpr_requests SET state = 'running' WHERE id = $1`, [id]);
}

it('texts that name an erased person by a word of their own are found by its hash', async () => {
  const texts = [
    '{"properties":{"about":"eve@example.com"}}',
    'for <eve@example.com>, please',
    'mailto:eve@example.com?subject=x',
    'Eve Example.',
    '{"name":"Eve Example"}',
    'steve@example.com',
  ];
  expect(await namedIn(texts)).toEqual([]);
  await raise('eve@example.com');
  await raise('Eve Example');
  expect(await namedIn(texts)).toEqual([0, 1, 2, 4]);
  expect(await namedIn(texts, false)).toEqual([]);
  const many = Array.from({ length: 300 }, (_, text) =>
    Array.from({ length: 100 }, (_, word) => `word-${text}-${word}`).join(' '),
  );
  expect(await namedIn([...many, texts[0]!])).toEqual([300]);
  const tooMany = Array.from({ length: 2_100 }, (_, text) =>
    Array.from({ length: 100 }, (_, word) => `word-${text}-${word}`).join(' '),
  );
  expect(await namedIn(tooMany)).toEqual(Array.from({ length: 100 }, (_, index) => 2_000 + index));
});

it('while people are being erased, all texts and errors are found that their erasure would find', async () => {
  await raise('o"brien 7/x');
  await startDeletion(['o"brien 7/x']);
  expect(await namedIn(['no', String.raw`{"a":"my o\"brien 7/x!"}`, 'o%22brien%207%2fx'], false)).toEqual([1, 2]);
  const error = { ...fileError('PARSING_FAILED', 'no CSV'), raw: 'gold;"o""brien 7/x', line: 7 };
  const [redacted, other] = await write(store.db, (tx) =>
    redactErased(tx, store, world.entity.id, [error, { ...error, raw: 'gold;else' }], () => 'user_id'),
  );
  expect(redacted).toMatchObject({
    line: 7,
    errorType: 'PARSING_FAILED',
    stage: 'parsing',
    raw: null,
    message: 'erased',
    customerHash: expect.any(Buffer) as Buffer,
  });
  expect(other).toMatchObject({ raw: 'gold;else', message: 'no CSV' });
});

it('while thousands of people are being erased, errors that name none of them are kept, and of more at least why', async () => {
  await startDeletion(['one of many 0']);
  const { rows } = await store.db.query<{ id: number }>('SELECT max(id) AS id FROM gdpr_requests');
  const addPeople = async (from: number, to: number) => {
    await store.db.query(
      `WITH people AS (
         INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, user_id)
         SELECT $1, $2, n, 'one of many ' || n FROM generate_series($3::integer, $4::integer) n RETURNING *)
       INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin)
       SELECT entity_id, request_id, 'user_id', user_id, ordinal, 'asked' FROM people`,
      [world.entity.id, rows[0]!.id, from, to],
    );
  };
  await addPeople(2, 15_000);
  expect(await namedIn(['no', 'is one of many 14999', 'one of many 5'], false)).toEqual([1, 2]);
  const error = {
    ...fileError('PARSING_FAILED', 'a quote opens a field'),
    raw: 'gold;"x',
    attributeKey: 'plan',
    line: 7,
  };
  const redact = (...errors: ImportError[]) =>
    write(store.db, (tx) => redactErased(tx, store, world.entity.id, errors, () => 'user_id'));
  expect(await redact(error)).toEqual([error]);
  await addPeople(15_001, 20_002);
  const others = [
    { ...error, raw: 'one of many 5' },
    { ...error, message: '"gold" is no number' },
    { ...error, customerId: 'u' },
  ];
  expect(await redact(error, ...others)).toEqual([
    { ...error, attributeKey: null, raw: null },
    { ...error, attributeKey: null, raw: null, message: 'erased', customerHash: expect.any(Buffer) as Buffer },
    {
      ...error,
      attributeKey: null,
      raw: null,
      message: expect.stringContaining('the reason quotes the row') as string,
    },
    { ...error, customerId: 'u' },
  ]);
});
