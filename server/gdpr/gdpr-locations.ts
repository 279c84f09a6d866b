import * as api from '../../api/gdpr/gdpr-locations.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { featureOf, personalData } from '../../store/gdpr/personal-data-registry.ts';
import type { GdprRequest } from '../../store/gdpr/request-record.ts';
import { findGdprRequest } from '../../store/gdpr/requests.ts';
import { type Route, route } from '../http/route.ts';

const listLocations = route(api.listPersonalDataLocations, async ({ query: { request_id }, caller }, { db }) => {
  const request = request_id === undefined ? null : await requireDeletion(db, caller.entityId, request_id);
  return {
    locations: personalData.map(({ name, holds, foundBy, erasedBy, keptFor, erase }) => ({
      name,
      feature: featureOf(name),
      holds,
      found_by: foundBy,
      erased_by: erasedBy,
      kept_for: keptFor,
      is_erased: erase !== null,
      ...(request && countsIn(request, name)),
    })),
  };
});

async function requireDeletion(db: Queryable, entityId: number, requestId: string): Promise<GdprRequest> {
  const request =
    (await findGdprRequest(db, entityId, requestId)) ??
    refuse(404, 'not_found', 'Request not found, or its week is over');
  if (request.type !== 'delete') refuseField('request_id', 'must be a deletion: a request for access erases nothing');
  return request;
}

/** Survivors name only the locations in which the scan found some. */
function countsIn({ erased, survivors, lookedAt }: GdprRequest, name: string) {
  return { erased: erased[name] ?? null, survivors: lookedAt === null ? null : (survivors[name] ?? 0) };
}

export const gdprLocationRoutes: Route[] = [listLocations];
