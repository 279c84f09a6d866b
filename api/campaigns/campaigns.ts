/** Campaigns: pushes and in-app messages to an audience, or to users that a call names (reference: Campaigns). */
import { z } from 'zod';
import { CAMPAIGN_STATUSES, CAMPAIGN_TYPES, REACH_STATES } from '../../domain/campaigns/campaign-status.ts';
import { OUTCOME_DAYS } from '../../domain/campaigns/control-group.ts';
import { isTimeZone } from '../../domain/time/time-zone.ts';
import { isLongerThan, isStorable } from '../../domain/text/text-limits.ts';
import { FILTERS_BYTES, SegmentFiltersInput, ShownFilters } from '../analytics/segment-filters.ts';
import {
  bodyFlag,
  bodyInteger,
  boundedArray,
  commaList,
  identifier,
  isoDateOrDatetime,
  jsonArray,
  jsonObject,
  name,
  ofRevision,
  queryInteger,
  stored,
  text,
} from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { internalError } from '../jobs/internal-error.ts';
import { isObject } from '../../domain/json/exact-json.ts';

const SHARED = {
  tag: 'Campaigns',
  rightsByType: { transactional: 'transactional_campaigns', dynamic: 'dynamic_campaigns' },
} as const;
const VIEW = { tag: 'Campaigns', right: 'campaign_view' } as const;
const DRAFT = { ...SHARED, right: 'campaign_draft' } as const;
const WRITE = { ...DRAFT, rightsByField: { variants: 'ab_testing' } } as const;
const PUBLISH = { ...SHARED, right: 'campaign_publish' } as const;

const MAX_EPOCH = 253_402_300_799;
const MESSAGE_CHARS = 4_096;
const CONTENT_CHARS = 10_000;
const ADDRESS_CHARS = 2_048;
const VALUE_CHARS = 1_024;
const KEY_CHARS = 128;
const MAX_PARAMETERS = 20;
/** A rendered message has at most 32 KiB. */
const PARAMS_BYTES = 128 * 1024;
const VARIANTS_BYTES = 512 * 1024;
const MEMBER_BYTES = 4 * 1024;
/** FCM keeps a message for four weeks at most. */
const MAX_EXPIRY_SECONDS = 2_419_200;
const DEFAULT_EXPIRY_SECONDS = 604_800;
const MAX_NOTIFICATIONS = 1_000_000;
const MAX_HOURS = 8_760;
const MAX_PEOPLE = 2 ** 31 - 1;

/** Milliseconds, the usual mistake, are out of range. */
function epoch(message: string) {
  return z
    .union(
      [
        z.int(),
        z
          .string()
          .regex(/^\d{1,12}$/)
          .transform(Number),
      ],
      { error: message },
    )
    .refine((value) => value >= 0 && value <= MAX_EPOCH, message);
}

function orNone<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => (value === '' || value === null ? undefined : value), schema.optional());
}

const optionalText = (max?: number) => orNone(text(max === undefined ? {} : { max }));

const Parameter = z
  .object({
    key: text({ max: KEY_CHARS }),
    value: z
      .string()
      .refine((value) => !isLongerThan(value, VALUE_CHARS), `must have at most ${VALUE_CHARS} characters`)
      .refine(isStorable, 'must not hold NUL or half a surrogate pair'),
  })
  .meta({ id: 'MessageParameter' });

const parameters = z.preprocess(
  (value) => value ?? [],
  jsonArray(Parameter, { max: MAX_PARAMETERS, maxBytes: PARAMS_BYTES }),
);

const Message = z.object({
  push_message: optionalText(MESSAGE_CHARS).describe('Required where includes_push is true'),
  push_title: optionalText(),
  push_subtitle: optionalText().describe('Shown by iOS only'),
  deep_linking_url: optionalText(ADDRESS_CHARS).describe('Link that a tap opens in the app'),
  pushAttachment: optionalText(ADDRESS_CHARS).describe('Address of a picture, sound or film'),
  pushCategory: optionalText().describe('Category of the buttons; mobile only'),
  push_includes_sound: orNone(bodyFlag)
    .transform((value) => value ?? true)
    .describe('By default true'),
  push_sound_value: optionalText().describe("Sound file of the app; iOS only. By default the system's sound"),
  push_action: optionalText().describe('The app gets it as the parameter `push_action`'),
  push_parameters: parameters.describe('The app gets them with the push'),
  expire_after: orNone(bodyInteger({ min: 1, max: MAX_EXPIRY_SECONDS }))
    .transform((value) => value ?? DEFAULT_EXPIRY_SECONDS)
    .describe('Seconds after which a message is no longer delivered; by default 604800, 7 days'),
  inapp: orNone(z.enum(['native', 'url'], { error: 'must be native, or url for a page of your own' })).describe(
    'Required where includes_inapp is true: native, or url for a page of your own',
  ),
  message_title: optionalText().describe(
    'Required for a native in-app message, as are message_content and message_btn',
  ),
  message_content: optionalText(CONTENT_CHARS),
  message_btn: optionalText().describe('Text of the button that closes the message'),
  inapp_content_url: optionalText(ADDRESS_CHARS).describe('Address of the page; required where inapp is url'),
  inapp_content_title: optionalText().describe('Title of the page'),
  inapp_content_auto_display: orNone(bodyFlag).describe('True: the app shows the page at once; by default false'),
  inapp_parameters: parameters.describe('The app gets them with the in-app message'),
  template_variables: z
    .unknown()
    .optional()
    .refine(
      (value) => value === undefined,
      'is not supported: write placeholders such as *@name@* into the texts, and send their values ' +
        'as templateVars of each message',
    )
    .describe('Not supported: send the values of placeholders as templateVars of each message'),
});

const Params = Message.transform(({ template_variables: _, ...params }) => params).meta({
  id: 'NewCampaignParams',
});

/** The params of a message, with a bound in bytes. */
export const messageParams = jsonObject(stored(PARAMS_BYTES, Params));

/** Uses the grammar of segments, which require `blocks`: without any, a campaign goes to all people. */
const filters = z.preprocess((given) => (isObject(given) ? { blocks: [], ...given } : given), SegmentFiltersInput);

/** As in the campaign's params, null and an empty text are absent: the variant has the campaign's value. */
const ParamsOfVariant = z.preprocess(
  (given) =>
    isObject(given)
      ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== ''))
      : given,
  Message.partial(),
);

/** The params that differ in a variant, with a bound in bytes. */
export const variantParams = jsonObject(stored(PARAMS_BYTES, ParamsOfVariant));

const NewVariant = z
  .object({
    name: name.describe('Different from that of the other variants'),
    share: bodyInteger({ min: 1, max: 99 }).describe('Percent of the people; those of all variants add up to 100'),
    params: orNone(ParamsOfVariant)
      .transform((params) => params ?? {})
      .describe("Params that differ: they replace those of the campaign in the variant's message"),
  })
  .meta({ id: 'NewCampaignVariant' });
const MIN_VARIANTS = 2;
const MAX_VARIANTS = 10;

const time = z.object({ hour: bodyInteger({ min: 0, max: 23 }), min: bodyInteger({ min: 0, max: 59 }).default(0) });
const weekday = bodyInteger({ min: 0, max: 6 });

const Recurrence = z
  .object({
    start_time: orNone(time).describe('Alone: the time at which notifications go; with end_time: from then on'),
    end_time: orNone(time).describe('Until then; later than start_time'),
    timezone: orNone(
      z.string().refine(isTimeZone, 'must be a zone of the IANA database, such as Europe/Paris'),
    ).describe("Used if adapt_tz is false; by default the app's"),
    day_of_week: boundedArray(weekday, { min: 1, max: 7 })
      .refine((days) => new Set(days).size === days.length, 'has a day twice')
      .describe('From 0 for Sunday to 6 for Saturday'),
  })
  .meta({ id: 'CampaignRecurrence' });

const NotifLimit = z
  .object({
    maximum: orNone(bodyInteger({ min: 1, max: MAX_NOTIFICATIONS })).describe('Notifications per user'),
    interval: orNone(bodyInteger({ min: 0, max: MAX_HOURS })).describe('Hours between two notifications at least'),
  })
  .refine(
    ({ maximum, interval }) => maximum !== undefined || interval !== undefined,
    'must have maximum, interval, or both',
  )
  .meta({ id: 'CampaignNotifLimit' });

/** The body of a campaign (reference: Campaign body); `domain/campaigns/campaign-body.ts` has rules between members. */
const NewCampaign = z
  .object({
    name: name.describe('Never shown to customers'),
    type: z.enum(CAMPAIGN_TYPES),
    source: z.literal('API', { error: 'must be API' }),
    app_id: identifier,
    includes_push: bodyFlag,
    includes_inapp: bodyFlag,
    start_date: z
      .union([z.literal('now'), epoch('must be whole seconds since the epoch, or now')], {
        error: 'must be whole seconds since the epoch, or now',
      })
      .describe('Seconds since the epoch, or `now`: at the launch'),
    end_date: orNone(epoch('must be whole seconds since the epoch')).describe(
      'Seconds since the epoch; by default 30 days after the start. Has no effect on a campaign of pushes alone; required for a ' +
        'dynamic one',
    ),
    adapt_tz: bodyFlag.default(false).describe("Send at the desired time of each user's time zone"),
    skip_message_limit: bodyFlag.default(false).describe("Bypass the app's rate_limit"),
    sensitive: bodyFlag
      .default(false)
      .describe('Keep the content of its messages no longer than it takes to deliver them'),
    filters: orNone(jsonObject(stored(FILTERS_BYTES, filters))).describe(
      'Audience of a classic or dynamic campaign, in the grammar of segments. By default everybody in the app',
    ),
    params: messageParams,
    variants: orNone(
      jsonArray(NewVariant, { max: MAX_VARIANTS, min: MIN_VARIANTS, maxBytes: VARIANTS_BYTES }),
    ).describe('For an A/B test of a classic or dynamic campaign: each person gets the message of one of them'),
    recurrence: orNone(jsonObject(stored(MEMBER_BYTES, Recurrence))).describe('Required for a dynamic campaign'),
    notif_limit: orNone(jsonObject(stored(MEMBER_BYTES, NotifLimit))).describe('Required for a dynamic campaign'),
  })
  .meta({ id: 'NewCampaign' });

const seconds = z.int().describe('Seconds since the epoch');
const [optionalSeconds, shownText] = [z.int().nullable(), z.string().nullable()];
const shownParameters = z.array(z.object({ key: z.string(), value: z.string() }));

const Reach = z.object({ count: z.int(), optin: z.int(), total: z.int() });
const Stats = z.object({
  total_push_openings: z.int().describe('Number of pushes that people opened'),
  total_push_sent: z.int().describe('Number of pushes that a provider took'),
});

const openedApp = z.int().describe(`Number of them who opened the app within ${OUTCOME_DAYS} days`);

const shownCampaign = {
  identifier: z.string(),
  name: z.string(),
  status: z.string().describe('Such as Ongoing'),
  type: z.enum(CAMPAIGN_TYPES),
  includes_inapp: z.boolean(),
  includes_push: z.boolean(),
  adapt_tz: z.boolean(),
  app_id: z.string(),
  launched_at: optionalSeconds.describe('Null: not launched yet'),
  start_date: optionalSeconds.describe('Null: at the launch'),
  end_date: optionalSeconds.describe('Null: 30 days after the launch'),
  next_send_at: optionalSeconds.describe(
    'Begin of the send that is under way or comes next. Null for a draft and a transactional campaign, and if none is left. ' +
      "Of a dynamic campaign with adapt_tz, by the clocks of the app's zone",
  ),
  next_send_until: optionalSeconds.describe(
    'Of a dynamic campaign: messages go to people as they come, until before this. Null: to all at next_send_at',
  ),
  updated_at: seconds,
  created_at: seconds,
  skip_message_limit: z.boolean(),
  reach: Reach.describe('Size of the audience of a classic campaign; reach_state says whether it is counted yet'),
  reach_state: z
    .enum(REACH_STATES)
    .describe('`computing`: from the launch until the audience is found; `none`: nothing to count'),
  stats: Stats,
  stats_counted_until: optionalSeconds.describe(
    'Time up to which stats count the outcomes of messages; null: not counted yet',
  ),
};

const listedParams = {
  push_message: shownText,
  push_title: shownText,
  push_action: shownText,
  push_parameters: shownParameters,
};
const ListedParams = z.object(listedParams);

const variant = {
  identifier: z.string(),
  name: z.string(),
  share: z.int().describe('Percent of the people'),
  stats: Stats,
};
const Variant = z.object({ ...variant, params: ListedParams });

/** A campaign of the list (reference: Campaign). */
export const Campaign = z
  .object({ ...shownCampaign, params: ListedParams, variants: z.array(Variant) })
  .meta({ id: 'Campaign' });
export type Campaign = z.output<typeof Campaign>;

const WholeParams = z.object({
  ...listedParams,
  push_subtitle: shownText,
  deep_linking_url: shownText,
  pushAttachment: shownText,
  pushCategory: shownText,
  push_includes_sound: z.boolean(),
  push_sound_value: shownText,
  expire_after: z.int(),
  inapp: z.enum(['native', 'url']).nullable(),
  message_title: shownText,
  message_content: shownText,
  message_btn: shownText,
  inapp_content_url: shownText,
  inapp_content_title: shownText,
  inapp_content_auto_display: z.boolean(),
  inapp_parameters: shownParameters,
});

export const CampaignDetails = z
  .object({
    ...shownCampaign,
    campaign_api_identifier: shownText.describe('Second name of a transactional campaign, for POST /api/transac'),
    source: z.literal('API'),
    sensitive: z.boolean(),
    filters: ShownFilters.nullable().describe('Null: everybody in the app'),
    params: WholeParams,
    variants: z
      .array(z.object({ ...variant, params: WholeParams }))
      .describe('Each with its whole message; one of share 100 without an ' + 'A/B test'),
    placeholders: z
      .array(
        z.object({
          name: z.string(),
          required: z.boolean().describe('False: it has a default everywhere'),
        }),
      )
      .describe('Only for a transactional campaign: the templateVars of its messages'),
    profile_values: z
      .array(z.object({ name: z.string(), sor_identifier: shownText, attribute_key: shownText }))
      .describe('Attributes of Systems of Records in its texts, such as `sor:<identifier>.first_name`'),
    warnings: z
      .array(z.object({ element: z.string(), message: z.string() }))
      .describe('Warnings before the launch, which they do not prevent'),
    recurrence: z.record(z.string(), z.unknown()).nullable(),
    notif_limit: z.object({ maximum: z.int().nullable(), interval: z.int().nullable() }).nullable(),
    control_group: z
      .object({ people: z.int(), devices: z.int(), opened_app: openedApp })
      .nullable()
      .describe("People of the entity's control group, whose messages it held back. Null: none, or none counted yet"),
    targeted: z
      .object({ people: z.int(), opened_app: openedApp })
      .nullable()
      .describe('The others of its audience, to compare with. Null where control_group is'),
    revision: z.int().describe('Increases with each change of the draft, and with its launch'),
    launched_by: z
      .object({ id: z.int(), uid: z.string() })
      .nullable()
      .describe('Who launched it. Null: not launched yet, or by a user who is gone'),
    expected_people: z.int().nullable().describe('The number of people that the launch confirmed; null: it named none'),
    ended_at: optionalSeconds,
    failure: shownText.describe('Why it failed'),
    internal_error: internalError,
  })
  .meta({ id: 'CampaignDetails' });
export type CampaignDetails = z.output<typeof CampaignDetails>;

const params = z.object({ campaign_identifier: identifier });
const PATH = '/api/campaign';
const ONE = `${PATH}/:campaign_identifier`;
const BY_EITHER_NAME = 'The path takes the identifier, or the campaign_api_identifier.';

const MAX_LISTED = 10_000;
const WORKFLOW_TYPES = ['scheduled', 'contextual', 'transactional', 'dynamic'] as const;
const MESSAGE_TYPES = ['push', 'inapp'] as const;
export const CAMPAIGN_ORDERS = ['status', 'app', 'start_date', 'updated_at', 'created_at'] as const;

function listOf<const V extends readonly string[]>(values: V) {
  return commaList.pipe(z.array(z.enum(values)).min(1));
}

const listQuery = z.object({
  app_ids: commaList.pipe(z.array(identifier).min(1)).optional().describe('Only campaigns of these apps'),
  status: listOf(CAMPAIGN_STATUSES).optional(),
  workflow_types: listOf(WORKFLOW_TYPES).optional().describe('scheduled: classic campaigns. None is contextual'),
  message_types: listOf(MESSAGE_TYPES).optional().describe('Only campaigns that include one of these'),
  search: text().optional().describe('Part of the name, in any case'),
  from: isoDateOrDatetime.optional().describe('Only campaigns created from then on'),
  to: isoDateOrDatetime.optional().describe('Only campaigns created before then'),
  limit: queryInteger({ min: 1, max: MAX_LISTED }).optional().describe('By default 20 under v3, otherwise all'),
  offset: queryInteger({ min: 0, max: 1_000_000 }).default(0),
  order: z
    .enum(CAMPAIGN_ORDERS)
    .optional()
    .describe('First order, before the date of creation: status and app ascending, dates descending'),
});
export type CampaignListQuery = z.output<typeof listQuery>;

export const listCampaigns = operation({
  id: 'listCampaigns',
  ...VIEW,
  method: 'GET',
  path: '/api/campaigns',
  summary: 'List campaigns, newest first',
  bare: true,
  query: listQuery,
  result: z.object({
    limit: z.int().nullable(),
    offset: z.int(),
    result: z.array(Campaign),
    success: z.literal(true),
    total_count: z.int(),
  }),
});

export const viewCampaign = operation({
  id: 'viewCampaign',
  ...VIEW,
  method: 'GET',
  path: ONE,
  summary: 'View a campaign',
  description: BY_EITHER_NAME,
  params,
  result: CampaignDetails,
});

const Created = z.object({
  campaign_id: z.string(),
  campaign_api_identifier: z.string().optional().describe('Second name of a transactional campaign'),
});

export const createCampaign = operation({
  id: 'createCampaign',
  ...WRITE,
  exactNumbers: 'as text',
  method: 'POST',
  path: PATH,
  summary: 'Create a campaign as a draft',
  description: 'It sends nothing until you launch it.',
  audits: 'create campaign',
  body: NewCampaign,
  result: Created,
});

export const duplicateCampaign = operation({
  id: 'duplicateCampaign',
  ...WRITE,
  method: 'POST',
  path: `${ONE}/duplicate`,
  summary: 'Duplicate a campaign as a draft',
  description:
    'The draft has all settings of the campaign, whatever its type and status. Dates that have passed are left out: it starts ' +
    `at its launch. A dynamic campaign's end moves instead: its period is as long, from now on. ${BY_EITHER_NAME}`,
  audits: 'create campaign',
  params,
  body: z.object({ name: orNone(name).describe('By default that of the campaign with ` (copy)`') }),
  result: Created,
});

export const updateCampaign = operation({
  id: 'updateCampaign',
  ...WRITE,
  exactNumbers: 'as text',
  method: 'PUT',
  path: ONE,
  summary: 'Replace a draft',
  description: `The body is a whole campaign, of the same type. ${BY_EITHER_NAME}`,
  audits: 'update campaign',
  params,
  body: NewCampaign.extend({ revision: ofRevision }).meta({ id: 'ChangedCampaign' }),
  result: CampaignDetails,
});

export const deleteCampaign = operation({
  id: 'deleteCampaign',
  ...DRAFT,
  method: 'DELETE',
  path: ONE,
  summary: 'Delete a draft',
  description: BY_EITHER_NAME,
  audits: 'delete campaign',
  params,
});

export const launchCampaign = operation({
  id: 'launchCampaign',
  ...PUBLISH,
  method: 'PUT',
  path: `${ONE}/launch`,
  summary: 'Launch a draft',
  description: `A transactional campaign takes messages from its start date on. ${BY_EITHER_NAME}`,
  audits: 'update campaign',
  params,
  body: z.object({
    expected_people: bodyInteger({ min: 0, max: MAX_PEOPLE })
      .optional()
      .describe(
        'The number of recipients that you confirm (countCampaignAudience). If the audience has more by now, the server launches ' +
          'nothing and returns 409 with both numbers; fewer are fine. Not for a transactional campaign',
      ),
    revision: ofRevision,
  }),
  result: CampaignDetails,
});

export const cancelCampaign = operation({
  id: 'cancelCampaign',
  ...PUBLISH,
  method: 'PUT',
  path: `${ONE}/cancel`,
  summary: 'Cancel a launched campaign',
  description: `It sends nothing from then on, and cannot be launched again. ${BY_EITHER_NAME}`,
  audits: 'update campaign',
  params,
  result: CampaignDetails,
});
