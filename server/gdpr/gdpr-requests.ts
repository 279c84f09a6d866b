import * as api from '../../api/gdpr/gdpr.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { countGdprRequests, findGdprRequest, listGdprRequests } from '../../store/gdpr/requests.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { listItems, viewRequest } from './gdpr-record.ts';

const listRequests = route(api.listGdprRequests, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { type, state, source, ...page } = query;
  const filter = { type: type ?? null, state: state ?? null, source: source ?? null };
  const total = await countGdprRequests(db, entityId, filter);
  const items = await listItems(db, entityId, await listGdprRequests(db, entityId, filter, rowsOf(page)));
  const filtered = Object.entries(filter).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
  return showPage(settings, [api.listGdprRequests.path, filtered.join('&')].filter(Boolean).join('?'), page, total, items);
});

const viewTheRequest = route(api.viewGdprRequest, async ({ params: { request_id }, ...who }, deps) => {
  return write(deps.db, async (tx) => {
    const asked = await findGdprRequest(tx, who.caller.entityId, request_id)
      ?? refuse(404, 'not_found', 'Request not found, or its week is over');
    await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
    return viewRequest(tx, deps, asked);
  });
});

export const gdprRequestRoutes: Route[] = [listRequests, viewTheRequest];
