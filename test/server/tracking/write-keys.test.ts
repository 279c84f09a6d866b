import { expect, test } from 'vitest';
import { WriteKeys } from '../../../server/tracking/write-keys.ts';
import { testStore } from '../../harness/core/database.ts';
import { heldBytes } from '../../harness/core/memory.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { insertKeyedApp } from './sample-tracking.ts';

const ADDRESS = '192.0.2.1';

test('made-up keys as long as a body take no memory', async () => {
  const { db, secrets } = await testStore();
  const apps = new WriteKeys(db, secrets, 0);
  const before = heldBytes();
  for (let at = 0; at < 400; at += 1) {
    // Flat, as a body gives it.
    const key = Buffer.from(`Key-${at}-`.padEnd(400_000, 'x')).toString('latin1');
    expect(await apps.find(key, ADDRESS)).toBeNull();
  }
  expect(heldBytes() - before).toBeLessThan(80_000_000);
});

test('a key is found, and one that no app has is not', async () => {
  const store = await testStore();
  const world = await makeWorld(store);
  const { app, apiKey } = await insertKeyedApp(store, world);
  const apps = new WriteKeys(store.db, store.secrets);
  expect(await apps.find(apiKey, ADDRESS)).toMatchObject({ entityId: world.entity.id, apps: [{ appId: app.id }] });
  expect(await apps.find(`${apiKey}X`, ADDRESS)).toBeNull();
});
