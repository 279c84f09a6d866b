/** The routes of an app's event analytics. */

import * as api from '../../api/analytics/event-analytics.ts';
import { type DayPeriod, lastDays, readDayPeriod } from '../../domain/analytics/day-period.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { DAY_SECONDS } from '../../domain/time/durations.ts';
import { countEventHits, type EventHits, hitsKey } from '../../store/analytics/event-hits.ts';
import { listEventValues } from '../../store/analytics/event-values.ts';
import { type AppDay, countAppDays } from '../../store/analytics/usage.ts';
import { findErasedTexts } from '../../store/gdpr/erased-texts.ts';
import { type EventDefinition, listEventDefinitions, MAX_DEFINITIONS } from '../../store/tracking/event-definitions.ts';
import { requireApp } from '../apps/find-app.ts';
import { type Route, route } from '../http/route.ts';

const countEvents = route(
  api.countAppEvents,
  async ({ params, query, hungUp, caller, caller: { entityId } }, { db, heavyReads }) => {
    const app = await requireApp(db, entityId, params.app_identifier);
    const period = readDayPeriod(query) ?? refuse(404, '400', 'Missing start date');
    const before = query.only_current ? null : periodBefore(period);
    const { current, previous } = await heavyReads.within(caller, hungUp(), async (signal) => ({
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

const countDays = route(
  api.countAppDays,
  async ({ params, query, hungUp, caller, caller: { entityId } }, { db, heavyReads }) => {
    const app = await requireApp(db, entityId, params.app_identifier);
    const period = readDayPeriod(query) ?? refuse(404, '400', 'Missing start date');
    const { aliases = false, people: withPeople = true, only_current: onlyCurrent = false } = query;
    return heavyReads.within(caller, hungUp(), async (signal) => {
      const countIn = async (days: DayPeriod) =>
        showPeriod(await countAppDays(db, entityId, app.id, { ...days, aliases, withPeople }, signal), withPeople);
      return {
        current: await countIn(period),
        ...(!onlyCurrent && { previous: await countIn(periodBefore(period)) }),
      };
    });
  },
);

function showPeriod({ days, people }: { days: AppDay[]; people: number }, withPeople: boolean): api.AppPeriod {
  return {
    days: days.map(({ people: ofDay, newDevices, ...day }) => ({
      ...day,
      ...(withPeople && { people: ofDay }),
      new_devices: newDevices,
    })),
    ...(withPeople && { people }),
  };
}

/** The days that count without a period. */
const DEFAULT_DAYS = 30;

const listValues = route(
  api.listEventValues,
  async ({ params, query, hungUp, caller, caller: { entityId } }, { db, secrets, heavyReads }) => {
    const app = await requireApp(db, entityId, params.app_identifier);
    const period = readDayPeriod(query) ?? lastDays(new Date(), DEFAULT_DAYS);
    const event = { logType: Number(query.log_type ?? 2), name: query.name };
    const { events, isWhole, members } = await heavyReads.within(caller, hungUp(), (signal) =>
      listEventValues(db, entityId, app.id, event, period, signal),
    );
    const texts = [...new Set(members.flatMap(({ key, values }) => [key, ...values.map(({ value }) => value)]))];
    // Events of others may name an erased person.
    const named = await findErasedTexts(db, secrets, entityId, texts, { byWords: true });
    const erased = new Set([...named.keys()].map((index) => texts[index]));
    return {
      events,
      is_whole: isWhole,
      members: members
        .filter(({ key }) => !erased.has(key))
        .map(({ key, events: withKey, values, otherValues }) => {
          const shown = values.filter(({ value }) => !erased.has(value));
          return { key, events: withKey, values: shown, other_values: otherValues + values.length - shown.length };
        }),
    };
  },
);

export const eventAnalyticsRoutes: Route[] = [countEvents, countDays, listValues];

function periodBefore({ from, until }: DayPeriod): DayPeriod {
  return { from: new Date(2 * from.getTime() - until.getTime()), until: from };
}
