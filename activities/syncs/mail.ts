import type { JobClaim } from '../../domain/jobs/job.ts';
import { syncMail } from '../../domain/syncs/sync-mail.ts';
import { findRunById } from '../../store/syncs/sync-runs.ts';
import { findSyncById } from '../../store/syncs/syncs.ts';
import { mailOnce } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';

/** Mails the addresses that the sync names about a run that needs attention. */
export async function mailAlert(deps: Dependencies, { entityId, runId }: JobClaim): Promise<RetryAfter | null> {
  const run = await findRunById(deps.db, entityId, runId);
  const sync = run && await findSyncById(deps.db, entityId, run.syncId);
  if (!sync || !run.alert || sync.alerts.emails.length === 0) return null;
  const { read, written, unchanged, ignored, failed } = run.progress;
  const { subject, text } = syncMail({
    syncId: sync.identifier, runId: run.identifier, alert: run.alert,
    failure: run.failure?.status ?? null,
    counts: { read, written, unchanged, ignored, failed },
    startedAt: (run.startedAt ?? run.receivedAt).toISOString(), endedAt: (run.endedAt ?? run.receivedAt).toISOString(),
    link: `${deps.publicUrl}/api/syncs/${sync.identifier}/runs/${run.identifier}`,
  });
  const mailed = { table: 'sync_runs', entityId, id: runId, identifier: run.identifier } as const;
  return mailOnce(deps, mailed, { to: sync.alerts.emails, subject, text }, 'sync');
}
