/** The grammar of segments' filters, in requests and responses (docs/segments.md). */
import { z } from 'zod';
import { DEVICE_FIELDS, MAX_VALUES } from '../../domain/analytics/comparison.ts';
import { MAX_DETAILS } from '../../domain/analytics/funnel.ts';
import {
  COUNT_OPERATORS,
  type FilterBlock,
  MAX_COUNT,
  MAX_FILTER_CAMPAIGNS,
  MAX_FILTER_ELEMENTS,
  MAX_FILTERS,
  MAX_MESSAGE_DAYS,
  MAX_PERIOD_DAYS,
  MESSAGE_OUTCOMES,
  type MetBlock,
  type MetFilter,
  periodError,
  type SegmentFilter,
  type SegmentFilters,
  SELECTIONS,
  type ShownBlock,
  type ShownFilter,
  sizeError,
  TOO_MANY_FILTERS,
} from '../../domain/analytics/segment-filters.ts';
import { isDate } from '../../domain/time/date-value.ts';
import { boundedArray, closedObject, identifier, text } from '../core/input.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { DetailPairs, valuesErased } from './funnels.ts';

const anArray = { error: 'must be an array' };

const blockOperator = z
  .enum(['and', 'or'], { error: 'must be and or or' })
  .default('and')
  .describe('Whether all of its elements must hold, or any');

const value = z
  .union([z.string(), z.number(), z.boolean()], { error: 'must be a text, a number, true or false' })
  .transform(String);
const comparison = {
  operator: text().describe(
    'By type: is, is_not, is_set, is_not_set, contains, does_not_contain, starts_with, greater_than, at_least, ' +
      'less_than, at_most, between, before, after, in_last_days, not_in_last_days, contains_any, contains_all, contains_none',
  ),
  values: boundedArray(value, { ...anArray, max: MAX_VALUES })
    .default([])
    .describe(
      'Operands of the comparison: one; two with between; none with is_set and is_not_set; any of up to 100 with is, is_not, contains, ' +
        'does_not_contain, starts_with and those of Sets',
    ),
};

const isIn = z
  .enum(['is_in', 'is_not_in'], { error: 'must be is_in or is_not_in' })
  .default('is_in')
  .describe('`is_not_in`: the people who are not among those that `is_in` finds');

const PERIOD = `must be {"last_days": 30}, up to ${MAX_PERIOD_DAYS} days, or {"from": "2026-01-01", "till": "2026-01-31"}`;
const day = z.string().refine(isDate);
const period = z
  .union(
    [z.strictObject({ last_days: z.int().min(1).max(MAX_PERIOD_DAYS) }), z.strictObject({ from: day, till: day })],
    { error: PERIOD },
  )
  .check((ctx) => {
    const message = 'from' in ctx.value ? periodError(ctx.value) : null;
    if (message !== null) ctx.issues.push({ code: 'custom', message, path: ['till'], input: ctx.value });
  })
  .describe('Whole days in UTC: the last ones, today included, or those from one to another');

const AttributesFilter = closedObject({
  filter_on: z.literal('attributes'),
  sor_identifier: identifier.describe('A System of Records'),
  attribute_key: text().describe('An attribute of it'),
  ...comparison,
  values_erased: valuesErased,
}).meta({
  id: 'AttributesFilter',
  description: "People with such a value of an attribute; values of a device are its person's",
});

const DevicesFilter = closedObject({
  filter_on: z.literal('devices'),
  field: text().describe(`A field of a device: ${DEVICE_FIELDS.join(', ')}. Versions compare by their numbers`),
  ...comparison,
}).meta({ id: 'DevicesFilter', description: "People with such a device in the segment's app" });

const EventsFilter = closedObject({
  filter_on: z.literal('events'),
  app_id: identifier.optional().describe("By default the segment's app"),
  log_type: z
    .union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)], { error: 'must be 0, 1, 2 or 3' })
    .default(0)
    .describe('1 errors, 2 events, 3 background transitions, 0 any'),
  log_name: text().describe('Name of the event'),
  match_details: boundedArray(DetailPairs, { ...anArray, max: MAX_DETAILS })
    .optional()
    .describe("The event's detail must contain one of these objects; by default any detail matches"),
  values_erased: valuesErased,
  operator: z.enum(COUNT_OPERATORS, { error: `must be one of ${COUNT_OPERATORS.join(', ')}` }).default('at_least'),
  count: z
    .int({ error: 'must be a whole number' })
    .min(0)
    .max(MAX_COUNT)
    .default(1)
    .describe('How often; `at_most` and `exactly` 0 also find those who never had the event'),
  period,
})
  .check((ctx) => {
    if (ctx.value.operator !== 'at_least' || ctx.value.count > 0) return;
    ctx.issues.push({ code: 'custom', message: 'must be 1 or more with at_least', path: ['count'], input: ctx.value });
  })
  .meta({ id: 'EventsFilter', description: 'People with this number of events in the period' });

const SegmentsFilter = closedObject({
  filter_on: z.literal('segments'),
  selection: z.enum(SELECTIONS, { error: `must be one of ${SELECTIONS.join(', ')}` }).default('any_of'),
  segment_identifiers: boundedArray(identifier, { ...anArray, min: 1, max: MAX_FILTERS }),
  operator: isIn,
}).meta({ id: 'SegmentsFilter', description: 'People in other segments, as of their last snapshots' });

const FunnelsFilter = closedObject({
  filter_on: z.literal('funnels'),
  funnel_identifier: identifier,
  step: z.int({ error: 'must be the number of a step, from 0' }).min(0),
  outcome: z
    .enum(['completed', 'dropped'], { error: 'must be completed or dropped' })
    .describe('`dropped`: they completed the step before, and not this one'),
  operator: isIn,
  period,
}).meta({
  id: 'FunnelsFilter',
  description: 'People who completed a step of a funnel in the period, or dropped out before it',
});

const LAST_DAYS = `must be a whole number from 1 to ${MAX_MESSAGE_DAYS}`;

const CampaignsFilter = closedObject({
  filter_on: z.literal('campaigns'),
  outcome: z
    .enum(MESSAGE_OUTCOMES, { error: `must be one of ${MESSAGE_OUTCOMES.join(', ')}` })
    .default('received')
    .describe(
      '`received`: a push went out, or the app showed the in-app message; `opened`: they opened the push, or clicked the message',
    ),
  campaign_identifiers: boundedArray(identifier, {
    ...anArray,
    min: 1,
    tooFew: 'must have at least 1 element',
    max: MAX_FILTER_CAMPAIGNS,
  })
    .optional()
    .describe("Campaigns; any of them counts; by default all of the segment's app"),
  operator: isIn,
  last_days: z
    .int({ error: LAST_DAYS })
    .min(1, LAST_DAYS)
    .max(MAX_MESSAGE_DAYS, LAST_DAYS)
    .optional()
    .describe('Only messages of the last days in UTC, today included; by default all, however old'),
}).meta({ id: 'CampaignsFilter', description: 'People who received, or opened, a message of a campaign' });

/** The value of `filter_on` that a block gets, which distinguishes it from filters. */
const BLOCK = 'block';

const BlockInput = closedObject({
  filter_on: z.literal(BLOCK).default(BLOCK),
  operator: blockOperator,
  get filters(): z.ZodType<(SegmentFilter | FilterBlock)[]> {
    return boundedArray(FilterElement, { ...anArray, min: 1, max: MAX_FILTER_ELEMENTS });
  },
}).meta({ id: 'FilterBlock', description: 'Filters and blocks inside it; all must hold, or any' });

const UNKNOWN_KIND =
  'must be one of attributes, devices, events, segments, funnels, campaigns; a block has filters instead';

const FilterElement: z.ZodType<SegmentFilter | FilterBlock> = z
  .preprocess(
    flatten,
    z
      .discriminatedUnion(
        'filter_on',
        [AttributesFilter, DevicesFilter, EventsFilter, SegmentsFilter, FunnelsFilter, CampaignsFilter, BlockInput],
        { error: ({ code }) => (code === 'invalid_union' ? UNKNOWN_KIND : undefined) },
      )
      .transform((element) => {
        if (element.filter_on !== BLOCK) return element;
        return { operator: element.operator, filters: element.filters };
      }),
  )
  .meta({ id: 'FilterElement' });

/** Reads a record's `{ value, options: [{ … }] }` as `{ filter_on: value, … }` (reference: Segment). */
function flatten(given: unknown): unknown {
  if (!isObject(given)) return given;
  if ('filters' in given && !('filter_on' in given)) return { ...given, filter_on: BLOCK };
  const { value: filterOn, options, ...rest } = given;
  if (filterOn === undefined || !Array.isArray(options) || options.length !== 1 || !isObject(options[0])) return given;
  return { ...rest, ...options[0], filter_on: filterOn };
}

const filtersInput = closedObject({
  operator: blockOperator,
  blocks: boundedArray(BlockInput, { ...anArray, max: MAX_FILTERS }).describe('None: everybody in the app'),
  aliases: z.boolean().default(false).describe('Count an id that the app has made another one (an alias) as that one'),
})
  .transform(({ operator, blocks, aliases }): SegmentFilters => ({
    operator,
    ...(aliases && { aliases }),
    blocks: blocks.map((block) => ({ operator: block.operator, filters: block.filters })),
  }))
  .check((ctx) => {
    const message = sizeError(ctx.value);
    if (message !== null) ctx.issues.push({ code: 'custom', message, input: ctx.value });
  });

export const FILTERS_BYTES = 256 * 1024;

/** Refuses too many filters before it reads any. */
export const SegmentFiltersInput = z.preprocess((given, ctx) => {
  if (countElements(given) <= MAX_FILTER_ELEMENTS) return given;
  ctx.issues.push({ code: 'custom', message: TOO_MANY_FILTERS, input: given });
  return z.NEVER;
}, filtersInput);

/** Counts filters and blocks in any input, which nests no deeper than a body may. */
function countElements(given: unknown): number {
  const inner = isObject(given) ? (given.blocks ?? given.filters) : undefined;
  return Array.isArray(inner) ? inner.reduce((sum: number, each) => sum + 1 + countElements(each), 0) : 0;
}

const ShownFilterSchema = z
  .object({
    value: z
      .enum(['attributes', 'devices', 'events', 'segments', 'funnels', 'campaigns'])
      .describe('Subject of the filter'),
    options: z.array(z.record(z.string(), z.unknown())).describe('One object with the rest of the filter'),
  })
  .meta({ id: 'SegmentFilter' });

const ShownBlockSchema = z
  .object({
    operator: z.enum(['and', 'or']),
    get filters(): z.ZodType<(ShownFilter | ShownBlock)[]> {
      return z.array(z.union([ShownFilterSchema, ShownBlockSchema])) as unknown as z.ZodType<
        (ShownFilter | ShownBlock)[]
      >;
    },
  })
  .meta({ id: 'SegmentBlock' });

const met = z.boolean().describe('True: the person meets it now');

const found = z
  .string()
  .nullable()
  .describe(
    'What the person has there: values, a number of events, names of segments; null: nothing, for funnels and campaigns, or ' +
      'without the right to it (sor_manage for attributes, usage_analytics_view for devices and events)',
  );

const MetFilterSchema = ShownFilterSchema.extend({ met, found }).meta({ id: 'MetSegmentFilter' });

export const MetBlockSchema: z.ZodType<MetBlock> = z
  .object({
    operator: z.enum(['and', 'or']),
    met,
    get filters(): z.ZodType<(MetFilter | MetBlock)[]> {
      return z.array(z.union([MetFilterSchema, MetBlockSchema])) as unknown as z.ZodType<(MetFilter | MetBlock)[]>;
    },
  })
  .meta({ id: 'MetSegmentBlock' }) as unknown as z.ZodType<MetBlock>;

export const ShownFilters = z
  .object({
    operator: z.enum(['and', 'or']),
    blocks: z.array(ShownBlockSchema),
    aliases: z.literal(true).optional().describe('An id that the app has made another one counts as that one'),
  })
  .meta({ id: 'SegmentFilters' });
