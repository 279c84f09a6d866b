/** Funnels: how many people go through steps one after the other (reference: Funnels). */

import { z } from 'zod';
import {
  DEFAULT_DURATION_SECONDS,
  type FunnelStep,
  MAX_DETAILS,
  MAX_DURATION_SECONDS,
  MAX_NAMES,
  MAX_PAIRS,
  MAX_PAIRS_IN_ALL,
  MAX_STEPS,
} from '../../domain/analytics/funnel.ts';
import { isStorableJson } from '../../domain/text/text-limits.ts';
import { isDate } from '../../domain/time/date-value.ts';
import {
  bodyInteger,
  bodyList,
  boundedArray,
  boundedRecord,
  commaListOf,
  identifier,
  jsonArray,
  jsonObject,
  name,
  NOT_STORABLE,
  queryFlag,
  stored,
  text,
} from '../core/input.ts';
import { operation } from '../core/operation.ts';

const VIEW = { tag: 'Funnels', right: 'funnels_view' } as const;
const MANAGE = { tag: 'Funnels', right: 'funnels_manage' } as const;
/** A property of events, as `breakdown` names it: it lists values that apps sent, such as addresses. */
export const DETAIL_BREAKDOWN = 'breakdown=detail.*';
const params = z.object({ identifier });
const MAX_LABELS = 100;
const DESCRIPTION_CHARS = 2_000;
const STEPS_BYTES = 256 * 1024;

const MatchName = z
  .object({
    app_id: identifier.describe('Identifier of an app of your entity'),
    log_type: z
      .union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)], { error: 'must be 0, 1, 2 or 3' })
      .describe('1 errors, 2 events, 3 background transitions, 0 any'),
    log_name: text().describe('Name of the event'),
  })
  .meta({ id: 'MatchName' });

const detailValue = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'must be a text, a number, true, false or null',
});
export const DetailPairs = boundedRecord(detailValue, MAX_PAIRS)
  .refine(isStorableJson, NOT_STORABLE)
  .describe("Members of the event's detail with the values they must have; all must match");

const matchNames = boundedArray(MatchName, {
  error: 'must be an array',
  min: 1,
  tooFew: 'must have at least one element',
  max: MAX_NAMES,
});

export const valuesErased = z
  .int({ error: 'must be a whole number' })
  .min(1)
  .max(1_000_000)
  .optional()
  .describe(
    'How many values, or objects of match_details, deletions of people removed from it. With none left, it finds no person',
  );

const Step = z
  .object({
    match_name: matchNames.describe('The events that complete the step: any of them'),
    match_details: boundedArray(DetailPairs, { error: 'must be an array', max: MAX_DETAILS })
      .optional()
      .describe("The event's detail must contain one of these objects; by default any detail matches"),
    values_erased: valuesErased,
  })
  .meta({ id: 'FunnelStep' });

const steps = jsonArray(Step, { max: MAX_STEPS, min: 1, maxBytes: STEPS_BYTES }).refine(
  (all) => countPairs(all) <= MAX_PAIRS_IN_ALL,
  `must have at most ${MAX_PAIRS_IN_ALL} pairs in the match_details of all steps together: leave out some, or split the funnel`,
);

const instant = z.iso.datetime();

export const Funnel = z
  .object({
    identifier: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    max_duration: z.int().describe('Seconds from the first step within which a step must follow'),
    labels: z.array(z.string()),
    steps: z.array(
      z.object({
        match_name: z.array(z.object({ app_id: z.string(), log_type: z.int(), log_name: z.string() })),
        match_details: z.array(z.record(z.string(), detailValue)),
        values_erased: valuesErased,
      }),
    ),
    archived: z.boolean(),
    archived_at: instant.nullable(),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'Funnel' });
export type Funnel = z.output<typeof Funnel>;

export const listFunnels = operation({
  id: 'listFunnels',
  ...VIEW,
  method: 'GET',
  path: '/api/funnels',
  summary: 'List funnels, oldest first',
  query: z.object({
    apps: commaListOf(identifier)
      .optional()
      .describe('Comma-separated app identifiers: only funnels with a step of one of these apps'),
  }),
  result: z.array(Funnel),
});

export const viewFunnel = operation({
  id: 'viewFunnel',
  ...VIEW,
  method: 'GET',
  path: '/api/funnels/:identifier',
  summary: 'Read a funnel',
  params,
  result: Funnel,
});

export const createFunnel = operation({
  id: 'createFunnel',
  ...MANAGE,
  exactNumbers: 'as text',
  method: 'POST',
  path: '/api/funnels',
  summary: 'Create a funnel',
  description: 'Each step names events that an app has sent already.',
  audits: 'create funnel',
  body: z.object({
    name,
    description: text({ max: DESCRIPTION_CHARS }).nullable().optional(),
    max_duration: bodyInteger({ min: 1, max: MAX_DURATION_SECONDS })
      .default(DEFAULT_DURATION_SECONDS)
      .describe('Seconds from the first step within which a step must follow'),
    steps,
    labels: bodyList(name, MAX_LABELS).optional().describe('Millrace creates labels that do not exist yet'),
  }),
  result: Funnel,
});

export const updateFunnel = operation({
  id: 'updateFunnel',
  ...MANAGE,
  exactNumbers: 'as text',
  method: 'PUT',
  path: '/api/funnels/:identifier',
  summary: 'Set the labels of a funnel',
  audits: 'update funnel',
  params,
  body: z.object({
    labels: bodyList(name, MAX_LABELS).describe(
      'All labels of the funnel; Millrace creates those that do not exist yet',
    ),
  }),
  result: Funnel,
});

export const archiveFunnel = operation({
  id: 'archiveFunnel',
  ...MANAGE,
  method: 'PUT',
  path: '/api/funnels/:identifier/archive',
  summary: "Archive a funnel: its labels can't change until you restore it",
  audits: 'update funnel',
  params,
  result: Funnel,
});

export const restoreFunnel = operation({
  id: 'restoreFunnel',
  ...MANAGE,
  method: 'PUT',
  path: '/api/funnels/:identifier/restore',
  summary: 'Restore an archived funnel',
  audits: 'update funnel',
  params,
  result: Funnel,
});

const day = z
  .string({ error: 'is required: a date such as 2026-01-31' })
  .refine(isDate, 'must be a date such as 2026-01-31');
const statsQuery = z.object({
  app_id: identifier.describe('An app that you may see. The steps name the apps whose events count'),
  from: day.describe('First day, in UTC'),
  till: day.describe('Last day, in UTC, included'),
  mode: z
    .enum(['accurate', 'fast'], { error: 'must be accurate or fast' })
    .default('accurate')
    .describe(
      '`fast` counts a sample of people and estimates the rest: `completions_error` says how far each number of people ' +
        'may be off, also in the header `X-Funnel-Error`. Of apps with fewer than 10,000 people `fast` is exact',
    ),
  aliases: queryFlag.optional().describe('Count an id that an app has made another one (an alias) as that one'),
});

const Exclusion = z
  .object({
    after_step: z.int({ error: 'must be the number of a step, from 0' }).min(0, 'must be the number of a step, from 0'),
    match_name: matchNames,
  })
  .meta({ id: 'FunnelExclusion' });

const funnelBody = z.object({
  funnel: jsonObject(
    stored(
      2 * STEPS_BYTES,
      z.object({
        max_duration: z
          .number({ error: 'must be a number of seconds' })
          .positive('must be more than 0')
          .max(MAX_DURATION_SECONDS)
          .default(DEFAULT_DURATION_SECONDS),
        steps,
        exclusions: jsonArray(Exclusion, { max: MAX_STEPS, maxBytes: STEPS_BYTES })
          .optional()
          .describe('Events that break a chain where they happen between the step `after_step` and the next one'),
      }),
    ),
  ),
});

const estimate = {
  exact: z.boolean().describe('False: estimated from a sample, in the mode `fast`. It is the same in all of an answer'),
  completions_error: z
    .int()
    .describe('By how many people `completions` may be off, with 95 % certainty; 0 if it is exact'),
};

const averageDuration = z.number().nullable().describe('Seconds; null if no person did');

const seconds = z.number().describe('Seconds');

const FunnelTimes = z
  .object({
    median: seconds.describe('Half of the people took these seconds or less, to 2 %'),
    nine_in_ten: seconds.describe('Nine in ten people did, to 2 %'),
    histogram: z
      .array(z.object({ from: seconds, until: seconds, people: z.int() }))
      .describe('People by seconds: `from` or more, less than `until`, each bar about twice as long as the one before'),
  })
  .meta({ id: 'FunnelTimes' });
export type FunnelTimes = z.output<typeof FunnelTimes>;

/** How many people completed a step (reference: Funnels, 6). */
export const FunnelStats = z
  .object({
    step: z.int().describe('From 0'),
    completions: z.int().describe('Number of people'),
    average_duration: averageDuration.describe('Seconds from step 0; null if no person did'),
    last_completed_at: instant.nullable(),
    ...estimate,
    share: z.number().nullable().describe('Of the people of step 0, from 0 to 1; null if there are none'),
    share_error: z
      .number()
      .nullable()
      .describe('How far `share` may be off with 95 % certainty, as if these people were some of many'),
    since_previous: FunnelTimes.nullable()
      .optional()
      .describe(
        'Time from the step before, in the chain of the first completion; null for step 0 and without people. Not with `breakdown`',
      ),
    breakdown: z.string().nullable().optional().describe('Value of the property; null: none. Only with `breakdown`'),
  })
  .meta({ id: 'FunnelStats' });
export type FunnelStats = z.output<typeof FunnelStats>;

/** Actions of people after a step (reference: Funnels, 7). */
export const FunnelFollowUp = z
  .object({
    application_id: z.string(),
    log_type: z.int(),
    log_name: z.string(),
    display_name: z.string(),
    completions: z.int().describe('Number of people'),
    ...estimate,
    average_duration: averageDuration.describe(
      "Seconds from the step to the person's first such event, also beyond max_duration",
    ),
  })
  .meta({ id: 'FunnelFollowUp' });

const outcome = z.enum(['completed', 'dropped'], { error: 'must be completed or dropped' });
const stepNumber = (what: string) =>
  z
    .string({ error: 'is required: the number of a step, from 0' })
    .regex(/^\d{1,3}$/, 'must be the number of a step, from 0')
    .transform(Number)
    .describe(what);

const countQuery = statsQuery.extend({
  breakdown: text()
    .optional()
    .describe(
      'Divide people by a property of their first step: `week`, its Monday in UTC, `detail.<member>`, or a field of the device ' +
        'as it is now: app_version, os_version, sdk_version, device_model, device_type, country_code or language_code',
    ),
});

const counts = {
  ...VIEW,
  rightsByField: { [DETAIL_BREAKDOWN]: 'usage_analytics_view' },
  audits: 'read funnel',
  query: countQuery,
  description: 'The audit log keeps by which member of details people were divided, without values.',
  result: z.array(FunnelStats),
} as const;

export const quickFunnelStats = operation({
  id: 'quickFunnelStats',
  ...counts,
  exactNumbers: 'as text',
  method: 'POST',
  path: '/api/funnels/quick_stats',
  summary: 'Count the people who complete each step of a funnel',
  idempotencyKey: 'ignored',
  body: funnelBody,
});

export const viewFunnelStats = operation({
  id: 'viewFunnelStats',
  ...counts,
  method: 'GET',
  path: '/api/funnels/:identifier/stats',
  summary: 'Count the people who complete each step of a stored funnel',
  params,
});

export const exploreFunnel = operation({
  id: 'exploreFunnel',
  ...VIEW,
  exactNumbers: 'as text',
  method: 'POST',
  path: '/api/funnels/explore',
  summary: 'List what people do after a step of a funnel, the most frequent event first',
  idempotencyKey: 'ignored',
  query: statsQuery.extend({
    position: stepNumber('The step after which to look, from 0'),
    dropped: queryFlag.optional().describe('Only people who did not complete the step after it'),
  }),
  body: funnelBody,
  result: z.array(FunnelFollowUp),
});

const FunnelPerson = z
  .object({
    user_id: z.string().nullable(),
    device_id: z.string().nullable().describe('Instead of the user, of a person without one'),
    last_completed_at: instant.describe('When they last completed the step; with `dropped` the one before it'),
  })
  .meta({ id: 'FunnelPerson' });
export type FunnelPerson = z.output<typeof FunnelPerson>;

/** Maximum number of people in a list. */
export const MAX_FUNNEL_PEOPLE = 100;

export const listFunnelPeople = operation({
  id: 'listFunnelPeople',
  tag: 'Funnels',
  right: 'usage_analytics_view',
  exactNumbers: 'as text',
  method: 'POST',
  path: '/api/funnels/people',
  summary: 'List the first hundred people of a step of a funnel, the latest first',
  description:
    `People who completed a step, or dropped out before it: up to ${MAX_FUNNEL_PEOPLE}. In the mode \`fast\` they are people of the sample. ` +
    'The audit log gets an entry for each of them.',
  audits: ['read funnel', 'read customer'],
  idempotencyKey: 'ignored',
  query: statsQuery.extend({
    step: stepNumber('The step, from 0'),
    outcome: outcome
      .default('completed')
      .describe(
        '`completed`: people who completed the step; `dropped`: they completed the step before, and not this one',
      ),
  }),
  body: funnelBody,
  result: z.object({
    completions: z.int().describe('Number of people with this outcome'),
    ...estimate,
    people: z.array(FunnelPerson).describe(`Up to ${MAX_FUNNEL_PEOPLE} of them, the latest first`),
  }),
});

function countPairs(steps: readonly Pick<FunnelStep, 'match_details'>[]): number {
  return steps
    .flatMap(({ match_details: details = [] }) => details)
    .reduce((count, pairs) => count + Object.keys(pairs).length, 0);
}
