/** Effects of erasures on filters that lost values. */

import { isNegation } from './comparison.ts';
import type { FunnelStep } from './funnel.ts';
import { eachFilter, type SegmentFilter, type SegmentFilters } from './segment-filters.ts';

/** The effect of removed values; filters that it would widen find no person until staff write them anew. */
export type Erasure = { is: 'narrowed' } | { is: 'widened'; failure: string };

/** The segments and funnels that filters name; null if unknown. */
export type Named = {
  segment(identifier: string): { name: string; erasure: Erasure | null } | null;
  funnel(identifier: string): { name: string; steps: readonly FunnelStep[] } | null;
};

/** Returns the effect of erasures on filters, also through the segments and funnels that they name, or null. */
export function erasureOf(filters: SegmentFilters, named: Named): Erasure | null {
  let found: Erasure | null = null;
  for (const { path, filter } of eachFilter(filters)) {
    const erasure = erasureOfFilter(filter, `filters.${path}`, named);
    if (erasure?.is === 'widened') return erasure;
    found ??= erasure;
  }
  return found;
}

function erasureOfFilter(filter: SegmentFilter, path: string, named: Named): Erasure | null {
  switch (filter.filter_on) {
    case 'attributes':
      return ownErasure(filter, path, isNegation(filter.operator));
    case 'events':
      return ownErasure(filter, path, filter.operator !== 'at_least');
    case 'segments': {
      const isNegated = (filter.operator === 'is_not_in') !== (filter.selection === 'none_of');
      const all = filter.segment_identifiers.flatMap((identifier) => named.segment(identifier) ?? []);
      const widened = all.find(({ erasure }) => erasure?.is === 'widened');
      if (widened?.erasure?.is === 'widened') {
        const failure = `${path}: the segment "${widened.name}" has failed: ${widened.erasure.failure}`;
        return { is: 'widened', failure };
      }
      return byWayOf(
        all.find(({ erasure }) => erasure !== null),
        'the segment',
        path,
        isNegated,
      );
    }
    case 'funnels': {
      const funnel = named.funnel(filter.funnel_identifier);
      const isErased = funnel?.steps.slice(0, filter.step + 1).some((step) => step.values_erased !== undefined);
      const isNegated = filter.operator === 'is_not_in' || filter.outcome === 'dropped';
      return byWayOf(isErased ? funnel! : undefined, 'the funnel', path, isNegated);
    }
    default:
      return null;
  }
}

const NARROWED: Erasure = { is: 'narrowed' };

function ownErasure(
  { values_erased: erased }: { values_erased?: number | undefined },
  path: string,
  isNegated: boolean,
): Erasure | null {
  if (erased === undefined) return null;
  if (!isNegated) return NARROWED;
  return { is: 'widened', failure: `${path}: an erasure removed a value by which it leaves people out. ${WHAT_TO_DO}` };
}

function byWayOf(
  changed: { name: string } | undefined,
  what: string,
  path: string,
  isNegated: boolean,
): Erasure | null {
  if (!changed) return null;
  if (!isNegated) return NARROWED;
  const lost = `it leaves people out by ${what} "${changed.name}", which lost a value to an erasure`;
  return { is: 'widened', failure: `${path}: ${lost}. ${WHAT_TO_DO}` };
}

const WHAT_TO_DO = 'Say anew whom it means, in filters without values_erased';
