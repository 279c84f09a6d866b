import * as api from '../../api/analytics/crashes.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type Crash, findCrash, listCrashOccurrences } from '../../store/analytics/crash-occurrences.ts';
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

export const crashRoutes: Route[] = [listOccurrences];
