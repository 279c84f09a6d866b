// Runs a sync: opens its connections, reads the source in batches, hands each to the writer, and removes what has
// vanished.
import { isDeepStrictEqual } from 'node:util';
import {
  type Batch,
  BATCH_BYTES,
  type ConnectorContext,
  type Cursor,
  type Field,
} from '../../connectors/core/contract.ts';
import { type NotedRequest, notedFetch } from '../../connectors/core/noted-fetch.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { type JobClaim, JobGone, type JobRef } from '../../domain/jobs/job.ts';
import { fieldsUsed, type Mapping, sayNotRead, type SourceRecord } from '../../domain/syncs/record-mapping.ts';
import { UNTOLD } from '../../domain/syncs/schema-change.ts';
import { syncMail } from '../../domain/syncs/sync-mail.ts';
import { findSorById } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { listErrorsAfter, type StoredImportError } from '../../store/imports/import-errors.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import { countLogLines, insertRedactedLogLines, LOG_LINES } from '../../store/syncs/sync-log.ts';
import { insertRequests } from '../../store/syncs/sync-requests.ts';
import {
  updateFieldsRead,
  updateRunFromStart,
  updateRunRead,
  updateSchemaChange,
} from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findRunById, lockRun, syncRuns } from '../../store/syncs/sync-runs.ts';
import { findSyncById } from '../../store/syncs/syncs.ts';
import { heartbeating, stopIfAsked } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { claimRun, sendRunAlerts, startNextRun, waitOrFail } from '../jobs/runs.ts';
import { openStepScope } from '../jobs/step-scope.ts';
import { deliverPending, settleAbandonedBatches, settleRunsOf } from './deliver.ts';
import { endSyncRun, releaseSource } from './end.ts';
import type { JoinedBatch, SyncItem } from './items.ts';
import type { RunScope, SyncEnds, SyncJob } from './job.ts';
import { openConnection } from './open-connection.ts';
import { RecordMapper } from './record-mapper.ts';
import { removeVanished } from './removal.ts';
import { lookAtSchema, schemaRefusal, takeWhileRead } from './schema.ts';
import { batchWriter, type BatchWriter, type PreparedBatch } from './write.ts';

/** Returns the secret settings of a run's connections: a connector's message may quote one. */
function secretsOf(ends: SyncEnds | null) {
  return [ends?.source.secretSettings ?? {}, ends?.destination?.secretSettings ?? {}];
}

/** Opens the scope of a step: it ends with the step or its process, and writes the run's log every second. */
async function openScope(deps: Dependencies, { key, run }: SyncJob, ends: SyncEnds): Promise<RunScope> {
  const log = await openLog(deps, run);
  const requests = openNotes<NotedRequest>((some) => insertRequests(deps, run.entityId, run.id, some));
  const writeNotes = async () => {
    await Promise.all([log.write(), requests.write()]);
  };
  const scope = openStepScope(() => isJobCurrent(deps.db, 'sync', key), [deps.draining], writeNotes);
  const secretSettings = secretsOf(ends);
  const say = (line: string) => log.add(redacted(line, secretSettings));
  const fetch = notedFetch(deps.outside.fetch.kept(), requests.add);
  const context: ConnectorContext = {
    ...deps.outside,
    fetch,
    scratch: deps.scratch.folderOf(key.entityId),
    signal: scope.signal,
    log: say,
  };
  return {
    ...scope,
    context,
    log: say,
    async close() {
      scope.close();
      await fetch.close();
      await writeNotes();
    },
  };
}

/** Collects notes for a run's scope to write. Drops those that could not be: a run does not fail because of them. */
function openNotes<T>(insert: (notes: T[]) => Promise<void>) {
  let notes: T[] = [];
  return {
    add(note: T): void {
      notes.push(note);
    },
    async write(): Promise<void> {
      const some = notes;
      notes = [];
      if (some.length > 0) await insert(some).catch(() => {});
    },
  };
}

async function openLog({ db, secrets }: Dependencies, { entityId, id }: SyncJob['run']) {
  let room = LOG_LINES - (await countLogLines(db, entityId, id));
  const lines = openNotes<string>((some) => insertRedactedLogLines({ db, secrets }, entityId, id, some));
  return {
    ...lines,
    add(line: string): void {
      if (room > 1) lines.add(line);
      if (room === 1) lines.add(`(a run keeps ${LOG_LINES} lines; what follows is left out)`);
      room -= 1;
    },
  };
}

/** Returns null if another generation runs it, or if the run has ended or its sync is deleted. */
async function findJob(
  { db }: Pick<Dependencies, 'db'>,
  { entityId, jobId, generation }: JobClaim,
): Promise<SyncJob | null> {
  const run = await findRunById(db, entityId, jobId);
  if (run?.state !== 'running' || run.generation !== generation) return null;
  const sync = await findSyncById(db, entityId, run.syncId);
  return sync && { run, sync, key: { entityId, jobId, generation } };
}

async function openEnds(deps: Dependencies, { sync }: SyncJob): Promise<SyncEnds> {
  const { entityId, destination } = sync;
  if ('sorId' in destination && !(await findSorById(deps.db, entityId, destination.sorId))) {
    throw new Refusal(409, 'sor_deleted', 'The System of Record that it writes to was deleted: make another sync');
  }
  return {
    source: await openConnection(deps, entityId, sync.connectionId),
    destination: 'sorId' in destination ? null : await openConnection(deps, entityId, destination.connectionId),
  };
}

/**
 * Reads and writes the rest of a run, and removes what has vanished. Returns when to retry; null if the run is complete
 * or has failed.
 */
function syncRecords(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return inSlot(
    deps.takeSyncSlot,
    claim.entityId,
    async () => {
      stopIfAsked(deps);
      return syncInTurn(deps, claim);
    },
    noteWaitOf(deps, 'sync', claim),
  );
}

async function syncInTurn(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const job = await findJob(deps, claim);
  if (!job) return null;
  let ends: SyncEnds | null = null;
  try {
    ends = await openEnds(deps, job);
    await syncWith(deps, job, ends);
    return null;
  } catch (error) {
    if (error instanceof JobGone) return moved(deps, claim);
    if (!(error instanceof Refusal)) throw error;
    return waitOrFailSync(deps, job, error, ends);
  }
}

async function syncWith(deps: Dependencies, job: SyncJob, ends: SyncEnds): Promise<void> {
  const scope = await openScope(deps, job, ends);
  try {
    if (job.run.isRead) return await removeVanished(deps, job, ends, scope);
    if (!job.run.isBegun && job.run.rootId === null) await lookAtSchema(deps, job, ends, scope);
    if (ends.destination) await deliverPending(deps, job, { ...streamOf(job), open: ends.destination, scope });
    // Read again: the steps above have changed the sync's known fields and the run's cursor.
    const current = await findJob(deps, { ...job.key, identifier: job.run.identifier });
    if (!current) throw new JobGone();
    await readSource(deps, current, ends, scope);
    await removeVanished(deps, current, ends, scope);
  } finally {
    await scope.close();
  }
}

function streamOf({ sync: { destination } }: SyncJob): { stream: string; key: string[] } {
  return destination as Exclude<typeof destination, { sorId: number }>;
}

/** Retries in a second if another attempt has advanced the run: this one then continues from there. */
async function moved(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return (await findJob(deps, claim)) ? { againInMs: 1_000 } : null;
}

function waitOrFailSync(deps: Dependencies, { key, run: begun }: SyncJob, refusal: Refusal, ends: SyncEnds | null) {
  const isFromStart = refusal.status === 'source_changed';
  return waitOrFail(deps, syncRuns, key, refusal, secretsOf(ends), {
    before: (run) => (hasProgress(begun, run, isFromStart) ? { tries: 0, failingSince: null } : begun),
    alongside: async (tx, run) => {
      if (isFromStart) await updateRunFromStart(tx, run);
    },
    fail: (failure) => endSyncRun(deps, key, failure),
  });
}

/**
 * Returns whether this try moved the cursor, removed records or got answers. A restart from the beginning is no
 * progress: otherwise a source that always breaks off before its end is read for ever.
 */
function hasProgress(begun: SyncRun, now: SyncRun, isFromStart: boolean): boolean {
  const isFurther = !isFromStart && now.progress.position !== begun.progress.position;
  const isAnswered =
    now.answered > 0 && (now.answered !== begun.answered || now.progress.batchesTaken !== begun.progress.batchesTaken);
  return isFurther || isAnswered || now.removed > begun.removed;
}

/** Maximum number of values of a batch. Up to five batches are in memory at once; twice the size is no faster. */
const MAX_VALUES = 20_000;

/** Reads the rest of the source and writes it in batches; each commits with its counts and cursor. */
async function readSource(deps: Dependencies, job: SyncJob, ends: SyncEnds, scope: RunScope): Promise<void> {
  const mapper = new RecordMapper(job.sync, job.run.progress.unmappedFields);
  const writer = batchWriter(deps, job, ends, { mapper, scope });
  await writer.resume();
  try {
    await takeAll(deps, job, { mapper, writer, scope }, batchesOf(deps, job, ends, scope));
  } finally {
    await writer.settled(); // also before an error of the source is thrown
  }
  scope.throwIfEnding();
  await write(deps.db, async (tx) => updateRunRead(tx, await noteNews(tx, job, mapper)));
}

type Tools = { mapper: RecordMapper; writer: BatchWriter; scope: RunScope };

async function takeAll(deps: Dependencies, job: SyncJob, tools: Tools, batches: AsyncIterable<Batch>): Promise<void> {
  const { dryRun, dryRunRecords } = job.run;
  let { progress } = job.run;
  // A dry run asks its source for no more than it shows: that may take long.
  const mostValues = dryRun ? 1 : Math.min(deps.batchRecords, MAX_VALUES);
  const joined = joinBatches(batches, { mostValues, mapping: job.sync.mapping, begun: cursorOf(job) });
  const takeFields = takeWhileRead(deps, job, tools.scope);
  const learn = (fields: Field[]) => {
    if (job.sync.readFields === null) tools.mapper.learn(fields);
  };
  const each = prepareEach(joined, tools.writer, learn, progress.recordsTaken);
  for await (const prepared of dryRun ? each : oneAhead(each)) {
    progress = await orEnd(tools.scope, take(deps, job, { ...tools, prepared, takeFields, progress }));
    if (dryRun && progress.read >= dryRunRecords!) break;
  }
}

/** Maximum size of a joined batch: two full batches of a source. */
const MAX_BYTES = 2 * BATCH_BYTES;

/**
 * Joins small batches, so that they are written together. A batch that reports new fields begins the next one. What was
 * read before the source fails, or has to be waited for, is written before: reading it again would cost more calls.
 * If the cursor stayed, it comes again all the same, and is not. `begun`: the cursor from which the source is read.
 */
async function* joinBatches(
  batches: AsyncIterable<Batch>,
  { mostValues, mapping, begun }: { mostValues: number; mapping: Mapping; begun: Cursor | null },
): AsyncGenerator<JoinedBatch> {
  let held: JoinedBatch | null = null;
  let taken = begun;
  try {
    for await (const { items, bytes, cursor, fields, done = null, oddCursors = 0 } of batches) {
      if (held && fields) {
        yield held;
        taken = held.cursor;
        held = null;
      }
      if (held === null) held = { items, bytes, cursor, fields: fields ?? null, done, oddCursors };
      else {
        held = {
          items: [...held.items, ...items],
          bytes: held.bytes + bytes,
          cursor,
          fields: held.fields,
          done,
          oddCursors: held.oddCursors + oddCursors,
        };
      }
      held.isStoredFirst = items.length === 0;
      const isSmall = held.items.length * valuesOf(held, mapping) < mostValues && held.bytes < MAX_BYTES;
      if (isSmall && !held.isStoredFirst) continue;
      yield held;
      taken = held.cursor;
      held = null;
    }
  } catch (error) {
    const isOver = !(error instanceof Refusal) || error instanceof JobGone || error.status === 'source_changed';
    if (held && !isOver && !isDeepStrictEqual(held.cursor, taken)) yield held;
    throw error;
  }
  if (held) yield held;
}

/** Estimates the number of values per record from the mapping or the first record. */
function valuesOf({ items }: JoinedBatch, { fields, otherFields }: Mapping): number {
  if (otherFields === 'drop') return Math.max(1, fields.filter((field) => !('drop' in field)).length);
  const first = items.find((item) => item.kind === 'record');
  return Math.max(1, first ? Object.keys(first.record).length : 1);
}

/**
 * Yields the same batches, and prepares the next one while the caller works on the current one, unless that is to be
 * stored first.
 */
async function* oneAhead(batches: AsyncGenerator<PreparedBatch>): AsyncGenerator<PreparedBatch> {
  const read = () => {
    const next = batches.next();
    next.catch(() => undefined); // the await of the next turn throws it
    return next;
  };
  try {
    for (let next = read(); ;) {
      const { value, done } = await next;
      if (done) return;
      if (!value.batch.isStoredFirst) next = read();
      yield value;
      if (value.batch.isStoredFirst) next = read();
    }
  } finally {
    await batches.return(undefined).catch(() => undefined);
  }
}

/** Stops reading at once if the work fails: the source may send nothing for a long time. */
async function orEnd<T>(scope: RunScope, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    scope.end();
    throw error;
  }
}

/**
 * Prepares each batch for the writer. Fields that a first reading reports are learned before their records are mapped.
 */
async function* prepareEach(
  batches: AsyncGenerator<JoinedBatch>,
  { prepare }: BatchWriter,
  learn: (fields: Field[]) => void,
  taken: number,
): AsyncGenerator<PreparedBatch> {
  let before = taken;
  for await (const batch of batches) {
    if (batch.fields) learn(batch.fields);
    yield await prepare(batch, before);
    before += batch.items.length;
  }
}

type TakeFields = ReturnType<typeof takeWhileRead>;
type Step = Tools & { prepared: PreparedBatch; takeFields: TakeFields; progress: RunProgress };

async function take(deps: Dependencies, job: SyncJob, { prepared, takeFields, ...step }: Step): Promise<RunProgress> {
  const { writer, mapper, scope, progress } = step;
  scope.throwIfEnding();
  const { fields } = prepared.batch;
  if (fields) {
    await writer.settled(); // pinned batches lock the same rows as new fields do
    await takeFields(fields);
  }
  const after = prepared.isToStop ? 'stopped' : await writer.write(prepared, progress);
  if (after === 'stopped') {
    await write(deps.db, (tx) => noteNews(tx, job, mapper));
    throw schemaRefusal(`new: ${[...mapper.news].join(', ')}`);
  }
  if (!after) throw new JobGone();
  return after;
}

/** Stores fields that appeared only in records as a change of the schema, unless one is stored already. */
async function noteNews(tx: Tx, { key }: SyncJob, { news }: RecordMapper): Promise<SyncRun> {
  const run = await lockRun(tx, key);
  if (!run) throw new JobGone();
  if (news.size > 0 && run.schemaChange === null) {
    await updateSchemaChange(tx, run, {
      added: [...news].map((name) => ({ name, type: UNTOLD })),
      removed: [],
      retyped: [],
    });
  }
  return run;
}

/** Yields the batches of the source, of the fields that the mapping uses; of a re-drive, those of the kept records. */
async function* batchesOf(
  deps: Dependencies,
  job: SyncJob,
  { source }: SyncEnds,
  scope: RunScope,
): AsyncGenerator<Batch> {
  const { run, sync } = job;
  const cursor = cursorOf(job);
  if (run.rootId !== null) {
    const root = await findRunById(deps.db, sync.entityId, run.rootId);
    const reason = root && sayNotRead(sync.mapping, root.fieldsRead);
    if (reason) throw new Refusal(409, 'fields_not_read', reason);
    return yield* readErrors(deps, sync.entityId, run.rootId, cursor);
  }
  const fields = fieldsUsed(sync.mapping);
  await noteFieldsRead(deps, job, fields);
  const { stream, mode, cursorField } = sync;
  const isContinued = run.progress.batchesTaken > 0;
  const reading = { stream, mode, cursorField, cursor, isContinued, fields };
  yield* source.connector.source!.read(source.settings, reading, scope.context);
}

/** Stores the fields before they are read. If the mapping changes within the run, its records share some of them. */
async function noteFieldsRead({ db }: Dependencies, { run, key }: SyncJob, fields: string[] | null): Promise<void> {
  const common = run.progress.batchesTaken === 0 ? fields : commonOf(run.fieldsRead, fields);
  if (isDeepStrictEqual(common, run.fieldsRead)) return;
  await write(db, async (tx) => {
    const held = await lockRun(tx, key);
    if (!held) throw new JobGone();
    await updateFieldsRead(tx, held, common);
  });
}

function commonOf(before: string[] | null, now: string[] | null): string[] | null {
  return before === null || now === null ? (before ?? now) : now.filter((field) => before.includes(field));
}

/** Cursor of a re-drive: the line of the last error that it read. */
type RedriveCursor = { line: number };

/** Yields the records of a run's open errors as a source does. Skips those that are not stored whole. */
async function* readErrors(
  { db }: Pick<Dependencies, 'db'>,
  entityId: number,
  rootId: number,
  cursor: Cursor | null,
): AsyncGenerator<Omit<Batch, 'items'> & { items: SyncItem[] }> {
  let after = (cursor as RedriveCursor | null)?.line ?? 0;
  for (;;) {
    const page = await listErrorsAfter(db, entityId, rootId, { isOpen: true }, after);
    if (page.length === 0) return;
    after = page.at(-1)!.line;
    const items = page.flatMap((error) => toItem(error) ?? []);
    yield {
      items,
      bytes: page.reduce((sum, { raw }) => sum + Buffer.byteLength(raw ?? ''), 0),
      cursor: { line: after },
    };
  }
}

/** Returns null if the record can't be restored: it was malformed, too long, or of an erased person. */
function toItem({ errorType, stage, raw, line }: StoredImportError): SyncItem | null {
  if (stage === 'parsing' || raw === null) return null;
  try {
    return {
      kind: 'record',
      record: JSON.parse(raw) as SourceRecord,
      rootLine: line,
      wasNamed: errorType !== 'INVALID_CUSTOMER_ID',
    };
  } catch {
    return null;
  }
}

/** Returns the cursor from which this run reads on, or begins. */
function cursorOf({
  run: {
    progress: { position },
  },
}: SyncJob): Cursor | null {
  return position === null ? null : (JSON.parse(position) as Cursor);
}

export type RunSyncSteps = ReturnType<typeof runSyncSteps>;

export const runSyncSteps = (deps: Dependencies) => ({
  /** Counts the batches of canceled runs, then claims a run as `claimRun` does. */
  async claimSyncRun(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const run = await claimRun(deps, syncRuns, ref, workflowRunId, (tx, sync) =>
      settleAbandonedBatches(tx, deps, sync),
    );
    return run && { ...ref, generation: run.generation };
  },

  /** Reads and writes the rest of the run. Returns when to retry; null if the run is complete or has failed. */
  syncRecords: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => syncRecords(deps, claim)),

  /** Ends a run that has not failed, and starts the one that waits for it. Returns whether there are alerts to send. */
  async endSyncRun(claim: JobClaim): Promise<{ mails: boolean }> {
    const { entityId, jobId, generation } = claim;
    await endSyncRun(deps, { entityId, jobId, generation }, null);
    const ended = await findRunById(deps.db, entityId, jobId);
    if (ended) await releaseSource(deps, ended);
    if (ended?.state === 'canceled') await settleRunsOf(deps, entityId, ended.syncId);
    return startNextRun(deps, syncRuns, ended, claim);
  },

  /** Sends the mail and the alerts about a run to the addresses and connections that its sync names. */
  mailSyncAlert: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() =>
      sendRunAlerts(deps, syncRuns, claim, ({ identifier: syncId, alerts }, { alert, progress }, common) => {
        const { read, written, unchanged, ignored, failed } = progress;
        const counts = { read, written, unchanged, ignored, failed };
        const link = `${deps.publicUrl}/api/syncs/${syncId}/runs/${common.runId}`;
        const report = { ...common, syncId, alert, counts, link };
        return { to: alerts.emails, connections: alerts.connections, report, mail: syncMail(report) };
      }),
    ),
});
