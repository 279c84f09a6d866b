/** The route of an app's event analytics. */

import * as api from '../../api/analytics/event-analytics.ts';
import { type DayPeriod, readDayPeriod } from '../../domain/analytics/day-period.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { DAY_SECONDS } from '../../domain/time/durations.ts';
import { countEventHits, type EventHits, hitsKey } from '../../store/analytics/event-hits.ts';
import { type EventDefinition, listEventDefinitions, MAX_DEFINITIONS } from '../../store/tracking/event-definitions.ts';
import { requireApp } from '../apps/find-app.ts';
import { type Route, route } from '../http/route.ts';

const countEvents = route(
  api.countAppEvents,
  async ({ params, query, hungUp, caller: { entityId } }, { db, heavyReads }) => {
    const app = await requireApp(db, entityId, params.app_identifier);
    const period = readDayPeriod(query) ?? refuse(404, '400', 'Missing start date');
    const before = query.only_current ? null : periodBefore(period);
    const { current, previous } = await heavyReads.within(entityId, hungUp(), async (signal) => ({
      current: await countEventHits(db, entityId, app.id, period, signal),
      previous: before && (await countEventHits(db, entityId, app.id, before, signal)),
    }));
    const { items } = await listEventDefinitions(db, entityId, app.id, { offset: 0, limit: MAX_DEFINITIONS });
    return {
      [app.identifier]: items.map((definition) =>
        showEvent(definition, {
          current: showHits(period, current.get(hitsKey(definition))),
          ...(before && previous && { previous: showHits(before, previous.get(hitsKey(definition))) }),
        }),
      ),
    };
  },
);

function showEvent(
  { id, logType, name, displayName, goal, labels }: EventDefinition,
  hits: api.EventAnalytics['hits'],
): api.EventAnalytics {
  return { identifier: id, log_type: logType, display_name: displayName ?? name, name, goal, labels, hits };
}

function showHits({ from, until }: DayPeriod, hits: EventHits | undefined): api.EventAnalytics['hits']['current'] {
  const days = [...(hits?.days ?? [])].toSorted(([a], [b]) => a - b);
  return {
    period: [from.getTime() / 1_000, until.getTime() / 1_000 - DAY_SECONDS],
    values: Object.fromEntries(days.map(([day, count]) => [String(day), count])),
    sessions: hits?.sessions ?? 0,
  };
}

export const eventAnalyticsRoutes: Route[] = [countEvents];

function periodBefore({ from, until }: DayPeriod): DayPeriod {
  return { from: new Date(2 * from.getTime() - until.getTime()), until: from };
}
