import type { FastifyBaseLogger } from 'fastify';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { leftToSweep } from '../http/left-to-sweep.ts';

export async function followSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, sync: Sync): Promise<void> {
  await leftToSweep(log, flows.followSchedule(sync), { sync: sync.identifier }, 'the schedule of a sync');
}
