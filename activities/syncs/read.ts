import type { Batch, Cursor, Field } from '../../connectors/core/contract.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { UNTOLD } from '../../domain/syncs/schema-change.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { updateRunRead, updateSchemaChange } from '../../store/syncs/sync-run-progress.ts';
import type { RunProgress, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { gather, type Gathered, oneAhead } from './items.ts';
import type { SyncEnds, SyncJob } from './job.ts';
import { RecordMapper } from './record-mapper.ts';
import { readErrors } from './redrive.ts';
import { schemaRefusal, takeWhileRead } from './schema.ts';
import type { RunScope } from './scope.ts';
import { batchWriter, type BatchWriter, type PreparedBatch } from './write.ts';

/**
 * Maximum number of values of a batch. Five batches are in memory at once, from the one being read to the two being
 * merged; twice the size is no faster.
 */
const MAX_VALUES = 20_000;

/** Reads what is left of the source, and writes it batch by batch; each commits with what follows from it. */
export async function readSource(deps: Dependencies, job: SyncJob, ends: SyncEnds, scope: RunScope): Promise<void> {
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
  let { progress } = job.run;
  const gathered = gather(batches, Math.min(deps.batchRecords, MAX_VALUES), job.sync.mapping);
  const takeFields = takeWhileRead(deps, job, tools.scope);
  const learn = (fields: Field[]) => {
    if (job.sync.readFields === null) tools.mapper.learn(fields);
  };
  for await (const prepared of oneAhead(prepareEach(gathered, tools.writer, learn, progress.recordsTaken))) {
    progress = await orEnd(tools.scope, take(deps, job, { ...tools, prepared, takeFields, progress }));
    if (job.run.dryRun && progress.read >= job.run.dryRunRecords!) break;
  }
}

/** A source may say nothing for long: where its records can't be written, it is not waited for. */
async function orEnd<T>(scope: RunScope, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    scope.end();
    throw error;
  }
}

/** The fields of a first reading are no news, and known before their records are mapped. */
async function* prepareEach(
  batches: AsyncGenerator<Gathered>,
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
    await writer.settled(); // what they change is locked together with the run
    await takeFields(fields);
  }
  const after = mapper.isToStop ? 'stopped' : await writer.write(prepared, progress);
  if (after === 'stopped') {
    await write(deps.db, (tx) => noteNews(tx, job, mapper));
    throw schemaRefusal(`new: ${[...mapper.news].join(', ')}`);
  }
  if (!after) throw new JobGone();
  return after;
}

/** Fields that came up in records alone. */
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

function batchesOf(deps: Dependencies, job: SyncJob, { source }: SyncEnds, scope: RunScope): AsyncIterable<Batch> {
  const { run, sync } = job;
  const cursor = cursorOf(job);
  if (run.rootId !== null) return readErrors(deps, sync.entityId, run.rootId, cursor);
  const { stream, mode, cursorField } = sync;
  return source.connector.source!.read(source.settings, { stream, mode, cursorField, cursor }, scope.context);
}

/** Where this run goes on; where it begins, too. */
function cursorOf({
  run: {
    progress: { position },
  },
}: SyncJob): Cursor | null {
  return position === null ? null : (JSON.parse(position) as Cursor);
}
