import type { FastifyBaseLogger } from 'fastify';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { leftToSweep } from '../http/left-to-sweep.ts';

export async function startGdprSoon({ flows }: RouteDependencies, log: FastifyBaseLogger, request: GdprRequest): Promise<void> {
  const { entityId, id: runId, identifier, type } = request;
  await leftToSweep(log, flows.startGdprRequest({ entityId, runId, identifier }, type), { gdprRequest: identifier }, 'a GDPR request');
}
