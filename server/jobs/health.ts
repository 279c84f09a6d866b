import * as api from '../../api/jobs/health.ts';
import { bare } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const live = route(api.checkLiveness, async (_, { settings }) => bare({ live: true, version: settings.version }));

const ready = route(api.checkReadiness, async ({ query }, deps) => {
  const parts = await deps.ready();
  const isReady = parts.every((part) => part.ready || (query.parts === undefined && !part.required));
  return bare({ ready: isReady, parts: parts.map(({ version: _version, ...part }) => part) }, isReady ? 200 : 503);
});

const viewSystem = route(api.viewSystem, async (_, deps) => {
  const parts = await deps.ready();
  return {
    version: deps.settings.version,
    ready: parts.every((part) => part.ready),
    parts: parts.map(({ name, ready: isReady, required, reason = null, version = null }) => ({
      name,
      ready: isReady,
      required,
      reason,
      version,
    })),
  };
});

export const healthRoutes: Route[] = [live, ready, viewSystem];
