/** Filters in words: a line for each, and all of them as a sentence. */
import { stringify } from '../../../api/client.ts';
import type {
  FilterBlock,
  FilterPeriod,
  MetBlock,
  MetFilter,
  SegmentFilter,
  SegmentFilters,
} from '../../../domain/analytics/segment-filters.ts';

/** Returns the name of a segment, funnel or campaign by its identifier. */
export type NameOf = (identifier: string) => string;

const asIs: NameOf = (identifier) => identifier;

/** Returns a filter in words. */
function filterText(filter: SegmentFilter, nameOf: NameOf): string {
  switch (filter.filter_on) {
    case 'attributes':
      return `attribute ${filter.attribute_key} ${comparisonText(filter)}`;
    case 'devices':
      return `a device whose ${filter.field.replaceAll('_', ' ')} ${comparisonText(filter)}`;
    case 'events': {
      const { log_name: name, operator, count, match_details: details = [], period } = filter;
      const having = details.length === 0 ? '' : ` with ${details.map((each) => stringify(each)).join(' or ')}`;
      return `event ${name}${having} ${operator.replace('_', ' ')} ${count} ${count === 1 ? 'time' : 'times'}, ${periodText(period)}`;
    }
    case 'segments': {
      const names = filter.segment_identifiers.map(nameOf).join(', ');
      return `${isInText(filter.operator)} ${filter.selection.replace('_', ' ')}: ${names}`;
    }
    case 'funnels': {
      const outcome = filter.outcome === 'completed' ? 'completed' : 'stopped before';
      const step = `step ${filter.step + 1} of the funnel ${nameOf(filter.funnel_identifier)}`;
      return `${isInText(filter.operator)} those who ${outcome} ${step}, ${periodText(filter.period)}`;
    }
    case 'campaigns': {
      const { outcome, campaign_identifiers: campaigns, last_days: days } = filter;
      const of = campaigns === undefined ? 'any campaign of the app' : campaigns.map(nameOf).join(' or ');
      return `${isInText(filter.operator)} those who ${outcome} a message of ${of}${days === undefined ? '' : `, ${periodText({ last_days: days })}`}`;
    }
  }
}

/** Returns a shown filter, with whether a person meets it, in words. */
export const metText = ({ value, options: [options] }: MetFilter, nameOf: NameOf): string =>
  filterText({ filter_on: value, ...options } as SegmentFilter, nameOf);

export type MetElement = MetFilter | MetBlock;

/** Returns all filters as a sentence without its end, such as "event Ordered at least 2 times, in the last 30 days". */
export function sentenceOf({ operator, blocks }: SegmentFilters, nameOf: NameOf = asIs): string {
  if (blocks.length === 0) return 'everybody in the app';
  return joined(operator, blocks, nameOf);
}

function joined(operator: 'and' | 'or', elements: readonly (SegmentFilter | FilterBlock)[], nameOf: NameOf): string {
  const parts = elements.map((element) => {
    if (!('filters' in element)) return filterText(element, nameOf);
    const text = joined(element.operator, element.filters, nameOf);
    return elements.length > 1 && element.filters.length > 1 ? `(${text})` : text;
  });
  return parts.join(operator === 'and' ? '; and ' : '; or ');
}

const isInText = (operator: 'is_in' | 'is_not_in') => (operator === 'is_in' ? 'in' : 'not in');

const comparisonText = ({ operator, values }: { operator: string; values: string[] }): string =>
  [operator.replaceAll('_', ' '), values.join(operator === 'between' ? ' and ' : ' or ')].join(' ').trim();

const periodText = (period: FilterPeriod): string =>
  'last_days' in period ? `in the last ${period.last_days} days` : `from ${period.from} to ${period.till}`;
