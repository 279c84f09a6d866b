import type { ServerResponse } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { PLACES } from '../../../domain/core/limits.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { ask, askForRun, makeSync, runEnded } from '../../harness/syncs/syncs.ts';

const SYNCS = 40;

const stack = useStack();
let world: World;
const web = await httpSource();

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
});

type HeldFile = {
  url: string;
  release(): void;
  /** The most requests that waited for it at the same time: an attempt that was lost on a busy machine asks again. */
  mostAtOnce(): number;
};

/** A file of one record, that says nothing until it is let go. */
function heldFile(): HeldFile {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const waiting = new Set<ServerResponse>();
  let most = 0;
  const give = async (response: ServerResponse) => {
    waiting.add(response);
    response.on('close', () => waiting.delete(response));
    most = Math.max(most, waiting.size);
    await released;
    response.writeHead(200, { 'content-type': 'text/csv' }).end('email,tariff\nheld-1,gold\n');
  };
  return { url: web.serve('/held.csv', (_, response) => void give(response)), release, mostAtOnce: () => most };
}

describe('40 syncs that are due at once, at a source that says nothing', () => {
  it('keep no import waiting, and come to their end each in its turn', async () => {
    const { url, release, mostAtOnce } = heldFile();
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'Held',
      connector: 'http-file',
      settings: { url, format: 'csv' },
    });
    const runs = await Promise.all(
      Array.from({ length: SYNCS }, async () =>
        askForRun(
          stack,
          world,
          await makeSync(stack, world, {
            source: { connection, stream: 'held.csv' },
            destination: { sor: world.sor.identifier },
            mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
          }),
        ),
      ),
    );
    const stateOf = async (run: string) => (await findRun(stack.store.db, world.entity.id, run))!.state;
    const states = () => Promise.all(runs.map(stateOf));
    await waitFor('as many readings as may be at once', async () => mostAtOnce() >= PLACES.syncs);
    await waitFor('all runs to be claimed', async () => (await states()).every((state) => state === 'running'));
    const id = await postImport(
      stack.app,
      world,
      `user_id,attribute_key,value,action_type\n${personId(1)},plan,gold,\n`,
    );
    expect(await importEnded(stack.store, world, id)).toMatchObject({ state: 'finished', rowsOk: 1 });
    expect(new Set(await states())).toEqual(new Set(['running']));
    expect(mostAtOnce()).toBe(PLACES.syncs);
    release();
    const ended = await Promise.all(runs.map((run) => runEnded(stack.store, world, run)));
    expect(ended.map(({ state, progress }) => [state, progress.read])).toEqual(ended.map(() => ['finished', 1]));
  });
});
