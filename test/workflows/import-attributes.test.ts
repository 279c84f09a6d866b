import { beforeAll, describe, expect, it } from 'vitest';
import { importEnded, postImport } from '../harness/imports.ts';
import { personId } from '../harness/people.ts';
import { useStack } from '../harness/stack.ts';
import { makeWorld, type World } from '../harness/world.ts';

const stack = useStack();
let world: World;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  stack.startWorker();
});

describe('an import', () => {
  it('brings each row into a profile or into the errors, with its line and reason', async () => {
    const file = [
      'user_id,attribute_key,value,action_type',
      `${personId(1)},plan,gold,`,
      `${personId(1)},score,12.50,UPSERT`,
      `${personId(1)},nothing,1,`,
      `${personId(2)},score,many,`,
      `,plan,gold,`,
      `${personId(2)},tags,a;b;a,ADD`,
    ].join('\n');
    const id = await postImport(stack.app, world, file);
    const job = await importEnded(stack.store, world, id, 8000);
    expect(job).toMatchObject({
      state: 'finished', rowsIn: 6, rowsOk: 3, rowsIgnored: 1, rowsFailed: 2,
      errorsByType: { UNDEFINED_ATTRIBUTE: 1, INVALID_VALUE: 1, INVALID_CUSTOMER_ID: 1 },
    });
  });
});
