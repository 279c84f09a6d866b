/** The grammar of filters, for segments and campaigns (docs/segments.md), and their limits. */

import { DAY_MS } from '../time/durations.ts';
import type { DetailPairs, MatchName } from './funnel.ts';

export type SegmentFilters = {
  operator: BlockOperator;
  blocks: FilterBlock[];
  /** If true, an earlier id counts as the id that it became. */
  aliases?: true;
};

export type FilterBlock = { operator: BlockOperator; filters: (SegmentFilter | FilterBlock)[] };
export type BlockOperator = 'and' | 'or';

export type SegmentFilter =
  | AttributesFilter
  | DevicesFilter
  | EventsFilter
  | SegmentsFilter
  | FunnelsFilter
  | CampaignsFilter;
type FilterKind = SegmentFilter['filter_on'];

export type AttributesFilter = {
  filter_on: 'attributes';
  sor_identifier: string;
  attribute_key: string;
  operator: string;
  values: string[];
  values_erased?: ValuesErased;
};
/** Number of values, or objects of `match_details`, that erasures removed. A filter with none left finds no person. */
type ValuesErased = number | undefined;
export type DevicesFilter = { filter_on: 'devices'; field: string; operator: string; values: string[] };
export type EventsFilter = Pick<MatchName, 'log_type' | 'log_name'> & {
  filter_on: 'events';
  /** Default: the segment's app. */
  app_id?: string | undefined;
  match_details?: DetailPairs[] | undefined;
  values_erased?: ValuesErased;
  operator: CountOperator;
  count: number;
  period: FilterPeriod;
};
export type SegmentsFilter = {
  filter_on: 'segments';
  selection: SegmentSelection;
  segment_identifiers: string[];
  operator: 'is_in' | 'is_not_in';
};
export type FunnelsFilter = {
  filter_on: 'funnels';
  funnel_identifier: string;
  step: number;
  outcome: 'completed' | 'dropped';
  operator: 'is_in' | 'is_not_in';
  period: FilterPeriod;
};
export type CampaignsFilter = {
  filter_on: 'campaigns';
  outcome: MessageOutcome;
  operator: 'is_in' | 'is_not_in';
  /** Default: all campaigns of the segment's app. */
  campaign_identifiers?: string[] | undefined;
  /** Default: any time; received messages are counted as long as the campaign exists. */
  last_days?: number | undefined;
};

export const COUNT_OPERATORS = ['at_least', 'at_most', 'exactly'] as const;
export type CountOperator = (typeof COUNT_OPERATORS)[number];
export const SELECTIONS = ['any_of', 'all_of', 'none_of'] as const;
export type SegmentSelection = (typeof SELECTIONS)[number];
export const MESSAGE_OUTCOMES = ['received', 'opened'] as const;
export type MessageOutcome = (typeof MESSAGE_OUTCOMES)[number];

/** The last days in UTC, today included; or the days from one to another, both included. */
export type FilterPeriod = { last_days: number } | { from: string; till: string };

export const MAX_DEPTH = 5;
export const MAX_FILTERS = 50;
export const TOO_MANY_FILTERS = `may have at most ${MAX_FILTERS} filters`;
/** Maximum number of filters and non-empty blocks around them. */
export const MAX_FILTER_ELEMENTS = MAX_FILTERS * (MAX_DEPTH + 1);
const MAX_FILTER_CHARS = 65_536;
export const MAX_PERIOD_DAYS = 731;
export const MAX_COUNT = 1_000_000;
export const MAX_FILTER_CAMPAIGNS = 100;
/** Maximum number of days for messages: older ones are kept as counts without days. */
export const MAX_MESSAGE_DAYS = 30;

export function isBlock(element: SegmentFilter | FilterBlock): element is FilterBlock {
  return 'filters' in element;
}

export function* eachFilter({ blocks }: SegmentFilters): Generator<{ path: string; filter: SegmentFilter }> {
  for (const [index, block] of blocks.entries()) yield* eachIn(block, `blocks.${index}`);
}

function* eachIn({ filters }: FilterBlock, at: string): Generator<{ path: string; filter: SegmentFilter }> {
  for (const [index, element] of filters.entries()) {
    const path = `${at}.filters.${index}`;
    if (isBlock(element)) yield* eachIn(element, path);
    else yield { path, filter: element };
  }
}

export function sizeError(filters: SegmentFilters): string | null {
  if (depthOf(filters.blocks) > MAX_DEPTH) return `may have at most ${MAX_DEPTH} blocks within each other`;
  if ([...eachFilter(filters)].length > MAX_FILTERS) return TOO_MANY_FILTERS;
  return JSON.stringify(filters).length > MAX_FILTER_CHARS
    ? `may have at most ${MAX_FILTER_CHARS} characters as JSON`
    : null;
}

function depthOf(elements: readonly (SegmentFilter | FilterBlock)[]): number {
  return Math.max(0, ...elements.map((element) => (isBlock(element) ? 1 + depthOf(element.filters) : 0)));
}

/** Returns whole days in UTC, up to the end of today. */
export function lastDaysOf(days: number, now: Date): { from: Date; until: Date } {
  const until = Math.floor(now.getTime() / DAY_MS) * DAY_MS + DAY_MS;
  return { from: new Date(until - days * DAY_MS), until: new Date(until) };
}

export function periodError({ from, till }: { from: string; till: string }): string | null {
  if (till < from) return `must not be before from, ${from}`;
  const days = (Date.parse(till) - Date.parse(from)) / DAY_MS + 1;
  return days > MAX_PERIOD_DAYS ? `must be within ${MAX_PERIOD_DAYS} days` : null;
}

/** A filter in a segment's record (reference: Segment): its subject, and the rest as its only option. */
export type ShownFilter = { value: FilterKind; options: [Omit<SegmentFilter, 'filter_on'>] };
export type ShownBlock = { operator: BlockOperator; filters: (ShownFilter | ShownBlock)[] };

/** A shown filter or block, and whether one person meets it. */
export type MetFilter = ShownFilter & { met: boolean; found: string | null };
export type MetBlock = { operator: BlockOperator; met: boolean; filters: (MetFilter | MetBlock)[] };

/** Shows blocks with what a person meets of them: `met` and `found` have each filter in the order of `eachFilter`. */
export function showMet(
  { blocks }: SegmentFilters,
  met: readonly boolean[],
  found: readonly (string | null)[] = [],
): MetBlock[] {
  const each = met.values();
  const values = found.values();
  const show = ({ operator, filters }: FilterBlock): MetBlock => {
    const shown = filters.map((element) =>
      isBlock(element)
        ? show(element)
        : { ...showFilter(element), met: each.next().value === true, found: values.next().value ?? null },
    );
    const isMet = operator === 'and' ? shown.every((element) => element.met) : shown.some((element) => element.met);
    return { operator, met: isMet, filters: shown };
  };
  return blocks.map(show);
}

export function showFilters({
  blocks,
  ...rest
}: SegmentFilters): Omit<SegmentFilters, 'blocks'> & { blocks: ShownBlock[] } {
  return { ...rest, blocks: blocks.map(showBlock) };
}

function showBlock({ operator, filters }: FilterBlock): ShownBlock {
  return { operator, filters: filters.map((element) => (isBlock(element) ? showBlock(element) : showFilter(element))) };
}

function showFilter({ filter_on: value, ...options }: SegmentFilter): ShownFilter {
  return { value, options: [options] };
}
