/**
 * On whose word an id belongs to a person. `asked`: the request; `alias`: an SDK; `confirmed`: staff, for an alias;
 * `device`: an SDK, for a device that the person used.
 */
export const ORIGINS = ['asked', 'alias', 'confirmed', 'device'] as const;

/**
 * Why an id that is linked to a person is left alone. `unconfirmed`: only an SDK says so, and the id may be another
 * person's; `shared`: others use it as well; `too_many`: more are linked to the person than are followed.
 */
export const LEFT_REASONS = ['unconfirmed', 'shared', 'too_many'] as const;

export type LeftReason = (typeof LEFT_REASONS)[number];

export const ALIAS_DECISIONS = ['confirmed', 'refused'] as const;

export type AliasDecision = (typeof ALIAS_DECISIONS)[number];

export const HOLD_KINDS = ['hold', 'restriction'] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];
