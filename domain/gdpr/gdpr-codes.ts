/** On whose word an id belongs to a person: the request, an SDK's alias, staff who confirmed it, an SDK by device. */
export const ORIGINS = ['asked', 'alias', 'confirmed', 'device'] as const;

/** Why a linked id is left alone: only an SDK says so; others use it as well; more are linked than are followed. */
export const LEFT_REASONS = ['unconfirmed', 'shared', 'too_many'] as const;

export type LeftReason = (typeof LEFT_REASONS)[number];

export const ALIAS_DECISIONS = ['confirmed', 'refused'] as const;

export type AliasDecision = (typeof ALIAS_DECISIONS)[number];

/** Why a deletion is declined: codes, since a text might name the person (GDPR, articles 12 and 17). */
export const DECLINE_REASONS = [
  'not_identified',
  'legal_obligation',
  'legal_claims',
  'public_interest',
  'excessive',
  'withdrawn',
  'other',
] as const;

export type DeclineReason = (typeof DECLINE_REASONS)[number];

export const HOLD_KINDS = ['hold', 'restriction'] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];
