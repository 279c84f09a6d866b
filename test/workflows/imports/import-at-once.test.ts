import { beforeAll, describe, expect, it } from 'vitest';
import { peakMib } from '../../harness/core/memory.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { sampledSize } from '../../harness/run/seed.ts';

const ROWS = sampledSize(120_000, 42_000);
const PEOPLE = 5_000;
/** As a mixed file has them. */
const IGNORED = Math.floor(ROWS / 210);
const FAILED = Math.floor(ROWS / 140);
const SMALL_ROWS = 10;
/** Law 6: of a worker, whatever it does at once. */
const MAX_MIB = 512;

type Posted = { world: World; id: string };
/** Of all imports as they stood at one moment, in the order in which they came. */
type Standing = { identifier: string; rows: number; endedAt: Date | null };

const stack = useStack();
const large: Posted[] = [];
let small: Posted;
let pid: number;
let whenSmallEnded: Standing[];
let whenFirstEnded: Standing[];

async function look(): Promise<Standing[]> {
  const { rows } = await stack.store.db.query<Standing>(
    `SELECT i.identifier, sum(l.rows_in)::bigint AS rows, i.ended_at AS "endedAt"
     FROM imports i JOIN import_lanes l ON l.entity_id = i.entity_id AND l.import_id = i.id
     GROUP BY i.entity_id, i.id ORDER BY i.received_at`,
  );
  return rows;
}

const ofLarge = (standing: Standing[]) => standing.filter(({ identifier }) => identifier !== small.id);

// One worker process; nine files are there before it comes, so that none has a start. Three
// of them go into each of three SoRs: slots are shared out by entity, so that only entities with as many files get on
// alike.
beforeAll(async () => {
  const file = mixedFile(ROWS, PEOPLE);
  const worlds = await Promise.all(Array.from({ length: 3 }, () => makeWorld(stack.store)));
  for (let index = 0; index < 9; index += 1) {
    const world = worlds[index % worlds.length]!;
    large.push({ world, id: await postImport(stack.app, world, file) });
  }
  ({ pid } = stack.startWorker({ batchRecords: ROWS / 24, alone: true }));
  await waitFor('rows of each of the nine', async () => (await look()).every(({ rows }) => rows > 0));
  const world = await makeWorld(stack.store);
  small = { world, id: await postImport(stack.app, world, mixedFile(SMALL_ROWS, SMALL_ROWS)) };
  whenSmallEnded = await waitFor('the end of the small one', async () => {
    const standing = await look();
    return standing.some(({ identifier, endedAt }) => identifier === small.id && endedAt) && standing;
  });
  whenFirstEnded = await waitFor('the end of the first of the nine', async () => {
    const standing = await look();
    return ofLarge(standing).some(({ endedAt }) => endedAt) && standing;
  });
  for (const { world: of, id } of large) await importEnded(stack.store, of, id);
});

describe('ten imports at once, on one worker', () => {
  it('the one of ten rows, which came last, ends while the nine large ones are under way', async () => {
    for (const { endedAt, rows } of ofLarge(whenSmallEnded)) {
      expect(endedAt).toBeNull();
      expect(rows).toBeLessThan(ROWS);
    }
    const ends = new Map((await look()).map(({ identifier, endedAt }) => [identifier, endedAt!.getTime()]));
    for (const { id } of large) expect(ends.get(id)).toBeGreaterThan(ends.get(small.id)!);
  });

  it('when the first of the nine ends, each of the others has over half of its rows in', () => {
    for (const { rows } of ofLarge(whenFirstEnded)) expect(rows).toBeGreaterThan(ROWS / 2);
  });

  it('each ends with exact counts', async () => {
    for (const { world, id } of large) {
      expect(await importEnded(stack.store, world, id)).toMatchObject({
        state: 'finished',
        rowsIn: ROWS,
        rowsOk: ROWS - IGNORED - FAILED,
        rowsIgnored: IGNORED,
        rowsFailed: FAILED,
      });
    }
    expect(await importEnded(stack.store, small.world, small.id)).toMatchObject({
      state: 'finished',
      rowsIn: SMALL_ROWS,
    });
  });

  it('all together are merged in bounded memory', () => {
    expect(peakMib(pid)).toBeLessThan(MAX_MIB);
  });
});
