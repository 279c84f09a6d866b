import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { personId } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { askForRun, makeSync, openShop, runErrors, runSync } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const ROWS = 22_000;
const REMOVED = 900;

type Ground = { world: World; sync: string };
type Run = Ground & { identifier: string };

/** A first run has brought all rows; then some are changed, some are new, some are no good and some are gone. */
export const runSyncUnderKill: FlowUnderKill<Run, Ground> = {
  name: 'a sync of 22,000 rows that removes what vanished',
  boundaries: [
    { name: 'sync: claimed', hit: 1 },
    { name: 'sync: before a batch is pinned', hit: 1 },
    { name: 'sync: after a batch was pinned', hit: 1 },
    { name: 'sync: before a batch commits', hit: 1 },
    { name: 'sync: before a batch commits', hit: 3 },
    { name: 'sync: after a batch committed', hit: 2 },
    { name: 'sync: before a removal commits', hit: 1 },
    { name: 'sync: after a removal committed', hit: 1 },
    { name: 'sync: before the end commits', hit: 1 },
  ],
  async prepare(stack) {
    const world = await makeWorld(stack.store);
    const shop = await openShop(stack, world);
    const table = shop.table('buyers');
    await shop.db.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text, points text);
      ALTER TABLE ${table} OWNER TO ${shop.role}`);
    const emails = `replace('${personId(0)}', '-0@', '-' || n || '@')`;
    await shop.db.query(`INSERT INTO ${table} SELECT n, ${emails}, 'gold', n FROM generate_series(1, ${ROWS}) n`);
    const sync = await makeSync(stack, world, {
      source: { connection: shop.connection, stream: 'buyers' },
      destination: { sor: world.sor.identifier },
      removes: true,
      mapping: {
        customer: { field: 'email' },
        fields: [
          { from: 'tariff', to: 'plan' },
          { from: 'points', to: 'score' },
        ],
      },
    });
    await writeAll(stack, world, sync);
    await shop.db
      .query(`UPDATE ${table} SET tariff = 'iron' WHERE id % 3 > 0; UPDATE ${table} SET points = 'many' WHERE id % 50 = 1;
      DELETE FROM ${table} WHERE id > ${ROWS - REMOVED};
      INSERT INTO ${table} SELECT n, ${emails}, 'new', n FROM generate_series(${ROWS + 1}, ${ROWS + REMOVED}) n`);
    return { world, sync };
  },
  begin: async (stack, ground) => ({ ...ground, identifier: await askForRun(stack, ground.world, ground.sync) }),
  progress: async (stack, run) => (await runOf(stack, run)).progress.read,
  size: ROWS,
  hasEnded: async (stack, run) => (await runOf(stack, run)).endedAt !== null,
  async outcome(stack, run) {
    const ended = await runOf(stack, run);
    const { state, removed, removal, progress } = ended;
    const errors = await runErrors(stack.store, run.world, ended);
    const { rows } = await stack.store.db.query(
      `SELECT key, checksum IS NOT NULL AS is_written, seen_by = $2 AS is_seen FROM sync_records
       WHERE entity_id = $1 ORDER BY key`,
      [run.world.entity.id, ended.id],
    );
    return {
      counts: { ...progress, position: null },
      state,
      removed,
      removal,
      errors: errors.map(({ happenedAt: _, ...error }) => error),
      records: rows as unknown[],
      values: await importedValues(stack, run.world),
    };
  },
};

/** The first run has a worker of its own, so that a kill hits the second. */
async function writeAll(stack: Stack, world: World, sync: string): Promise<void> {
  const worker = stack.startWorker();
  await runSync(stack, world, sync);
  await worker.stop();
}

async function runOf({ store }: Stack, { world, identifier }: Run): Promise<SyncRun> {
  return (await findRun(store.db, world.entity.id, identifier))!;
}
