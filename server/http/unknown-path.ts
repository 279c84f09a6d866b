import type { FastifyInstance } from 'fastify';
import { refuse } from '../../domain/core/refusal.ts';
import type { Route } from './route.ts';

/** Answers 404 for an unknown path, and 405 with `Allow` for one that has other methods. */
export function refuseUnknownPaths(app: FastifyInstance, routes: readonly Route[]): void {
  const limited = app.hasDecorator('rateLimit') ? { preHandler: app.rateLimit() } : {};
  app.setNotFoundHandler(limited, async (request, reply) => {
    const path = request.url.replace(/[?#].*/s, '');
    const allowed = routes
      .filter((route) => matches(route.path, path))
      .flatMap(({ method }) => (method === 'GET' ? [method, 'HEAD'] : [method]));
    if (allowed.length === 0) return refuse(404, 'not_found', 'Unknown path: /docs lists those there are');
    reply.header('allow', allowed.join(', '));
    return refuse(405, 'method_not_allowed', `This path takes ${allowed.join(', ')}`);
  });
}

function matches(pattern: string, path: string): boolean {
  const parts = path.split('/');
  const expected = pattern.split('/');
  return parts.length === expected.length && expected.every((part, at) => part.startsWith(':') || part === parts[at]);
}
