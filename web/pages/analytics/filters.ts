/** Filters as the builder edits them: read from a record, begun anew, and whether each is complete. */
import {
  type BlockOperator,
  eachFilter,
  type FilterBlock,
  type FilterPeriod,
  type SegmentFilter,
  type SegmentFilters,
} from '../../../domain/analytics/segment-filters.ts';
import { valuesTaken } from '../../../domain/analytics/comparison.ts';

export type Filters = SegmentFilters;
export type Kind = SegmentFilter['filter_on'];

export const EVERYBODY: Filters = { operator: 'and', blocks: [] };

type Shown = { value: string; options: readonly object[] } | { operator: BlockOperator; filters: readonly Shown[] };

/** Reads the filters of a record, `{ value, options: [{ … }] }` each, as calls take them. */
export function readFilters({ blocks, ...rest }: { operator: BlockOperator; blocks: readonly unknown[] }): Filters {
  return { ...rest, blocks: blocks.map((block) => readElement(block as Shown)) } as Filters;
}

function readElement(element: Shown | SegmentFilter): SegmentFilter | FilterBlock {
  if ('filters' in element) return { operator: element.operator ?? 'and', filters: element.filters.map(readElement) };
  const filter = (
    'options' in element ? { filter_on: element.value, ...element.options[0] } : element
  ) as SegmentFilter;
  const whole = { ...DEFAULTS[filter.filter_on], ...filter } as SegmentFilter;
  return 'values' in whole ? { ...whole, values: whole.values.map(String) } : whole;
}

/** Members that a call may leave out. */
const DEFAULTS: Record<Kind, object> = {
  attributes: { values: [] },
  devices: { values: [] },
  events: { log_type: 0, operator: 'at_least', count: 1 },
  segments: { selection: 'any_of', operator: 'is_in' },
  funnels: { operator: 'is_in' },
  campaigns: { outcome: 'received', operator: 'is_in' },
};

const MONTH: FilterPeriod = { last_days: 30 };

/** Returns a new filter of a kind; texts that are to be filled in are empty. */
export function newFilter(kind: Kind): SegmentFilter {
  switch (kind) {
    case 'attributes':
      return { filter_on: kind, sor_identifier: '', attribute_key: '', operator: 'is', values: [] };
    case 'devices':
      return { filter_on: kind, field: 'country_code', operator: 'is', values: [] };
    case 'events':
      return { filter_on: kind, log_type: 0, log_name: '', operator: 'at_least', count: 1, period: MONTH };
    case 'segments':
      return { filter_on: kind, selection: 'any_of', segment_identifiers: [], operator: 'is_in' };
    case 'funnels':
      return {
        filter_on: kind,
        funnel_identifier: '',
        step: 0,
        outcome: 'completed',
        operator: 'is_in',
        period: MONTH,
      };
    case 'campaigns':
      return { filter_on: kind, outcome: 'received', operator: 'is_in' };
  }
}

export const newBlock = (filter: SegmentFilter | FilterBlock = newFilter('events')): FilterBlock => ({
  operator: 'and',
  filters: [filter],
});

/** Returns whether every filter has what it needs, so that the server can count its people. */
export function isComplete(filters: Filters): boolean {
  return [...eachFilter(filters)].every(({ filter }) => isWhole(filter));
}

function isWhole(filter: SegmentFilter): boolean {
  switch (filter.filter_on) {
    case 'attributes':
      return filter.sor_identifier !== '' && filter.attribute_key !== '' && hasValues(filter);
    case 'devices':
      return hasValues(filter);
    case 'events':
      return filter.log_name !== '' && isPeriod(filter.period);
    case 'segments':
      return filter.segment_identifiers.length > 0;
    case 'funnels':
      return filter.funnel_identifier !== '' && isPeriod(filter.period);
    case 'campaigns':
      return true;
  }
}

/** A filter whose values an erasure removed is whole without one. */
function hasValues(filter: { operator: string; values: string[]; values_erased?: number | undefined }): boolean {
  const { min } = valuesTaken(filter.operator);
  if (filter.values.some((value) => value === '')) return false;
  return filter.values.length >= min || (filter.values_erased ?? 0) > 0;
}

const isPeriod = (period: FilterPeriod): boolean => 'last_days' in period || (period.from !== '' && period.till !== '');
