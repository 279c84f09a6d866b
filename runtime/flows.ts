import type { Client } from '@temporalio/client';
import { wakeSegments } from '../temporal/wake-segments.ts';
import { wakeFeed } from '../temporal/wake-feed.ts';
import { tellHoldsChanged } from '../temporal/tell-holds-changed.ts';
import { followExporter, followSchedule } from '../temporal/follow-schedule.ts';
import { startJob } from '../temporal/start-job.ts';
import { cancelSend } from '../temporal/cancel-send.ts';
import type { ServerDependencies } from '../server/dependencies.ts';
import type { Database } from '../store/core/database.ts';

/**
 * What requests tell Temporal. Each call fails after `withinMs`, so that no request waits for a Temporal that is away.
 */
export function flowsOver(
  { db, temporal }: { db: Database; temporal: Client },
  withinMs: number,
): ServerDependencies['flows'] {
  const within = (call: () => Promise<void>) => temporal.connection.withDeadline(Date.now() + withinMs, call);
  return {
    startJob: (kind, ref) => within(() => startJob(temporal, kind, ref)),
    cancelSend: (ref) => within(() => cancelSend(temporal, ref)),
    wakeFeed: (entityId) => within(() => wakeFeed(temporal, entityId)),
    wakeSegments: (entityId) => within(() => wakeSegments(temporal, entityId)),
    tellHoldsChanged: (requests) => within(() => tellHoldsChanged(temporal, requests)),
    followExporter: (exporter) => within(() => followExporter({ db, temporal }, exporter)),
    followSchedule: (sync) => within(() => followSchedule({ db, temporal }, sync)),
  };
}
