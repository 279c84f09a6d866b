/** Customer profiles: their list, and the changes since a date. */
import { z } from 'zod';
import * as api from '../../api/attributes/customer-profiles.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { findScanStart, isLogKept } from '../../store/attributes/attribute-change-log.ts';
import { listChangedCustomers, type ScanCursor } from '../../store/attributes/changed-customers.ts';
import { addPendingCustomers, countCustomers, listCustomers } from '../../store/attributes/customers.ts';
import { type ProfileValue, streamProfileValues } from '../../store/attributes/profile-values.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { type Person, personKey } from '../../store/gdpr/tombstones.ts';
import { type Application, listApplications } from '../../store/tracking/installations.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { JsonText, rawNumber, type Reply, streamedList, streamedResult } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { openSealedCursor } from '../http/sealed-cursor.ts';
import {
  findProfileSelection,
  type ProfileListQuery,
  type ProfileSelection,
  refuseParam,
} from './profile-selection.ts';

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
    // The log no longer has the next entries of the scan.
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

/** Begins with the change log, unless it does not reach back far enough or customers are named. */
async function begin(db: Queryable, date: Date, isByName: boolean): Promise<ChangesCursor> {
  const since = date.toISOString();
  const { now, until, isLogged } = await findScanStart(db, since);
  return { since, until, upTo: now, ...(isLogged && !isByName ? { log: null } : {}) };
}

function moved({ since, until, upTo }: ChangesCursor, cursor: ScanCursor): ChangesCursor {
  return { since, until, upTo, ...('log' in cursor ? { log: cursor.log } : { after: cursor.after ?? undefined }) };
}

async function* withChanges(found: Changes, selection: ProfileSelection, applications: Applications) {
  const show = changedProfiles(selection, applications);
  for await (const one of found) if (one.values.length > 0) yield show(one);
}

/** Audits named customers one by one, any other page as one entry. */
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

type AskedProfiles = Circumstances & { query: ProfileListQuery; caller: Caller };

const Customer = z.object({ customerType: z.enum(CUSTOMER_TYPES), customerId: z.string() });

const AllCursor = z.object({ after: Customer, total: z.int(), page: z.int() });

/** Cursor of a scan over changes, with times as Postgres writes them. `until`: next start; `upTo`: this scan's end. */
const ChangesCursor = z.object({
  since: z.string(),
  until: z.string(),
  upTo: z.string(),
  log: z.object({ receivedAt: z.string(), id: z.int(), ordinal: z.int() }).nullish(),
  after: Customer.optional(),
});

type AllCursor = z.output<typeof AllCursor>;
type ChangesCursor = z.output<typeof ChangesCursor>;

/**
 * Seals a cursor, which has a customer's id, since logs contain URLs. It opens only with its own filters: with others a
 * page would show people that the audit log does not name.
 */
function cell(entityId: number, query: ProfileListQuery) {
  return { table: 'customer_profiles', column: 'next', entityId, row: JSON.stringify(filtersOf(query)) };
}

function filtersOf({ page: _page, num_per_page: _perPage, cursor: _cursor, ...filters }: ProfileListQuery) {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function nextUrl(
  { secrets, settings }: { secrets: Secrets; settings: { publicUrl: string } },
  entityId: number,
  query: ProfileListQuery,
  cursor: AllCursor | ChangesCursor,
): string {
  const asked = { ...query, updated_since: query.updated_since?.toISOString(), page: undefined, cursor: undefined };
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    if (value !== undefined) next.set(name, String(value));
  }
  if ('page' in cursor) next.set('page', String(cursor.page));
  next.set('cursor', secrets.seal(JSON.stringify(cursor), cell(entityId, query)));
  return `${settings.publicUrl}/api/customer_profiles?${next.toString()}`;
}

const openAllCursor = opener(AllCursor);
const openChangesCursor = opener(ChangesCursor);

/** Returns null without a cursor. Refuses one sealed for another entity, query or kind of scan. */
function opener<S extends z.ZodType>(schema: S) {
  return (secrets: Secrets, entityId: number, query: ProfileListQuery): z.output<S> | null => {
    if (query.cursor === undefined) return null;
    return (
      openSealedCursor(secrets, cell(entityId, query), schema, query.cursor) ??
      refuseParam('cursor', 'is none that `next` gave for this list')
    );
  };
}

type Found = { customer: Person; values: ProfileValue[] };
type Applications = ReadonlyMap<string, readonly Application[]>;
type Members = Record<string, Record<string, unknown>>;

/** Shows all selected attributes, as JSON: building objects and JSON.stringify took a third of a page's time. */
function fullProfiles({ sors }: ProfileSelection, applications: Applications): (found: Found) => JsonText {
  const shapes = sors.map(({ name, attributes }) => ({
    name: JSON.stringify(name),
    keys: attributes.map(({ key }) => `${JSON.stringify(key)}:`),
  }));
  const places = new Map(
    sors.flatMap(({ attributes }, sor) =>
      attributes.map(({ id, valueType }, at) => [id, { sor, at, valueType }] as const),
    ),
  );
  return ({ customer, values }) => {
    const texts = shapes.map(({ keys }) => keys.map((key) => `${key}null`));
    for (const value of values) {
      if (value.isRemoved) continue;
      const { sor, at, valueType } = places.get(value.attributeId)!;
      texts[sor]![at] = shapes[sor]!.keys[at]! + valueText(valueType, value);
    }
    const attributes = shapes.map(({ name }, sor) => `${name}:{${texts[sor]!.join(',')}}`).join(',');
    return new JsonText(
      `{"customer_id":${JSON.stringify(customer.customerId)},"customer_id_type":"${customer.customerType}",` +
        `"attributes":{${attributes}},"applications":${JSON.stringify(shownApplications(customer, applications))}}`,
    );
  };
}

function valueText(valueType: ValueType, stored: ProfileValue): string {
  const isBare =
    typeof stored.value === 'string' && stored.elements === null && (valueType === 'Number' || valueType === 'Boolean');
  return isBare ? (stored.value as string) : JSON.stringify(showValue(valueType, stored));
}

export function changedProfiles(
  { sors }: ProfileSelection,
  applications: Applications,
): (found: Found) => api.CustomerProfile {
  const places = placesOf(sors);
  return ({ customer, values }) => {
    const members: Members = blank();
    members.global = blank();
    for (const value of values) {
      const place = places.get(value.attributeId)!;
      members[place.sor] ??= blank();
      members[place.sor]![place.key] = { value: showValue(place.valueType, value), removed: value.isRemoved };
    }
    return record(customer, members, applications);
  };
}

function placesOf(sors: ProfileSelection['sors']): Map<number, { sor: string; key: string; valueType: ValueType }> {
  return new Map(
    sors.flatMap(({ name, attributes }) =>
      attributes.map(({ id, key, valueType }) => [id, { sor: name, key, valueType }] as const),
    ),
  );
}

/** Returns an object without a prototype, so that a key such as __proto__ is a member. */
function blank<T extends object>(): T {
  return Object.create(null) as T;
}

function record(customer: Person, attributes: Members, applications: Applications) {
  const { customerId, customerType } = customer;
  return {
    customer_id: customerId,
    customer_id_type: customerType,
    attributes,
    applications: shownApplications(customer, applications),
  };
}

function shownApplications(customer: Person, applications: Applications) {
  return (applications.get(personKey(customer)) ?? []).map(({ appIdentifier, sorIdentifier, deviceIds }) => ({
    app_id: appIdentifier,
    sor_id: sorIdentifier,
    installations: deviceIds.map((id) => ({ device_id: id })),
  }));
}

function showValue(valueType: ValueType, { value, elements }: ProfileValue): unknown {
  if (elements || value === null) return elements;
  if (typeof value === 'number') return new Date(value).toISOString();
  switch (valueType) {
    case 'Number':
      return rawNumber(value);
    case 'Boolean':
      return value === 'true';
    default:
      return value;
  }
}
