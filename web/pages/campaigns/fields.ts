/** The names of a campaign's fields, and the part of the page where each stands: what is missing leads to its field. */
import { bodyOf, type Draft } from './draft.ts';

export type Channel = 'push' | 'inapp' | 'delivery';

/** `leadsTo`: another field, or the id of a part of the page, where there is no field of that name. */
type FieldPlace = { label: string; channel?: Channel; leadsTo?: string };

const FIELDS: Readonly<Record<string, FieldPlace>> = {
  name: { label: 'Name' },
  app_id: { label: 'App' },
  includes_push: { label: 'Channels' },
  includes_inapp: { label: 'Channels' },
  adapt_tz: { label: 'Whose clock' },
  skip_message_limit: { label: 'Limit of the app' },
  sensitive: { label: 'Sensitive' },
  start_date: { label: 'Start' },
  end_date: { label: 'End' },
  filters: { label: 'Who', leadsTo: 'part-who' },
  variants: { label: 'Variants' },
  recurrence: { label: 'Days', leadsTo: 'recurrence.day_of_week' },
  'recurrence.start_time': { label: 'From' },
  'recurrence.end_time': { label: 'Until' },
  'recurrence.day_of_week': { label: 'Days' },
  notif_limit: { label: 'Messages for one person', leadsTo: 'notif_limit.maximum' },
  'notif_limit.maximum': { label: 'Messages for one person' },
  params: { label: 'Message', leadsTo: 'part-message' },
  'params.push_message': { label: 'Text of the push', channel: 'push' },
  'params.push_title': { label: 'Title of the push', channel: 'push' },
  'params.push_subtitle': { label: 'Subtitle', channel: 'push' },
  'params.deep_linking_url': { label: 'Opens', channel: 'push' },
  'params.pushAttachment': { label: 'Picture', channel: 'push' },
  'params.pushCategory': { label: 'Category of the buttons', channel: 'push' },
  'params.push_action': { label: 'Action', channel: 'push' },
  'params.push_parameters': { label: 'Parameters of the push', channel: 'push' },
  'params.inapp': { label: 'Kind of the message in the app', channel: 'inapp' },
  'params.message_title': { label: 'Title in the app', channel: 'inapp' },
  'params.message_content': { label: 'Text in the app', channel: 'inapp' },
  'params.message_btn': { label: 'Button in the app', channel: 'inapp' },
  'params.inapp_content_url': { label: 'Address of the page', channel: 'inapp' },
  'params.inapp_content_title': { label: 'Title of the page', channel: 'inapp' },
  'params.inapp_content_auto_display': { label: 'Page at once', channel: 'inapp' },
  'params.inapp_parameters': { label: 'Parameters of the message in the app', channel: 'inapp' },
  'params.expire_after': { label: 'Expires', channel: 'delivery' },
  'params.push_includes_sound': { label: 'Sound', channel: 'delivery' },
  'params.push_sound_value': { label: 'Sound file', channel: 'delivery' },
};

export type Place = FieldPlace & {
  /** The name of the field in the page, or the id of a part of it. */
  field: string;
  /** Null: the message that all variants share. */
  variant: number | null;
};

/** Returns where an element of the body stands: the nearest field that has a place. */
export function placeOf(element: string): Place {
  const [, index, ownPath] = /^variants\.(\d+)\.(.+)$/.exec(element) ?? [];
  const path = ownPath ?? element;
  // The first variant has the field of the shares.
  const variant = element === 'variants' ? 0 : index === undefined ? null : Number(index);
  const parts = path.split('.');
  const known = parts.map((_, left) => parts.slice(0, parts.length - left).join('.')).find((name) => FIELDS[name]);
  const place = FIELDS[known ?? ''] ?? { label: path };
  return { ...place, variant, field: place.leadsTo ?? element };
}

/** Returns a line of what is missing: `Variant B: Text of the push is missing`. */
export function sayError({ element, message }: { element: string; message: string }, draft: Draft): string {
  const { label, variant } = placeOf(element);
  const of =
    variant === null || element === 'variants' ? '' : `Variant ${draft.variants[variant]?.name || variant + 1}: `;
  return `${of}${label} ${message.startsWith('is required') ? 'is missing' : message}`;
}

/** Returns the labels of what differs between two versions of a draft. */
export function changedLabels(before: Draft, after: Draft): string[] {
  const flat = (draft: Draft): Record<string, unknown> => {
    const { params, ...rest } = bodyOf(draft);
    return {
      ...rest,
      ...Object.fromEntries(Object.entries(params as object).map(([name, value]) => [`params.${name}`, value])),
    };
  };
  const [old, changed] = [flat(before), flat(after)];
  const names = Object.keys({ ...old, ...changed });
  const differing = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(changed[name]));
  return [...new Set(differing.map((name) => placeOf(name).label))];
}
