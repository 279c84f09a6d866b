import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { openSealedCursor } from '../http/sealed-cursor.ts';
import { type ProfileListQuery, refuseParam } from './profile-query.ts';

const Customer = z.object({ customerType: z.enum(CUSTOMER_TYPES), customerId: z.string() });

/** Where a scan over all profiles stands, and how many there were when it began. */
const AllCursor = z.object({ after: Customer, total: z.int(), page: z.int() });

/**
 * Where a scan over changes stands: in the change log, or among the customers. Moments as Postgres writes them.
 * `until`: what a next scan begins with; `upTo`: what came later is not of this one.
 */
const ChangesCursor = z.object({
  since: z.string(),
  until: z.string(),
  upTo: z.string(),
  log: z.object({ receivedAt: z.string(), id: z.int(), ordinal: z.int() }).nullish(),
  after: Customer.optional(),
});

export type AllCursor = z.output<typeof AllCursor>;
export type ChangesCursor = z.output<typeof ChangesCursor>;

/**
 * Sealed: a cursor holds a customer's id, and addresses end up in logs. For the query it was given for: with other
 * filters a page would be of others than those the audit log tells of.
 */
function cell(entityId: number, query: ProfileListQuery) {
  return { table: 'customer_profiles', column: 'next', entityId, row: JSON.stringify(filtersOf(query)) };
}

function filtersOf({ page: _page, num_per_page: _perPage, cursor: _cursor, ...filters }: ProfileListQuery) {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The address of the next page: the same query, and where to go on. */
export function nextUrl(
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

export const openAllCursor = opener(AllCursor);
export const openChangesCursor = opener(ChangesCursor);

/** Null where none came. Refuses what was not sealed for this entity, these filters and this kind of scan. */
function opener<S extends z.ZodType>(schema: S) {
  return (secrets: Secrets, entityId: number, query: ProfileListQuery): z.output<S> | null => {
    if (query.cursor === undefined) return null;
    return (
      openSealedCursor(secrets, cell(entityId, query), schema, query.cursor) ??
      refuseParam('cursor', 'is none that `next` gave for this list')
    );
  };
}
