import type { JobClaim } from '../../domain/jobs/job.ts';
import { syncMail } from '../../domain/syncs/sync-mail.ts';
import { findRunById } from '../../store/syncs/sync-runs.ts';
import { findSyncById } from '../../store/syncs/syncs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendRunAlerts } from '../jobs/run-alerts.ts';

/** Tells the addresses and connections that the sync names of a run that needs attention, side by side. */
export async function mailAlert(deps: Dependencies, { entityId, jobId }: JobClaim): Promise<RetryAfter | null> {
  const run = await findRunById(deps.db, entityId, jobId);
  const sync = run && (await findSyncById(deps.db, entityId, run.syncId));
  if (!sync || !run.alert) return null;
  const { emails, connections } = sync.alerts;
  const { read, written, unchanged, ignored, failed } = run.progress;
  const link = `${deps.publicUrl}/api/syncs/${sync.identifier}/runs/${run.identifier}`;
  const failure = run.failure?.status ?? null;
  const endedAt = (run.endedAt ?? run.receivedAt).toISOString();
  const { subject, text, line } = syncMail({
    syncId: sync.identifier,
    runId: run.identifier,
    alert: run.alert,
    failure,
    counts: { read, written, unchanged, ignored, failed },
    startedAt: (run.startedAt ?? run.receivedAt).toISOString(),
    endedAt,
    link,
  });
  return sendRunAlerts(
    deps,
    { kind: 'sync', entityId, jobId },
    {
      to: emails,
      subject,
      text,
      connections,
      alert: {
        kind: 'sync',
        identifier: sync.identifier,
        run: run.identifier,
        alert: run.alert,
        failure,
        text: line,
        link,
        ended_at: endedAt,
      },
    },
  );
}
