import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { countGdprRequests, findGdprRequest, listGdprRequests } from '../../store/gdpr/requests.ts';
import { audit } from '../http/audit.ts';
import { identifier } from '../http/input.ts';
import { pageOf, rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { ListQuery } from './gdpr-body.ts';
import { listItems, RequestItem, RequestView, viewRequest } from './gdpr-record.ts';

/** Requests of either type, however they came. */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage', method: 'GET' } as const;
const PATH = '/api/gdpr/requests';

const listRequests = route({
  ...SHARED,
  path: PATH,
  summary: 'List requests for data and deletion, newest first',
  query: ListQuery,
  result: pageOf(RequestItem),
  async handle({ query, caller: { entityId } }, { db, settings }) {
    const { type, state, source, ...page } = query;
    const filter = { type: type ?? null, state: state ?? null, source: source ?? null };
    const total = await countGdprRequests(db, entityId, filter);
    const items = await listItems(db, entityId, await listGdprRequests(db, entityId, filter, rowsOf(page)));
    const filtered = Object.entries(filter).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    return showPage(settings, [PATH, filtered.join('&')].filter(Boolean).join('?'), page, total, items);
  },
});

const viewTheRequest = route({
  ...SHARED,
  path: `${PATH}/:request_id`,
  summary: 'Get the status of any request, for access or deletion',
  params: z.object({ request_id: identifier }),
  result: RequestView,
  async handle({ params: { request_id }, ...who }, deps) {
    return write(deps.db, async (tx) => {
      const asked = await findGdprRequest(tx, who.caller.entityId, request_id)
        ?? refuse(404, 'not_found', 'Request not found, or its week is over');
      await audit(tx, who, { action: 'read', subjectKind: 'gdpr_request', subject: asked.identifier });
      return viewRequest(tx, deps, asked);
    });
  },
});

export const gdprRequestRoutes: Route[] = [listRequests, viewTheRequest];
