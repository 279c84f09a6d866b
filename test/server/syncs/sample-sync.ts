import type { ImportError } from '../../../domain/imports/import-error.ts';
import type { Tx } from '../../../store/core/database.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { insertLogLines } from '../../../store/syncs/sync-log.ts';
import type { NewSync } from '../../../store/syncs/sync-record.ts';
import { upsertRecords } from '../../../store/syncs/sync-records.ts';
import { updateRunProgress, updateSample } from '../../../store/syncs/sync-run-progress.ts';
import type { NewRun, RunProgress, SampleRecord, SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { claimRun, insertRun, updateRunEnded } from '../../../store/syncs/sync-runs.ts';
import { insertSync } from '../../../store/syncs/syncs.ts';
import type { World } from '../../harness/core/world.ts';

export type SampleSync = {
  identifier: string;
  /** With an error of the sample's person that is open. */
  endedRunId: string;
  /** With a sample. */
  dryRunId: string;
  /** Due by the schedule, not begun. */
  waitingRunId: string;
};

/** A sync of attributes that knows one record, with a run of each kind. */
export async function insertSampleSync(
  tx: Tx,
  world: World,
  connectionId: number,
  person: string,
): Promise<SampleSync> {
  const { entity, user } = world;
  const { id: syncId, identifier } = (await insertSync(tx, entity.id, definition(world, connectionId), user.id))!;
  const ended = await insertEndedRun(
    tx,
    world,
    { syncId, cause: 'request' },
    { failed: 1, errorsByType: { INVALID_VALUE: 1 } },
  );
  await upsertRecords(tx, entity.id, { syncId, runId: ended.id, isSeen: false }, [
    { key: person, customerId: null, checksum: null },
  ]);
  await insertImportErrors(tx, entity.id, ended.id, [runError(1, person)]);
  await insertLogLines(tx, entity.id, ended.id, [`read as ${identifier}`]);
  const dryRun = await insertEndedRun(
    tx,
    world,
    { syncId, cause: 'request', dryRun: true, dryRunRecords: 100 },
    { written: 1 },
  );
  const shown: SampleRecord = {
    line: 1,
    outcome: 'written',
    customer_id: person,
    changes: [{ key: 'plan', before: null, after: 'gold' }],
  };
  await updateSample(tx, dryRun, [shown]);
  const waiting = (await insertRun(tx, entity.id, {
    syncId,
    cause: 'schedule',
    scheduledFor: new Date('2026-01-01T03:00:00Z'),
  }))!;
  return { identifier, endedRunId: ended.identifier, dryRunId: dryRun.identifier, waitingRunId: waiting.identifier };
}

function definition({ sor }: World, connectionId: number): NewSync {
  return {
    name: 'Customers of the shop',
    connectionId,
    stream: 'customers',
    destination: { sorId: sor.id },
    mapping: {
      customer: { field: 'email', type: 'user_id' },
      fields: [{ from: 'plan' }],
      otherFields: 'drop',
      empty: 'fail',
    },
    mode: 'incremental',
    cursorField: 'updated_at',
    removes: false,
    removalLimit: 50,
    schedule: { everyMinutes: 15, jitterSeconds: 0 },
    schemaRule: 'ignore',
    alerts: { emails: [], connections: [], failedRecords: null, pauseAfter: 5 },
  };
}

/** As the sample's own but for its name, as a caller says it. */
export function anotherSync({ connection, sor }: Pick<World, 'sor'> & { connection: { identifier: string } }) {
  return {
    name: 'Another',
    source: { connection: connection.identifier, stream: 'customers' },
    destination: { sor: sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'plan' }] },
    mode: 'incremental',
    cursor_field: 'updated_at',
    schedule: { every_minutes: 15 },
    alerts: { emails: ['data@example.com'] },
    on_schema_change: 'stop',
  };
}

/** A run that was claimed, counted its records and finished; its other counts are 0. */
export async function insertEndedRun(
  tx: Tx,
  { entity }: World,
  asked: NewRun,
  counts: Partial<RunProgress>,
): Promise<SyncRun> {
  const { id } = (await insertRun(tx, entity.id, asked))!;
  const run = (await claimRun(tx, entity.id, id, 'workflow'))!;
  const progress = { ...run.progress, ...counts };
  const read = progress.written + progress.unchanged + progress.ignored + progress.failed;
  await updateRunProgress(tx, run, { ...progress, read });
  await updateRunEnded(tx, run, { state: 'finished', failure: null, alert: null });
  return run;
}

/** Of a record of `customerId` whose score was refused. */
export function runError(line: number, customerId: string): ImportError {
  return {
    line,
    errorType: 'INVALID_VALUE',
    outcome: 'failed',
    stage: 'validation',
    message: 'is no number',
    customerId,
    attributeKey: 'score',
    raw: JSON.stringify({ email: customerId, score: 'many' }),
    originalLine: null,
    customerHash: null,
  };
}
