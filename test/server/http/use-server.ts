import { beforeAll } from 'vitest';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { testServer, type TestServer } from './test-server.ts';

type Served = { store: TestStore; server: TestServer; world: World };
type Options = { world?: Parameters<typeof makeWorld>[1]; server?: Parameters<typeof testServer>[1] };

/**
 * Database, server and world of this test file's own. They are there within hooks and tests: before, nothing is in
 * them.
 */
export function useServer(options: Options = {}): Served {
  const served = { store: {}, server: {}, world: {} } as Served;
  beforeAll(async () => {
    const store = await testStore();
    Object.assign(served.store, store);
    Object.assign(served.server, await testServer(store, options.server));
    Object.assign(served.world, await makeWorld(store, options.world));
  });
  return served;
}
