/** Segments: sets of an app's people (reference: Segment; Segments). */

import { z } from 'zod';
import {
  bodyFlag,
  bodyList,
  identifier,
  jsonObject,
  name,
  ofRevision,
  queryFlag,
  queryInteger,
  stored,
  text,
} from '../core/input.ts';
import { CHANGES_KEPT_DAYS, MAX_LISTED_CHANGES, SEGMENT_DAYS_KEPT } from '../../domain/analytics/segment-changes.ts';
import { operation } from '../core/operation.ts';
import { FILTERS_BYTES, SegmentFiltersInput, ShownFilters } from './segment-filters.ts';

const VIEW = { tag: 'Segments', right: 'segments_view' } as const;
const MANAGE = { tag: 'Segments', right: 'segments_manage' } as const;
const params = z.object({ identifier });
const MAX_LABELS = 100;
const DESCRIPTION_CHARS = 2_000;
const MAX_IDS = 100_000;
/** Maximum number of segments, and of campaigns, that a segment's record names. */
export const MAX_USERS = 100;

const instant = z.iso.datetime();

/** Time limit of a fast count. */
export const FAST_PREVIEW_MS = 1_500;

const Reach = z
  .object({
    count: z.int().describe('Devices of its people that have the app'),
    optin: z.int().describe('Number of them that allow pushes'),
    token: z.int().describe('Number of them with a push token'),
    total: z.int().describe('All devices that have the app'),
  })
  .meta({ id: 'SegmentReach' });

const Preview = z
  .object({
    people_number: z.int().describe('People in the segment'),
    people_percent: z.number().describe('Percentage of the people of the app'),
    push_percent: z
      .number()
      .describe('Percentage of the people in the segment with a device that allows pushes and has a token'),
  })
  .meta({ id: 'SegmentPreview' });

export const Segment = z
  .object({
    identifier: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    app: z.string(),
    filters: ShownFilters,
    filters_subs: z.object({}),
    eligible_for_ab_testing: z.boolean().describe('Whether pushes can reach two of its people or more'),
    snapshot_at: instant.nullable(),
    reach: Reach.nullable().describe(
      'Null if the segment compares with a sensitive attribute, and the caller lacks sor_manage',
    ),
    preview: Preview.nullable().describe('Null as reach'),
    labels: z.array(z.string()),
    analytics_enabled: z.boolean().describe('Whether lists take it as a filter: once it has a snapshot'),
    state: z.enum(['computing', 'active', 'failed']).describe('`computing` before the first snapshot of its filters'),
    failure: z.string().nullable().describe('Why the last refresh failed'),
    static: z.boolean().describe('A list of people, without filters'),
    last_used_at: instant.nullable(),
    revision: z.int().describe('Increases with each change of the segment itself'),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'Segment' });
export type Segment = z.output<typeof Segment>;

export const listSegments = operation({
  id: 'listSegments',
  ...VIEW,
  method: 'GET',
  path: '/api/segments',
  summary: 'List segments, oldest first',
  query: z.object({ app: identifier.optional().describe('Identifier of an app; by default all apps') }),
  result: z.array(Segment),
});

export const viewSegment = operation({
  id: 'viewSegment',
  ...VIEW,
  method: 'GET',
  path: '/api/segments/:identifier',
  summary: 'Read a segment',
  params,
  result: Segment.extend({
    used_by: z
      .array(
        z
          .object({ kind: z.enum(['segment', 'campaign']), identifier: z.string(), name: z.string() })
          .meta({ id: 'SegmentUser' }),
      )
      .describe(`Segments, and campaigns that have not ended, whose filters name it; at most ${MAX_USERS} of each`),
  }).meta({ id: 'ViewedSegment' }),
});

const filters = jsonObject(stored(FILTERS_BYTES, SegmentFiltersInput)).describe('Who is in the segment');
const labels = bodyList(name, MAX_LABELS).optional().describe('Millrace creates labels that do not exist yet');
const description = text({ max: DESCRIPTION_CHARS }).nullable().optional();

export const createSegment = operation({
  id: 'createSegment',
  ...MANAGE,
  exactNumbers: 'as text',
  method: 'POST',
  path: '/api/segments',
  summary: 'Create a segment',
  description: 'Its people are found in the background: `state` is `computing` until then.',
  audits: 'create segment',
  body: z.object({
    name,
    app: identifier.describe('The app whose people it holds'),
    description,
    filters: filters.optional(),
    static: bodyFlag
      .default(false)
      .describe('A list of people instead of filters: `POST /api/segments/<identifier>/people` adds them'),
    labels,
  }),
  result: Segment,
});

export const updateSegment = operation({
  id: 'updateSegment',
  ...MANAGE,
  exactNumbers: 'as text',
  method: 'PUT',
  path: '/api/segments/:identifier',
  summary: 'Change a segment; members that you leave out stay',
  audits: 'update segment',
  params,
  body: z.object({ name: name.optional(), description, filters: filters.optional(), labels, revision: ofRevision }),
  result: Segment,
});

export const deleteSegment = operation({
  id: 'deleteSegment',
  ...MANAGE,
  method: 'DELETE',
  path: '/api/segments/:identifier',
  summary: 'Delete a segment that no other names',
  audits: 'delete segment',
  params,
  result: Segment,
});

export const previewSegment = operation({
  id: 'previewSegment',
  ...VIEW,
  exactNumbers: 'as text',
  method: 'POST',
  path: '/api/segments/preview',
  summary: 'Count the people that filters find now',
  description:
    'The audit log keeps which attributes the filters compare with, also those of segments that they name, without values.',
  audits: 'read segment',
  idempotencyKey: 'ignored',
  body: z.object({
    app: identifier.describe('The app whose people are counted'),
    filters,
    fast: bodyFlag
      .default(false)
      .describe(
        `Look at a sample of people, for at most ${FAST_PREVIEW_MS / 1_000} seconds; an app with fewer than ` +
          '10,000 people is counted exactly',
      ),
    left: bodyFlag.default(false).describe('Also count who is left after each filter'),
  }),
  result: z
    .object({
      preview: Preview,
      reach: Reach,
      sample: z
        .object({
          one_in: z.int().describe('All numbers are those of the sample times this'),
          margin: z.int().describe('`people_number` holds for the whole app within this margin in 95 % of cases'),
        })
        .meta({ id: 'PreviewSample' })
        .nullable()
        .describe('Null: the counts are exact'),
      left: z
        .array(
          z
            .object({
              element: z.string().describe('The filter, such as `blocks.0.filters.1`'),
              people: z.int(),
              margin: z.int().nullable().describe('As `sample.margin`; null: exact'),
            })
            .meta({ id: 'PeopleLeft' }),
        )
        .nullable()
        .describe('For each filter, who it and the filters before it find; null unless asked for'),
      took_ms: z.int().describe('Milliseconds that the counting took'),
    })
    .meta({ id: 'FilterPreview' }),
});

const people = z.object({
  ids: z
    .array(z.string({ error: 'must be a text' }), { error: 'must be an array' })
    .min(1)
    .max(MAX_IDS, `must have at most ${MAX_IDS} elements`),
  customer_id_type: z
    .enum(['user_id', 'device_id'], { error: 'must be user_id or device_id' })
    .default('user_id')
    .describe('`device_id`: the people of these devices'),
});

const refused = z
  .array(
    z.object({
      index: z.int().describe('Position in ids, from 0'),
      code: z.string(),
      message: z.string(),
    }),
  )
  .describe('Ids that were left out, with the reason');

export const addSegmentPeople = operation({
  id: 'addSegmentPeople',
  ...MANAGE,
  method: 'POST',
  path: '/api/segments/:identifier/people',
  summary: 'Add people to a static segment',
  audits: 'update segment',
  params,
  body: people,
  result: z.object({ added: z.int(), already_there: z.int(), refused }).meta({ id: 'AddedPeople' }),
});

export const removeSegmentPeople = operation({
  id: 'removeSegmentPeople',
  ...MANAGE,
  method: 'DELETE',
  path: '/api/segments/:identifier/people',
  summary: 'Remove people from a static segment',
  audits: 'update segment',
  params,
  body: people,
  result: z.object({ removed: z.int(), not_there: z.int(), refused }).meta({ id: 'RemovedPeople' }),
});

const PEOPLE = { tag: 'Segments', right: ['segments_view', 'usage_analytics_view'] } as const;
const MAX_PAGE = 200;
const perPage = queryInteger({ min: 1, max: MAX_PAGE }).default(100).describe(`From 1 to ${MAX_PAGE}, default 100`);
const next = z.string().nullable().describe('Address of the next page; null at the end');
const person = {
  user_id: z.string().nullable(),
  device_id: z.string().nullable().describe('Of a device that counts as a person itself'),
};

export const listSegmentPeople = operation({
  id: 'listSegmentPeople',
  ...PEOPLE,
  method: 'GET',
  path: '/api/segments/:identifier/people',
  summary: "List a segment's people, as of its last snapshot",
  description: 'In the order of their ids. The audit log gets an entry for each page, and one for each person on it.',
  audits: ['read segment', 'read customer'],
  params,
  query: z.object({ per_page: perPage, cursor: text().optional().describe('From the `next` of the page before') }),
  result: z
    .object({ people: z.array(z.object(person).meta({ id: 'SegmentPerson' })), as_of: instant.nullable(), next })
    .meta({ id: 'SegmentPeople' }),
});

export const listSegmentChanges = operation({
  id: 'listSegmentChanges',
  ...PEOPLE,
  method: 'GET',
  path: '/api/segments/:identifier/changes',
  summary: 'List who joined a segment and who left it, newest first',
  description:
    `At most ${MAX_LISTED_CHANGES} people a day, kept for ${CHANGES_KEPT_DAYS} days; \`countSegmentDays\` has all numbers. The ` +
    'first people of new filters are no changes. The audit log gets an entry for each page, and one for each person on it.',
  audits: ['read segment', 'read customer'],
  params,
  query: z.object({
    joined: queryFlag.optional().describe('True: only who joined; false: only who left'),
    per_page: perPage,
    cursor: text().optional().describe('From the `next` of the page before'),
  }),
  result: z
    .object({
      changes: z.array(
        z.object({ ...person, joined: z.boolean().describe('False: left'), at: instant }).meta({ id: 'SegmentChange' }),
      ),
      next,
    })
    .meta({ id: 'SegmentChanges' }),
});

export const countSegmentDays = operation({
  id: 'countSegmentDays',
  ...VIEW,
  method: 'GET',
  path: '/api/segments/:identifier/days',
  summary: 'Count who joined a segment and who left it, by day',
  description: 'Days in UTC, oldest first; days without a snapshot or a change are left out.',
  params,
  query: z.object({
    days: queryInteger({ min: 1, max: SEGMENT_DAYS_KEPT })
      .default(31)
      .describe(`The last days, today included: from 1 to ${SEGMENT_DAYS_KEPT}, default 31`),
  }),
  result: z.array(
    z
      .object({
        day: z.iso.date(),
        people: z.int().nullable().describe('In the last snapshot of the day'),
        joined: z.int(),
        left: z.int(),
        listed: z.int().describe('Number of these changes that `listSegmentChanges` had on the day'),
      })
      .meta({ id: 'SegmentDay' }),
  ),
});
