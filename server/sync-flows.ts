import type { FastifyBaseLogger } from 'fastify';
import { faultOf } from '../domain/fault.ts';
import type { Sync } from '../store/sync-record.ts';
import type { RunRef } from '../store/sync-runs.ts';
import type { RouteNeeds } from './needs.ts';

/** What follows from a request once it is written down: a failure is no failure of the request, since the sweep makes up for it. */

export async function startSoon({ flows }: RouteNeeds, log: FastifyBaseLogger, ref: RunRef): Promise<void> {
  await flows.startSyncRun(ref)
    .catch((error: unknown) => log.warn({ syncRun: ref.identifier, ...faultOf(error) }, 'a run of a sync is left to the sweep'));
}

export async function followSoon({ flows }: RouteNeeds, log: FastifyBaseLogger, sync: Sync): Promise<void> {
  await flows.followSchedule(sync)
    .catch((error: unknown) => log.warn({ sync: sync.identifier, ...faultOf(error) }, 'the schedule of a sync is left to the sweep'));
}
