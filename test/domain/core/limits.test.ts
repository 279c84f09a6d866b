import { glob, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { inSlot } from '../../../activities/core/in-slot.ts';
import { ownerOf } from '../../../activities/core/mail-once.ts';
import { BOUNDS, type Limit, openPlaces, PLACES } from '../../../domain/core/limits.ts';
import { type Bounds, TooManyWait } from '../../../domain/core/semaphore.ts';
import { QUEUE_OF, STEPS_OF_QUEUE } from '../../../domain/jobs/queues.ts';

const FOLDERS = ['domain', 'store', 'connectors', 'activities', 'server', 'runtime'];

const expectTooMany = (error: unknown) => expect(error).toBeInstanceOf(TooManyWait);

it.each(Object.keys(PLACES) as Limit[])('%s: an entity that comes later gets the next free places, up to its share', async (limit) => {
  const take = openPlaces(limit);
  const places = PLACES[limit];
  const alone = (BOUNDS as Partial<Record<Limit, { maxEach?: number }>>)[limit]?.maxEach ?? places;
  const ends = await Promise.all(Array.from({ length: alone }, () => take(1)));
  const held = new Map([[1, alone], [2, 0]]);
  const come = (entityId: number) => void take(entityId).then(() => held.set(entityId, held.get(entityId)! + 1), expectTooMany);
  for (let n = 0; n < places; n += 1) come(1);
  for (let n = 0; n < places; n += 1) come(2);
  for (const end of ends) {
    held.set(1, held.get(1)! - 1);
    end();
    await new Promise(setImmediate);
  }
  expect(held.get(1)).toBeLessThanOrEqual(Math.ceil(places / 2));
  expect(held.get(2)).toBe(Math.min(alone, Math.ceil(places / 2), places - held.get(1)!));
});

it('all limits stand in one list: no other module opens a semaphore', async () => {
  const opened: string[] = [];
  for await (const path of glob(FOLDERS.map((folder) => `${folder}/**/*.ts`))) {
    if (/[^.\w]semaphore\(/.test(await readFile(path, 'utf8'))) opened.push(path);
  }
  expect(opened.toSorted()).toEqual(['domain/core/limits.ts', 'domain/core/semaphore.ts']);
});

it.each([...new Set(Object.values(QUEUE_OF))])('%s: steps that have places or wait for them leave slots to others', (queue) => {
  const limits = (Object.keys(QUEUE_OF) as (keyof typeof QUEUE_OF)[]).filter((limit) => QUEUE_OF[limit] === queue);
  const held = limits.map((limit) => PLACES[limit] + (BOUNDS[limit] as Bounds).maxWaiting!);
  expect(held.reduce((sum, places) => sum + places, 0)).toBeLessThanOrEqual(STEPS_OF_QUEUE[queue] * 0.9);
});

it('a step that finds many of its entity waiting comes back later, and leaves its slot of the queue to others', async () => {
  const take = openPlaces('mails');
  const within = <T>(entityId: number, work: () => Promise<T>) => inSlot(take, entityId, work);
  const { promise: answer, resolve: answers } = Promise.withResolvers<string>();
  const slow = Array.from({ length: PLACES.mails + BOUNDS.mails.maxWaitingEach }, () => within(1, () => answer));
  await new Promise(setImmediate);
  await expect(within(1, () => answer)).rejects.toBeInstanceOf(TooManyWait);
  const other = within(2, async () => 'sent');
  answers('sent');
  expect(await Promise.all([other, ...slow])).toEqual(Array.from({ length: slow.length + 1 }, () => 'sent'));
});

it('resets of passwords leave places in line to the mails of entities, however many they are', async () => {
  const take = openPlaces('mails');
  const { promise: answer, resolve: answers } = Promise.withResolvers<string>();
  const tooMany = (error: unknown) => expectTooMany(error);
  const resets = Array.from({ length: 60 }, (_, id) =>
    inSlot(take, ownerOf({ table: 'password_resets', id, tokenHash: Buffer.alloc(0) }), () => answer).catch(tooMany));
  await new Promise(setImmediate);
  const mails = Array.from({ length: 8 }, () => inSlot(take, 1, () => answer));
  await new Promise(setImmediate);
  answers('sent');
  expect(await Promise.all(mails)).toEqual(Array.from({ length: mails.length }, () => 'sent'));
  await Promise.all(resets);
});
