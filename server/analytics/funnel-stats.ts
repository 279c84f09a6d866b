/** The routes of funnels' figures: statistics, follow-ups, people. */

import * as api from '../../api/analytics/funnels.ts';
import type { DurationCounts } from '../../domain/analytics/duration-counts.ts';
import { type FunnelTotals, MAX_PROPERTIES, type StepTotal } from '../../domain/analytics/funnel-counts.ts';
import type { FunnelExclusion, FunnelStep } from '../../domain/analytics/funnel.ts';
import { sampleError, shareInterval } from '../../domain/analytics/sample-error.ts';
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
  listPeopleOfStep,
} from '../../store/analytics/funnel-stats.ts';
import { SHARDS } from '../../store/analytics/funnel-sessions.ts';
import { findFunnel } from '../../store/analytics/funnels.ts';
import { chooseSample, peoplePerSampled } from '../../store/analytics/sample.ts';
import { listAppsById } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';
import { listDisplayNames } from '../../store/tracking/event-definitions.ts';
import { requireApp } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { JSON_HEADERS, Reply } from '../http/reply.ts';
import { requireRightOfField } from '../http/right-of-type.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { resolveSteps } from './funnel-steps.ts';
import type { HeavyRead } from './heavy-reads.ts';

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
    (await heavyReads.within(
      caller,
      who.hungUp(),
      (signal) => countFunnel(db, entityId, { ...asked.query, breakdown }, { signal }),
      asked.kind,
    )) ?? refuseField('breakdown', `has more than ${MAX_PROPERTIES} values: choose a property with fewer`);
  const result = inOrder(totals, breakdown).flatMap(({ property, steps }) =>
    steps.map((total, step) => ({
      step,
      ...completions(total, asked),
      last_completed_at: total.lastAt?.toISOString() ?? null,
      ...shareOf(total, steps[0]!),
      ...(breakdown ? { breakdown: property } : { since_previous: timesOf(total.sincePrevious, asked) }),
    })),
  );
  return estimated(result, query.mode);
}

/** Weeks come in order of time, other values with most people first. */
function inOrder(totals: FunnelTotals[], breakdown: Breakdown | null): FunnelTotals[] {
  if (!breakdown || !('week' in breakdown)) return totals;
  return totals.toSorted(({ property: a }, { property: b }) => ((a ?? '') < (b ?? '') ? -1 : 1));
}

const explore = route(api.exploreFunnel, async ({ query, body: { funnel }, hungUp, caller }, { db, heavyReads }) => {
  const { entityId } = caller;
  const { id } = await requireApp(db, entityId, query.app_id);
  const last = funnel.steps.length - 1;
  if (query.position > last) refuseField('position', `must be the number of a step, from 0 to ${last}`);
  if (query.dropped && query.position === last) refuseField('dropped', 'needs a step after the position');
  const asked = await funnelQuery(db, entityId, query, funnel);
  const followed = [...new Set([...asked.appIds, id])];
  const after = { position: query.position, onlyDropped: query.dropped ?? false, followed };
  const found = await heavyReads.within(
    caller,
    hungUp(),
    (signal) => exploreFunnel(db, entityId, asked.query, { ...after, signal }),
    asked.kind,
  );
  const apps = await listAppsById(db, entityId, followed);
  const names = await listDisplayNames(db, entityId, followed);
  const result = found.map(({ appId, logType, name, ...total }) => ({
    application_id: apps.get(appId)!.identifier,
    log_type: logType,
    log_name: name,
    display_name: names({ appId, logType, name }),
    ...completions(total, asked),
  }));
  return estimated(result, query.mode);
});

const people = route(api.listFunnelPeople, async ({ query, body: { funnel }, ...who }, { db, secrets, heavyReads }) => {
  const { entityId } = who.caller;
  await requireApp(db, entityId, query.app_id);
  const { step, outcome } = query;
  const first = outcome === 'dropped' ? 1 : 0;
  const last = funnel.steps.length - 1;
  if (step < first || step > last) refuseField('step', `must be the number of a step, from ${first} to ${last}`);
  const asked = await funnelQuery(db, entityId, query, funnel);
  const found = await heavyReads.within(
    who.caller,
    who.hungUp(),
    (signal) =>
      listPeopleOfStep(db, entityId, asked.query, {
        outcome: { step, outcome },
        limit: api.MAX_FUNNEL_PEOPLE,
        signal,
      }),
    asked.kind,
  );
  const hashes = found.listed.map(({ person }) =>
    secrets.customerHash(entityId, person.startsWith('u') ? 'user_id' : 'device_id', person.slice(1)),
  );
  await audit(db, who, {
    action: 'read',
    subjectKind: 'funnel',
    details: { app: query.app_id, people: hashes.length },
  });
  await auditReads(db, who, hashes, { what: 'people of a funnel' });
  return {
    ...estimateOf(found.people, asked),
    people: found.listed.map(({ person, at }) => ({
      user_id: person.startsWith('u') ? person.slice(1) : null,
      device_id: person.startsWith('d') ? person.slice(1) : null,
      last_completed_at: at.toISOString(),
    })),
  };
});

type StatsQuery = { from: string; till: string; mode: 'accurate' | 'fast'; aliases?: boolean | undefined };
type AskedFunnel = { max_duration: number; steps: FunnelStep[]; exclusions?: FunnelExclusion[] | undefined };

/** `kind`: of its places. The mode `fast` is exact for apps with few people. */
type AskedQuery = { query: FunnelQuery; appIds: number[]; kind: HeavyRead };

async function funnelQuery(
  db: Queryable,
  entityId: number,
  { from, till, mode, aliases = false }: StatsQuery,
  funnel: AskedFunnel,
): Promise<AskedQuery> {
  if (from > till) refuseField('till', `must not be before from, ${from}`);
  const { appIds, ...steps } = await resolveSteps(db, entityId, funnel, 'funnel.');
  const period = { from: new Date(from), until: new Date(Date.parse(till) + DAY_MS) };
  const read = { appIds, reads: [{ appIds, ...period }], sessions: SHARDS };
  const sample = mode === 'fast' ? await chooseSample(db, entityId, read) : null;
  return {
    appIds,
    kind: sample ? 'fast' : 'exact',
    query: {
      ...steps,
      ...period,
      maxSeconds: funnel.max_duration,
      aliases,
      sample,
      breakdown: null,
    },
  };
}

const OF_DETAIL = 'detail.';

function breakdownOf(given: string): Breakdown {
  if (given.startsWith(OF_DETAIL) && given.length > OF_DETAIL.length) return { detail: given.slice(OF_DETAIL.length) };
  if (given === 'week') return { week: true };
  const fields: readonly string[] = BREAKDOWN_FIELDS;
  if (fields.includes(given)) return { device: given as BreakdownField };
  return refuseField('breakdown', sayUnknown(given, [...fields, 'week', 'detail.<member>']));
}

const timesCounted = ({ query: { sample } }: Pick<AskedQuery, 'query'>) => (sample ? peoplePerSampled(sample) : 1);

function completions({ people, seconds }: Pick<StepTotal, 'people' | 'seconds'>, asked: AskedQuery) {
  return { ...estimateOf(people, asked), average_duration: people === 0 ? null : seconds / people };
}

function estimateOf(people: number, asked: AskedQuery) {
  const times = timesCounted(asked);
  return {
    completions: people * times,
    completions_error: times === 1 ? 0 : sampleError(people, times),
    exact: times === 1,
  };
}

function shareOf({ people }: StepTotal, { people: first }: StepTotal): Pick<api.FunnelStats, 'share' | 'share_error'> {
  if (first === 0) return { share: null, share_error: null };
  const share = people / first;
  const { middle, half } = shareInterval(people, first);
  return { share, share_error: half + Math.abs(middle - share) };
}

function timesOf(times: DurationCounts | undefined, asked: AskedQuery): api.FunnelTimes | null {
  const median = times?.quantile(0.5) ?? null;
  if (!times || median === null) return null;
  return {
    median,
    nine_in_ten: times.quantile(0.9)!,
    histogram: times.histogram().map((bar) => ({ ...bar, people: bar.people * timesCounted(asked) })),
  };
}

/** Also tells the errors in a header, where `fast` was asked for. */
function estimated<T extends { completions_error: number }>(result: T[], mode: StatsQuery['mode']): T[] | Reply {
  if (mode === 'accurate') return result;
  const errors = result.map(({ completions_error: error }) => error).join(', ');
  return new Reply({ success: true, result }, 200, { ...JSON_HEADERS, 'x-funnel-error': errors });
}

export const funnelStatsRoutes: Route[] = [quickStats, storedStats, explore, people];
