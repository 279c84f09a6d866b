/** Profile values in the texts of a draft: which fields name which attributes, and whether these exist. */

import type { FieldError } from '../core/refusal.ts';
import { didYouMean, sayUnknown } from '../text/say-unknown.ts';
import type { CampaignParams } from './campaign-params.ts';
import { compileTemplate, isProfileName, readProfileName } from './placeholders.ts';
import type { NewVariant } from './variants.ts';

/** Maximum number of profile values of a campaign: they are read for hundreds of people at once. */
const MAX_PROFILE_VALUES = 50;

export type NamedInField = { element: string; name: string };

const SHOWN_SORS = 20;

/** A System of Records with its attributes, as far as a draft may name it. */
export type NameableSor = {
  identifier: string;
  name: string;
  disabled: boolean;
  attributes: readonly { key: string; disabled: boolean }[];
};

const WITHOUT_PLACEHOLDERS: ReadonlySet<string> = new Set<keyof CampaignParams>(['pushCategory', 'push_sound_value']);

/** Returns whether a text of a message may hold placeholders. */
export function takesPlaceholders(member: keyof CampaignParams): boolean {
  return !WITHOUT_PLACEHOLDERS.has(member);
}

/** Lists the profile values in all texts, in the campaign's params and in those of its variants. */
export function profileValuesIn(
  params: CampaignParams,
  variants: readonly Pick<NewVariant, 'params'>[] | null,
): NamedInField[] {
  return [
    ...namedIn('params', params),
    ...(variants ?? []).flatMap((variant, index) => namedIn(`variants.${index}.params`, variant.params)),
  ];
}

function namedIn(at: string, params: Partial<CampaignParams>): NamedInField[] {
  const { push_parameters: push = [], inapp_parameters: inapp = [], ...texts } = params;
  const fields = [
    ...Object.entries(texts).flatMap(([member, value]) =>
      !takesPlaceholders(member as keyof CampaignParams) ? [] : [{ element: `${at}.${member}`, value }],
    ),
    ...push.map(({ value }, index) => ({ element: `${at}.push_parameters.${index}.value`, value })),
    ...inapp.map(({ value }, index) => ({ element: `${at}.inapp_parameters.${index}.value`, value })),
  ];
  return fields.flatMap(({ element, value }) =>
    typeof value === 'string'
      ? compileTemplate(value)
          .placeholders.filter(({ name }) => isProfileName(name))
          .map(({ name }) => ({ element, name }))
      : [],
  );
}

/** Returns an error for each name without an attribute that has values, with what there is. */
export function profileErrors(named: readonly NamedInField[], sors: readonly NameableSor[]): FieldError[] {
  const count = new Set(named.map(({ name }) => name)).size;
  if (count > MAX_PROFILE_VALUES) {
    const message = `name ${count} different profile values, and ${MAX_PROFILE_VALUES} are the most`;
    return [{ element: 'params', message }];
  }
  return named.flatMap(({ element, name }) => {
    const error = profileNameError(name, sors);
    return error === null ? [] : [{ element, message: error }];
  });
}

function profileNameError(name: string, sors: readonly NameableSor[]): string | null {
  const read = readProfileName(name);
  if (read === null) return `names *@${name}@*: write *@sor:<identifier>.<key>@*, with the key of an attribute`;
  const sor = sors.find(({ identifier }) => identifier === read.sor);
  if (!sor) return `names the System of Records ${read.sor}, which ${unknownSor(read.sor, sors)}`;
  const attribute = sor.attributes.find(({ key }) => key === read.key);
  if (!attribute) {
    const keys = sor.attributes.map(({ key }) => key);
    const unknown = keys.length === 0 ? 'is unknown: it has none' : sayUnknown(read.key, keys);
    return `names the attribute ${read.key} of ${sor.identifier} (${sor.name}), which ${unknown}`;
  }
  if (sor.disabled) return `names the System of Records ${sor.identifier} (${sor.name}), which is disabled`;
  return attribute.disabled
    ? `names the attribute ${read.key} of ${sor.identifier} (${sor.name}), which is disabled`
    : null;
}

function unknownSor(given: string, sors: readonly NameableSor[]): string {
  const sameName = sors.find(({ name }) => name.toLowerCase() === given.toLowerCase());
  const meant = sameName
    ? `: did you mean ${sameName.identifier}?`
    : didYouMean(
        given,
        sors.map(({ identifier }) => identifier),
      );
  const shown = sors.slice(0, SHOWN_SORS).map(({ identifier, name }) => `${identifier} (${name})`);
  const more = sors.length > SHOWN_SORS ? ` and ${sors.length - SHOWN_SORS} more` : '';
  return `is unknown${meant} There are ${shown.join(', ')}${more}`;
}
