import { spreadHash } from '../core/hash.ts';
import type { FieldError } from '../core/refusal.ts';
import type { CampaignParams } from './campaign-params.ts';

/** A message of an A/B test. `share`: whole percents of the people; `params`: what differs from the campaign's. */
export type NewVariant = { name: string; share: number; params: Partial<CampaignParams> };
export type CampaignVariant = NewVariant & { identifier: string };

/** The message of a variant. */
export function variantParams(params: CampaignParams, variant: Pick<NewVariant, 'params'>): CampaignParams {
  return { ...params, ...variant.params };
}

const WHOLE = 100;

/** What the variants of a campaign demand of each other; without variants, nothing. */
export function variantsErrors(variants: readonly NewVariant[]): FieldError[] {
  const names = variants.map(({ name }) => name);
  const repeated = names.flatMap((name, index) =>
    names.indexOf(name) === index ? [] : [{ element: `variants.${index}.name`, message: 'is there twice' }],
  );
  const sum = variants.reduce((total, { share }) => total + share, 0);
  if (variants.length === 0 || sum === WHOLE) return repeated;
  return [
    ...repeated,
    { element: 'variants', message: `must have shares that add up to ${WHOLE}: these add up to ${sum}` },
  ];
}

/**
 * The variant that a person gets; null where a campaign has none. Each has as many of 100 slots as its share, in their
 * order. A person's slot is a hash of campaign and person: always the same in a campaign, and another in the next.
 */
export function variantOf<V extends Pick<NewVariant, 'share'>>(
  variants: readonly V[] | null,
  campaignIdentifier: string,
  person: string,
): V | null {
  if (!variants) return null;
  const slot = spreadHash(`${campaignIdentifier}/${person}`) % WHOLE;
  let before = 0;
  return variants.find(({ share }) => slot < (before += share)) ?? null;
}
