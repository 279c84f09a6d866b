import type { FastifyInstance } from 'fastify';
import type { RouteDependencies } from '../dependencies.ts';
import type { Route } from '../http/route.ts';
import { serveRoute } from '../http/serve-route.ts';
import { readTrackingBodies } from './tracking-bodies.ts';
import { targetOfKey } from './tracking-target.ts';

/** Any page may send: nothing here goes by a cookie. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After, X-Request-Id',
  'cross-origin-resource-policy': 'cross-origin',
};
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-max-age': '86400',
  vary: 'Access-Control-Request-Headers',
};

/** The paths of Segment's tracking API, with bodies, limits and headers of their own, apart from all others. */
export async function serveTracking(
  app: FastifyInstance,
  routes: readonly Route[],
  deps: RouteDependencies,
): Promise<void> {
  await app.register(async (scope) => {
    readTrackingBodies(scope, deps);
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(CORS);
    });
    scope.addHook('preParsing', async (request) => {
      const writeKey = basicUserOf(request.headers.authorization);
      if (writeKey === '') return;
      request.trackingTarget = await targetOfKey(deps, writeKey, request.ip);
      request.verified();
    });
    scope.options('/v1/*', { config: { rateLimit: false } }, async ({ headers }, reply) => {
      // Whatever headers a version of an SDK has.
      const asked = headers['access-control-request-headers'] ?? 'Authorization, Content-Type, Content-Encoding';
      return reply
        .headers({ ...PREFLIGHT, 'access-control-allow-headers': asked })
        .status(204)
        .send();
    });
    for (const route of routes) serveRoute(scope, route, deps);
  });
}

/** Without its password; empty where there is none. */
function basicUserOf(authorization: string | undefined): string {
  const [, encoded = ''] = /^Basic +([\w+/=-]+) *$/i.exec(authorization ?? '') ?? [];
  return Buffer.from(encoded, 'base64').toString().replace(/:.*$/s, '');
}
