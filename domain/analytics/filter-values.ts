/** Values in filters and steps of funnels that may name a person: lists them, and removes those of erased people. */

import type { CustomerType } from '../attributes/customer-id.ts';
import { isBound } from './comparison.ts';
import type { DetailPairs, FunnelStep } from './funnel.ts';
import { eachFilter, type FilterBlock, isBlock, type SegmentFilter, type SegmentFilters } from './segment-filters.ts';

export type StoredFilters = SegmentFilters | FunnelStep[];

export type FilterValue = {
  on: 'attributes' | 'devices' | 'details';
  sor: string | null;
  /** An attribute's key, a device's field, or a member of an event's detail. */
  key: string;
  text: string;
};

/** Lists values that are compared for equality. Bounds are left out: `at_least 25` names no person with the id 25. */
export function listFilterValues(stored: StoredFilters): FilterValue[] {
  if (Array.isArray(stored)) return stored.flatMap(detailValues);
  return Array.from(eachFilter(stored), ({ filter }) => ownValues(filter)).flat();
}

function ownValues(filter: SegmentFilter): FilterValue[] {
  if (filter.filter_on === 'events') return detailValues(filter);
  if ((filter.filter_on !== 'attributes' && filter.filter_on !== 'devices') || isBound(filter.operator)) return [];
  const { filter_on: on } = filter;
  const named =
    on === 'attributes' ? { sor: filter.sor_identifier, key: filter.attribute_key } : { sor: null, key: filter.field };
  return filter.values.map((text) => ({ on, ...named, text }));
}

function detailValues({ match_details: details = [] }: Detailed): FilterValue[] {
  return details.flatMap(valuesOf);
}

/** Returns the filters without some values; removes an object of `match_details` as a whole, which narrows them. */
export function removeFilterValues(stored: StoredFilters, isRemoved: (value: FilterValue) => boolean): StoredFilters {
  if (Array.isArray(stored)) return stored.map((step) => withoutDetails(step, isRemoved));
  return { ...stored, blocks: stored.blocks.map((block) => withoutValues(block, isRemoved)) };
}

function withoutValues(block: FilterBlock, isRemoved: (value: FilterValue) => boolean): FilterBlock {
  return {
    ...block,
    filters: block.filters.map((element) =>
      isBlock(element) ? withoutValues(element, isRemoved) : withoutOwn(element, isRemoved),
    ),
  };
}

function withoutOwn(filter: SegmentFilter, isRemoved: (value: FilterValue) => boolean): SegmentFilter {
  if (filter.filter_on === 'events') return withoutDetails(filter, isRemoved);
  if (filter.filter_on !== 'attributes' || isBound(filter.operator)) return filter;
  const { sor_identifier: sor, attribute_key: key, values: before } = filter;
  const values = before.filter((text) => !isRemoved({ on: 'attributes', sor, key, text }));
  if (values.length === before.length) return filter;
  return { ...filter, values, values_erased: erasedOf(filter, before.length - values.length) };
}

type Detailed = { match_details?: DetailPairs[] | undefined; values_erased?: number | undefined };

function withoutDetails<Filter extends Detailed>(filter: Filter, isRemoved: (value: FilterValue) => boolean): Filter {
  const before = filter.match_details ?? [];
  const left = before.filter((pairs) => !valuesOf(pairs).some(isRemoved));
  if (left.length === before.length) return filter;
  return { ...filter, match_details: left, values_erased: erasedOf(filter, before.length - left.length) };
}

function valuesOf(pairs: DetailPairs): FilterValue[] {
  return Object.entries(pairs).flatMap(([key, value]) =>
    typeof value === 'string' || typeof value === 'number'
      ? [{ on: 'details' as const, sor: null, key, text: String(value) }]
      : [],
  );
}

function erasedOf({ values_erased: before = 0 }: { values_erased?: number | undefined }, more: number): number {
  return before + more;
}

/** Number of characters from which an id, like one with an @, means its person wherever it is compared. */
const DISTINCTIVE_CHARS = 12;

/** Returns whether an equal text means the person: short texts, such as 25, FR or gold, may mean anything. */
export function isDistinctive(id: string): boolean {
  return id.includes('@') || [...id].length >= DISTINCTIVE_CHARS;
}

const ID_KEYS = new Map([
  ['userid', 'user_id'],
  ['customerid', 'user_id'],
  ['deviceid', 'device_id'],
] as const);

/** Returns the type of ids that a key holds by its name, such as `user_id` or `deviceId`. */
export function idTypeOfKey(key: string): CustomerType | undefined {
  return (ID_KEYS as ReadonlyMap<string, CustomerType>).get(key.replaceAll(/[^A-Za-z]/g, '').toLowerCase());
}
