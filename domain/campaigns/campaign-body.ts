/** The body of a campaign: its members, and what they demand of each other. */

import type { SegmentFilters } from '../analytics/segment-filters.ts';
import { DAY_SECONDS } from '../time/durations.ts';
import type { FieldError } from '../core/refusal.ts';
import { isReservedByFcm } from '../sends/push.ts';
import {
  areTooBig,
  type CampaignParams,
  isBlank,
  isScript,
  placeholdersOf,
  placeholdersOfAll,
} from './campaign-params.ts';
import { CAMPAIGN_DAYS, type CampaignType } from './campaign-status.ts';
import {
  compileTemplate,
  findMisspelt,
  isProfileName,
  MAX_MESSAGE_BYTES,
  type Placeholder,
  readProfileName,
} from './placeholders.ts';
import { type NewVariant, variantParams, variantsErrors } from './variants.ts';

/** When a dynamic campaign sends: days of the week, 0 for Sunday; minutes of the day, or any time of it. */
export type Recurrence = {
  start_time?: { hour: number; min: number };
  end_time?: { hour: number; min: number };
  timezone?: string;
  day_of_week: number[];
};

/** Limit of a dynamic campaign: notifications per user, and hours between two. */
export type NotifLimit = { maximum?: number; interval?: number };

/** The body of a campaign; each member is valid by itself (reference: Campaign body). */
export type CampaignBody = {
  name: string;
  type: CampaignType;
  app_id: string;
  includes_push: boolean;
  includes_inapp: boolean;
  start_date: number | 'now';
  end_date?: number;
  adapt_tz: boolean;
  skip_message_limit: boolean;
  sensitive: boolean;
  filters?: SegmentFilters;
  params: CampaignParams;
  variants?: NewVariant[];
  recurrence?: Recurrence;
  notif_limit?: NotifLimit;
};

/** Returns the errors of members that don't fit together, by the reference's table. Each error names its field. */
export function campaignErrors(body: CampaignBody, now: Date): FieldError[] {
  return [...includesErrors(body), ...dateErrors(body, now), ...paramsErrors(body), ...typeErrors(body)];
}

/** Returns start and end as they are stored; null: set at the launch. */
export function datesOf({ start_date: start, end_date: end }: CampaignBody): {
  startDate: Date | null;
  endDate: Date | null;
} {
  if (start === 'now') return { startDate: null, endDate: end === undefined ? null : new Date(end * 1_000) };
  return {
    startDate: new Date(start * 1_000),
    endDate: new Date((end ?? start + CAMPAIGN_DAYS * DAY_SECONDS) * 1_000),
  };
}

function includesErrors({ includes_push: push, includes_inapp: inapp }: CampaignBody): FieldError[] {
  const message = 'must be true, or includes_inapp: a campaign has a push, an in-app message, or both';
  return push || inapp ? [] : [{ element: 'includes_push', message }];
}

/** A campaign of pushes only ignores its end, unless it is dynamic: then it sends until its end. */
function dateErrors(body: CampaignBody, now: Date): FieldError[] {
  const { type, includes_inapp: inapp, start_date: start, end_date: end } = body;
  const wrong = (message: string) => [{ element: 'end_date', message }];
  if (end === undefined && type === 'dynamic') return wrong('is required for a dynamic campaign');
  if (!inapp && type !== 'dynamic') return [];
  if (end !== undefined && start !== 'now' && end <= start) return wrong('must be later than start_date');
  const { endDate } = datesOf(body);
  if (endDate === null || endDate > now) return [];
  return wrong(
    end === undefined
      ? `is required: ${CAMPAIGN_DAYS} days after start_date, its default, have passed`
      : 'must lie ahead',
  );
}

function paramsErrors(body: CampaignBody): FieldError[] {
  const { params } = body;
  return [
    ...requiredParams(body)
      .filter(({ name }) => params[name] === undefined)
      .map(({ name, why }) => ({ element: `params.${name}`, message: `is required ${why}` })),
    ...blankErrors(params),
    ...reservedErrors(params),
    ...parameterErrors(params, 'push_parameters'),
    ...parameterErrors(params, 'inapp_parameters'),
    ...addressErrors(params, 'deep_linking_url', false),
    ...addressErrors(params, 'pushAttachment', true),
    ...addressErrors(params, 'inapp_content_url', true),
    ...placeholderErrors(body),
    ...sizeErrors(body),
  ];
}

function sizeErrors({ includes_push: push, includes_inapp: inapp, params }: CampaignBody): FieldError[] {
  const message = `must make messages of at most ${MAX_MESSAGE_BYTES} bytes, texts and parameters together`;
  return areTooBig(params, { push, inapp }) ? [{ element: 'params', message }] : [];
}

/** Only a transactional campaign has variables; in others every device gets the default, or a value of a profile. */
function placeholderErrors({ type, includes_push: push, includes_inapp: inapp, params }: CampaignBody): FieldError[] {
  if (type === 'transactional') return [];
  const names = placeholdersOf(params, { push, inapp })
    .filter(({ name, hasDefault }) => !hasDefault && !isProfileName(name))
    .map(({ name }) => name);
  const message = `must have no placeholder without a default, such as *@${names[0]}@*: a ${type} campaign has no values for it`;
  return names.length === 0 ? [] : [{ element: 'params', message }];
}

type Required = { name: keyof CampaignParams; why: string };

function requiredParams({ includes_push: push, includes_inapp: inapp, params }: CampaignBody): Required[] {
  const required: Required[] = push ? [{ name: 'push_message', why: 'where includes_push is true' }] : [];
  if (!inapp) return required;
  if (params.inapp === undefined) {
    return [...required, { name: 'inapp', why: 'where includes_inapp is true: native, or url for a page of your own' }];
  }
  if (params.inapp === 'url') return [...required, { name: 'inapp_content_url', why: 'where params.inapp is url' }];
  const texts = ['message_title', 'message_content', 'message_btn'] as const;
  return [...required, ...texts.map((name) => ({ name, why: 'where includes_inapp is true' }))];
}

const TEXTS = [
  'push_message',
  'push_title',
  'push_subtitle',
  'message_title',
  'message_content',
  'message_btn',
  'inapp_content_title',
] as const satisfies (keyof CampaignParams)[];

function blankErrors(params: CampaignParams): FieldError[] {
  return TEXTS.filter((member) => isBlank(params[member] ?? null)).map((member) => ({
    element: `params.${member}`,
    message: 'must not be blank',
  }));
}

/** FCM carries the data of a push to Android apps, and to others whose provider it is. */
function reservedErrors({ push_parameters: parameters }: CampaignParams): FieldError[] {
  return parameters.flatMap(({ key }, index) =>
    isReservedByFcm(key)
      ? [
          {
            element: `params.push_parameters.${index}.key`,
            message: 'is reserved by FCM, as from, message_type and all that begin with google or gcm: choose another',
          },
        ]
      : [],
  );
}

function parameterErrors(params: CampaignParams, member: 'push_parameters' | 'inapp_parameters'): FieldError[] {
  const keys = params[member].map(({ key }) => key);
  return keys.flatMap((key, index) =>
    keys.indexOf(key) === index ? [] : [{ element: `params.${member}.${index}.key`, message: 'is there twice' }],
  );
}

/** Checks an address that does not begin with a placeholder, with 1, which fits host, port and path, for each one. */
function addressErrors(
  params: CampaignParams,
  member: 'deep_linking_url' | 'pushAttachment' | 'inapp_content_url',
  isOfWeb: boolean,
): FieldError[] {
  const text = params[member];
  if (text === undefined) return [];
  const template = compileTemplate(text);
  const values = Object.fromEntries(template.placeholders.map(({ name }) => [name, '1']));
  if (template.startsWithPlaceholder) return [];
  const address = URL.parse(template.render(values, new Set()));
  const script = 'must be no script and no data: apps that show pages would run it';
  if (address && isScript(address.href)) return [{ element: `params.${member}`, message: script }];
  if (address && (!isOfWeb || ['http:', 'https:'].includes(address.protocol))) return [];
  const message = isOfWeb
    ? 'must be an http or https address'
    : 'must be an address with its scheme, such as shop://orders';
  return [{ element: `params.${member}`, message }];
}

/** A transactional campaign's messages name their users; only a dynamic one has recurrence and limit. */
function typeErrors(body: CampaignBody): FieldError[] {
  const { type, filters, variants, recurrence, notif_limit: limit } = body;
  if (type === 'transactional') {
    const set = [(filters?.blocks ?? []).length > 0 ? ['filters'] : [], variants ? ['variants'] : []].flat();
    const message = "can't be set on a transactional campaign: each message of POST /api/transac names its user";
    return set.map((element) => ({ element, message }));
  }
  if (type === 'classic') return variantErrors(body);
  const missing = [recurrence ? [] : ['recurrence'], limit ? [] : ['notif_limit']].flat();
  return [
    ...missing.map((element) => ({ element, message: 'is required for a dynamic campaign' })),
    ...(recurrence ? periodErrors(recurrence) : []),
    ...variantErrors(body),
  ];
}

/** Applies the message's rules to each variant. Returns an error that the campaign has, too, once. */
function variantErrors(body: CampaignBody): FieldError[] {
  const { params, variants = [] } = body;
  const ofCampaign = new Set(paramsErrors(body).map(({ element }) => element));
  const errorsOf = (variant: NewVariant) =>
    paramsErrors({ ...body, params: variantParams(params, variant) }).filter(
      ({ element }) => !ofCampaign.has(element) || element.split('.')[1]! in variant.params,
    );
  return [
    ...variantsErrors(variants),
    ...variants.flatMap((variant, index) =>
      errorsOf(variant).map(({ element, message }) => ({ element: `variants.${index}.${element}`, message })),
    ),
  ];
}

function periodErrors({ start_time: start, end_time: end }: Recurrence): FieldError[] {
  if (!end) return [];
  if (!start) return [{ element: 'recurrence.start_time', message: 'is required with end_time' }];
  const isLater = end.hour * 60 + end.min > start.hour * 60 + start.min;
  return isLater ? [] : [{ element: 'recurrence.end_time', message: 'must be later than start_time, on the same day' }];
}

type Warned = {
  type: CampaignType;
  verifiedUsers: boolean;
  params: CampaignParams;
  variants: readonly NewVariant[] | null;
  includesPush: boolean;
  includesInapp: boolean;
};

export function campaignWarnings(placeholders: readonly Pick<Placeholder, 'name'>[], campaign: Warned): FieldError[] {
  return Array.from(warningsOf(placeholders, campaign), (message) => ({ element: 'params', message }));
}

/** Yields what speaks against a launch and does not prevent it: of spelling, of values, of who may receive them. */
function* warningsOf(
  [first]: readonly Pick<Placeholder, 'name'>[],
  { type, verifiedUsers, params, variants, includesPush: push, includesInapp: inapp }: Warned,
): Generator<string> {
  const texts = [params, ...(variants ?? []).map((variant) => variant.params)].flatMap(textsOf);
  const misspelt = texts.map(findMisspelt).find((found) => found !== null);
  if (misspelt !== undefined) {
    yield (
      `hold ${misspelt}, which is no placeholder: people would see it as it stands. The name of a placeholder has 1 to 64 letters, ` +
      'digits, _, - and ., such as *@first_name@*'
    );
  }
  const all = placeholdersOfAll(params, variants, { push, inapp });
  const unfilled = type === 'transactional' ? undefined : all.find(({ name }) => !isProfileName(name));
  if (unfilled) {
    yield (
      `hold *@${unfilled.name}@*, which nothing fills in a ${type} campaign: all people see its default. For an attribute write ` +
      `*@sor:<identifier>.${unfilled.name}|default@*`
    );
  }
  const needed = all.filter(({ name, hasDefault }) => isProfileName(name) && !hasDefault).map(({ name }) => name);
  if (needed.length > 0) {
    const keys = Array.from(new Set(needed), (name) => readProfileName(name)?.key ?? name).join(', ');
    yield `need ${keys} without a default: people without a value get nothing, although the audience counts them`;
  }
  if (first !== undefined && !verifiedUsers) {
    yield (
      `hold values of a message, such as *@${first.name}@*, and the app has verified_users off: anybody who has the app ` +
      'can make up a device of any user, and receive what is meant for that user. Set verified_users, or leave personal data out'
    );
  }
}

function textsOf({
  push_parameters: push = [],
  inapp_parameters: inapp = [],
  ...params
}: Partial<CampaignParams>): string[] {
  return [...Object.values(params), ...[...push, ...inapp].map(({ value }) => value)].filter(
    (value) => typeof value === 'string',
  );
}
