/** Usage of apps by day in UTC (reference: Data exports, 4), and the occurrences of a crash on a day (Crashes). */

import { type DayPeriod, daysOf } from '../../../domain/analytics/day-period.ts';
import type { Cell } from '../../../domain/files/cell.ts';
import { type Crash, listCrashOccurrences } from '../../analytics/crash-occurrences.ts';
import { listAppDays, listEventCounts, listEventDetails } from '../../analytics/usage.ts';
import type { FileSource } from '../file-source.ts';

/** `until` is the midnight after the last day. */
type Period = { from: string; until: string; aliases?: boolean };
export type PerformanceQuery = Period & { apps: readonly { id: number; identifier: string }[] };
export type EventCountsQuery = Period & { appId: number };
export type EventDetailsQuery = Period & { appId: number; event: { id: number; logType: number; name: string } };
export type CrashOccurrencesQuery = Period & { crash: Crash };

/** One row an app and day, also a day without events. */
export const performance: FileSource<PerformanceQuery> = {
  columns: ['application_id', 'date', 'sessions', 'people', 'crashes', 'new_devices'],
  numbers: ['sessions', 'people', 'crashes', 'new_devices'],
  async *rows(db, entityId, { apps, ...period }) {
    for (const app of apps) {
      yield* batchesOf(
        listAppDays(db, entityId, app.id, periodOf(period)),
        ({ date, sessions, people, crashes, newDevices }) => [
          app.identifier,
          date,
          sessions,
          people,
          crashes,
          newDevices,
        ],
      );
    }
  },
};

export const eventCounts: FileSource<EventCountsQuery> = {
  columns: ['date', 'event_id', 'name', 'display_name', 'log_type', 'hits', 'people', 'sessions'],
  numbers: ['event_id', 'log_type', 'hits', 'people', 'sessions'],
  async *rows(db, entityId, { appId, ...period }) {
    for (const day of eachDay(period)) {
      yield* batchesOf(
        listEventCounts(db, entityId, appId, day),
        ({ eventId, name, displayName, logType, hits, people, sessions }) => [
          dateOf(day),
          eventId,
          name,
          displayName ?? name,
          logType,
          hits,
          people,
          sessions,
        ],
      );
    }
  },
};

/** One row a day, member of the event's detail, and value; a plain text has an empty key. */
export const eventDetails: FileSource<EventDetailsQuery> = {
  columns: ['date', 'event_id', 'name', 'key', 'value', 'hits', 'people', 'sessions'],
  numbers: ['event_id', 'hits', 'people', 'sessions'],
  async *rows(db, entityId, { appId, event, ...period }) {
    for (const day of eachDay(period)) {
      yield* batchesOf(listEventDetails(db, entityId, appId, event, day), ({ key, value, hits, people, sessions }) => [
        dateOf(day),
        event.id,
        event.name,
        key,
        value,
        hits,
        people,
        sessions,
      ]);
    }
  },
};

export const crashOccurrences: FileSource<CrashOccurrencesQuery> = {
  columns: ['id', 'date'],
  numbers: [],
  rows: (db, entityId, { crash, ...period }) =>
    batchesOf(listCrashOccurrences(db, entityId, crash, periodOf(period)), ({ id, at }) => [
      id,
      at.toISOString().slice(0, 10),
    ]),
};

const periodOf = ({ from, until, aliases = false }: Period) => ({
  from: new Date(from),
  until: new Date(until),
  aliases,
});

function* eachDay(period: Period) {
  for (const day of daysOf(periodOf(period))) yield { ...day, aliases: period.aliases ?? false };
}

const dateOf = ({ from }: DayPeriod): string => from.toISOString().slice(0, 10);

const BATCH_ROWS = 1_000;

async function* batchesOf<Row>(rows: AsyncIterable<Row>, cellsOf: (row: Row) => Cell[]): AsyncGenerator<Cell[][]> {
  let batch: Cell[][] = [];
  for await (const row of rows) {
    batch.push(cellsOf(row));
    if (batch.length < BATCH_ROWS) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
