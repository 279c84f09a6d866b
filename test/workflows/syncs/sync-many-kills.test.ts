import { expect } from 'vitest';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import { personId } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { survivesBlows } from '../../harness/jobs/under-blows.ts';
import { sampledSize } from '../../harness/run/seed.ts';
import { askForRun, makeSync, openShop } from '../../harness/syncs/syncs.ts';
import { runSyncUnderKill } from './run-sync.kill.ts';

const ROWS = sampledSize(100_000, 60_000);
const PEOPLE = 2_000;

type Run = { world: World; sync: string; identifier: string };

const { progress, hasEnded, outcome } = runSyncUnderKill;

/** Of each person come many states, the last of which is to stay; some of them are no good. */
survivesBlows<Run>({
  progress,
  hasEnded,
  outcome,
  name: `an incremental sync of ${ROWS} rows`,
  boundaries: [
    { name: 'sync: after a batch was pinned', hit: 1 },
    { name: 'sync: before a batch commits', hit: 1 },
    { name: 'sync: after a batch committed', hit: 1 },
  ],
  // It has a batch for each 5,000.
  mostHits: sampledSize(3, 2),
  size: ROWS,
  worker: {},
  workflowId: ({ identifier }) => jobWorkflowId('sync', identifier),
  step: 'syncRecords',
  async begin(stack) {
    const world = await makeWorld(stack.store);
    const shop = await openShop(stack, world);
    const table = shop.table('orders');
    await shop.db.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text, points text);
      ALTER TABLE ${table} OWNER TO ${shop.role}`);
    await shop.db.query(`INSERT INTO ${table}
      SELECT n, replace('${personId(0)}', '-0@', '-' || n * 7 % ${PEOPLE} || '@'), 'tariff ' || n,
        CASE WHEN n % 50 = 1 THEN 'many' ELSE n::text END
      FROM generate_series(1, ${ROWS}) n`);
    const sync = await makeSync(stack, world, {
      source: { connection: shop.connection, stream: 'orders' },
      destination: { sor: world.sor.identifier },
      mode: 'incremental',
      cursor_field: 'id',
      mapping: {
        customer: { field: 'email' },
        fields: [
          { from: 'tariff', to: 'plan' },
          { from: 'points', to: 'score' },
        ],
      },
    });
    return { world, sync, identifier: await askForRun(stack, world, sync) };
  },
  expectSound,
});

/**
 * Each failed record has its error, and reading goes on behind the last row that was taken over: in one snapshot. What
 * was taken over is counted, or pinned; the cursor lies behind what is merged whole, and no lane is before it.
 */
async function expectSound({ store }: Stack, { world, identifier }: Run): Promise<void> {
  type Counts = Record<'read' | 'taken' | 'failed' | 'errors' | 'pinned', number> &
    Record<'position' | 'cursor' | 'next', string | null>;
  const {
    rows: [found],
  } = await store.db.query<Counts>(
    `SELECT r.records_read AS read, r.records_taken AS taken, r.records_failed + r.records_ignored AS failed, r.position, s.cursor,
       (SELECT count(*) FROM import_errors e WHERE e.entity_id = $1 AND e.import_id = r.id) AS errors,
       (SELECT coalesce(sum(json_array_length(p.items::json)), 0)::integer FROM sync_pinned_batches p WHERE p.run_id = r.id) AS pinned,
       (SELECT min(p.records_before)::text FROM sync_pinned_batches p WHERE p.run_id = r.id) AS next
     FROM sync_runs r JOIN syncs s ON s.entity_id = r.entity_id AND s.id = r.sync_id
     WHERE r.entity_id = $1 AND r.identifier = $2`,
    [world.entity.id, identifier],
  );
  expect(found!.errors).toBe(found!.failed);
  const rowAt = (place: string | null) => (place === null ? 0 : Number((JSON.parse(place) as string[])[0]));
  expect(rowAt(found!.position)).toBe(found!.taken);
  expect(rowAt(found!.cursor)).toBe(found!.next === null ? found!.taken : Number(found!.next));
  expect(found!.read).toBeGreaterThanOrEqual(found!.taken - found!.pinned);
  expect(found!.read).toBeLessThanOrEqual(found!.taken);
}
