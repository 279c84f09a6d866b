import * as api from '../../api/attributes/customer-profiles.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { findScanStart, isLogKept } from '../../store/attributes/attribute-change-log.ts';
import { listChangedCustomers, type ScanCursor } from '../../store/attributes/changed-customers.ts';
import { addPendingCustomers, countCustomers, listCustomers } from '../../store/attributes/customers.ts';
import { streamProfileValues } from '../../store/attributes/profile-values.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { listApplications } from '../../store/tracking/installations.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import { type Reply, streamedList, streamedResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import type { AskedProfiles } from './profile-audit.ts';
import { type ChangesCursor, nextUrl, openAllCursor, openChangesCursor } from './profile-cursor.ts';
import { refuseParam } from './profile-query.ts';
import { type Applications, changedProfiles, fullProfiles } from './profile-record.ts';
import { findProfileSelection, type ProfileSelection } from './profile-selection.ts';

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

type Changes = ReturnType<typeof streamProfileValues>;

/** A page of what changed since a date. */
async function listProfileChanges(asked: AskedProfiles, deps: RouteDependencies, since: Date): Promise<Reply> {
  const {
    caller: { entityId },
    query,
  } = asked;
  const filter = { customerType: query.customer_id_type ?? null, customerIds: query.customer_ids ?? null };
  const cursor = openChangesCursor(deps.secrets, entityId, query);
  const scan = cursor ?? (await begin(deps.db, since, filter.customerIds !== null));
  if (scan.log === undefined) await addPendingCustomers(deps.db, entityId);
  const { selection, changed, next } = await write(deps.db, async (tx) => {
    // A scan that was left lying until the log forgot what it was to read next.
    if (cursor?.log && !(await isLogKept(tx, cursor.log.receivedAt))) refuseParam('cursor', 'is too old: begin again');
    const selected = await findProfileSelection(tx, entityId, query);
    const from = scan.log === undefined ? { after: scan.after ?? null } : { log: scan.log };
    const page = await listChangedCustomers(
      tx,
      entityId,
      { ...scan, filter, selection: selected.values },
      from,
      query.num_per_page,
    );
    await auditPage(tx, asked, deps, page.changed.length);
    return { selection: selected, ...page };
  });
  const found = streamProfileValues(deps.db, entityId, changed, selection.values);
  const applications = await listApplications(deps.db, entityId, changed);
  return streamedResult('profiles', withChanges(found, selection, applications), {
    updated_until: scan.until,
    next: next && nextUrl(deps, entityId, query, moved(scan, next)),
  });
}

/** By the change log, unless it does not reach back so far, or some customers are asked for by name. */
async function begin(db: Queryable, date: Date, isByName: boolean): Promise<ChangesCursor> {
  const since = date.toISOString();
  const { now, until, isLogged } = await findScanStart(db, since);
  return { since, until, upTo: now, ...(isLogged && !isByName ? { log: null } : {}) };
}

function moved({ since, until, upTo }: ChangesCursor, cursor: ScanCursor): ChangesCursor {
  return { since, until, upTo, ...('log' in cursor ? { log: cursor.log } : { after: cursor.after ?? undefined }) };
}

/** Nobody of whom nothing that is selected changed. */
async function* withChanges(found: Changes, selection: ProfileSelection, applications: Applications) {
  const show = changedProfiles(selection, applications);
  for await (const one of found) if (one.values.length > 0) yield show(one);
}

/** Those who are asked for by name are written down one by one, a page of anybody as one entry. */
async function auditPage(
  tx: Tx,
  { query, ...who }: AskedProfiles,
  { secrets }: RouteDependencies,
  profiles: number,
): Promise<void> {
  const { customer_ids: ids, customer_id_type: type } = query;
  if (!ids) return audit(tx, who, { action: 'read', subjectKind: 'customer', details: { profiles } });
  const hashes = ids.flatMap((id) =>
    (type ? [type] : CUSTOMER_TYPES).map((each) => secrets.customerHash(who.caller.entityId, each, id)),
  );
  return auditReads(tx, who, hashes, { profiles });
}
