import type { FastifyInstance } from 'fastify';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { upsertInternalError } from '../../store/jobs/internal-errors.ts';
import type { ServerDependencies } from '../dependencies.ts';

/**
 * Counts requests that ended in an internal error, and records them for those who look for what needs attention (law
 * 11).
 */
export function recordFailedRequests(
  app: FastifyInstance,
  { db, metrics }: Pick<ServerDependencies, 'db' | 'metrics'>,
): void {
  app.addHook('onResponse', async (request, reply) => {
    if (reply.statusCode !== 500) return;
    const step = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
    metrics.countInternalError({ kind: 'request', step });
    const entityId = request.caller?.entityId ?? request.trackingTarget?.entityId ?? null;
    await upsertInternalError(db, { entityId, kind: 'request', job: '', step }, request.id).catch((error: unknown) =>
      request.log.warn({ error: internalErrorOf(error) }, 'an internal error is not recorded'),
    );
  });
}
