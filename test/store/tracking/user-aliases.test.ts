import { beforeAll, expect, it } from 'vitest';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import {
  makeTrackedWorld,
  type SampleCall,
  sampleCall,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

const call = (given: SampleCall) => sampleCall(world, given);
const rowsOf = async (text: string) => (await store.db.query(text, [world.entity.id])).rows;

it('an alias is witnessed by the device that alone has used the earlier id, and by no other', async () => {
  const [guest, other, known, atHome, away] = [30, 31, 32, 33, 34].map(personId) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const alias = (previousId: string, deviceId: string | null, userId = personId(35)) =>
    call({ type: 'alias', event: null, userId, previousId, deviceId });
  await takeIn(store, world, [call({ userId: guest, deviceId: atHome }), call({ userId: known, deviceId: null })]);
  await takeIn(store, world, [
    alias(guest, atHome),
    alias(guest, away, personId(36)),
    alias(other, null),
    alias(known, away),
    alias(atHome, away),
    alias(away, away),
  ]);
  await takeIn(store, world, [alias(guest, atHome, personId(37)), alias(away, away, personId(38))]);
  expect(
    await rowsOf(`SELECT previous_id, user_id, witnessed FROM user_aliases
    WHERE entity_id = $1 AND user_id = ANY ('{${[35, 36, 37, 38].map(personId).join()}}') ORDER BY previous_id, user_id`),
  ).toEqual([
    { previous_id: guest, user_id: personId(35), witnessed: true },
    { previous_id: guest, user_id: personId(36), witnessed: false },
    { previous_id: guest, user_id: personId(37), witnessed: true }, // the same device: then it is shared
    { previous_id: other, user_id: personId(35), witnessed: false },
    { previous_id: known, user_id: personId(35), witnessed: false },
    { previous_id: atHome, user_id: personId(35), witnessed: false },
    { previous_id: away, user_id: personId(35), witnessed: true },
    { previous_id: away, user_id: personId(38), witnessed: true },
  ]);
});

it('an id takes a hundred aliases; more are refused and kept, until staff refuse some of those', async () => {
  const user = personId(39);
  const alias = (number: number) =>
    call({ index: number, type: 'alias', event: null, userId: user, previousId: `guest ${number}` });
  const [first, ...more] = Array.from({ length: 101 }, (_, number) => alias(number));
  expect(new Set(await takeIn(store, world, more))).toEqual(new Set(['accepted']));
  expect(await takeIn(store, world, [first!, more[0]!])).toEqual(['too_many_aliases', 'accepted']);
  expect(
    await rowsOf(`SELECT code, raw::json ->> 'previousId' AS previous FROM refused_calls
    WHERE entity_id = $1 AND code = 'too_many_aliases'`),
  ).toEqual([{ code: 'too_many_aliases', previous: 'guest 0' }]);
  await rowsOf(`UPDATE user_aliases SET decision = 'refused' WHERE entity_id = $1 AND previous_id = 'guest 1'`);
  expect(await takeIn(store, world, [first!])).toEqual(['accepted']);
});
