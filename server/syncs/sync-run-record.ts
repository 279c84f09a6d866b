import { z } from 'zod';
import { RUN_CAUSES } from '../../domain/syncs/sync-codes.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';

const instant = z.iso.datetime().nullable();

/** How a run of a sync stands. */
export const SyncRunRecord = z.object({
  run_id: z.string(),
  cause: z.enum(RUN_CAUSES),
  state: z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']),
  scheduled_for: instant,
  missed: z.int().describe('Scheduled times that this run stands for besides its own'),
  dry_run: z.boolean().describe('It tells what a run would do, and writes nothing'),
  fresh: z.boolean().describe('Reads from the beginning and writes each record again'),
  redrive_of: z.string().nullable().describe('The run whose failed records it brings again'),
  received_at: z.iso.datetime(),
  started_at: instant,
  ended_at: instant,
  records: z.object({ read: z.int(), written: z.int(), unchanged: z.int(), ignored: z.int(), failed: z.int() })
    .describe('read = written + unchanged + ignored + failed'),
  errors_by_type: z.record(z.string(), z.int()),
  open: z.int().nullable().describe('Failed and ignored records that no re-drive has brought since; null in lists'),
  bytes: z.int().describe('As they came from the source'),
  rate: z.number().nullable().describe('Records per second since the start'),
  cursor_before: z.unknown().describe('Where it began'),
  cursor: z.unknown().describe('Where it is: all before it is done'),
  removed: z.int().describe('Records that the source has no more'),
  removal: z.object({ state: z.enum(['done', 'held', 'skipped']), reason: z.string().nullable() }).nullable(),
  schema_change: z.object({
    added: z.array(z.object({ name: z.string(), type: z.string() })),
    removed: z.array(z.string()),
    retyped: z.array(z.object({ name: z.string(), from: z.string(), to: z.string() })),
  }).nullable().describe('How the source\'s fields differ from those known before'),
  unmapped_fields: z.array(z.string()).describe('Fields that went nowhere: the System of Record has no attribute of theirs'),
  missing_fields: z.array(z.string()).describe('Fields that the mapping names and the source does not tell of: mostly misspelt'),
  fault: z.string().nullable().describe('Why the source can\'t be read for now'),
  tries: z.int().describe('How often it was tried since it last brought something'),
  waits_until: instant,
  failure: z.object({ status: z.string(), message: z.string() }).nullable(),
  alert: z.enum(['failed', 'paused', 'recovered', 'records', 'held']).nullable().describe('What was to be mailed'),
  mail: z.object({ state: z.enum(['sending', 'sent', 'not_sent', 'unknown']), tries: z.int(), reason: z.string().nullable() }).nullable(),
});

type Context = { now: Date; rootIdentifier: string | null; redriven: number | null };

export function showRun(run: SyncRun, { now, rootIdentifier, redriven }: Context): z.input<typeof SyncRunRecord> {
  const { progress: { read, written, unchanged, ignored, failed, ...progress } } = run;
  const seconds = run.startedAt ? ((run.endedAt ?? now).getTime() - run.startedAt.getTime()) / 1000 : 0;
  return {
    run_id: run.identifier, cause: run.cause, state: run.state,
    scheduled_for: run.scheduledFor?.toISOString() ?? null, missed: run.missed, dry_run: run.dryRun, fresh: run.fresh,
    redrive_of: rootIdentifier,
    received_at: run.receivedAt.toISOString(), started_at: run.startedAt?.toISOString() ?? null,
    ended_at: run.endedAt?.toISOString() ?? null,
    records: { read, written, unchanged, ignored, failed }, errors_by_type: progress.errorsByType,
    open: redriven === null ? null : ignored + failed - redriven, bytes: progress.bytes,
    rate: seconds > 0 ? Math.round((read / seconds) * 10) / 10 : null,
    cursor_before: parsed(run.cursorBefore), cursor: parsed(progress.position),
    removed: run.removed, removal: run.removal, schema_change: run.schemaChange, unmapped_fields: progress.unmappedFields,
    missing_fields: run.missingFields,
    fault: run.fault, tries: run.tries, waits_until: run.waitsUntil?.toISOString() ?? null,
    failure: run.failure, alert: run.alert, mail: run.mail,
  };
}

function parsed(cursor: string | null): unknown {
  return cursor === null ? null : JSON.parse(cursor) as unknown;
}
