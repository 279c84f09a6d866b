import { redacted } from '../../connectors/core/redacted.ts';
import type { Refusal } from '../../domain/core/refusal.ts';
import { shorten } from '../../domain/core/text-limits.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { nextTry } from '../../domain/jobs/patience.ts';
import { write } from '../../store/core/database.ts';
import type { ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { lockExportRun } from '../../store/exports/export-runs.ts';
import { updateRunTrouble } from '../../store/jobs/jobs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { endExportRun } from './export-end.ts';

/** What a run keeps of what was said of it. */
const MAX_CHARS = 2_000;
/** A final no of a bucket is asked for twice more: rights take a moment to spread. */
export const BUCKET_FINAL_TRIES = 3;

/** Returns how long to wait before the next try. Null: the run has ended as failed, with the reason for its owner. */
export async function waitOrFailExport(
  deps: Dependencies,
  key: JobKey,
  refusal: Refusal,
  secrets: ExporterSecrets | null,
): Promise<RetryAfter | null> {
  const message = shorten(redacted(refusal.message, { ...secrets }), MAX_CHARS);
  const waiting = await write(deps.db, async (tx) => {
    const run = await lockExportRun(tx, key);
    if (!run) return 'gone';
    const next = nextTry(refusal, run, {
      now: new Date(),
      patienceMs: deps.patienceMs,
      finalTries: BUCKET_FINAL_TRIES,
    });
    if (next === null) return null;
    await updateRunTrouble(tx, 'export', run, next, message);
    return { againInMs: next.waitMs };
  });
  if (waiting === 'gone') return null;
  if (waiting === null) await endExportRun(deps, key, { failure: { status: String(refusal.status), message } });
  return waiting;
}
