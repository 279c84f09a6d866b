import type { RunProgress } from '../../store/syncs/sync-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkBatch, type CheckedBatch } from './attributes.ts';
import { deliverBatch } from './deliver.ts';
import { dryRunBatch } from './dry-run.ts';
import type { Gathered } from './items.ts';
import type { SyncEnds, SyncJob } from './job.ts';
import { AttributeLanes } from './lanes.ts';
import type { RecordMapper } from './record-mapper.ts';
import type { RunScope } from './scope.ts';

/** A batch, and what could be made of it while the one before it was written. */
export type PreparedBatch = { batch: Gathered; checked: CheckedBatch | null };

export type BatchWriter = {
  /** Ends what an attempt before this one has begun. */
  resume(): Promise<void>;
  /** Prepares a batch that follows `read` records of its run. */
  prepare(batch: Gathered, read: number): Promise<PreparedBatch>;
  /**
   * Commits it with all that follows from it, or takes it over so that this will be done whatever happens. Null when
   * another attempt has moved the run on; `stopped` where the sync is not to write what has new fields.
   */
  write(prepared: PreparedBatch, progress: RunProgress): Promise<RunProgress | 'stopped' | null>;
  /** Once all that was taken over is committed; throws where that can't be. */
  settled(): Promise<void>;
};

type Tools = { mapper: RecordMapper; scope: RunScope };

export function batchWriter(deps: Dependencies, job: SyncJob, ends: SyncEnds, { mapper, scope }: Tools): BatchWriter {
  const { destination } = job.sync;
  const nothing = async () => {};
  const atOnce = { resume: nothing, settled: nothing };
  const asItIs = async (batch: Gathered): Promise<PreparedBatch> => ({ batch, checked: null });
  if (job.run.dryRun) {
    return {
      ...atOnce,
      prepare: asItIs,
      write: ({ batch }, progress) => dryRunBatch(deps, job, mapper, batch, progress),
    };
  }
  if ('sorId' in destination) {
    const target = { sorId: destination.sorId, mapper };
    const lanes = new AttributeLanes(deps, job, target, scope);
    return {
      resume: () => lanes.resume(),
      settled: () => lanes.settled(),
      prepare: async (batch, read) => ({ batch, checked: await checkBatch(deps, job.sync, target, batch.items, read) }),
      write: ({ batch, checked }, progress) => lanes.take(batch, checked!, progress),
    };
  }
  const target = { ...destination, open: ends.destination!, mapper, scope };
  return {
    ...atOnce,
    prepare: asItIs,
    write: ({ batch }, progress) => deliverBatch(deps, job, target, batch, progress),
  };
}
