/** The routes of funnels' figures: statistics, follow-ups, people. */

import * as api from '../../api/analytics/funnels.ts';
import { type FunnelExclusion, type FunnelStep, SAMPLED_ONE_IN } from '../../domain/analytics/funnel.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import {
  type Breakdown,
  BREAKDOWN_FIELDS,
  type BreakdownField,
  countFunnel,
  exploreFunnel,
  type FunnelQuery,
  MAX_PROPERTIES,
  type StepTotal,
} from '../../store/analytics/funnel-stats.ts';
import { findFunnel } from '../../store/analytics/funnels.ts';
import { listAppsById } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';
import { listDisplayNames } from '../../store/tracking/event-definitions.ts';
import { requireApp } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { JSON_HEADERS, Reply } from '../http/reply.ts';
import { requireRightOfField } from '../http/right-of-type.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { resolveSteps } from './funnel-steps.ts';

const quickStats = route(api.quickFunnelStats, ({ query, body: { funnel }, ...who }, deps) =>
  countPeople(api.quickFunnelStats, { query, who, funnel: async () => funnel }, deps),
);

const storedStats = route(api.viewFunnelStats, ({ params: { identifier }, query, ...who }, deps) =>
  countPeople(
    api.viewFunnelStats,
    {
      query,
      who,
      subject: identifier,
      async funnel() {
        const { maxDuration, steps } =
          (await findFunnel(deps.db, who.caller.entityId, identifier)) ?? refuse(404, 'not_found', 'Funnel not found');
        return { max_duration: maxDuration, steps };
      },
    },
    deps,
  ),
);

type Counted = {
  query: StatsQuery & { app_id: string; breakdown?: string | undefined };
  who: Circumstances & { caller: Caller };
  subject?: string;
  funnel(): Promise<AskedFunnel>;
};

async function countPeople(
  operation: typeof api.quickFunnelStats | typeof api.viewFunnelStats,
  { query, who, subject, funnel }: Counted,
  { db, heavyReads }: RouteDependencies,
): Promise<api.FunnelStats[] | Reply> {
  const {
    caller,
    caller: { entityId },
  } = who;
  const breakdown = query.breakdown === undefined ? null : breakdownOf(query.breakdown);
  if (breakdown && 'detail' in breakdown) requireRightOfField(operation, caller, api.DETAIL_BREAKDOWN);
  await requireApp(db, entityId, query.app_id);
  const asked = await funnelQuery(db, entityId, query, await funnel());
  if (breakdown && 'detail' in breakdown) {
    const details = { app: query.app_id, breakdown: query.breakdown! };
    await audit(db, who, { action: 'read', subjectKind: 'funnel', ...(subject !== undefined && { subject }), details });
  }
  const totals =
    (await heavyReads.within(entityId, who.hungUp(), (signal) =>
      countFunnel(db, entityId, { ...asked.query, breakdown }, { signal }),
    )) ?? refuseField('breakdown', `has more than ${MAX_PROPERTIES} values: choose a property with fewer`);
  const result = totals.flatMap(({ property, steps }) =>
    steps.map((total, step) => ({
      step,
      ...completions(total, asked.query.oneIn),
      last_completed_at: total.lastAt?.toISOString() ?? null,
      ...(breakdown && { breakdown: property }),
    })),
  );
  return estimated(
    result,
    totals.flatMap(({ steps }) => steps),
    asked.query.oneIn,
  );
}

const explore = route(
  api.exploreFunnel,
  async ({ query, body: { funnel }, hungUp, caller: { entityId } }, { db, heavyReads }) => {
    const { id } = await requireApp(db, entityId, query.app_id);
    const last = funnel.steps.length - 1;
    if (query.position > last) refuseField('position', `must be the number of a step, from 0 to ${last}`);
    const { query: asked, appIds } = await funnelQuery(db, entityId, query, funnel);
    const followed = [...new Set([...appIds, id])];
    const found = await heavyReads.within(entityId, hungUp(), (signal) =>
      exploreFunnel(db, entityId, asked, { position: query.position, followed, signal }),
    );
    const apps = await listAppsById(db, entityId, followed);
    const names = await listDisplayNames(db, entityId, followed);
    const result = found.map(({ appId, logType, name, ...total }) => ({
      application_id: apps.get(appId)!.identifier,
      log_type: logType,
      log_name: name,
      display_name: names({ appId, logType, name }),
      ...completions(total, asked.oneIn),
    }));
    return estimated(result, found, asked.oneIn);
  },
);

type StatsQuery = { from: string; till: string; mode: 'accurate' | 'fast'; aliases?: boolean | undefined };
type AskedFunnel = { max_duration: number; steps: FunnelStep[]; exclusions?: FunnelExclusion[] | undefined };

async function funnelQuery(
  db: Queryable,
  entityId: number,
  { from, till, mode, aliases = false }: StatsQuery,
  funnel: AskedFunnel,
): Promise<{ query: FunnelQuery; appIds: number[] }> {
  if (from > till) refuseField('till', `must not be before from, ${from}`);
  const { appIds, ...steps } = await resolveSteps(db, entityId, funnel, 'funnel.');
  return {
    appIds,
    query: {
      ...steps,
      from: new Date(from),
      until: new Date(Date.parse(till) + DAY_MS),
      maxSeconds: funnel.max_duration,
      aliases,
      oneIn: mode === 'fast' ? SAMPLED_ONE_IN : 1,
      breakdown: null,
    },
  };
}

const OF_DETAIL = 'detail.';

function breakdownOf(given: string): Breakdown {
  if (given.startsWith(OF_DETAIL) && given.length > OF_DETAIL.length) return { detail: given.slice(OF_DETAIL.length) };
  const fields: readonly string[] = BREAKDOWN_FIELDS;
  if (fields.includes(given)) return { device: given as BreakdownField };
  return refuseField('breakdown', sayUnknown(given, [...fields, 'detail.<member>']));
}

function completions({ people, seconds }: Pick<StepTotal, 'people' | 'seconds'>, oneIn: number) {
  return { completions: people * oneIn, average_duration: people === 0 ? null : seconds / people };
}

function estimated<T>(result: T[], totals: readonly Pick<StepTotal, 'people'>[], oneIn: number): T[] | Reply {
  if (oneIn === 1) return result;
  const errors = totals.map(({ people }) => sampleError(people, oneIn)).join(', ');
  return new Reply({ success: true, result }, 200, { ...JSON_HEADERS, 'x-funnel-error': errors });
}

export const funnelStatsRoutes: Route[] = [quickStats, storedStats, explore];

const Z_95 = 1.96;

/** Returns the error of a step's count with 95 % certainty, from a sample of one person in `oneIn` (binomial). */
function sampleError(counted: number, oneIn: number): number {
  return Math.ceil(Z_95 * oneIn * Math.sqrt(Math.max(counted, 1) * (1 - 1 / oneIn)));
}
