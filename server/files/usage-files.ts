/** The routes of files about the usage of apps. */

import * as api from '../../api/files/usage-files.ts';
import { type DayPeriod, lastDays, lastDaysOfPreviousMonth, readDayPeriod } from '../../domain/analytics/day-period.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { App } from '../../store/apps/apps.ts';
import { findEventDefinition } from '../../store/tracking/event-definitions.ts';
import { requireCrash } from '../analytics/crashes.ts';
import { requireApp, requireAppOf } from '../apps/find-app.ts';
import type { Route } from '../http/route.ts';
import { fileRoutes } from './file-routes.ts';

const requirePeriod = (query: { sd?: string | undefined; ed?: string | undefined }): DayPeriod =>
  readDayPeriod(query) ?? refuse(404, '400', 'Missing start date');

const asText = ({ from, until }: DayPeriod) => ({ from: from.toISOString(), until: until.toISOString() });

/** Adds `aliases` only if requested, so that older queries stay equal. */
const withAliases = ({ aliases }: { aliases?: boolean | undefined }) => (aliases ? { aliases } : {});

function performanceOf<Kind extends 'performance' | 'download_metrics'>(
  kind: Kind,
  apps: readonly App[],
  period: DayPeriod,
  query: { aliases?: boolean | undefined },
) {
  return {
    kind,
    query: { apps: apps.map(({ id, identifier }) => ({ id, identifier })), ...asText(period), ...withAliases(query) },
    audits: apps.map((app) => auditOf(app, kind)),
  };
}

function auditOf({ identifier }: App, what: string) {
  return { subjectKind: 'app' as const, subject: identifier, details: { what } };
}

const performance = fileRoutes(api.exportPerformance, async ({ query, caller: { entityId } }, { db }) => {
  const period = requirePeriod(query);
  const apps: App[] = [];
  for (const identifier of new Set(query.apps)) apps.push(await requireAppOf(db, entityId, 'apps', identifier));
  return performanceOf('performance', apps, period, query);
});

const downloadMetrics = fileRoutes(
  api.exportDownloadMetrics,
  async ({ params, query, caller: { entityId } }, { db }) => {
    const app = await requireApp(db, entityId, params.app_identifier);
    return performanceOf('download_metrics', [app], requirePeriod(query), query);
  },
);

const eventCounts = fileRoutes(api.exportEventCounts, async ({ query, caller: { entityId } }, { db }) => {
  const period = readDayPeriod(query) ?? lastDays(new Date());
  const app = await requireAppOf(db, entityId, 'app', query.app);
  return {
    kind: 'event_counts',
    query: { appId: app.id, ...asText(period), ...withAliases(query) },
    audits: [auditOf(app, 'event_counts')],
  };
});

const eventDetails = fileRoutes(api.exportEventDetails, async ({ query, caller: { entityId } }, { db }) => {
  const period = readDayPeriod(query) ?? lastDaysOfPreviousMonth(new Date());
  const app = await requireAppOf(db, entityId, 'app', query.app);
  const event = await findEventDefinition(db, entityId, app.id, query.event_id);
  if (!event) {
    const message = 'Event not found';
    return refuse(404, 'not_found', message, { messages: [{ element: 'event_id', severity: 'error', message }] });
  }
  const { id, logType, name } = event;
  return {
    kind: 'event_details',
    query: { appId: app.id, event: { id, logType, name }, ...asText(period), ...withAliases(query) },
    audits: [auditOf(app, 'event_details')],
  };
});

const crashOccurrences = fileRoutes(api.exportCrashOccurrences, async ({ params, query, caller }, { db }) => {
  const crash = await requireCrash(db, caller, params.crash_identifier);
  if (query.id !== crash.identifier) refuseField('id', 'must be the crash that the path names');
  const from = new Date(`${query.date}T00:00:00Z`);
  return {
    kind: 'crash_occurrences',
    query: { crash, ...asText({ from, until: new Date(from.getTime() + DAY_MS) }) },
    audits: [{ subjectKind: 'crash', subject: crash.identifier, details: { what: 'occurrences' } }],
  };
});

export const usageFileRoutes: Route[] = [
  ...performance,
  ...downloadMetrics,
  ...eventCounts,
  ...eventDetails,
  ...crashOccurrences,
];
