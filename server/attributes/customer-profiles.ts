import * as api from '../../api/attributes/customer-profiles.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { addPendingCustomers, countCustomers, listCustomers } from '../../store/attributes/customers.ts';
import { streamProfileValues } from '../../store/attributes/profile-values.ts';
import { write } from '../../store/core/database.ts';
import { listApplications } from '../../store/tracking/installations.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { auditReads } from '../http/audit.ts';
import { type Reply, streamedList, streamedResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { type AskedProfiles, auditPage } from './profile-audit.ts';
import { listProfileChanges } from './profile-changes.ts';
import { nextUrl, openAllCursor } from './profile-cursor.ts';
import { fullProfiles } from './profile-record.ts';
import { findProfileSelection } from './profile-selection.ts';

const listProfiles = route(api.listCustomerProfiles, (asked, deps) =>
  asked.query.updated_since ? listProfileChanges(asked, deps, asked.query.updated_since) : listAllProfiles(asked, deps),
);

async function listAllProfiles(asked: AskedProfiles, deps: RouteDependencies): Promise<Reply> {
  const {
    caller: { entityId },
    query,
  } = asked;
  const { num_per_page: perPage } = query;
  const filter = { customerType: query.customer_id_type ?? null, customerIds: query.customer_ids ?? null };
  const cursor = openAllCursor(deps.secrets, entityId, query);
  const page = cursor?.page ?? query.page;
  const start = cursor ? { after: cursor.after } : { offset: (page - 1) * perPage };
  await addPendingCustomers(deps.db, entityId);
  const { selection, total, customers } = await write(deps.db, async (tx) => {
    const found = {
      selection: await findProfileSelection(tx, entityId, query),
      total: cursor?.total ?? (await countCustomers(tx, entityId, filter)),
      customers: await listCustomers(tx, entityId, filter, { ...start, limit: perPage + 1 }),
    };
    await auditPage(tx, asked, deps, Math.min(perPage, found.customers.length));
    return found;
  });
  const shown = customers.slice(0, perPage);
  const next =
    customers.length > perPage ? nextUrl(deps, entityId, query, { after: shown.at(-1)!, total, page: page + 1 }) : null;
  const found = streamProfileValues(deps.db, entityId, shown, selection.values);
  const totals = { total_pages: Math.ceil(total / perPage), total_profiles: total, next };
  const applications = await listApplications(deps.db, entityId, shown);
  return streamedResult('profiles', each(found, fullProfiles(selection, applications)), totals);
}

const readProfile = route(api.viewCustomerProfile, async ({ params, query, ...who }, { db, secrets }) => {
  const { entityId } = who.caller;
  const { customer_id_type: type } = query;
  const filter = { customerType: type ?? null, customerIds: [params.customer_id] };
  await addPendingCustomers(db, entityId);
  const { selection, customers } = await write(db, async (tx) => {
    const hashes = (type ? [type] : CUSTOMER_TYPES).map((each) =>
      secrets.customerHash(entityId, each, params.customer_id),
    );
    await auditReads(tx, who, hashes, {});
    return {
      selection: await findProfileSelection(tx, entityId, query),
      customers: await listCustomers(tx, entityId, filter, { limit: CUSTOMER_TYPES.length }),
    };
  });
  const found = streamProfileValues(db, entityId, customers, selection.values);
  return streamedList(each(found, fullProfiles(selection, await listApplications(db, entityId, customers))));
});

async function* each<T, R>(rows: AsyncIterable<T>, show: (row: T) => R): AsyncGenerator<R> {
  for await (const row of rows) yield show(row);
}

export const customerProfileRoutes: Route[] = [listProfiles, readProfile];
