import type { FastifyInstance } from 'fastify';
import { refuse } from '../../domain/core/refusal.ts';

/** Seconds after which another server, or this one after its restart, takes the request. */
const RETRY_AFTER = 1;

/** Refuses what comes on open connections while the server ends. Fastify's own answer names no time to come back. */
export function refuseWhileEnding(app: FastifyInstance): void {
  let isEnding = false;
  app.addHook('preClose', async () => {
    isEnding = true;
  });
  app.addHook('onRequest', async () => {
    if (isEnding)
      refuse(503, 'service_unavailable', 'This server is ending. Please try again', { retry_after: RETRY_AFTER });
  });
}
