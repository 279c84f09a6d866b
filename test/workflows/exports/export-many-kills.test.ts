import { expect } from 'vitest';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { survivesBlows } from '../../harness/jobs/under-blows.ts';
import { beginExport, exportDailyUnderKill, exportOutcome, type ExportUnderKill } from './export-daily.kill.ts';

const EVENTS = 50_000;

const { progress, hasEnded } = exportDailyUnderKill;

survivesBlows<ExportUnderKill>({
  progress,
  hasEnded,
  // Rows of each run lie behind those of the one before, and so files end elsewhere.
  outcome: async (stack, run) => ({ ...(await exportOutcome(stack, run)), files: null, records: null }),
  name: 'an export of 150,000 rows in many files',
  boundaries: [
    { name: 'export: after a file was uploaded', hit: 1 },
    { name: 'export: after a file was recorded', hit: 1 },
  ],
  // It has about forty files.
  mostHits: 3,
  size: 3 * EVENTS,
  worker: {},
  workflowId: ({ asked }) => jobWorkflowId('export', asked.identifier),
  step: 'exportFiles',
  begin: (stack) => beginExport(stack, EVENTS, 64 * 1024),
  expectSound,
});

/**
 * In one snapshot: what is counted lies in files, in the order of their parts, and no manifest is there before the end.
 */
async function expectSound({ store }: Stack, { world, asked }: ExportUnderKill): Promise<void> {
  const { rows: records } = await store.db.query<{
    rows: number;
    files: number;
    filed: number;
    last: number;
    folders: string[];
  }>(
    `SELECT r.rows, r.files, coalesce(sum(f.rows), 0)::bigint AS filed, coalesce(max(f.part), 0)::integer AS last
     FROM export_records r LEFT JOIN export_files f USING (entity_id, run_id, data_type)
     WHERE r.entity_id = $1 AND r.run_id = $2 GROUP BY r.data_type, r.rows, r.files`,
    [asked.entityId, asked.id],
  );
  for (const { rows, files, filed, last } of records) expect({ rows, files }).toEqual({ rows: filed, files: last });
  const {
    rows: [run],
  } = await store.db.query<{ is_over: boolean }>(
    `SELECT state = 'finished' AS is_over FROM export_runs WHERE entity_id = $1 AND id = $2`,
    [asked.entityId, asked.id],
  );
  const isPublished = (await world.s3.keys()).some((key) => key.endsWith('/manifest.json'));
  if (run!.is_over) expect(isPublished).toBe(true);
}
