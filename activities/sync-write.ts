import type { Needs } from './needs.ts';
import type { RecordMapper } from './record-mapper.ts';
import { type CheckedBatch, checkBatch } from './sync-attributes.ts';
import { deliverBatch } from './sync-deliver.ts';
import { dryRunBatch } from './sync-dry-run.ts';
import type { Gathered } from './sync-items.ts';
import type { SyncEnds, SyncJob } from './sync-job.ts';
import { mergeBatch } from './sync-merge.ts';
import type { RunScope } from './sync-scope.ts';
import type { RunProgress } from '../store/sync-run-record.ts';

/** A batch, and what could be made of it while the one before it was written. */
export type PreparedBatch = { batch: Gathered; checked: CheckedBatch | null };

export type BatchWriter = {
  /** Of a batch that follows `read` records of its run. */
  prepare(batch: Gathered, read: number): Promise<PreparedBatch>;
  /**
   * Commits it with all that follows from it. Null when another attempt has moved the run on; `stopped` where the sync is not to
   * write what has new fields.
   */
  write(prepared: PreparedBatch, progress: RunProgress): Promise<RunProgress | 'stopped' | null>;
};

type Tools = { mapper: RecordMapper; scope: RunScope };

export function batchWriter(needs: Needs, job: SyncJob, ends: SyncEnds, { mapper, scope }: Tools): BatchWriter {
  const { destination } = job.sync;
  const asItIs = async (batch: Gathered): Promise<PreparedBatch> => ({ batch, checked: null });
  if (job.run.dryRun) {
    return { prepare: asItIs, write: ({ batch }, progress) => dryRunBatch(needs, job, mapper, batch, progress) };
  }
  if ('sorId' in destination) {
    const target = { sorId: destination.sorId, mapper };
    return {
      prepare: async (batch, read) => ({ batch, checked: await checkBatch(needs, job.sync, target, batch.items, read) }),
      write: ({ batch, checked }, progress) => mergeBatch(needs, job, target, { batch, checked: checked! }, progress),
    };
  }
  const target = { ...destination, open: ends.destination!, mapper, scope };
  return { prepare: asItIs, write: ({ batch }, progress) => deliverBatch(needs, job, target, batch, progress) };
}
