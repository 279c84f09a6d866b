import { readdir } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { putArchive } from '../../../activities/gdpr/archive.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

const HEAD = {
  request: 'gdp_1',
  person: 1,
  company: 'A',
  madeAt: '2026-11-25T10:00:00.000Z',
  ids: [],
  fileRecipients: [],
};

test("an archive tells which other users' records it has", async () => {
  async function* records() {
    yield* [
      { user_id: 'ann', device_id: 'd1' },
      { user_id: null, device_id: 'd1' },
      { user_id: 'ben', device_id: 'd1' },
    ];
  }
  const { others } = await store.scratch.withFolder(1, 'archive', (folder) =>
    putArchive(store.files, 'access/gdp_1/2-a.zip', HEAD, {
      locations: ['events', 'sessions'].map((name) => ({ name, records: records() })),
      folder,
      isWanted: async () => {},
      shownWith: { apps: new Map(), ids: { user_id: new Set(['ann']), device_id: new Set(['d1']) } },
    }),
  );
  expect(others).toEqual(['ben']);
});

test('an archive that is no longer wanted ends with its own error once all writes to its folder have ended', async () => {
  let isReading = false;
  let isGivenUp = false;
  async function* records(): AsyncGenerator<Record<string, unknown>> {
    try {
      isReading = true;
      for (let id = 0; id < 50_000; id += 1) {
        yield { id, name: 'Bought', detail: { note: 'x'.repeat(200) } };
        // Once it is given up, the database answers late.
        for (let turns = 0; isGivenUp && turns < 20; turns += 1) await new Promise(setImmediate);
      }
    } finally {
      isReading = false;
    }
  }
  const isWanted = async () => {
    isGivenUp = isReading;
    if (isGivenUp) throw new Error('the job is gone');
  };
  await expect(
    store.scratch.withFolder(1, 'archive', (folder) =>
      putArchive(store.files, 'access/gdp_1/1-a.zip', HEAD, {
        locations: [{ name: 'events', records: records() }],
        isWanted,
        folder,
        shownWith: { apps: new Map(), ids: { user_id: new Set(), device_id: new Set() } },
      }).finally(() => expect([isGivenUp, isReading]).toEqual([true, false])),
    ),
  ).rejects.toThrow('the job is gone');
  expect(await readdir(store.scratch.folderOf(1))).toEqual([]);
});
