import type { FastifyBaseLogger } from 'fastify';
import { faultOf } from '../../domain/core/fault.ts';
import type { RouteDependencies } from '../dependencies.ts';

/** Has these requests look again whom they may delete now. One that does not hear of it looks by itself, each hour. */
export async function tellHoldsChanged({ flows }: RouteDependencies, log: FastifyBaseLogger, requests: string[]): Promise<void> {
  if (requests.length === 0) return;
  await flows.tellHoldsChanged(requests)
    .catch((error: unknown) => log.warn({ gdprRequests: requests.length, ...faultOf(error) }, 'requests see a released hold in an hour'));
}
