import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';

/** One line and one observation per request, by the route's pattern: the address may hold a customer's id. */
export function logRequests(app: FastifyInstance, { metrics }: Pick<ServerDependencies, 'metrics'>): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
  });
  app.addHook('onResponse', async (request, reply) => {
    const line = lineOf(request, reply);
    metrics.observeRequest({ ...line, seconds: reply.elapsedTime / 1000 });
    request.log.info({ ...line, ms: Math.round(reply.elapsedTime) }, 'request');
  });
  app.addHook('onRequestAbort', async (request) => {
    request.log.info({ method: request.method, route: patternOf(request) }, 'the caller hung up');
  });
}

function lineOf(request: FastifyRequest, reply: FastifyReply) {
  return { method: request.method, route: patternOf(request), status: reply.statusCode };
}

function patternOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? 'unknown';
}
