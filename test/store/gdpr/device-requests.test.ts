import { beforeAll, beforeEach, expect, it } from 'vitest';
import { claimRequest, treatRequest } from '../../../store/gdpr/progress.ts';
import type { GdprRequest } from '../../../store/gdpr/request-record.ts';
import { findNextUnvouched } from '../../../store/gdpr/device-requests.ts';
import { listUnclaimedJobs } from '../../../store/jobs/jobs-across-entities.ts';
import { write } from '../../../store/core/database.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { deletionByDevice, requestByApi } from '../../harness/gdpr/gdpr-requests.ts';

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
});

beforeEach(async () => {
  world = await makeWorld(store);
});

const fromDevice = (deviceId: string, of = world) =>
  deletionByDevice(store.db, of.entity.id, { userId: null, deviceId }, { state: 'accepted' });
const byApi = () => requestByApi(store.db, 'delete', world, [personId(1)]);
const begin = async ({ entityId, id: jobId, identifier }: GdprRequest) =>
  (await claimRequest(store.db, { entityId, jobId, identifier }, `run of ${identifier}`)) !== null;
const end = ({ entityId, id }: GdprRequest) => write(store.db, (tx) => treatRequest(tx, entityId, id));
const next = async () => (await findNextUnvouched(store.db, world.entity.id))?.identifier;
const startedBySweep = async () =>
  (await listUnclaimedJobs(store.db, 'delete', 0))
    .filter(({ entityId }) => entityId === world.entity.id)
    .map(({ identifier }) => identifier);
const set = (columns: string, { id }: GdprRequest) =>
  store.db.query(`UPDATE gdpr_requests SET ${columns} WHERE id = $1`, [id]);

it('requests from devices wait for those of others, and run one after the other', async () => {
  const [first, second] = [await fromDevice('first'), await fromDevice('second')];
  const other = await byApi();
  expect(await startedBySweep()).toEqual([other.identifier]);
  expect(await begin(first)).toBe(false);
  const { rows } = await store.db.query('SELECT state, stage FROM gdpr_requests WHERE id = $1', [first.id]);
  expect(rows).toEqual([{ state: 'accepted', stage: 'waiting for a free place' }]);
  expect(await begin(other)).toBe(true);
  expect([await begin(first), await next()]).toEqual([false, undefined]);
  await end(other);
  expect([await begin(second), await next(), await startedBySweep()]).toEqual([
    false,
    first.identifier,
    [first.identifier],
  ]);
  expect([await begin(first), await begin(second), await next()]).toEqual([true, false, undefined]);
  expect(await begin(await fromDevice('of another entity', await makeWorld(store)))).toBe(true);
  await end(first);
  expect([await next(), await begin(second)]).toEqual([second.identifier, true]);
});

it('a request from a device waits ten minutes at most, and not for what a fault, a hold or the staff keep', async () => {
  const other = await byApi();
  await begin(other);
  const [first, second] = [await fromDevice('first'), await fromDevice('second')];
  for (const request of [first, second]) await set(`received_at = now() - interval '11 minutes'`, request);
  expect([await begin(first), await begin(second)]).toEqual([true, false]);
  await set(`started_at = now() - interval '11 minutes'`, first);
  expect(await begin(second)).toBe(true);
  await end(second);
  const third = await fromDevice('third');
  for (const kept of [
    `stage = 'on hold'`,
    `fault = 'the file store is away'`,
    `location_faults = '{ "imports/": {} }'`,
  ]) {
    await set(`stage = NULL, fault = NULL, location_faults = '{}'`, other);
    expect(await next()).toBeUndefined();
    await set(kept, other);
    expect(await next()).toBe(third.identifier);
  }
});
