/** Variants of a campaign's message (A/B tests): their rules, and which person gets which. */

import { spreadHash } from '../core/hash.ts';
import type { FieldError } from '../core/refusal.ts';
import type { CampaignParams } from './campaign-params.ts';

/** A variant. `share`: whole percents of the people. `params`: the members that differ from the campaign's. */
export type NewVariant = { name: string; share: number; params: Partial<CampaignParams> };
export type CampaignVariant = NewVariant & { identifier: string };

export function variantParams(params: CampaignParams, variant: Pick<NewVariant, 'params'>): CampaignParams {
  return { ...params, ...variant.params };
}

const WHOLE = 100;

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

/** Returns a person's variant by a hash of campaign and person: the same throughout the campaign; null: none. */
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
