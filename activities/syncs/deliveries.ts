// Writes the batches of a run to another connection in order. While one is sent, the one before it is recorded, and the
// next one is mapped and stored.
import { JobGone } from '../../domain/jobs/job.ts';
import type { RunProgress } from '../../store/syncs/sync-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { beginBatch, noteBatch, sendBatch, type StoredBatch, storeBatch, type StreamTarget } from './deliver.ts';
import { isNamedBySource } from './deletions.ts';
import { type Decided, decideDelivery } from './delivery.ts';
import type { JoinedBatch } from './items.ts';
import type { SyncJob } from './job.ts';
import { keysOf } from './outcomes.ts';
import { type Outgoing, outgoingOf } from './outgoing.ts';
import type { RecordMapper } from './record-mapper.ts';

type Target = StreamTarget & { mapper: RecordMapper };

/** A batch that is mapped; `decided`, `stored`: null if that must wait for the batch before. */
export type OutgoingBatch = {
  batch: JoinedBatch;
  items: Outgoing[];
  /** Number of records of the run before it. */
  before: number;
  decided: Decided | null;
  stored: StoredBatch | null;
};

export class Deliveries {
  readonly #deps: Dependencies;
  readonly #job: SyncJob;
  readonly #target: Target;
  // Keys of the last mapped batch; null: unknown, as it has deletions, or failed records that the source's keys name.
  #keys: ReadonlySet<string> | null = new Set();
  /** Number of records that are stored, or about to be. */
  #storedTo: number;
  /** The run's progress after the last batch that was sent; null if another attempt has advanced the run. */
  #noted: Promise<RunProgress | null>;

  constructor(deps: Dependencies, job: SyncJob, target: Target) {
    this.#deps = deps;
    this.#job = job;
    this.#target = target;
    this.#storedTo = job.run.progress.read;
    this.#noted = Promise.resolve(job.run.progress);
  }

  /** Maps a batch, and stores it unless the outcomes of the batch before may change what is to be sent. */
  async prepare(batch: JoinedBatch, before: number): Promise<OutgoingBatch> {
    const items = await outgoingOf(this.#deps, this.#job.sync, this.#target, batch.items, before);
    const earlier = this.#keys;
    const keys = items.some((item) => item.deletes || isNamedBySource(item)) ? null : keysOf(items);
    this.#keys = keys && new Set(keys);
    const isFree = earlier !== null && keys !== null && !keys.some((key) => earlier.has(key));
    const outgoing = { batch, items, before, decided: null, stored: null };
    if (!isFree) return outgoing;
    await this.#noted; // batches further back may share keys with it
    const decided = await decideDelivery(this.#deps.db, this.#job, batch, items);
    // Fields are learned first, and a batch that is to be stored first is not followed by another.
    const isToWait = this.#target.mapper.isToStop || batch.fields !== null || batch.isStoredFirst;
    if (isToWait || this.#storedTo !== before) return { ...outgoing, decided };
    const stored = await storeBatch(this.#deps, this.#job, outgoing, decided, 0);
    if (stored === null || stored === 'erased') return { ...outgoing, decided };
    this.#storedTo += items.length;
    return { ...outgoing, decided, stored };
  }

  /**
   * Sends a batch, and begins to record its outcomes. Returns the run's progress without its counts, null if another
   * attempt has advanced the run.
   */
  async write(outgoing: OutgoingBatch, progress: RunProgress): Promise<RunProgress | null> {
    const batch = outgoing.stored ? await this.#begin(outgoing.stored) : await this.#storeNow(outgoing);
    if (!batch) return null;
    this.#deps.boundary('sync: batch written down');
    const earlier = { answered: [], sent: 0, noted: this.#noted };
    const outcomes = await sendBatch(this.#deps, this.#job, this.#target, batch, earlier);
    if (!(await this.#noted)) return null;
    this.#noted = noteBatch(this.#deps, this.#job, batch, outcomes);
    this.#noted.catch(() => undefined); // the next await throws it
    if (outgoing.batch.isStoredFirst) return this.#noted;
    const read = outgoing.before + outgoing.items.length;
    return { ...progress, read, recordsTaken: read };
  }

  /** Waits until all outcomes are recorded. */
  async settled(): Promise<void> {
    if (!(await this.#noted)) throw new JobGone();
  }

  async #begin(batch: StoredBatch): Promise<StoredBatch | null> {
    const begun = await beginBatch(this.#deps, this.#job, batch);
    return begun?.sent === 0 ? begun.batch : null; // else another attempt has begun it
  }

  async #storeNow(outgoing: OutgoingBatch): Promise<StoredBatch | null> {
    const { batch, before } = outgoing;
    if (!(await this.#noted)) return null;
    for (let { items, decided } = outgoing; ;) {
      decided ??= await decideDelivery(this.#deps.db, this.#job, batch, items);
      const stored = await storeBatch(this.#deps, this.#job, { batch, items, before }, decided, null);
      if (stored !== 'erased') {
        this.#storedTo = before + items.length;
        return stored;
      }
      // A person was erased since the batch was mapped: map it again, without that person.
      items = await outgoingOf(this.#deps, this.#job.sync, this.#target, batch.items, before);
      decided = null;
    }
  }
}
