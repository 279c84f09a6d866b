import { expect } from 'vitest';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { postImport } from '../../harness/imports/imports.ts';
import { survivesBlows } from '../../harness/jobs/under-blows.ts';
import { importAttributesUnderKill } from './import-attributes.kill.ts';

const ROWS = 80_000;
const PEOPLE = 3_000;

type Run = { world: World; identifier: string };

survivesBlows({
  ...importAttributesUnderKill,
  name: 'an import of 80,000 rows in forty batches',
  boundaries: [
    { name: 'import: before a batch commits', hit: 1 },
    { name: 'import: after a batch committed', hit: 1 },
    { name: 'import: before a batch commits', hit: 1 },
  ],
  size: ROWS,
  worker: { batchRecords: 2_000 },
  workflowId: ({ identifier }) => jobWorkflowId('import', identifier),
  step: 'loadRows',
  async begin(stack) {
    const world = await makeWorld(stack.store);
    return { world, identifier: await postImport(stack.app, world, mixedFile(ROWS, PEOPLE)) };
  },
  expectSound,
});

/** Each row that was read is counted once, and each that was refused has its error: in one snapshot. */
async function expectSound({ store }: Stack, { world, identifier }: Run): Promise<void> {
  const {
    rows: [counts],
  } = await store.db.query<Record<'read' | 'told' | 'refused' | 'errors', number>>(
    `SELECT sum(rows_in)::bigint AS read, sum(rows_ok + rows_ignored + rows_failed)::bigint AS told,
       sum(rows_ignored + rows_failed)::bigint AS refused,
       (SELECT count(*) FROM import_errors e WHERE e.entity_id = $1 AND e.import_id = i.id) AS errors
     FROM imports i JOIN import_lanes l ON l.entity_id = i.entity_id AND l.import_id = i.id
     WHERE i.entity_id = $1 AND i.identifier = $2 GROUP BY i.id`,
    [world.entity.id, identifier],
  );
  expect(counts!.told).toBe(counts!.read);
  expect(counts!.errors).toBe(counts!.refused);
}
