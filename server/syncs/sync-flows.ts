import type { FastifyBaseLogger } from 'fastify';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RunRef } from '../../store/syncs/sync-runs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { leftToSweep } from '../http/left-to-sweep.ts';

export async function startSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, ref: RunRef): Promise<void> {
  await leftToSweep(log, flows.startSyncRun(ref), { syncRun: ref.identifier }, 'a run of a sync');
}

export async function followSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, sync: Sync): Promise<void> {
  await leftToSweep(log, flows.followSchedule(sync), { sync: sync.identifier }, 'the schedule of a sync');
}
