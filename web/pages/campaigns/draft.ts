/** A draft as the editor holds it: the body of a campaign, in which an empty text and null are absent. */
import type { CampaignDetails } from '../../../api/client.ts';
import { type CampaignBody, campaignErrors } from '../../../domain/campaigns/campaign-body.ts';
import type { CampaignType } from '../../../domain/campaigns/campaign-status.ts';
import type { FieldError } from '../../../domain/core/refusal.ts';
import { DAY_SECONDS } from '../../../domain/time/durations.ts';
import type { InputOf } from '../../session/calls.ts';
import { type Filters, isComplete, readFilters } from '../analytics/filters.ts';

const TEXTS = [
  'push_message',
  'push_title',
  'push_subtitle',
  'deep_linking_url',
  'pushAttachment',
  'pushCategory',
  'push_sound_value',
  'push_action',
  'message_title',
  'message_content',
  'message_btn',
  'inapp_content_url',
  'inapp_content_title',
] as const;
export type TextParam = (typeof TEXTS)[number];
export type Parameter = { key: string; value: string };

export type DraftParams = Record<TextParam, string> & {
  push_includes_sound: boolean;
  push_parameters: Parameter[];
  expire_after: number;
  inapp: 'native' | 'url';
  inapp_content_auto_display: boolean;
  inapp_parameters: Parameter[];
};

/** `params` has what differs from the campaign's own. */
export type DraftVariant = { name: string; share: number; params: Partial<DraftParams> };

type ClockTime = { hour: number; min: number };
export type DraftRecurrence = {
  start_time: ClockTime | null;
  end_time: ClockTime | null;
  timezone: string;
  day_of_week: number[];
};

export type Draft = {
  name: string;
  type: CampaignType;
  app_id: string;
  includes_push: boolean;
  includes_inapp: boolean;
  start_date: number | 'now';
  end_date: number | null;
  adapt_tz: boolean;
  skip_message_limit: boolean;
  sensitive: boolean;
  /** Null: everybody in the app. */
  filters: Filters | null;
  params: DraftParams;
  /** Empty: one message for all. */
  variants: DraftVariant[];
  recurrence: DraftRecurrence;
  notif_limit: { maximum: number | null; interval: number | null };
};

const EMPTY_TEXTS = Object.fromEntries(TEXTS.map((name) => [name, ''])) as Record<TextParam, string>;
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];

export const NEW_DRAFT: Draft = {
  name: '',
  type: 'classic',
  app_id: '',
  includes_push: true,
  includes_inapp: false,
  start_date: 'now',
  end_date: null,
  adapt_tz: false,
  skip_message_limit: false,
  sensitive: false,
  filters: null,
  params: {
    ...EMPTY_TEXTS,
    push_includes_sound: true,
    push_parameters: [],
    expire_after: 7 * DAY_SECONDS,
    inapp: 'native',
    inapp_content_auto_display: false,
    inapp_parameters: [],
  },
  variants: [],
  recurrence: { start_time: { hour: 9, min: 0 }, end_time: null, timezone: '', day_of_week: EVERY_DAY },
  notif_limit: { maximum: 1, interval: null },
};

type StoredParams = CampaignDetails['params'];

function paramsOf(params: StoredParams): DraftParams {
  return {
    ...params,
    ...(Object.fromEntries(TEXTS.map((name) => [name, params[name] ?? ''])) as Record<TextParam, string>),
    inapp: params.inapp ?? 'native',
  };
}

/** Returns the params of a variant that differ: the server shows each variant with its whole message. */
function differing(own: DraftParams, shared: DraftParams): Partial<DraftParams> {
  return Object.fromEntries(
    Object.entries(own).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(shared[name as keyof DraftParams]),
    ),
  );
}

export function draftOf(campaign: CampaignDetails): Draft {
  const params = paramsOf(campaign.params);
  const { recurrence, notif_limit: limit } = campaign;
  return {
    name: campaign.name,
    type: campaign.type,
    app_id: campaign.app_id,
    includes_push: campaign.includes_push,
    includes_inapp: campaign.includes_inapp,
    start_date: campaign.start_date ?? 'now',
    end_date: campaign.end_date,
    adapt_tz: campaign.adapt_tz,
    skip_message_limit: campaign.skip_message_limit,
    sensitive: campaign.sensitive,
    filters: campaign.filters && readFilters(campaign.filters),
    params,
    variants:
      campaign.variants.length < 2
        ? []
        : campaign.variants.map(({ name, share, params: own }) => ({
            name,
            share,
            params: differing(paramsOf(own), params),
          })),
    recurrence: {
      start_time: null,
      end_time: null,
      timezone: '',
      day_of_week: EVERY_DAY,
      ...(recurrence as Partial<DraftRecurrence> | null),
    },
    notif_limit: limit ?? { maximum: null, interval: null },
  };
}

/** Returns the members that say something: not empty texts and nulls. */
function given<T extends object>(record: T): { [K in keyof T]?: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== '' && value !== null)) as never;
}

/** Returns params as a message has them: without empty texts. */
export const sentParams = (params: DraftParams): Partial<DraftParams> => given(params);

export type CampaignInput = InputOf<'createCampaign'>['body'];

/** Returns the body of a call. What the type of the campaign does not have is left out. */
export function bodyOf(draft: Draft): CampaignInput {
  const { type, includes_inapp: hasInapp, params, variants, recurrence, notif_limit: limit, filters, ...rest } = draft;
  const hasAudience = type !== 'transactional';
  return given({
    ...rest,
    type,
    adapt_tz: hasAudience && rest.adapt_tz,
    includes_inapp: hasInapp,
    source: 'API',
    params: { ...given(params), ...(hasInapp ? {} : { inapp: undefined }) },
    filters: hasAudience ? filters : null,
    variants:
      hasAudience && variants.length > 0
        ? variants.map(({ params: own, ...variant }) => ({ ...variant, params: given(own) }))
        : null,
    recurrence: type === 'dynamic' ? given(recurrence) : null,
    notif_limit: type === 'dynamic' ? given(limit) : null,
  }) as unknown as CampaignInput;
}

/** Returns what is missing or wrong, as the server would find it: each error names its field. */
export function errorsOf(draft: Draft, now: Date): FieldError[] {
  const body = bodyOf(draft) as unknown as CampaignBody;
  const { type, notif_limit: limit, recurrence } = draft;
  const required = (element: string, isThere: boolean): FieldError[] =>
    isThere ? [] : [{ element, message: 'is required' }];
  return [
    ...required('name', draft.name.trim() !== ''),
    ...required('app_id', draft.app_id !== ''),
    ...(draft.filters === null || isComplete(draft.filters)
      ? []
      : [{ element: 'filters', message: 'has a condition without its values' }]),
    ...(type === 'dynamic' ? required('recurrence.day_of_week', recurrence.day_of_week.length > 0) : []),
    ...(type === 'dynamic' ? required('notif_limit.maximum', limit.maximum !== null || limit.interval !== null) : []),
    ...draft.variants.flatMap(({ name }, index) => required(`variants.${index}.name`, name.trim() !== '')),
    ...campaignErrors(body, now),
  ];
}

/** Returns whole percents for a number of variants, as equal as they can be. */
export function equalShares(count: number): number[] {
  const share = Math.floor(100 / count);
  return Array.from({ length: count }, (_, index) => (index < 100 - share * count ? share + 1 : share));
}
