/** The routes of one crash: what it is and when it occurred. */

import * as api from '../../api/analytics/crashes.ts';
import { lastDays, readDayPeriod } from '../../domain/analytics/day-period.ts';
import { refuse } from '../../domain/core/refusal.ts';
import {
  type Crash,
  findCrash,
  findCrashRecord,
  listCrashOccurrences,
  summarizeCrash,
} from '../../store/analytics/crash-occurrences.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Caller } from '../http/caller.ts';
import { bare, streamedRows } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

/** Returns a crash that the caller may see. Without the right its app counts as unknown (reference: Crashes, 1). */
export async function requireCrash(db: Queryable, { entityId, rights }: Caller, identifier: string): Promise<Crash> {
  if (!rights.has('crashes_view')) refuse(404, 'not_found', 'You have no access to this app crash');
  return (await findCrash(db, entityId, identifier)) ?? refuse(404, 'not_found', 'Crash not found');
}

const listOccurrences = route(api.listCrashOccurrences, async ({ params, caller }, { db }) => {
  const crash = await requireCrash(db, caller, params.crash_identifier);
  const occurrences = listCrashOccurrences(db, caller.entityId, crash, { from: null, until: null });
  const start = JSON.stringify({ loading: [false], job_id: null, success: true, result: [] }).slice(0, -']}'.length);
  return bare(await streamedRows(start, shown(occurrences), () => ']}'));
});

async function* shown(occurrences: ReturnType<typeof listCrashOccurrences>) {
  for await (const { id, at } of occurrences) yield { id, date: at.toISOString().slice(0, 10) };
}

/** The days that count without a period. */
const DEFAULT_DAYS = 30;

const viewCrash = route(api.viewCrash, async ({ params, query, hungUp, caller }, { db, heavyReads }) => {
  const { entityId } = caller;
  const period = readDayPeriod(query) ?? lastDays(new Date(), DEFAULT_DAYS);
  const crash = await requireCrash(db, caller, params.crash_identifier);
  const record = (await findCrashRecord(db, entityId, crash)) ?? refuse(404, 'not_found', 'Crash not found');
  const { days, lookedAt, devices, shares, sampleEventId } = await heavyReads.within(caller, hungUp(), (signal) =>
    summarizeCrash(db, entityId, crash, period, signal),
  );
  return {
    identifier: crash.identifier,
    title: record.title,
    first_seen_at: record.firstSeenAt.toISOString(),
    last_seen_at: record.lastSeenAt.toISOString(),
    occurrences: record.occurrences,
    application_id: record.app,
    days,
    looked_at: lookedAt,
    devices,
    app_versions: shares.app_version,
    os_versions: shares.os_version,
    device_models: shares.device_model,
    sample_event_id: sampleEventId,
  };
});

export const crashRoutes: Route[] = [viewCrash, listOccurrences];
